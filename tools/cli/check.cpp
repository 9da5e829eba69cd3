// SPDX-License-Identifier: MIT
// check and reproduce: verdicts on a candidate's kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "attest/judge/reproduce.hpp"
#include "attest/judge/waivers.hpp"
#include "claim.hpp"
#include "commands.hpp"
#include "ctrl_c.hpp"
#include "long_job.hpp"

namespace attest::cli {
namespace {

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
  Judging judging;
  std::string candidate, part, waivers, claim;
  ReportFiles files;
  LongJob job;
  bool explain = false;
};

int check(const CheckLine& line, const CLI::App& command) {
  judge::CheckOptions options = line.judging.chosen();
  const auto part = Part::parse_option(line.part);
  const auto waivers = line.waivers.empty() ? std::vector<judge::Waiver>() : judge::read_waivers(line.waivers);
  const std::string library = line.claim.empty() ? "" : hash_of_library(line.candidate);
  const auto candidate = candidate_of(line.candidate, part, line.judging.ranks);
  if (part) print_left_out(*part, line.candidate, *candidate);
  // A part has fewer kernels than the waivers are for.
  if (!waivers.empty())
    judge::check_waivers(waivers,
                         part ? judge::Candidate(line.candidate, line.judging.ranks).kernels() : candidate->kernels());
  const auto job = line.job.begin("check", files_of_check(line.candidate));
  options.job = job.get();
  const CtrlC ctrl_c(options);
  auto report = judged(*candidate, part, options);
  judge::apply_waivers(waivers, judge::today(), judge::does_less(options), report);
  print(report);
  if (line.explain) fmt::print("{}", report::exclusions(report));
  line.files.write(report);
  if (!line.claim.empty()) write_claim(line.claim, report, line.candidate, library, options.seed, command);
  return ctrl_c.status(judge::exit_code(report.status()));
}

std::string own_candidates() { return fmt::format("{}", fmt::join(judge::kCandidates, ", ")); }

}  // namespace

std::unique_ptr<judge::Candidate> candidate_of(const std::string& name, const std::optional<Part>& part, Index ranks) {
  return part ? part_of(name, *part, ranks) : std::make_unique<judge::Candidate>(name, ranks);
}

judge::Report judged(judge::Candidate& candidate, const std::optional<Part>& part, const judge::CheckOptions& options) {
  const std::string& name = candidate.name();
  auto report = judge::check(candidate, options, report::progress_bar("checking"),
                             [&] { return candidate_of(name, part, candidate.host().ranks()); });
  if (report.rows.empty()) throw judge::InvalidCandidate(no_kernel(name, candidate, options));
  report.place.file = judge::library_of(name).string();
  return report;
}

void add_check(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("check", "Judge every kernel of a candidate");
  const auto line = std::make_shared<CheckLine>();
  command
      ->add_option(
          "CANDIDATE", line->candidate,
          fmt::format(
              "{}, fault:ID.NAME, order:NAME, the path of a plugin library, or python:MODULE:FUNCTION with --op ID "
              "(see `check python: --help`)",
              own_candidates()))
      ->required();
  line->judging.add_options(*command);
  line->files.add_options(*command);
  line->job.add_options(*command);
  command
      ->add_option("--waivers", line->waivers,
                   "TOML file of failures that are known: they are shown and counted, and do not fail the run")
      ->type_name("FILE");
  command
      ->add_option("--claim", line->claim,
                   "write what passed to this file, which `verify-claim` checks again; nothing is written unless all "
                   "passes")
      ->type_name("FILE")
      ->excludes("--budget", "--waivers", "--single-calls");
  command->add_option("--part", line->part,
                      "K/N: a part of the kernels, with value and gradient kernels of each equation and dtype");
  command->add_flag("--explain-exclusions", line->explain,
                    "list the combinations of conditions that no regime has, and why");
  command->callback([&status, line, command] { status = check(*line, *command); });
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
