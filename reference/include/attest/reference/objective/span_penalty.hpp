// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/objective/span_penalty.hpp"

namespace attest::reference::objective::span_penalty {

using In = attest::spec::objective::span_penalty::In<Number>;
using Out = attest::spec::objective::span_penalty::Out<Number>;
using attest::spec::objective::span_penalty::Reduce;

/// |x|, with derivative 0 at 0
inline Number magnitude(const Number& x) {
  if (is_zero(x)) return Number(0);
  return positive(x) ? x : -x;
}

/// lambda times the mean or the sum of f(h).
template <class F>
void reduced(const In& in, const Out& out, F&& f) {
  const Index heads = in.z.extent(0);
  const Number total = stage("sum of spans", reference::sum(heads, f));
  out.penalty() = parameter(in.coefficient) * (in.reduce == Reduce::mean ? total / Number(heads) : total);
}

/// P = (lambda / H) sum_h |z_h|      [Sukhbaatar et al. 2019, eq. 6]
inline void sum(const In& in, const Out& out) {
  reduced(in, out, [&](Index h) { return magnitude(in.z(h)); });
}

}  // namespace attest::reference::objective::span_penalty
