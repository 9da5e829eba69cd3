// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "attest/golden/files.hpp"
#include "attest/judge/cache.hpp"
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
  options.cache = judge::cache_folder();
  return options;
}

std::string no_kernel(const std::string& name, const judge::Candidate& candidate, const judge::CheckOptions& options) {
  std::set<std::string> equations;
  for (const auto& kernel : candidate.kernels()) equations.insert(kernel.info.equation);
  return fmt::format("no kernel of {} matches --only '{}'{}; it has kernels of {}", name, options.only,
                     options.profile ? " and profile " + *options.profile : "", fmt::join(equations, ", "));
}

void print(const judge::Report& report) { fmt::print("{}", report::table(report, isatty(STDOUT_FILENO))); }

void add_ranks(CLI::App& command, Index& ranks) {
  constexpr int most = 1024;
  command
      .add_option(
          "--ranks", ranks,
          fmt::format("processes that call a kernel together which is one of several MPI ranks (default: {})", ranks))
      ->check(CLI::Range(1, most));
}

void ReportFiles::add_options(CLI::App& command) {
  command.add_option("--json", json, "write the report to this file as well");
  command.add_option("--html", html, "write the report as a page for a browser to this file as well");
  command.add_option("--junit", junit, "write the report as JUnit XML to this file as well");
  command.add_option("--sarif", sarif, "write the findings as SARIF 2.1.0 to this file as well");
}

void ReportFiles::write(const judge::Report& report) const {
  constexpr auto replace = nlohmann::json::error_handler_t::replace;  // bytes of anybody that are no UTF-8
  try {
    if (!json.empty()) golden::write_file_atomically(json, judge::to_json(report).dump(2, ' ', false, replace) + "\n");
    if (!html.empty()) golden::write_file_atomically(html, report::html({report}));
    if (!junit.empty()) golden::write_file_atomically(junit, report::junit({report}));
    if (!sarif.empty()) golden::write_file_atomically(sarif, report::sarif({report}, ATTEST_VERSION));
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace attest::cli
