// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "attest/judge/check.hpp"
#include "attest/report.hpp"
#include "part.hpp"

namespace attest::cli {

/// A wrong command line: exit status 2.
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The source tree that specs, golden files and headers are read from.
std::filesystem::path project_folder();

/// Bar on standard error when it is a terminal; nothing otherwise.
judge::Progress progress_bar(const std::string& verb);

/// Each flag's explanation, from golden/flags.toml.
std::map<std::string, std::string> flag_explanations();

int list();
int show(const std::string& id);
/// Every erratum, or every claim, with its evidence.
int show_statements(bool errata);
/// A precision that can be claimed, or "all" of them.
int show_profiles(const std::string& name);
/// What stands of every operation of specs/catalogue.toml.
int coverage(const std::string& only, const std::vector<std::string>& reports,
             const std::optional<std::filesystem::path>& json);
int check(const std::string& candidate, const std::optional<Part>& part, const judge::CheckOptions& options,
          const std::optional<std::filesystem::path>& json);
int reproduce(const std::string& query, const std::string& candidate, const judge::CheckOptions& options);
int golden_regenerate(const std::optional<std::filesystem::path>& into, const std::string& only);
int golden_verify();

/// What is wrong with every failing kernel of a candidate, and how precise the others are.
int diagnose(const std::string& candidate, const judge::CheckOptions& options,
             const std::optional<std::filesystem::path>& json);

/// The mutation score of the judge; a part of it is one of some of the precisions.
int mutants(const std::string& only, int seeds, const std::optional<Part>& part,
            const std::optional<std::filesystem::path>& json);

struct EmitOptions {
  std::string id, profile = "f32", capabilities, layout = "nd";
  std::filesystem::path to;
  std::filesystem::path golden;
};
int emit(const EmitOptions& options);

/// Judges the outputs that a program left in an emitted folder, by the emitted profile or another one.
int judge_folder(const std::filesystem::path& folder, const std::optional<std::string>& profile,
                 const judge::CheckOptions& options, const std::optional<std::filesystem::path>& json);

/// Whether a command line names a candidate python:MODULE:FUNCTION, the survey or the benchmark: what Python does.
bool is_for_python(int argc, char** argv);

/// Runs the command line in Python, in a process of its own; its exit status, or 3 when a kernel ended it.
int run_python(int argc, char** argv);

/// Prints a report as a table, coloured on a terminal.
void print(const judge::Report& report);

}  // namespace attest::cli
