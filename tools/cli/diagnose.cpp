// SPDX-License-Identifier: MIT
// diagnose and mutants: what is wrong with a kernel, and how well that is found.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attest/golden/files.hpp"
#include "attest/judge/json.hpp"
#include "attest/judge/mutants.hpp"
#include "commands.hpp"

namespace attest::cli {

int diagnose(const std::string& name, const judge::CheckOptions& options,
             const std::optional<std::filesystem::path>& json) {
  judge::Candidate candidate(name);
  const auto report = judge::check(candidate, options, progress_bar("diagnosing"));
  if (report.rows.empty()) {
    fmt::print(stderr, "attest: INVALID: no kernel of {} matches --only '{}'\n", name, options.only);
    return 3;
  }
  for (const auto& row : report.rows) fmt::print("{}", report::diagnosis(row));
  if (json) golden::write_file_atomically(*json, judge::to_json(report).dump(2) + "\n");
  return judge::exit_code(report.status());
}

int mutants(const std::string& only, int seeds, const std::optional<Part>& part,
            const std::optional<std::filesystem::path>& json) {
  judge::MutantsOptions options;
  options.only = only;
  options.seeds = seeds;
  options.golden = project_folder() / "golden";
  if (part) {
    std::vector<std::string> taken;
    for (std::size_t i = 0; i < options.profiles.size(); ++i)
      if (part->has(i, options.profiles.size())) taken.push_back(options.profiles[i]);
    print_left_out(*part, taken.size(), options.profiles.size(), "precisions, of every fault");
    options.profiles = taken;
  }
  const auto report = judge::mutants(options, progress_bar("planting"));
  if (report.mutants.empty()) throw UsageError(fmt::format("--only '{}' matches no fault", only));
  struct Line {
    int faults = 0, killed = 0, first = 0, top = 0, hidden = 0;
    std::map<std::string, int> tiers;
    Index alarms = 0, judged = 0;
    double z = 0;
  };
  std::map<std::pair<std::string, std::string>, Line> lines;
  for (const auto& m : report.mutants) {
    Line& line = lines[{m.equation, m.profile}];
    if (!m.hidden.empty()) {
      ++line.hidden;
      continue;
    }
    ++line.faults;
    line.killed += m.killed, line.first += m.rank == 1, line.top += m.rank >= 1 && m.rank <= 3;
    if (!m.tier.empty()) ++line.tiers[m.tier];
  }
  for (const auto& o : report.orders) {
    Line& line = lines[{o.equation, o.profile}];
    line.alarms += o.alarms.raised, line.judged += o.alarms.judged, line.z = std::max(line.z, o.alarms.largest_z);
  }
  fmt::print("{:<40} {:<5} {:>7} {:>7} {:>6} {:>6}  {:<16} {:>7}\n", "equation", "prof.", "killed", "first", "top 3",
             "hidden", "tiers", "alarms");
  std::map<std::string, Line> sums;
  for (const auto& [key, line] : lines) {
    std::string tiers;
    for (const auto& [tier, times] : line.tiers) tiers += fmt::format("{}{}:{}", tiers.empty() ? "" : " ", tier, times);
    fmt::print("{:<40} {:<5} {:>7} {:>7} {:>6} {:>6}  {:<16} {:>7}\n", key.first, key.second,
               fmt::format("{}/{}", line.killed, line.faults), line.first, line.top, line.hidden, tiers, line.alarms);
    Line& sum = sums[key.second];
    sum.faults += line.faults, sum.killed += line.killed, sum.first += line.first, sum.top += line.top,
        sum.hidden += line.hidden;
    sum.alarms += line.alarms, sum.judged += line.judged, sum.z = std::max(sum.z, line.z);
  }
  for (const auto& m : report.mutants) {
    if (m.hidden.empty() && !m.killed)
      fmt::print("\n  SURVIVED {}.{} {} (its cases show {:.3g} of the bound)", m.equation, m.fault, m.profile, m.shown);
    if (m.hidden.empty() && m.killed && m.rank != 1)
      fmt::print("\n  misnamed {}.{} {}: {}{}", m.equation, m.fault, m.profile,
                 m.named.empty() ? "no name" : "called " + m.named,
                 m.rank > 0 ? fmt::format(", its own name is number {}", m.rank) : "");
  }
  for (const auto& o : report.orders)
    if (o.alarms.raised > 0) fmt::print("\n  FALSE ALARM {} {}: {}", o.equation, o.profile, o.alarms.first);
  fmt::print("\n{:<9} {:>9} {:>12} {:>9} {:>7} {:>13} {:>24}\n", "", "killed", "named first", "top three", "hidden",
             "false alarms", "in judgements, max |z|");
  for (const auto& [profile, sum] : sums) {
    const auto percent = [faults = std::max(sum.faults, 1)](int some) {
      return fmt::format("{:.1f} %", 100.0 * some / faults);
    };
    fmt::print("{:<9} {:>9} {:>12} {:>9} {:>7} {:>13} {:>24}\n", profile, fmt::format("{}/{}", sum.killed, sum.faults),
               percent(sum.first), percent(sum.top), sum.hidden, sum.alarms,
               fmt::format("{}, {:.1f}", sum.judged, sum.z));
  }
  fmt::print("Verdict: {}\n", report.passed() ? "PASS" : "FAIL");
  if (json) golden::write_file_atomically(*json, judge::to_json(report).dump(2) + "\n");
  return report.passed() ? 0 : 1;
}

}  // namespace attest::cli
