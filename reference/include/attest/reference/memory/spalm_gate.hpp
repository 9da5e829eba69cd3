// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "attest/reference/infini/gate.hpp"
#include "attest/spec/memory/spalm_gate.hpp"

namespace attest::reference::memory::spalm_gate {

using In = attest::spec::memory::spalm_gate::In<Number>;
using Out = attest::spec::memory::spalm_gate::Out<Number>;
using infini::gate::gate_of;
using infini::gate::mixed;

/// y_i . h
inline Vector logits(const In& in) { return stage("logits", product(in.y, in.h)); }

/// Writes what is asked for.
inline void write(const View<Number, 1>& to, const Vector& x) {
  for (const Index i : wanted(to)) to(i) = x(i);
}

/// m = sum_i a_i y_i, g = sigma(w_g . h), z = (1 - g) m + g h, p = softmax(w z); `weights` and `distribution` are two
/// softmaxes.      [Yogatama et al. 2021, section 2.2]
template <class A, class P>
void gated(const In& in, const Out& out, A&& weights, P&& distribution) {
  const Number g = gate_of(dot(in.w_g, in.h));
  const auto m = stage("retrieved", product(weights(logits(in)), in.y));
  const auto z = tabulate(m.extent(), [&](Index a) { return mixed(g, in.h(a), m(a)); });
  write(out.z, z);
  write(out.p, distribution(stage("word logits", product(in.w, z))));
}

/// e^x_j / sum_t e^x_t
inline Vector as_written(const Vector& x) {
  const auto e = stage("exponentials", tabulate(x.extent(), [&](Index t) { return exp(x(t)); }));
  const Number sum_of_e = stage("denominator", sum(e));
  return tabulate(e.extent(), [&](Index t) { return e(t) / sum_of_e; });
}

inline void direct(const In& in, const Out& out) {
  gated(in, out, [](const Vector& x) { return stage("weights", as_written(x)); }, as_written);
}

/// The same with the largest logit subtracted.
inline void attention(const In& in, const Out& out) {
  gated(
      in, out, [](const Vector& x) { return reference::attention::softmax::shifted(x).first; },
      [](const Vector& x) { return reference::attention::softmax::result(x).first; });
}

}  // namespace attest::reference::memory::spalm_gate
