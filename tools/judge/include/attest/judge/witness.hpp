// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include "attest/judge/candidate.hpp"
#include "attest/judge/options.hpp"
#include "attest/reference/evaluate.hpp"
#include "attest/spec.hpp"

namespace attest::judge {

/// Looks at whole outputs at real sizes, where true values of all rows take hours: our OpenMP kernel of the equation in
/// binary64 says in which rows another kernel differs from it. It decides nothing: those rows get true values.
class Witness {
public:
  /// A few rows of each output in which a kernel's results for the problem differ the most from ours: in absolute
  /// terms, beside the largest element of the row, and beside the element itself; by the size that counts the rows.
  /// Nothing where no kernel of ours does the problem.
  std::optional<reference::WantedRows> most_different(const Problem& problem, const Arrays& got,
                                                      const CheckOptions& options);

private:
  const Kernel* kernel_for(const Problem& problem);

  std::unique_ptr<Candidate> openmp_;
  bool missing_ = false;
};

}  // namespace attest::judge
