// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "attest/golden/profile.hpp"
#include "attest/judge/cache.hpp"
#include "attest/judge/statistics.hpp"

/// The precision in which a kernel that passes holds its intermediate results, as far as its errors show it.
///
/// Let b_i be what a kernel gives that computes by a form and holds nothing in a lower format than its arithmetic, h_i
/// what it gives when it holds one stage in a format, and d_i = (h_i - b_i) / sigma_i, r_i = (got_i - b_i) / sigma_i.
/// Rounding a stage gives the same errors d whenever the inputs are the same, so that c = <r, d> / <d, d> is about 1
/// where the kernel holds the stage in that format and about 0 where it holds it in a finer one.
namespace attest::judge {

struct StagePrecision {
  std::string place;                 // a label of a stage, or "factors of products"
  std::string format;                // in which it is held, or than which it is finer
  std::vector<std::string> alike{};  // other places whose rounding gives the same results in these cases
};

struct Precision {
  std::string form;  // of the reference, that comes nearest to what the kernel gives
  std::vector<StagePrecision> held, finer;
  std::vector<std::string> untold;  // stages whose rounding does not show in these cases

  /// "weights held in bfloat16; scores, denominators finer than binary16; not seen: gate"; empty where there are no
  /// stages.
  std::string text() const;
};

/// The precisions that some of the samples show, of a value kernel whose answers are right. The cache keeps what the
/// same answers to the same cases showed; null: nothing does.
Precision precision_of(const std::vector<Sample>& samples, const golden::Profile& profile, Cache* cache = nullptr);

}  // namespace attest::judge
