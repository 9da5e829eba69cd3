// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attest/judge/diagnosis.hpp"
#include "attest/judge/precision.hpp"
#include "attest/judge/reach.hpp"
#include "attest/judge/statistics.hpp"
#include "attest/judge/vacuity.hpp"
#include "attest/judge/verdict.hpp"
#include "attest/judge/weight_map.hpp"

namespace attest::judge {

/// `waived` is of a kernel whose every failure a waiver covers.
enum class Status { pass, fail, crashed, invalid, waived };

/// "PASS", "FAIL", "CRASH", "INVALID", "WAIVED".
std::string_view name(Status status);

/// Exit status of a command that ends with this verdict: 0 pass or waived, 1 fail, 3 crashed, hung or invalid.
int exit_code(Status status);

/// The verdict on one case (or one batch of cases) or one law.
struct Finding {
  Status status = Status::pass;
  std::string query;    // reproduces it
  std::string message;  // why it did not pass; empty when it passed
  /// That found it: "T0" contract, "T1" exact, "T2" bound, "T3" statistics, "law", "vacuity", "refusal".
  std::string tier;
  std::string group;                    // key in Row::groups
  std::optional<std::size_t> waiver{};  // that covers it, in Report::waivers

  /// The status, or Status::waived.
  Status counted() const { return waiver ? Status::waived : status; }
};

/// Tier of a finding about a call that was refused.
inline constexpr const char* kRefusal = "refusal";

/// Counts of one group of judgements: the cases of one flag, "regimes", "laws", "statistics", "contract".
struct Group {
  int judged = 0, passed = 0, skipped = 0;
};

/// The kernel that a row is about, and the profile that it was judged by.
struct KernelId {
  std::string equation, form, reading, dtype, profile, layout, capabilities;

  /// "linear.causal two_level gradient".
  std::string title() const;
};

struct CaseCounts {
  int judged = 0, passed = 0;
  int stored = 0, drawn = 0;              // of the cases: from the golden file, or certified on the fly
  std::map<std::string, int> left_out{};  // cases by reason: "precision", "capability causal == true", "form n > 1",
                                          // "no gradient", "zeros would pass", "limit of cases", "flag"

  int skipped() const;
};

struct LawCounts {
  int judged = 0, held = 0;
  int not_applicable = 0;  // to any problem that was drawn
};

/// Calls at one level of an axis of the regimes.
struct LevelCounts {
  std::string text;  // "2 to 13"
  int judged = 0, passed = 0;
};

struct AxisCounts {
  std::string name;
  std::vector<LevelCounts> levels;
};

/// Combinations of a level of one axis with one of another.
struct PairCounts {
  std::size_t first = 0, second = 0;  // axes
  std::size_t all = 0, possible = 0, visited = 0;
};

/// Conditions that were brought together, any `strength` axes of them at a time.
struct RegimeCounts {
  int strength = 0;
  int judged = 0, passed = 0;                                // settings, each a call with a batch
  std::size_t visited = 0, possible = 0;                     // combinations
  std::map<std::string, std::vector<std::string>> excluded;  // combinations, by the condition that excludes them
  std::vector<std::string> not_visited;                      // the first of the combinations that are possible
  std::size_t left_out = 0;                                  // of the possible ones, by the limit on shapes
  int whole = 0;                                             // outputs of real size that our kernel saw whole
  std::size_t unseen = 0;                                    // visited, but never where a kernel 1 % off would show
  std::vector<std::string> shown_nowhere;                    // the first of these
  std::string fails_when;                                    // the condition under which it fails, found by more calls:
  int condition_calls = 0;                                   // so many; without any part of it the kernel passes
  std::vector<AxisCounts> axes;
  std::vector<PairCounts> pairs;  // of every two axes, where the strength is 2
};

/// Calls that a kernel refused, returning an error or throwing, although its capabilities allow them.
struct Refusals {
  int cases = 0, regimes = 0, answered = 0;
  std::string message, query;  // of the first
  std::string condition;       // a capability that says so; empty where none was found
  int left = 0, excluded = 0;  // refused calls that the condition allows, answered ones that it excludes
};

/// Errors of all elements that were compared.
struct Errors {
  Index elements = 0;
  Element worst;            // largest error / bound, also when everything passes
  std::string worst_query;  // of its case; empty when nothing was compared
  ErrorMaps maps;           // of the cases

  void add(const Comparison& comparison, const std::string& query);
};

/// The end of a run before all was judged.
struct EarlyEnd {
  std::string by;   // "budget", "interrupt"; empty when everything was run
  int not_run = 0;  // cases and laws
};

/// The verdict on one kernel.
struct Row {
  KernelId kernel;
  CaseCounts cases;
  LawCounts laws;
  RegimeCounts regimes;
  RegimeCounts real;  // at real sizes
  Refusals refusals;
  Errors errors;
  EarlyEnd early_end;
  std::map<std::string, Group> groups;
  std::vector<Finding> failures;
  std::vector<std::string> notes;  // observations that a user should know and that are no fault
  Statistics statistics;           // of a value kernel
  Vacuity vacuity;                 // of a value kernel's cases
  Diagnosis diagnosis;             // of what failed
  Precision precision;             // of the stages of a value kernel that passed
  std::optional<WeightMap> map;    // of a value kernel that failed, where its equation has one
  Reach reach;                     // what the run could have seen
  Status status = Status::pass;

  /// Whether everything was run that the options ask for, but for the time and the shapes that they allow.
  bool is_whole() const { return early_end.by.empty() && regimes.left_out + real.left_out == 0; }

  /// Whether nothing worse was found than calls that were refused.
  bool only_refusals() const;

  /// Sets the status: the worst of the failures, crashed before fail before invalid before waived.
  void conclude();
};

/// Failures that are known and accepted until a day. Read and applied by waivers.hpp.
struct Waiver {
  std::string kernel = "*", equation = "*", profile = "*";  // globs
  std::string condition{};                                  // on the failing case; empty: any
  std::string reason{};
  std::string expires{};  // the last day on which it holds: "2027-03-31"
  std::string file{};
  int line = 0;
  int failures = 0;                     // that it covers
  std::vector<std::string> problems{};  // why it should not be there any more, as sentences
};

/// Where people can look at a candidate.
struct Place {
  std::string file{};  // empty: nowhere
  int line = 0;        // 0: the file as a whole
};

struct Report {
  std::string candidate, version;
  std::vector<Row> rows;
  std::vector<Waiver> waivers{};
  Place place{};

  /// The worst of the rows, crashed before fail before invalid; invalid where there is none. A waived row counts as one
  /// that passes. A waiver with a problem is a failure.
  Status status() const;
};

}  // namespace attest::judge
