// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attest/golden/case.hpp"
#include "attest/reference/evaluate.hpp"
#include "attest/spec.hpp"

/// What it costs to call a kernel and to know what is true.
namespace attest::judge {

/// The largest count among the equation's costs, or of the elements of a tensor.
double work_of(const Spec& spec, const Sizes& sizes, const Parameters& parameters);

/// work_of all golden cases: what equations cost beside each other, roughly.
double work_of_cases(const Spec& spec);

/// Whether a problem is of a size at which kernels are shipped, rather than tested: too large to be judged whole.
bool is_large(const Spec& spec, const Sizes& sizes, const Parameters& parameters);

/// Operations of every form that the error model runs, and of the form `also`, for those rows: a multiply-add inside a
/// sum counts as one, anything else as several.
double operations(const Problem& problem, const std::string& also, const reference::WantedRows& rows = {});

/// What the rows of a problem cost in operations: the last one alone, and each one more.
struct CostOfRows {
  double last = 0, each = 0;

  double of(Index rows) const { return last + each * static_cast<double>(rows - 1); }
};

/// The cost of a case, and by which power it grows with each size: each was doubled once, and the cost is taken to go
/// on growing like that.
struct Growth {
  Sizes from{};
  CostOfRows cost{};
  std::map<std::string, CostOfRows> powers{};

  CostOfRows of(const Sizes& sizes) const;
};

/// Of the forms that the error model runs, and of the form `also`. Throws SpecError where the case cannot be drawn.
Growth growth_of(golden::Case from, const std::string& also);

/// What the true values of one problem cost in operations. By work_of, or by the larger of that and the square of the
/// longest sequence, whichever gives less, with the share of them that is there for any row (a state that has seen all
/// tokens before it); or by the growth of some cases, where that gives more.
struct CostOfTruth {
  double by_work = 1, by_work_or_pairs = 1, shared = 0;
  std::vector<Growth> growths{};

  /// Of so many rows; `work` is work_of these sizes.
  double operations(const Spec& spec, const Sizes& sizes, double work, Index rows) const;
};

/// The most that the larger ones of the equation's small golden cases show.
CostOfTruth cost_of_truth(const Spec& spec, const std::string& also);

/// What the true values of large problems cost in operations, from the growth of small ones.
class ScaledCost {
public:
  /// Of the forms that the error model runs, and of the form `also`.
  ScaledCost(const Spec& spec, std::string also) : spec_(&spec), also_(std::move(also)) {}

  /// Of so many rows of one problem; infinity where no small problem like it can be drawn.
  double operations(const Sizes& sizes, std::size_t rows) const;

private:
  const Spec* spec_;
  std::string also_;
  mutable std::map<Sizes, Growth> known_;
};

/// The sizes that count the rows of an output: of as many rows as are judged, the others are not computed.
std::vector<std::string> row_sizes(const Spec& spec);

/// The largest of these sizes; 1 where there are none.
Index rows_of(const Spec& spec, const Sizes& sizes);

}  // namespace attest::judge
