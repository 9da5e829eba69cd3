// SPDX-License-Identifier: MIT
// mutants: how well known faults are found and named, and how often a correct kernel is rejected.
#include "attest/judge/mutants.hpp"
#include "attest/judge/json.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "attest/golden/files.hpp"
#include "commands.hpp"
#include "long_job.hpp"

namespace attest::cli {
namespace {

/// Counts of one equation in one profile, or of all equations in one.
struct Counts {
  int faults = 0, killed = 0, first = 0, top = 0, hidden = 0;
  std::map<std::string, int> tiers;
  Index alarms = 0, judged = 0;
  double z = 0;
  std::size_t off = 0, off_killed = 0;  // kernels that are off under conditions

  void add(const Counts& other) {
    faults += other.faults, killed += other.killed, first += other.first, top += other.top, hidden += other.hidden;
    alarms += other.alarms, judged += other.judged, z = std::max(z, other.z);
    off += other.off, off_killed += other.off_killed;
  }
};

using EquationAndProfile = std::pair<std::string, std::string>;

std::map<EquationAndProfile, Counts> counts_of(const judge::MutantsReport& report) {
  std::map<EquationAndProfile, Counts> all;
  for (const auto& m : report.mutants) {
    Counts& counts = all[{m.equation, m.profile}];
    if (!m.hidden.empty()) {
      ++counts.hidden;
      continue;
    }
    ++counts.faults;
    counts.killed += m.killed, counts.first += m.rank == 1, counts.top += m.rank >= 1 && m.rank <= 3;
    if (!m.tier.empty()) ++counts.tiers[m.tier];
  }
  for (const auto& o : report.orders) {
    Counts& counts = all[{o.equation, o.profile}];
    counts.alarms += o.alarms.raised, counts.judged += o.alarms.judged;
    counts.z = std::max(counts.z, o.alarms.largest_z);
  }
  for (const auto& one : report.conditions) {
    Counts& counts = all[{one.equation, one.profile}];
    counts.off += one.kernels, counts.off_killed += one.killed;
  }
  return all;
}

void print_equations(const std::map<EquationAndProfile, Counts>& all) {
  fmt::print("{:<40} {:<5} {:>7} {:>7} {:>6} {:>6}  {:<16} {:>7} {:>11}\n", "equation", "prof.", "killed", "first",
             "top 3", "hidden", "tiers", "alarms", "conditions");
  for (const auto& [key, counts] : all) {
    std::string tiers;
    for (const auto& [tier, times] : counts.tiers)
      tiers += fmt::format("{}{}:{}", tiers.empty() ? "" : " ", tier, times);
    fmt::print("{:<40} {:<5} {:>7} {:>7} {:>6} {:>6}  {:<16} {:>7} {:>11}\n", key.first, key.second,
               fmt::format("{}/{}", counts.killed, counts.faults), counts.first, counts.top, counts.hidden, tiers,
               counts.alarms, fmt::format("{}/{}", counts.off_killed, counts.off));
  }
}

void print_misses(const judge::MutantsReport& report) {
  for (const auto& m : report.mutants) {
    if (m.hidden.empty() && !m.killed)
      fmt::print("\n  SURVIVED {}.{} {} (its cases show {:.3g} of the bound)", m.equation, m.fault, m.profile, m.shown);
    if (m.hidden.empty() && m.killed && m.rank != 1)
      fmt::print("\n  misnamed {}.{} {}: {}{}", m.equation, m.fault, m.profile,
                 m.named.empty() ? "no name" : "called " + m.named,
                 m.rank > 0 ? fmt::format(", its own name is number {}", m.rank) : "");
  }
  for (const auto& one : report.conditions)
    for (const auto& condition : one.survived)
      fmt::print("\n  SURVIVED {} {}: off where {}", one.equation, one.profile, condition);
  for (const auto& o : report.orders)
    if (o.alarms.raised > 0) fmt::print("\n  FALSE ALARM {} {}: {}", o.equation, o.profile, o.alarms.first);
}

void print_profiles(const std::map<EquationAndProfile, Counts>& all) {
  std::map<std::string, Counts> sums;
  for (const auto& [key, counts] : all) sums[key.second].add(counts);
  fmt::print("\n{:<9} {:>9} {:>12} {:>9} {:>7} {:>13} {:>24} {:>24}\n", "", "killed", "named first", "top three",
             "hidden", "false alarms", "in judgements, max |z|", "off under conditions");
  for (const auto& [profile, sum] : sums) {
    const auto percent = [faults = std::max(sum.faults, 1)](int some) {
      return fmt::format("{:.1f} %", 100.0 * some / faults);
    };
    fmt::print("{:<9} {:>9} {:>12} {:>9} {:>7} {:>13} {:>24} {:>24}\n", profile,
               fmt::format("{}/{}", sum.killed, sum.faults), percent(sum.first), percent(sum.top), sum.hidden,
               sum.alarms, fmt::format("{}, {:.1f}", sum.judged, sum.z),
               fmt::format("{}/{} killed", sum.off_killed, sum.off));
  }
}

judge::MutantsOptions part_of(judge::MutantsOptions options, const Part& part) {
  std::vector<std::string> taken;
  for (std::size_t i = 0; i < options.profiles.size(); ++i)
    if (part.has(i, options.profiles.size())) taken.push_back(options.profiles[i]);
  print_left_out(part, taken.size(), options.profiles.size(), "precisions, of every fault");
  options.profiles = taken;
  return options;
}

int mutants(const std::string& only, int seeds, int strength, const std::optional<Part>& part,
            const std::optional<std::filesystem::path>& json, const LongJob& long_job) {
  judge::MutantsOptions options;
  options.only = only;
  options.seeds = seeds;
  options.strength = strength;
  options.golden = project_folder() / "golden";
  options.cache = judge::cache_folder();
  if (part) options = part_of(std::move(options), *part);
  const auto job = long_job.begin("mutants", files_of_check("fault:*"));
  options.job = job.get();
  const auto report = judge::mutants(options, report::progress_bar("planting"));
  if (report.mutants.empty()) throw UsageError(fmt::format("--only '{}' matches no fault", only));
  const auto counts = counts_of(report);
  print_equations(counts);
  print_misses(report);
  print_profiles(counts);
  fmt::print("Verdict: {}\n", report.passed() ? "PASS" : "FAIL");
  if (json) golden::write_file_atomically(*json, judge::to_json(report).dump(2) + "\n");
  return report.passed() ? 0 : 1;
}

}  // namespace

void add_mutants(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "mutants", "Judge a kernel with each known fault, and correct kernels that sum in many orders");
  struct Line {
    std::string only = "*", json, part;
    int seeds = 1000, strength = 2;
    LongJob job;
  };
  const auto line = std::make_shared<Line>();
  command->add_option("--only", line->only, "glob over EQUATION or EQUATION.FAULT");
  command->add_option("--seeds", line->seeds, "drawn cases per equation for the correct kernels (default 1000)")
      ->check(CLI::Range(0, 1000000));
  command
      ->add_option("--strength", line->strength,
                   "also kernels that are 1 % off where so many conditions meet, or fewer (0 to 3, default 2)")
      ->check(CLI::Range(0, 3));
  command->add_option("--json", line->json, "write the report to this file as well");
  command->add_option("--part", line->part, "K/N: a part of the precisions");
  line->job.add_options(*command);
  command->callback([&status, line] {
    status = mutants(line->only, line->seeds, line->strength, Part::parse_option(line->part), optional_path(line->json),
                     line->job);
  });
}

}  // namespace attest::cli
