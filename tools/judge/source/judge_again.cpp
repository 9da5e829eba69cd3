// SPDX-License-Identifier: MIT
#include "attest/judge/judge_again.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>

#include "attest/judge/judge_cases.hpp"

namespace attest::judge {
namespace {

constexpr std::size_t kEnough = 3;     // failures, after which nothing is asked again
constexpr std::size_t kLastCases = 4;  // that are asked at the end: the first ones, since when most may have changed
constexpr std::size_t kLastRegimes = 2;

constexpr auto kOtherBits =
    "some cases were answered by other bits later, all within their bounds; 'deterministic == false' says that this "
    "may be";

/// The judgement on answers that come later: a row of its own, whose counts nobody reads.
class Later {
public:
  /// `same_bits`: whether other bits than at first are a failure.
  Later(const Kernel& kernel, const golden::Profile& profile, const Asked& asked, bool same_bits,
        const CheckOptions& options)
      : kernel_(kernel), profile_(profile), asked_(asked), same_bits_(same_bits), options_(options) {
    options_.stop = [this, stop = options.stop] {
      if (failures() >= kEnough) return Stop::budget;
      return stop ? stop() : Stop::no;
    };
  }

  void cases(const Selection& selection, const Source& source) {
    std::vector<Sample> samples;
    judge_cases(kernel_, profile_, selection, source, options_, row_, samples);
  }

  void regimes(const Source& source, Known& known, Shown& shown) {
    FailedProblems failed;
    row_.regimes = row_.real = {};  // each round has its own
    judge_regimes(kernel_, profile_, source, known, options_, shown, failed, row_);
  }

  void regime(const golden::Case& c, const Source& source, Known& known) {
    if (!ended(options_, row_)) judge_grid(c, kernel_, profile_, source, known, options_, row_);
  }

  /// False when enough is known, or time is up.
  bool goes_on() { return !ended(options_, row_) && !gives_up(row_); }

  /// Adds what was found to the row, and how many of the cases to be asked were not, because time is up.
  void report(std::int64_t due, Row& row) const {
    row.failures.insert(row.failures.end(), row_.failures.begin(), row_.failures.end());
    for (const Finding& changed : asked_.changed()) {
      const bool known = std::any_of(row.failures.begin(), row.failures.end(),
                                     [&](const Finding& failure) { return failure.query == changed.query; });
      if (known) continue;
      if (same_bits_)
        row.failures.push_back(changed);
      else if (row.notes.empty() || row.notes.back() != kOtherBits)
        row.notes.push_back(kOtherBits);
    }
    if (failures() >= kEnough || row_.early_end.by.empty()) return;
    row.early_end.by = row_.early_end.by;
    row.early_end.not_run += static_cast<int>(
        std::min<std::int64_t>(due - asked_.replayed(), std::numeric_limits<int>::max() - row.early_end.not_run));
  }

private:
  std::size_t failures() const { return row_.failures.size() + (same_bits_ ? asked_.changed().size() : 0); }

  const Kernel& kernel_;
  const golden::Profile& profile_;
  const Asked& asked_;
  const bool same_bits_;
  CheckOptions options_;
  Row row_;
};

/// Some of many, by a seed.
std::vector<golden::Case> some_of(std::vector<golden::Case> cases, std::size_t most, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < std::min(most, cases.size()); ++i)
    std::swap(cases[i], cases[i + random() % (cases.size() - i)]);
  cases.resize(std::min(most, cases.size()));
  return cases;
}

}  // namespace

void judge_again(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, const Selection& selection,
                 Asked& asked, Known& known, const CheckOptions& options, Shown& shown, Row& row) {
  if (!row.failures.empty() || !row.early_end.by.empty()) return;
  // Libraries of an interpreter compile a function again as they see other shapes, and then round in another order.
  Later later(kernel, profile, asked, candidate.host().places_outputs(), options);
  const auto regimes = some_of(asked.grids(), kLastRegimes, options.seed);
  const std::size_t last_cases = std::min(kLastCases, selection.cases.size());
  const auto due = (options.repeat - 1) * static_cast<std::int64_t>(selection.cases.size() + asked.grids().size()) +
                   static_cast<std::int64_t>(last_cases + regimes.size());
  const Source calls = asked.again(calls_of(candidate, kernel, profile, options));
  const Source regime_calls = asked.again(regime_calls_of(candidate, kernel, profile, options));
  for (int round = 1; round < options.repeat && later.goes_on(); ++round) {
    later.cases(selection, calls);
    if (later.goes_on()) later.regimes(regime_calls, known, shown);
  }
  const Source last = asked.again(last_calls_of(candidate, kernel, profile, options));
  if (later.goes_on()) {
    Selection first;
    first.cases.assign(selection.cases.begin(), selection.cases.begin() + static_cast<std::ptrdiff_t>(last_cases));
    later.cases(first, last);
  }
  for (const auto& regime : regimes)
    if (later.goes_on()) later.regime(regime, last, known);
  later.report(due, row);
}

}  // namespace attest::judge
