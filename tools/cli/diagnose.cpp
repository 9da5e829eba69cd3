// SPDX-License-Identifier: MIT
// diagnose: the mistake of a kernel that fails, in words.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.hpp"

namespace attest::cli {
namespace {

int diagnose(const std::string& name, const judge::CheckOptions& options, const ReportFiles& files, Index ranks) {
  judge::Candidate candidate(name, ranks);
  auto report = judge::check(candidate, options, report::progress_bar("diagnosing"));
  if (report.rows.empty()) {
    fmt::print(stderr, "attest: INVALID: {}\n", no_kernel(name, candidate, options));
    return 3;
  }
  report.place.file = judge::library_of(name).string();
  for (const auto& row : report.rows) fmt::print("{}", report::diagnosis(row));
  files.write(report);
  return judge::exit_code(report.status());
}

}  // namespace

void add_diagnose(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("diagnose", "Say what is wrong with a kernel");
  struct Line {
    judge::CheckOptions options = default_options();
    std::string candidate, profile;
    ReportFiles files;
    Index ranks = judge::kRanks;
  };
  const auto line = std::make_shared<Line>();
  command->add_option("CANDIDATE", line->candidate, "as for check, or fault:ID.NAME, order:NAME")->required();
  command->add_option("--only", line->options.only, "glob over EQUATION or EQUATION.FORM");
  command->add_option("--profile", line->profile,
                      "precision to judge by (default: what the kernel says, or its dtype)");
  add_ranks(*command, line->ranks);
  line->files.add_options(*command);
  command->callback([&status, line] {
    if (!line->profile.empty()) line->options.profile = golden::profile(line->profile).name;
    status = diagnose(line->candidate, line->options, line->files, line->ranks);
  });
}

}  // namespace attest::cli
