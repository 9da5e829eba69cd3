// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax_one.hpp"
#include "faults/variant.hpp"

namespace attest::faults::attention::softmax_one {

namespace right = attest::reference::attention::softmax_one;
namespace softmax = attest::reference::attention::softmax;
using right::In;
using right::Out;
using right::weights;
using right::with_virtual_token;

/// The equation on other logits: x_rj = f(r, j).
template <class T, class F>
void with_logits(In<T> in, const Out<T>& out, F&& f) {
  const auto x = matrix_of<T>(in.x.extent(0), in.x.extent(1), f);
  in.x = read_only(x);
  right::virtual_token(in, out);
}

/// The equation under another mask.
template <class T, class F>
void with_mask(In<T> in, const Out<T>& out, F&& f) {
  const Mask mask(in.x.extent(0), in.x.extent(1), f);
  in.mask = mask.view();
  right::virtual_token(in, out);
}

template <class T>
bool sees(const In<T>& in, Index r, Index j) { return !in.mask || in.mask(r, j); }

template <class T>
T largest(const Vector<T>& x) {
  return pivot_max(x.extent(), [&](Index t) { return x(t); });
}

/// e^(x_j - lse), lse over the visible logits and `others` zeros.
template <class T, class F>
void with_zeros(const In<T>& in, const Out<T>& out, F&& others) {
  right::each_row(in, out, [&](const Vector<T>& x) {
    const Index n = x.extent();
    const auto a = softmax::shifted(tabulate(n + others(n), [&](Index t) { return t < n ? x(t) : T(0); })).first;
    return tabulate(n, [&](Index t) { return a(t); });
  });
}

template <class T>
void one_after_shift(const In<T>& in, const Out<T>& out) {
  right::each_row(in, out, [](const Vector<T>& x) { return x.extent() == 0 ? x : weights(x, largest(x), T(1)); });
}

template <class T>
void plus_one_per_key(const In<T>& in, const Out<T>& out) {
  with_zeros(in, out, [](Index n) { return std::max<Index>(n, 1); });
}

template <class T>
void plus_one_per_tile(const In<T>& in, const Out<T>& out) {
  with_zeros(in, out, [](Index n) { return (n + 7) / 8 + (n == 0); });
}

template <class T>
void virtual_logit_one(const In<T>& in, const Out<T>& out) {
  right::each_row(in, out, [](const Vector<T>& x) {
    const Index n = x.extent();
    const auto a = softmax::shifted(tabulate(n + 1, [&](Index t) { return t < n ? x(t) : T(1); })).first;
    return tabulate(n, [&](Index t) { return a(t); });
  });
}

template <class T>
void padding_counted(const In<T>& in, const Out<T>& out) {
  with_zeros(in, out, [padding = (8 - in.x.extent(1) % 8) % 8](Index) { return 1 + padding; });
}

template <class T>
void renormalised(const In<T>& in, const Out<T>& out) {
  right::each_row(in, out, [](const Vector<T>& x) { return x.extent() == 0 ? x : softmax::shifted(x).first; });
}

template <class T>
void shift_without_zero(const In<T>& in, const Out<T>& out) {
  right::each_row(in, out, [](const Vector<T>& x) {
    if (x.extent() == 0) return x;
    const T m = largest(x);
    return weights(x, m, T(exp(-m)));
  });
}

template <class T>
void plus_one_in_numerator(const In<T>& in, const Out<T>& out) {
  right::each_row(in, out, [](const Vector<T>& x) {
    const auto a = softmax::shifted(with_virtual_token(x)).first;
    return tabulate(x.extent(), [&](Index t) { return T(a(t) + a(x.extent())); });
  });
}

template <class T>
void no_shift(const In<T>& in, const Out<T>& out) { right::direct(in, out); }

template <class T>
void max_includes_masked(const In<T>& in, const Out<T>& out) {
  const T m = pivot_max(in.x.extent(0) * in.x.extent(1), [&](Index t) { return T(in.x(t / in.x.extent(1), t % in.x.extent(1))); });
  right::each_row(in, out, [&](const Vector<T>& x) { return weights(x, m, T(exp(-m))); });
}

template <class T>
void wrong_axis(const In<T>& in, const Out<T>& out) {
  for (Index j = 0; j < in.x.extent(1); ++j) {
    const auto column = tabulate(in.x.extent(0), [&](Index r) { return T(in.x(r, j)); });
    const T lse = softmax::shifted(with_virtual_token(column)).second;
    for (Index r = 0; r < in.x.extent(0); ++r) out.a(r, j) = sees(in, r, j) ? T(exp(in.x(r, j) - lse)) : T(0);
  }
}

template <class T>
void masked_in_sum(const In<T>& in, const Out<T>& out) {
  In<T> all = in;
  all.mask = {};
  right::virtual_token(all, out);
  for (Index r = 0; r < in.x.extent(0); ++r)
    for (Index j = 0; j < in.x.extent(1); ++j)
      if (!sees(in, r, j)) out.a(r, j) = T(0);
}

template <class T>
void mask_inverted(const In<T>& in, const Out<T>& out) {
  with_mask(in, out, [&](Index r, Index j) { return !in.mask || !in.mask(r, j); });
}

template <class T>
void mask_ignored(const In<T>& in, const Out<T>& out) {
  with_mask(in, out, [](Index, Index) { return true; });
}

/// NaN in the rows that `broken(visible entries)` points at.
template <class T, class F>
void nan_where(const In<T>& in, const Out<T>& out, F&& broken) {
  right::virtual_token(in, out);
  for (Index r = 0; r < in.x.extent(0); ++r)
    for (Index j = 0; broken(static_cast<Index>(right::visible(in, r).size())) && j < in.x.extent(1); ++j) out.a(r, j) = not_a_number<T>();
}

template <class T>
void mask_plus_infinity(const In<T>& in, const Out<T>& out) {
  nan_where(in, out, [s = in.x.extent(1)](Index seen) { return seen < s; });
}

template <class T>
void empty_row_nan(const In<T>& in, const Out<T>& out) {
  nan_where(in, out, [](Index seen) { return seen == 0; });
}

template <class T>
void last_dropped(const In<T>& in, const Out<T>& out) {
  with_mask(in, out, [&](Index r, Index j) { return sees(in, r, j) && j != right::visible(in, r).back(); });
}

template <class T>
void base2(const In<T>& in, const Out<T>& out) {
  with_logits(in, out, [&, ln_2 = ln2<T>()](Index r, Index j) { return in.x(r, j) * ln_2; });
}

template <class T>
void logits_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_logits(in, out, [&](Index r, Index j) { return in.x(r, j) * (T(1) + c); });
}

}  // namespace attest::faults::attention::softmax_one
