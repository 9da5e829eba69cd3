// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/feature_map.hpp"
#include "faults/fault.hpp"

namespace attest::faults::linear::feature_map {

namespace right = attest::reference::linear::feature_map;
using attest::spec::linear::feature_map::Kind;
using right::In;
using right::Out;

/// The equation with another elu_plus_one; the other maps as they are.
template <class F>
void with_elu(const In& in, const Out& out, F&& phi) {
  if (in.kind != Kind::elu_plus_one) return right::branch(in, out);
  right::each_element(in, out, [&](const Number& x) { return phi(x); });
}

/// The equation on other inputs.
inline void with_factor(In in, const Out& out, const Number& factor) {
  const auto x = matrix_of(in.x.extent(0), in.x.extent(1), [&](Index i, Index c) { return factor * in.x(i, c); });
  in.x = x.view();
  right::branch(in, out);
}

inline void elu_without_one(const In& in, const Out& out) {
  with_elu(in, out, [](const Number& x) { return positive(x) ? x : exp(x) - Number(1); });
}

inline void expm1_plus_one(const In& in, const Out& out) {
  with_elu(in, out, [](const Number& x) { return positive(x) ? x + 1 : (exp(x) - Number(1)) + Number(1); });
}

inline void relu_plus_one(const In& in, const Out& out) {
  with_elu(in, out, [](const Number& x) { return positive(x) ? x + 1 : Number(1); });
}

inline void exp_everywhere(const In& in, const Out& out) {
  with_elu(in, out, [](const Number& x) { return exp(x); });
}

inline void alpha_not_one(const In& in, const Out& out) {
  with_elu(in, out, [](const Number& x) { return positive(x) ? x + 1 : Number(0.5) * exp(x) + Number(0.5); });
}

inline void negative_as_positive(const In& in, const Out& out) {
  with_elu(in, out, [](const Number& x) { return positive(x) ? x + 1 : exp(-x); });
}

inline void kind_ignored(const In& in, const Out& out) {
  right::each_element(in, out, [](const Number& x) { return positive(x) ? x + 1 : exp(x); });
}

inline void map_missing(const In& in, const Out& out) {
  right::each_element(in, out, [](const Number& x) { return x; });
}

inline void prescaled(const In& in, const Out& out) { with_factor(in, out, 1 / sqrt(Number(in.x.extent(1)))); }

inline void input_drift(const In& in, const Out& out, const Number& c) { with_factor(in, out, Number(1) + c); }

}  // namespace attest::faults::linear::feature_map
