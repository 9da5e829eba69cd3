// SPDX-License-Identifier: MIT
// diagnose: the mistake of a kernel that fails, in words.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.hpp"
#include "ctrl_c.hpp"
#include "long_job.hpp"

namespace attest::cli {
namespace {

int diagnose(const std::string& name, judge::CheckOptions options, const ReportFiles& files, Index ranks,
             const LongJob& long_job) {
  judge::Candidate candidate(name, ranks);
  const auto job = long_job.begin("diagnose", files_of_check(name));
  options.job = job.get();
  const CtrlC ctrl_c(options);
  auto report = judge::check(candidate, options, report::progress_bar("diagnosing"));
  if (report.rows.empty()) {
    fmt::print(stderr, "attest: INVALID: {}\n", no_kernel(name, candidate, options));
    return 3;
  }
  report.place.file = judge::library_of(name).string();
  for (const auto& row : report.rows) fmt::print("{}", report::diagnosis(row));
  files.write(report);
  return ctrl_c.status(judge::exit_code(report.status()));
}

}  // namespace

void add_diagnose(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("diagnose", "Say what is wrong with a kernel");
  struct Line {
    Judging judging;
    std::string candidate;
    ReportFiles files;
    LongJob job;
  };
  const auto line = std::make_shared<Line>();
  command->add_option("CANDIDATE", line->candidate, "as for check, or fault:ID.NAME, order:NAME")->required();
  line->judging.add_options(*command);
  line->files.add_options(*command);
  line->job.add_options(*command);
  command->callback([&status, line] {
    status = diagnose(line->candidate, line->judging.chosen(), line->files, line->judging.ranks, line->job);
  });
}

}  // namespace attest::cli
