// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "attest/spec/attention/softmax_one.hpp"

namespace attest::reference::attention::softmax_one {

using attest::spec::attention::softmax_one::In;
using attest::spec::attention::softmax_one::Out;

/// S_r, in ascending order.
template <class T>
std::vector<Index> visible(const In<T>& in, Index r) { return softmax::visible(softmax::In<T>{.x = in.x, .mask = in.mask}, r); }

/// What every form does with a row: zero weights where invisible, `weights(logits)` elsewhere.
template <class T, class F>
void each_row(const In<T>& in, const Out<T>& out, F&& weights) {
  const auto [rows, s] = in.x.extents();
  for (Index r = 0; r < rows; ++r) {
    const auto keys = visible(in, r);
    const auto a = weights(tabulate(static_cast<Index>(keys.size()), [&](Index t) { return T(in.x(r, keys[static_cast<std::size_t>(t)])); }));
    for (Index j = 0; j < s; ++j) out.a(r, j) = T(0);
    for (Index t = 0; t < a.extent(); ++t) out.a(r, keys[static_cast<std::size_t>(t)]) = a(t);
  }
}

/// The logits and one more, 0: that of a key of zeros.
template <class T>
Vector<T> with_virtual_token(const Vector<T>& x) {
  return tabulate(x.extent() + 1, [&](Index t) { return t < x.extent() ? x(t) : T(0); });
}

/// e^(x_j - m) / (one + sum_t e^(x_t - m))
template <class T>
Vector<T> weights(const Vector<T>& x, const T& m, const T& one) {
  const auto e = tabulate(x.extent(), [&](Index t) { return exp(x(t) - m); });
  const T z = one + sum(x.extent(), [&](Index t) { return e(t); });
  return tabulate(x.extent(), [&](Index t) { return e(t) / z; });
}

/// a_rj = e^x_rj / (1 + sum_{t in S_r} e^x_rt)      [Xiao et al. 2023, eq. 2]
template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](const Vector<T>& x) {
    const auto e = tabulate(x.extent(), [&](Index t) { return exp(x(t)); });
    const T z = T(1) + sum(x.extent(), [&](Index t) { return e(t); });
    return tabulate(x.extent(), [&](Index t) { return e(t) / z; });
  });
}

/// e^(x_j - m) / (e^-m + sum_t e^(x_t - m)),  m = max(0, max_t x_t)
template <class T>
void stable(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](const Vector<T>& x) {
    const auto all = with_virtual_token(x);
    const T m = pivot_max(all.extent(), [&](Index t) { return all(t); });
    return weights(x, m, T(exp(-m)));
  });
}

/// softmax([x, 0]) without its last weight      [the key of zeros of Xiao et al. 2023]
template <class T>
void virtual_token(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](const Vector<T>& x) {
    const auto a = softmax::shifted(with_virtual_token(x)).first;
    return tabulate(x.extent(), [&](Index t) { return a(t); });
  });
}

/// softmax(x) sigma(lse(x)), since e^lse / (1 + e^lse) = sigma(lse)
template <class T>
void sigmoid_gate(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](const Vector<T>& x) {
    if (x.extent() == 0) return x;
    const auto [a, lse] = softmax::shifted(x);
    const T gate = sigmoid(lse);
    return tabulate(x.extent(), [&, &weight = a](Index t) { return weight(t) * gate; });
  });
}

}  // namespace attest::reference::attention::softmax_one
