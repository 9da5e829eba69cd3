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

void print(const judge::Report& report) { fmt::print("{}", report::table(report, isatty(STDOUT_FILENO))); }

void write_json(const judge::Report& report, const std::optional<std::filesystem::path>& json) {
  if (json) golden::write_file_atomically(*json, judge::to_json(report).dump(2) + "\n");
}

}  // namespace attest::cli
