// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attest/judge/bank.hpp"
#include "attest/judge/stages.hpp"
#include "attest/judge/verdict.hpp"

namespace attest::judge {

/// A known fault that explains what a kernel does.
struct Name {
  std::string fault;
  bool whole = false;    // every case is what the fault's equation gives, within the bounds of a correct kernel of it
  bool failing = false;  // every failing case is; the kernel has the fault under some conditions only
  std::optional<Index> block{};        // with blocks of this length, where it is not that of the cases
  std::vector<std::string> outputs{};  // that have it, where the others are right
  Fit fit{};                           // how well its direction fits
  std::size_t failing_cases = 0;
  std::size_t shown_in_passing = 0;  // cases that pass although the fault would show there
};

/// What is known of a kernel's mistake. A name stands here on evidence alone: every failing case is what it gives, or
/// it explains 95 % of the squared error of the failing cases.
struct Diagnosis {
  std::vector<Name> names;          // the most likely first; empty where no known fault has the evidence
  std::vector<Fit> together;        // faults that have it together, each of them needed
  std::optional<StageName> stage;   // what is done to an intermediate result
  std::optional<Element> first;     // the first wrong element
  std::string query;                // of its case, or of the batch that this is a problem of
  std::string where;                // which rows and columns are wrong, as a sentence
  std::vector<std::string> values;  // what all wrong elements have in common, where nothing has a name

  bool names_something() const { return !names.empty() || !together.empty() || stage.has_value(); }
};

/// Names what is wrong with a kernel that gave these results in golden cases, whose statistics these are where there
/// are any (of gradients there are none), and in problems of regimes in which it failed. Where every element is within
/// its bound: the faults that all of them together show.
Diagnosis diagnose(Bank& bank, const std::vector<Sample>& samples, const std::vector<Sample>& of_regimes,
                   const Statistics& statistics);

/// The same without stages and shares of faults: names whose equation gives every failing case.
Diagnosis name_by_equation(Bank& bank, const std::vector<Sample>& samples, const std::vector<Sample>& of_regimes,
                           const Statistics& statistics);

}  // namespace attest::judge
