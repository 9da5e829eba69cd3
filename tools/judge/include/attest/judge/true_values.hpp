// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attest/golden/case.hpp"
#include "attest/golden/certify.hpp"
#include "attest/judge/cache.hpp"
#include "attest/judge/kernel.hpp"
#include "attest/judge/layout.hpp"
#include "attest/judge/work.hpp"
#include "attest/reference/evaluate.hpp"

namespace attest::judge {

/// Of a batch that costs much, so many problems are judged, and of each no fewer rows than these.
inline constexpr std::size_t kSomeProblems = 3, kFewestRows = 4;

/// What of a batch is judged: so many problems, and rows of each.
struct Plan {
  std::size_t problems, rows;
};

/// Of a large batch (is_large) some 66 rows, of as many problems as the work allows: a head that answers as another one
/// is seen where both are judged.
Plan plan_of_large(std::size_t problems, const ScaledCost& cost, const Sizes& sizes, const golden::Profile& profile);

/// Operations of the certificates of a plan, and the most that they may take.
double work_of(const Plan& plan, const ScaledCost& cost, const Sizes& sizes);
double most_of_large(const golden::Profile& profile);

/// The form that a kernel says it has, where the error model leaves it out as unstable: its bounds are the kernel's.
std::string unstable_form(const Kernel& kernel);

/// What is true of one problem of a batch: of its outputs some rows, or all.
struct TrueProblem {
  std::size_t at = 0;            // in the batch
  reference::WantedRows rows{};  // of sizes that are not here, all rows
  golden::Certified certified{};

  /// The judged rows of what a kernel gave.
  Arrays judged(const Problem& problem, const Arrays& got) const;
  /// The place of an element of judged rows in the whole output.
  std::vector<Index> place(const Spec& spec, const std::string& result, std::vector<Index> at_judged) const;
};

/// A batch that was drawn, and the true values by which it is judged: of every problem while that costs little, then of
/// the first, the last and others; whole, or of the first, the last and other rows.
struct TrueBatch {
  golden::Case name;  // with the seed for which the inputs fulfil what the equation asks of them
  Batch drawn{};
  std::vector<TrueProblem> judged{};
};

/// What is true of those rows of a problem that is one of a batch; nothing where that cannot be known.
std::optional<TrueProblem> true_rows(const Problem& problem, std::size_t at, const reference::WantedRows& rows,
                                     const Kernel& kernel, const golden::Profile& profile);

/// What a batch shows of a kernel whose results are off by 1 %, or by 64 units in the last place of the storage format:
/// nothing where all right results are zeros or not finite, nothing either where that is within the bounds.
enum class WhatIsOff { zeros, within_bounds, shown };
WhatIsOff what_is_off(const TrueBatch& batch, const Spec& spec, const golden::Profile& profile);

/// True values of batches, kept for the other kernels of an equation and computed on all cores.
class TrueValues {
public:
  /// Operations of the error model that all rows of a batch may take; where they take more, some rows are judged.
  static constexpr double kOperations = 5.0e5;

  /// The cache keeps them from run to run; null: nothing does.
  explicit TrueValues(Cache* cache, double operations = kOperations) : cache_(cache), operations_(operations) {}

  /// By what a cache keeps a batch.
  static std::string key_of(const golden::Case& c, const Kernel& kernel, const golden::Profile& profile);

  /// Computes what is not known yet.
  void prepare(const std::vector<golden::Case>& cases, const Kernel& kernel, const golden::Profile& profile);
  /// Null where no inputs could be drawn and certified.
  std::shared_ptr<const TrueBatch> of(const golden::Case& c, const Kernel& kernel, const golden::Profile& profile);

private:
  struct Attempt;

  std::string key_with_plan(const golden::Case& c, const Kernel& kernel, const golden::Profile& profile) const;

  /// Gives attempts whose inputs are binary32 numbers the bounds of profile f32, where its units are larger: they hold.
  void take_bounds(std::vector<std::unique_ptr<Attempt>>& open, const Kernel& kernel, const golden::Profile& profile);

  /// Takes from the cache what it has, but for some that are computed again and compared.
  void restore(std::vector<std::unique_ptr<Attempt>>& open, const Kernel& kernel);
  /// Of a batch that was computed; null where there are no true values.
  void keep(const Attempt& attempt, const TrueBatch* batch, const golden::Profile& profile);

  Cache* cache_;
  double operations_;
  const Spec* spec_ = nullptr;
  std::map<std::string, std::shared_ptr<const TrueBatch>> known_;
};

}  // namespace attest::judge
