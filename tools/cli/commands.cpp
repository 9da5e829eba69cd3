// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "attest/golden/files.hpp"
#include "attest/judge/json.hpp"

namespace attest::cli {

std::filesystem::path project_folder() {
  const char* folder = std::getenv("ATTEST_PROJECT_DIR");
  return folder ? folder : ATTEST_PROJECT_DIR;
}

std::optional<std::filesystem::path> optional_path(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::filesystem::path>(text);
}

judge::CheckOptions default_options() {
  judge::CheckOptions options;
  options.golden = project_folder() / "golden";
  return options;
}

judge::Progress progress_bar(const std::string& verb) {
  if (!isatty(STDERR_FILENO)) return {};
  return [verb](std::size_t done, std::size_t total, const std::string& current) {
    constexpr std::size_t width = 30;
    const std::size_t filled = total ? done * width / total : width;
    fmt::print(stderr, "\r\x1b[K{} [{}{}] {}/{} {}", verb, std::string(filled, '#'), std::string(width - filled, '.'),
               done, total, current.substr(0, 44));
    if (done == total) fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  };
}

void print(const judge::Report& report) { fmt::print("{}", report::table(report, isatty(STDOUT_FILENO))); }

void write_json(const judge::Report& report, const std::optional<std::filesystem::path>& json) {
  if (json) golden::write_file_atomically(*json, judge::to_json(report).dump(2) + "\n");
}

}  // namespace attest::cli
