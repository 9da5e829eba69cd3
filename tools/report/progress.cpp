// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "attest/report.hpp"

namespace attest::report {

judge::Progress progress_bar(const std::string& verb) {
  if (!isatty(STDERR_FILENO)) return {};
  return [verb](std::size_t done, std::size_t total, const std::string& current) {
    constexpr std::size_t width = 30;
    const std::size_t filled = total ? done * width / total : width;
    fmt::print(stderr, "\r\x1b[K{} [{}{}] {}/{} {}", verb, std::string(filled, '#'), std::string(width - filled, '.'),
               done, total, current.substr(0, 80));
    if (done == total) fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  };
}

}  // namespace attest::report
