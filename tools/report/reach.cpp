// SPDX-License-Identifier: MIT
// What a run could have seen, in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "attest/report.hpp"

namespace attest::report {
namespace {

bool passes(const judge::Row& row) { return row.status == judge::Status::pass && row.reach.calls > 0; }

/// "what fails in 1 call of 164 would have shown (95 % sure)".
std::string would_show(const judge::Reach& reach) {
  return fmt::format("what fails in 1 call of {:.0f} would have shown (95 % sure)",
                     std::floor(1 / reach.unseen_rate()));
}

/// "mask and bias never given; causal = false".
std::string joined(const std::vector<std::string>& restricted) {
  const std::string never = " never given";
  std::vector<std::string> inputs, rest;
  for (const auto& one : restricted)
    one.ends_with(never) ? inputs.push_back(one.substr(0, one.size() - never.size())) : rest.push_back(one);
  std::string text;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    text += (i == 0 ? "" : i + 1 == inputs.size() ? " and " : ", ") + inputs[i];
  if (!inputs.empty()) text += never;
  if (!rest.empty()) text += fmt::format("{}{} always", text.empty() ? "" : "; ", fmt::join(rest, ", "));
  return text;
}

/// The same in a sentence.
std::string conditions_of(int strength) { return strength == 1 ? "single conditions" : combinations_of(strength); }

}  // namespace

const char* combinations_of(int strength) {
  constexpr std::array names{"single", "pairs", "triples", "quadruples"};
  return names[static_cast<std::size_t>(strength - 1)];
}

std::vector<std::string> reach(const judge::Row& row) {
  if (!passes(row)) return {};
  const judge::Reach& reach = row.reach;
  const std::string threads =
      reach.second_thread > 0 ? fmt::format(", {} from a second thread", reach.second_thread) : "";
  std::string faults = row.vacuity.faults > 0 ? fmt::format("{} of {} known faults would show",
                                                            row.vacuity.faults_shown, row.vacuity.faults)
                                              : "";
  if (!reach.never_varied.empty())
    faults += fmt::format("{}never varied: {}", faults.empty() ? "" : "; ", fmt::join(reach.never_varied, ", "));
  std::vector<std::string> lines{fmt::format("{} calls judged{}: {}", reach.calls, threads, would_show(reach))};
  if (!faults.empty()) lines.push_back(faults);
  if (row.regimes.unseen > 0)
    lines.push_back(fmt::format("{} of {} {} were visited only where results that are 1 % off would pass",
                                row.regimes.unseen, row.regimes.visited, conditions_of(row.regimes.strength)));
  return lines;
}

std::vector<std::string> reach(const judge::Report& report) {
  std::vector<const judge::Row*> rows;
  for (const auto& row : report.rows)
    if (passes(row)) rows.push_back(&row);
  if (rows.empty()) return {};
  if (report.rows.size() == 1) return reach(*rows[0]);
  const auto fewest = std::min_element(rows.begin(), rows.end(),
                                       [](const auto* a, const auto* b) { return a->reach.calls < b->reach.calls; });
  const auto hidden = [](const judge::Row* row) { return row->vacuity.faults - row->vacuity.faults_shown; };
  const auto faults = std::count_if(rows.begin(), rows.end(), [&](const auto* row) { return hidden(row) > 0; });
  const auto one_thread =
      std::count_if(rows.begin(), rows.end(), [](const auto* row) { return row->reach.second_thread == 0; });
  std::vector<std::string> lines{
      fmt::format("{} or more calls of each kernel judged: {}", (*fewest)->reach.calls, would_show((*fewest)->reach))};
  if (one_thread > 0) lines.push_back(fmt::format("{} kernels were called from one thread only", one_thread));
  const auto unseen = std::count_if(rows.begin(), rows.end(), [](const auto* row) { return row->regimes.unseen > 0; });
  if (unseen > 0)
    lines.push_back(fmt::format("of {} kernels some {} were visited only where results that are 1 % off would pass",
                                unseen, conditions_of(rows[0]->regimes.strength)));
  if (faults > 0) lines.push_back(fmt::format("of {} kernels some known faults would not show", faults));
  return lines;
}

std::string restricted(const judge::Report& report) {
  if (report.status() != judge::Status::pass) return "";
  if (report.rows.size() == 1) {
    const auto& only = report.rows[0].reach.restricted;
    return only.empty() ? "" : fmt::format(" (restricted: {})", joined(only));
  }
  const auto some = std::count_if(report.rows.begin(), report.rows.end(),
                                  [](const judge::Row& row) { return !row.reach.restricted.empty(); });
  return some == 0 ? "" : fmt::format(" ({} of {} kernels restricted)", some, report.rows.size());
}

}  // namespace attest::report
