// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "attest/array.hpp"

namespace attest::judge {

/// Whether cases can show anything: which wrong answers they betray, and by how many elements.
struct Vacuity {
  Index elements = 0, distinct = 0;  // expected values compared, and different ones among them (at most 1000)
  double nan_share = 0;              // of the elements: expected to be NaN
  double zeros_differ = 0;           // of the elements: 0 is beyond the bound
  double mean_differs = 0;           // of the elements: the mean of the case is beyond the bound
  int faults_shown = 0, faults = 0;  // faults that some element betrays by twice its bound; of all that can occur
  std::vector<std::string> hidden;   // the others of these
  std::string too_little;            // which limit is not met; empty when all are
};

}  // namespace attest::judge
