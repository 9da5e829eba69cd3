// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "attest/report.hpp"

namespace attest::report {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::minutes kBetweenLines{1};  // where no terminal redraws a bar

}  // namespace

judge::Progress progress_bar(const std::string& verb) {
  if (!isatty(STDERR_FILENO))
    return [verb, last = Clock::now()](std::size_t done, std::size_t total, const std::string& current) mutable {
      if (done == total || Clock::now() - last < kBetweenLines) return;
      last = Clock::now();
      fmt::print(stderr, "{}: {}/{} {}\n", verb, done, total, current);
    };
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
