// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>

#include "attest/golden/certify.hpp"
#include "attest/golden/profile.hpp"
#include "attest/golden/store.hpp"
#include "attest/judge/error_map.hpp"

namespace attest::judge {

/// One element against its bound.
struct Element {
  std::string output;
  Index flat = 0;
  std::vector<Index> at;
  double got = 0, expected = 0, error = 0, bound = 0;

  /// error / bound; infinite where nothing but the exact value is right, or where the value is NaN.
  double ratio() const;
  /// "o(3, 1): got 0.25, expected 0.5 +- 1e-7 (error 2.5e+06 of the bound)"
  std::string text() const;
};

/// Comparison of one case with its bounds. It passes when something was compared and nothing failed.
struct Comparison {
  Index compared = 0, failed = 0;
  Element worst;                 // also when everything passes
  std::optional<Element> first;  // the first that failed, row-major, outputs in the spec's order

  bool passed() const { return compared > 0 && failed == 0; }
};

/// By output, or by gradient.
using ErrorMaps = std::map<std::string, ErrorMap>;

/// Tier T2: |got - (hi + lo)| <= sum over channels of unit x bound, for every element of every expected result that
/// `got` must hold. Optional outputs that `got` leaves out are not compared. Where a decision was too close to call, a
/// row may match the alternative instead, as a whole. Written so that NaN fails. Every element is added to `maps` where
/// these are given.
Comparison compare(const Problem& problem, const golden::Certified& certified, const Arrays& got,
                   const golden::Profile& profile, ErrorMaps* maps = nullptr);

/// The outputs that every correct kernel gives bit for bit in this case. A family is exact in the sizes and parameters
/// that its spec lists; a case that was moved to others is judged by its bounds.
std::vector<std::string> exact_outputs(const golden::Case& c);

/// The case with bounds that hold for the profile: as stored, or from the error model run at its units.
///
/// Outputs of an exact family (tier T1) have a bound of eight roundings of the accumulator, 8 u |truth|, and where zero
/// is due 1024 underflows. In a 16-bit format that is less than half a unit in the last place of the output, so that
/// every other bit pattern is rejected; in binary32 and binary64 neighbouring numbers pass, and any other label is
/// rejected.
golden::GoldenCase judged_by(golden::GoldenCase c, const golden::Profile& profile);

}  // namespace attest::judge
