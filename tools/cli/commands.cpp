// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "attest/golden/files.hpp"
#include "attest/golden/profile.hpp"
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

void Judging::add_options(CLI::App& command) {
  command.add_option("--only", options.only, "glob over EQUATION or EQUATION.FORM, as in 'linear.*'");
  command.add_option("--profile", profile, "precision to judge by (default: what the kernel says, or its dtype)");
  command.add_option("--flags", options.flags, "glob over the flags of cases");
  command
      .add_option("--max-cases", options.most_cases,
                  "at most so many cases per kernel, every flag before a second case of any")
      ->check(CLI::Range(1, 1000000));
  command.add_option("--budget", budget, "seconds after which no further case, regime or law is begun")
      ->check(CLI::Range(0.001, 1.0e6));
  command
      .add_option("--strength", options.strength,
                  "how many of the conditions that the kernel allows are brought together: every pair of them (2, the "
                  "default), every one (1), every three (3); 0: golden cases and laws alone, without batches or heads")
      ->check(CLI::Range(0, judge::kMostStrength));
  command
      .add_option("--sizes", sizes,
                  "real: also at the sizes at which kernels are shipped (4,096 tokens and more), where some rows are "
                  "judged; always so for a kernel that can do no small ones")
      ->check(CLI::IsMember({"small", "real"}, CLI::ignore_case))
      ->option_text("small|real");
  command
      .add_option("--repeat", options.repeat,
                  "how many times all cases and regimes are called; a few are called once more at the end anyway")
      ->check(CLI::Range(1, 1000000));
  command.add_flag("--single-calls", options.single_calls,
                   "regimes are called once, not twice with other bytes in the outputs or at other addresses: for "
                   "kernels that are slow to call, as under a simulator");
  command
      .add_option("--shapes", options.shapes,
                  "at most so many different sizes and extents of batches in the regimes of a kernel, for those that "
                  "are compiled for each; pairs that they leave out are counted")
      ->check(CLI::Range(1, 1000000));
  command.add_option("--seed", options.seed, "seed of the drawn laws, the fresh cases and the regimes");
  command.add_option("--laws", options.law_draws, "cases drawn per law; 0 skips the laws")
      ->check(CLI::Range(0, 100000));
  add_ranks(command, ranks);
  command.add_option("--time-limit", seconds, "seconds per call, more where the machine has too much else to do")
      ->check(CLI::Range(0.01, 3600.0));
}

judge::CheckOptions Judging::chosen() const {
  judge::CheckOptions all = options;
  if (!profile.empty()) all.profile = golden::profile(profile).name;
  if (sizes == "real") all.sizes = judge::SizesJudged::real;
  all.property_draws = all.law_draws;
  if (budget)
    all.stop = [end = std::chrono::steady_clock::now() + std::chrono::duration<double>(*budget)] {
      return std::chrono::steady_clock::now() > end ? judge::Stop::budget : judge::Stop::no;
    };
  all.time_limit = std::chrono::milliseconds(static_cast<long>(seconds * 1000));
  return all;
}

void print(const judge::Report& report) {
  const char* no_colour = std::getenv("NO_COLOR");  // no-color.org: any value but the empty one
  fmt::print("{}", report::table(report, isatty(STDOUT_FILENO) && !(no_colour && *no_colour)));
}

void add_ranks(CLI::App& command, Index& ranks) {
  constexpr int most = 1024;
  command
      .add_option(
          "--ranks", ranks,
          fmt::format("processes that call a kernel together which is one of several MPI ranks (default: {})", ranks))
      ->check(CLI::Range(1, most));
}

void ReportFiles::add_options(CLI::App& command) {
  command.add_option("--json", json, "write the report to this file as well")->type_name("FILE");
  command.add_option("--html", html, "write the report as a page for a browser to this file as well")
      ->type_name("FILE");
  command.add_option("--junit", junit, "write the report as JUnit XML to this file as well")->type_name("FILE");
  command.add_option("--sarif", sarif, "write the findings as SARIF 2.1.0 to this file as well")->type_name("FILE");
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
