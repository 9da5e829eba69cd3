// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/objective/ponder_cost.hpp"

namespace attest::reference::objective::ponder_cost {

using In = attest::spec::objective::ponder_cost::In<Number>;
using Out = attest::spec::objective::ponder_cost::Out<Number>;

/// tau sum_i f(n_i, R_i)
template <class F>
void total(const In& in, const Out& out, F&& f) {
  out.cost() =
      parameter(in.tau) *
      stage("sum of costs", sum(in.steps.extent(0), [&](Index i) { return f(Number(in.steps(i)), in.remainders(i)); }));
}

/// P = tau sum_i (n_i + R_i)      [Graves 2016, eq. 13 to 15]
inline void direct(const In& in, const Out& out) {
  total(in, out, [](const Number& n, const Number& r) { return n + r; });
}

}  // namespace attest::reference::objective::ponder_cost
