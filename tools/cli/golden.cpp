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

/// Equations as items of a job; the result of each is the hash of its file.
void regenerate(jobs::Job& job, const std::vector<const Spec*>& chosen, const std::filesystem::path& folder) {
  std::vector<jobs::Item> items;
  for (const Spec* spec : chosen) items.push_back({spec->id, judge::work_of_cases(*spec)});
  const auto hash_of = [&](std::size_t i) {
    return golden::sha256(golden::read_file(folder / golden::file_of(*chosen[i])));
  };
  const auto run = [&](std::size_t i) {
    golden::regenerate({chosen[i]}, project_folder(), folder, {});
    return hash_of(i);
  };
  const auto hashes = job.run(items, run, false, report::progress_bar("certifying"));
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (hash_of(i) != hashes[i])
      throw std::runtime_error(fmt::format("{} is not the file that the journal says was written",
                                           (folder / golden::file_of(*chosen[i])).string()));
}

int golden_regenerate(const std::optional<std::filesystem::path>& into, const std::string& only,
                      const LongJob& long_job) {
  const auto chosen = equations(only);
  const auto folder = into.value_or(project_folder() / "golden");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw std::runtime_error(fmt::format("{}: {}", folder.string(), error.message()));
  if (const auto job = long_job.begin("regenerate", {}))
    regenerate(*job, chosen, folder);
  else
    golden::regenerate(chosen, project_folder(), folder, report::progress_bar("certifying"));
  fmt::print("{} equation{} certified into {}\n", chosen.size(), chosen.size() == 1 ? "" : "s", folder.string());
  for (const Spec* spec : chosen)
    for (const auto& form : golden::wide_forms(*spec)) fmt::print(stderr, "Warning: {}: {}\n", spec->id, form.text());
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
