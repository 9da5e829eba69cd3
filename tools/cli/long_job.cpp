// SPDX-License-Identifier: MIT
// Commands that share their items with other ranks, and keep what is finished.
#include "long_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "attest/golden/files.hpp"
#include "attest/golden/store.hpp"
#include "attest/jobs/channel.hpp"
#include "attest/judge/cache.hpp"
#include "commands.hpp"

namespace attest::cli {
namespace {

constexpr auto kJournal = "--journal", kResume = "--resume";

/// The words of this process' command line, without the program and the journal.
std::string words() {
  std::string text = golden::read_file("/proc/self/cmdline");
  std::vector<std::string> all, some;
  for (std::size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) all.emplace_back(text.c_str() + at);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const auto is = [&](const std::string& option) { return all[i] == option || all[i].starts_with(option + "="); };
    if (is(kJournal) || is(kResume))
      i += all[i].find('=') == std::string::npos;
    else
      some.push_back(all[i]);
  }
  return fmt::format("{}", fmt::join(some, " "));
}

/// The words, and a hash of the program and those files.
std::string identity(const std::vector<std::filesystem::path>& files) {
  std::string hashes = golden::sha256(golden::read_file("/proc/self/exe"));
  for (const auto& file : files) hashes += golden::sha256(golden::read_file(file));
  std::string line = fmt::format("attest {}; {}", words(), golden::sha256(hashes));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

void LongJob::add_options(CLI::App& command) {
  auto* begin = command
                    .add_option(kJournal, journal,
                                "keep what is finished in this folder, so that --resume goes on from there when the "
                                "command was ended; the folder is new, or empty")
                    ->type_name("DIR");
  auto* go_on =
      command
          .add_option(kResume, resume, "go on from the journal in this folder, with otherwise the same command line")
          ->type_name("DIR")
          ->excludes(begin);
  if (auto* budget = command.get_option_no_throw("--budget")) begin->excludes(budget), go_on->excludes(budget);
}

std::unique_ptr<jobs::Job> LongJob::begin(const std::string& name,
                                          const std::vector<std::filesystem::path>& files) const {
  const bool shared = jobs::launched().size > 1;
  if (!shared && journal.empty() && resume.empty()) return nullptr;
  jobs::JobOptions options;
  options.identity = identity(files);
  options.journal = resume.empty() ? journal : resume;
  options.resume = !resume.empty();
  if (const auto cache = judge::cache_folder(); !cache.empty()) options.costs = cache / "costs" / (name + ".json");
  try {
    if (shared) options.channel = &jobs::begin_mpi(judge::plugin_folder() / "attest_ranks.so");
    return std::make_unique<jobs::Job>(std::move(options));
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
}

std::vector<std::filesystem::path> files_of_check(const std::string& candidate) {
  std::vector<std::filesystem::path> files{judge::library_of(candidate)};
  for (const auto& [_, spec] : specs()) files.push_back(project_folder() / "golden" / golden::manifest_of(spec));
  return files;
}

void check_launched(const CLI::App& app) {
  const auto launched = jobs::launched();
  if (launched.size == 1) return;
  const CLI::App* command = &app;
  std::string name = "attest";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  if (command->get_option_no_throw(kJournal)) return;
  throw UsageError(
      fmt::format("{} is done by one process, and this is one of {} that were started together; check, diagnose, "
                  "mutants, coverage, golden regenerate and survey share their work",
                  name, launched.size));
}

}  // namespace attest::cli
