// SPDX-License-Identifier: MIT
// check and reproduce: verdicts on a candidate's kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attest/judge/reproduce.hpp"
#include "attest/judge/waivers.hpp"
#include "commands.hpp"

namespace attest::cli {
namespace {

int check(const std::string& name, const std::optional<Part>& part, const judge::CheckOptions& options,
          const std::vector<judge::Waiver>& waivers, const ReportFiles& files, bool explain, Index ranks) {
  const auto made = [&] {
    return part ? part_of(name, *part, ranks) : std::make_unique<judge::Candidate>(name, ranks);
  };
  const auto first = made();
  judge::Candidate& candidate = *first;
  if (part) print_left_out(*part, name, candidate, ranks);
  // A part has fewer kernels than the waivers are for.
  if (!waivers.empty())
    judge::check_waivers(waivers, part ? judge::Candidate(name, ranks).kernels() : candidate.kernels());
  auto report = judge::check(candidate, options, report::progress_bar("checking"), made);
  report.place.file = judge::library_of(name).string();
  judge::apply_waivers(waivers, judge::today(), judge::does_less(options), report);
  if (report.rows.empty()) {
    fmt::print(stderr, "attest: INVALID: {}\n", no_kernel(name, candidate, options));
    return 3;
  }
  print(report);
  if (explain) fmt::print("{}", report::exclusions(report));
  files.write(report);
  return judge::exit_code(report.status());
}

int reproduce(const std::string& query, const std::string& name, const judge::CheckOptions& options, Index ranks) {
  golden::parse_query(query);  // a wrong query is a usage error before anything is loaded
  judge::Candidate candidate(name, ranks);
  const auto report = judge::reproduce(candidate, query, options);
  if (report.rows.empty()) {
    fmt::print(stderr, "attest: INVALID: no kernel of {} can do this case\n", name);
    return 3;
  }
  print(report);
  return judge::exit_code(report.status());
}

struct CheckLine {
  judge::CheckOptions options = default_options();
  std::string candidate, profile, part, waivers;
  ReportFiles files;
  std::optional<double> budget;
  double seconds = 20;
  bool explain = false;
  Index ranks = judge::kRanks;
};

int check(CheckLine& line) {
  judge::CheckOptions& options = line.options;
  if (!line.profile.empty()) options.profile = golden::profile(line.profile).name;
  options.property_draws = options.law_draws;
  if (line.budget)
    options.stop = [end = std::chrono::steady_clock::now() + std::chrono::duration<double>(*line.budget)] {
      return std::chrono::steady_clock::now() > end ? judge::Stop::budget : judge::Stop::no;
    };
  options.time_limit = std::chrono::milliseconds(static_cast<long>(line.seconds * 1000));
  const auto waivers = line.waivers.empty() ? std::vector<judge::Waiver>() : judge::read_waivers(line.waivers);
  return check(line.candidate, Part::parse_option(line.part), options, waivers, line.files, line.explain, line.ranks);
}

std::string own_candidates() { return fmt::format("{}", fmt::join(judge::kCandidates, ", ")); }

}  // namespace

void add_check(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("check", "Judge every kernel of a candidate");
  const auto line = std::make_shared<CheckLine>();
  judge::CheckOptions& options = line->options;
  command
      ->add_option(
          "CANDIDATE", line->candidate,
          fmt::format(
              "{}, fault:ID.NAME, order:NAME, the path of a plugin library, or python:MODULE:FUNCTION with --op ID "
              "(see `check python: --help`)",
              own_candidates()))
      ->required();
  command->add_option("--only", options.only, "glob over EQUATION or EQUATION.FORM, as in 'linear.*'");
  command->add_option("--profile", line->profile,
                      "precision to judge by (default: what the kernel says, or its dtype)");
  command->add_option("--flags", options.flags, "glob over the flags of cases");
  command
      ->add_option("--max-cases", options.most_cases,
                   "at most so many cases per kernel, every flag before a second case of any")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--budget", line->budget, "seconds after which no further case, regime or law is begun")
      ->check(CLI::Range(0.001, 1.0e6));
  line->files.add_options(*command);
  command->add_option("--waivers", line->waivers,
                      "TOML file of failures that are known: they are shown and counted, and do not fail the run");
  command->add_option("--part", line->part,
                      "K/N: a part of the kernels, with value and gradient kernels of each equation and dtype");
  command
      ->add_option("--strength", options.strength,
                   "how many of the conditions that the kernel allows are brought together: every pair of them (2, the "
                   "default), every one (1), every three (3); 0: golden cases and laws alone, without batches or heads")
      ->check(CLI::Range(0, judge::kMostStrength));
  command
      ->add_option("--sizes", options.sizes,
                   "real: also at the sizes at which kernels are shipped (4,096 tokens and more), where some rows are "
                   "judged; always so for a kernel that can do no small ones")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, judge::SizesJudged>{{"small", judge::SizesJudged::small},
                                                                            {"real", judge::SizesJudged::real}},
                                  CLI::ignore_case))
      ->option_text("small|real");
  command
      ->add_option("--repeat", options.repeat,
                   "how many times all cases and regimes are called; a few are called once more at the end anyway")
      ->check(CLI::Range(1, 1000000));
  command
      ->add_option("--shapes", options.shapes,
                   "at most so many different sizes and extents of batches in the regimes of a kernel, for those that "
                   "are compiled for each; pairs that they leave out are counted")
      ->check(CLI::Range(1, 1000000));
  add_ranks(*command, line->ranks);
  command->add_flag("--explain-exclusions", line->explain,
                    "list the combinations of conditions that no regime has, and why");
  command->add_option("--seed", options.seed, "seed of the drawn laws, the fresh cases and the regimes");
  command->add_option("--laws", options.law_draws, "cases drawn per law; 0 skips the laws")
      ->check(CLI::Range(0, 100000));
  command->add_option("--time-limit", line->seconds, "seconds per call")->check(CLI::Range(0.01, 3600.0));
  command->callback([&status, line] { status = check(*line); });
}

void add_reproduce(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("reproduce", "Judge one case by its query string");
  struct Line {
    std::string query, candidate = "openmp";
    Index ranks = judge::kRanks;
  };
  const auto line = std::make_shared<Line>();
  command->add_option("QUERY", line->query, "as printed by a failing check")->required();
  command->add_option("CANDIDATE", line->candidate,
                      fmt::format("{}, or the path of a plugin library (default: openmp)", own_candidates()));
  add_ranks(*command, line->ranks);
  command->callback(
      [&status, line] { status = reproduce(line->query, line->candidate, default_options(), line->ranks); });
}

}  // namespace attest::cli
