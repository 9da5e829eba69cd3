// SPDX-License-Identifier: MIT
// golden regenerate and golden verify: the stored cases.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "attest/golden/files.hpp"
#include "attest/golden/widths.hpp"
#include "attest/judge/glob.hpp"
#include "attest/judge/work.hpp"
#include "commands.hpp"
#include "long_job.hpp"

namespace attest::cli {
namespace {

std::vector<const Spec*> equations(const std::string& only) {
  std::vector<const Spec*> chosen;
  for (const auto& [id, spec] : specs())
    if (judge::matches(only, id)) chosen.push_back(&spec);
  if (chosen.empty()) throw UsageError(fmt::format("--only '{}' matches no equation", only));
  return chosen;
}

/// What a user should know of an equation's bounds, as lines.
std::string warnings_of(const Spec& spec) {
  std::string lines;
  for (const auto& form : golden::wide_forms(spec)) lines += fmt::format("Warning: {}: {}\n", spec.id, form.text());
  return lines;
}

/// Equations as items of a job; the result of each is the hash of its file, and warnings. Returns all warnings.
std::string regenerate(jobs::Job& job, const std::vector<const Spec*>& chosen, const std::filesystem::path& folder) {
  std::vector<jobs::Item> items;
  for (const Spec* spec : chosen) items.push_back({spec->id, judge::work_of_cases(*spec)});
  const auto hash_of = [&](std::size_t i) {
    return golden::sha256(golden::read_file(folder / golden::file_of(*chosen[i])));
  };
  const auto run = [&](std::size_t i) {
    golden::regenerate({chosen[i]}, project_folder(), folder, {});
    return hash_of(i) + warnings_of(*chosen[i]);
  };
  const auto results = job.run(items, run, false, report::progress_bar("certifying"));
  std::string warnings;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::string hash = hash_of(i);
    if (!results[i].starts_with(hash))
      throw std::runtime_error(fmt::format("{} is not the file that the journal says was written",
                                           (folder / golden::file_of(*chosen[i])).string()));
    warnings += results[i].substr(hash.size());
  }
  return warnings;
}

int golden_regenerate(const std::optional<std::filesystem::path>& into, const std::string& only,
                      const LongJob& long_job) {
  const auto chosen = equations(only);
  const auto folder = into.value_or(project_folder() / "golden");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw std::runtime_error(fmt::format("{}: {}", folder.string(), error.message()));
  std::string warnings;
  if (const auto job = long_job.begin("regenerate", {})) {
    warnings = regenerate(*job, chosen, folder);
  } else {
    golden::regenerate(chosen, project_folder(), folder, report::progress_bar("certifying"));
    for (const Spec* spec : chosen) warnings += warnings_of(*spec);
  }
  fmt::print("{} equation{} certified into {}\n", chosen.size(), chosen.size() == 1 ? "" : "s", folder.string());
  fmt::print(stderr, "{}", warnings);
  return 0;
}

int golden_verify(const std::string& only) {
  const auto chosen = equations(only);
  const auto faults = golden::verify(chosen, project_folder(), project_folder() / "golden");
  for (const auto& fault : faults) fmt::print("{}\n", fault);
  if (faults.empty())
    fmt::print("{} golden {} manifest, spec and sources\n", chosen.size(),
               chosen.size() == 1 ? "file matches its" : "files match their");
  return faults.empty() ? 0 : 1;
}

}  // namespace

void add_golden(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("golden", "The golden vectors");
  command->require_subcommand(1);
  auto* regenerate =
      command->add_subcommand("regenerate", "Certify every golden case and write the files and their manifest");
  struct Line {
    std::string into, only = "*";
    LongJob job;
  };
  const auto line = std::make_shared<Line>();
  regenerate->add_option("--into", line->into, "folder to write into (default: the project's golden/)");
  regenerate->add_option("--only", line->only, "glob over equations");
  line->job.add_options(*regenerate);
  regenerate->callback(
      [&status, line] { status = golden_regenerate(optional_path(line->into), line->only, line->job); });
  auto* verify = command->add_subcommand("verify", "Check files, manifest and sources against each other");
  verify->add_option("--only", line->only, "glob over equations");
  verify->callback([&status, line] { status = golden_verify(line->only); });
}

}  // namespace attest::cli
