// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "attest/spec/attention/softmax_one.hpp"

namespace attest::reference::attention::softmax_one {

using In = attest::spec::attention::softmax_one::In<Number>;
using Out = attest::spec::attention::softmax_one::Out<Number>;

/// S_r, in ascending order.
inline std::vector<Index> visible(const In& in, Index r) {
  return softmax::visible(softmax::In{.x = in.x, .mask = in.mask}, r);
}

/// The part of a row that all forms share: zero weights where invisible, `weights(logits)` elsewhere.
template <class F>
void each_row(const In& in, const Out& out, F&& weights) {
  const Index s = in.x.extent(1);
  for (const Index r : wanted(out.a)) {
    const auto keys = visible(in, r);
    const auto a = weights(
        tabulate(static_cast<Index>(keys.size()), [&](Index t) { return in.x(r, keys[static_cast<std::size_t>(t)]); }));
    for (Index j = 0; j < s; ++j) out.a(r, j) = Number(0);
    for (Index t = 0; t < a.extent(); ++t) out.a(r, keys[static_cast<std::size_t>(t)]) = a(t);
  }
}

/// The logits and one more, 0: that of a key of zeros.
inline Vector with_virtual_token(const Vector& x) {
  return tabulate(x.extent() + 1, [&](Index t) { return t < x.extent() ? x(t) : Number(0); });
}

/// e^(x_j - m) / (one + sum_t e^(x_t - m))
inline Vector weights(const Vector& x, const Number& m, const Number& one) {
  const auto e = stage("exponentials", tabulate(x.extent(), [&](Index t) { return softmax::exponential(x(t), m); }));
  const Number z = stage("denominator", one + sum(e));
  return tabulate(x.extent(), [&](Index t) { return e(t) / z; });
}

/// a_rj = e^x_rj / (1 + sum_{t in S_r} e^x_rt)      [Xiao et al. 2023, eq. 2]
inline void direct(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) {
    const auto e = stage("exponentials", tabulate(x.extent(), [&](Index t) { return exp(x(t)); }));
    const Number z = stage("denominator", 1 + sum(e));
    return tabulate(x.extent(), [&](Index t) { return e(t) / z; });
  });
}

/// e^(x_j - m) / (e^-m + sum_t e^(x_t - m)),  m = max(0, max_t x_t)
inline void stable(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) {
    const auto all = with_virtual_token(x);
    const Number m = pivot_max(all.extent(), [&](Index t) { return all(t); });
    return weights(x, m, stage("exponentials", exp(-m)));
  });
}

/// softmax([x, 0]) without its last weight      [the key of zeros of Xiao et al. 2023]
inline void virtual_token(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) {
    const auto a = softmax::result(with_virtual_token(x)).first;
    return tabulate(x.extent(), [&](Index t) { return a(t); });
  });
}

/// softmax(x) sigma(lse(x)), since e^lse / (1 + e^lse) = sigma(lse)
inline void sigmoid_gate(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) {
    if (x.extent() == 0) return x;
    const auto [a, lse] = softmax::shifted(x);
    const Number gate = operand(stage("gate", sigmoid(stage("log-sum-exp", lse))));
    return tabulate(x.extent(), [&, &weight = a](Index t) { return weight(t) * gate; });
  });
}

}  // namespace attest::reference::attention::softmax_one
