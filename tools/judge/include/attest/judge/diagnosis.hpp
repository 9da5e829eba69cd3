// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attest/judge/bank.hpp"
#include "attest/judge/verdict.hpp"

namespace attest::judge {

/// A known fault that explains what a kernel does.
struct Name {
  std::string fault;
  bool whole = false;    // every case is what the fault's equation gives, within the bounds of a correct kernel of it
  bool failing = false;  // every failing case is; the kernel has the fault under some conditions only
  Fit fit;               // how well its direction fits
};

struct Diagnosis {
  std::vector<Name> names;       // the most likely first; empty when no known fault fits
  std::optional<Element> first;  // the first wrong element
  std::string query;             // of its case
  std::string where;             // which rows and columns are wrong, as a sentence
};

/// Names what is wrong with a kernel that gave these outputs; `statistics` are those of the same samples. First the
/// faults whose equation gives every failing case, then those that explain at least a hundredth of the squared error
/// beyond chance, the largest share first.
Diagnosis diagnose(Bank& bank, const std::vector<Sample>& samples, const Statistics& statistics);

}  // namespace attest::judge
