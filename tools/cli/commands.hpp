// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "attest/judge/check.hpp"
#include "attest/report.hpp"
#include "part.hpp"
#include "usage_error.hpp"

namespace CLI {
class App;
}

namespace attest::cli {

/// The source tree that specs, golden files and headers are read from.
std::filesystem::path project_folder();

/// Nothing for the empty text.
std::optional<std::filesystem::path> optional_path(const std::string& text);

/// The options of check as they are when the command line gives none.
judge::CheckOptions default_options();

/// "no kernel of PLUGIN matches --only 'x.*'; it has kernels of a.b, a.c": for a run that judged none.
std::string no_kernel(const std::string& name, const judge::Candidate& candidate, const judge::CheckOptions& options);

/// Prints a report as a table, coloured on a terminal unless NO_COLOR is set.
void print(const judge::Report& report);

/// What of a candidate is judged, by which profile and for how long, as the command line says it.
struct Judging {
  judge::CheckOptions options = default_options();
  std::string profile, sizes = "small";
  std::optional<double> budget;
  double seconds = 20;
  Index ranks = judge::kRanks;

  void add_options(CLI::App& command);
  /// A budget runs from this call on. Throws SpecError where the profile is unknown.
  judge::CheckOptions chosen() const;
};

/// The candidate of that name, or a part of it. Throws InvalidCandidate.
std::unique_ptr<judge::Candidate> candidate_of(const std::string& name, const std::optional<Part>& part, Index ranks);

/// The report on what candidate_of() gave, which has a row at least: throws InvalidCandidate where no kernel is meant.
judge::Report judged(judge::Candidate& candidate, const std::optional<Part>& part, const judge::CheckOptions& options);

/// --ranks, of commands that call kernels.
void add_ranks(CLI::App& command, Index& ranks);

/// Files that a report is written to, where the command line names them.
struct ReportFiles {
  std::string json, html, junit, sarif;

  void add_options(CLI::App& command);
  /// Throws UsageError with the path and the system's reason.
  void write(const judge::Report& report) const;
};

/// Each of these adds a subcommand with its options. When the command line names it, it runs and sets the exit status.
using AddCommand = void(CLI::App& app, int& status);
AddCommand add_list, add_show, add_coverage, add_check, add_diagnose, add_mutants, add_reproduce, add_golden, add_new,
    add_emit, add_judge, add_handbook, add_verify_claim, add_completion;
/// These two are only named in the help: run_python() runs them.
AddCommand add_bench, add_survey;

/// Whether a command line names a candidate python:MODULE:FUNCTION, the survey or the benchmark: all that runs in
/// Python.
bool is_for_python(int argc, char** argv);
bool is_survey(int argc, char** argv);

/// Runs the command line in Python, in a process of its own; its exit status, or 3 when a kernel ended it.
int run_python(int argc, char** argv);

}  // namespace attest::cli
