// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attest/reference/evaluate.hpp"
#include "attest/spec.hpp"

/// What it costs to call a kernel and to know what is true.
namespace attest::judge {

/// The largest count among the equation's costs, or of the elements of a tensor.
double work_of(const Spec& spec, const Sizes& sizes, const Parameters& parameters);

/// Whether a problem is of a size at which kernels are shipped, rather than tested: too large to be judged whole.
bool is_large(const Spec& spec, const Sizes& sizes, const Parameters& parameters);

/// Operations of every form that the error model runs, and of the form `also`, for those rows: a multiply-add inside a
/// sum counts as one, anything else as several.
double operations(const Problem& problem, const std::string& also, const reference::WantedRows& rows = {});

/// What the true values of one problem cost: operations by work_of, or by the larger of that and the square of the
/// longest sequence, whichever gives less; and the share of them that is there for any row (a state that has seen all
/// tokens before it).
struct CostOfTruth {
  double by_work = 1, by_work_or_pairs = 1, shared = 0;

  double operations(const Spec& spec, const Sizes& sizes) const;
};

/// The most that the larger ones of the equation's small golden cases show.
CostOfTruth cost_of_truth(const Spec& spec, const std::string& also);

/// What the true values of large problems cost in operations, from small ones: each size is doubled once, and the cost
/// taken to go on growing by the same power of it.
class ScaledCost {
public:
  /// Of the forms that the error model runs, and of the form `also`.
  ScaledCost(const Spec& spec, std::string also) : spec_(&spec), also_(std::move(also)) {}

  /// Of so many rows of one problem; infinity where no small problem like it can be drawn.
  double operations(const Sizes& sizes, std::size_t rows) const;

private:
  struct Cost {
    double last = 0, each = 0;  // of the last row alone, of each one more
  };
  struct Growth {
    Cost small;
    std::map<std::string, std::pair<double, double>> powers;  // of last and each, by size
  };

  Cost of_small(const Sizes& sizes) const;
  Growth growth(const Sizes& small) const;

  const Spec* spec_;
  std::string also_;
  mutable std::map<Sizes, Growth> known_;
};

/// The sizes that count the rows of an output: of as many rows as are judged, the others are not computed.
std::vector<std::string> row_sizes(const Spec& spec);

}  // namespace attest::judge
