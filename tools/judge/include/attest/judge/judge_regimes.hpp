// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <filesystem>
#include <vector>

#include "attest/judge/cache.hpp"
#include "attest/judge/contract.hpp"
#include "attest/judge/evaluate.hpp"
#include "attest/judge/options.hpp"
#include "attest/judge/regimes.hpp"
#include "attest/judge/report.hpp"
#include "attest/judge/run_law.hpp"
#include "attest/judge/shown.hpp"
#include "attest/judge/statistics.hpp"
#include "attest/judge/true_values.hpp"
#include "attest/judge/witness.hpp"

namespace attest::judge {

/// What kernels of one run share: bounds and sizes of the problems that laws draw, regimes, true values of their cases,
/// and our own kernels.
struct Known {
  explicit Known(const std::filesystem::path& cache_folder) : cache(cache_folder) {}

  Cache cache;
  LawBounds law_bounds{};
  LawSizes law_sizes{};
  KnownRegimes regimes{&cache};
  TrueValues values{&cache};
  Witness witness{};
};

/// Some small problems of batches in which a kernel was wrong, with what it gave.
struct FailedProblems {
  std::deque<golden::GoldenCase> cases{};
  std::vector<Sample> samples{};
};

/// Judges what a source gives in every regime of the kernel, by contract and bounds; adds counts and failures to the
/// row, with what the failing regimes have in common. To `shown` it adds what they show, where that was too little.
/// At real sizes where the options ask for them, or the kernel can do no others: there some rows are judged, and
/// of one problem of each batch those that our own kernel finds the most different.
void judge_regimes(const Kernel& kernel, const golden::Profile& profile, const Source& source, Known& known,
                   const CheckOptions& options, Shown& shown, FailedProblems& failed, Row& row);

/// Judges one case with a grid, as judge_regimes does.
void judge_grid(const golden::Case& c, const Kernel& kernel, const golden::Profile& profile, const Source& source,
                Known& known, const CheckOptions& options, Row& row);

}  // namespace attest::judge
