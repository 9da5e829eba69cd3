// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "attest/golden/store.hpp"

namespace attest::golden {

/// A factor that forms do not reach by another order of summation: over the golden cases of 34 equations 99.5 % of 3485
/// factors are below 21 and none lies between 29 and 328. A form beyond it cancels, or another one is exact where it
/// rounds.
inline constexpr double kWide = 64;

/// How wide one form makes the bounds of a case, which are the largest over its modelled forms.
struct Width {
  std::string form, narrowest, result;  // result: "o", "gradient.q"
  double factor = 1;                    // the form's bounds of that result, added up, over those of the narrowest form
};

/// Of every modelled form its largest factor over all results of the case, in binary32; 1 where it is the narrowest of
/// all results.
std::vector<Width> widths(const Problem& problem, const Arrays& cotangents);

/// A form that makes the bounds of some golden cases wide.
struct WideForm {
  Width worst;
  std::string query;           // of the worst case
  int wide = 0, modelled = 0;  // cases: beyond kWide, and those that the form is modelled in

  /// "form 'a' makes the bounds of 3 of 29 cases wide, up to 1.2e+31 times those of form 'b' (gradient.x in ...)"
  std::string text() const;
};

/// The forms of an equation beyond kWide in any of its golden cases.
std::vector<WideForm> wide_forms(const Spec& spec);

}  // namespace attest::golden
