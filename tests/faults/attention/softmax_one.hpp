// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax_one.hpp"
#include "faults/fault.hpp"

namespace attest::faults::attention::softmax_one {

namespace right = attest::reference::attention::softmax_one;
namespace softmax = attest::reference::attention::softmax;
using right::In;
using right::Out;
using right::weights;
using right::with_virtual_token;

/// The equation on other logits: x_rj = f(r, j).
template <class F>
void with_logits(In in, const Out& out, F&& f) {
  const auto x = matrix_of(in.x.extent(0), in.x.extent(1), f);
  in.x = read_only(x);
  right::virtual_token(in, out);
}

/// The equation under another mask.
template <class F>
void with_mask(In in, const Out& out, F&& f) {
  const Mask mask(in.x.extent(0), in.x.extent(1), f);
  in.mask = mask.view();
  right::virtual_token(in, out);
}

inline bool sees(const In& in, Index r, Index j) { return !in.mask || in.mask(r, j); }

inline Number largest(const Vector& x) {
  return pivot_max(x.extent(), [&](Index t) { return x(t); });
}

/// e^(x_j - lse), lse over the visible logits and `others` zeros.
template <class F>
void with_zeros(const In& in, const Out& out, F&& others) {
  right::each_row(in, out, [&](const Vector& x) {
    const Index n = x.extent();
    const auto a = softmax::shifted(tabulate(n + others(n), [&](Index t) { return t < n ? x(t) : Number(0); })).first;
    return tabulate(n, [&](Index t) { return a(t); });
  });
}

inline void one_after_shift(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& x) { return x.extent() == 0 ? x : weights(x, largest(x), Number(1)); });
}

inline void plus_one_per_key(const In& in, const Out& out) {
  with_zeros(in, out, [](Index n) { return std::max<Index>(n, 1); });
}

inline void plus_one_per_tile(const In& in, const Out& out) {
  with_zeros(in, out, [](Index n) { return (n + 7) / 8 + (n == 0); });
}

inline void virtual_logit_one(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& x) {
    const Index n = x.extent();
    const auto a = softmax::shifted(tabulate(n + 1, [&](Index t) { return t < n ? x(t) : Number(1); })).first;
    return tabulate(n, [&](Index t) { return a(t); });
  });
}

inline void padding_counted(const In& in, const Out& out) {
  with_zeros(in, out, [padding = (8 - in.x.extent(1) % 8) % 8](Index) { return 1 + padding; });
}

inline void renormalised(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& x) { return x.extent() == 0 ? x : softmax::shifted(x).first; });
}

inline void shift_without_zero(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& x) {
    if (x.extent() == 0) return x;
    const Number m = largest(x);
    return weights(x, m, exp(-m));
  });
}

inline void plus_one_in_numerator(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& x) {
    const auto a = softmax::shifted(with_virtual_token(x)).first;
    return tabulate(x.extent(), [&](Index t) { return a(t) + a(x.extent()); });
  });
}

inline void no_shift(const In& in, const Out& out) { right::direct(in, out); }

inline void max_includes_masked(const In& in, const Out& out) {
  const Number m =
      pivot_max(in.x.extent(0) * in.x.extent(1), [&](Index t) { return in.x(t / in.x.extent(1), t % in.x.extent(1)); });
  right::each_row(in, out, [&](const Vector& x) { return weights(x, m, exp(-m)); });
}

inline void wrong_axis(const In& in, const Out& out) {
  for (Index j = 0; j < in.x.extent(1); ++j) {
    const auto column = tabulate(in.x.extent(0), [&](Index r) { return in.x(r, j); });
    const Number lse = softmax::log_sum_exp(with_virtual_token(column));
    for (Index r = 0; r < in.x.extent(0); ++r) out.a(r, j) = sees(in, r, j) ? exp(in.x(r, j) - lse) : Number(0);
  }
}

inline void masked_in_sum(const In& in, const Out& out) {
  In all = in;
  all.mask = {};
  right::virtual_token(all, out);
  for (Index r = 0; r < in.x.extent(0); ++r)
    for (Index j = 0; j < in.x.extent(1); ++j)
      if (!sees(in, r, j)) out.a(r, j) = Number(0);
}

inline void mask_inverted(const In& in, const Out& out) {
  with_mask(in, out, [&](Index r, Index j) { return !in.mask || !in.mask(r, j); });
}

inline void mask_ignored(const In& in, const Out& out) {
  with_mask(in, out, [](Index, Index) { return true; });
}

/// NaN in the rows that `broken(visible entries)` points at.
template <class F>
void nan_where(const In& in, const Out& out, F&& broken) {
  right::virtual_token(in, out);
  for (Index r = 0; r < in.x.extent(0); ++r)
    for (Index j = 0; broken(static_cast<Index>(right::visible(in, r).size())) && j < in.x.extent(1); ++j)
      out.a(r, j) = not_a_number();
}

inline void mask_plus_infinity(const In& in, const Out& out) {
  nan_where(in, out, [s = in.x.extent(1)](Index seen) { return seen < s; });
}

inline void empty_row_nan(const In& in, const Out& out) {
  nan_where(in, out, [](Index seen) { return seen == 0; });
}

inline void last_dropped(const In& in, const Out& out) {
  with_mask(in, out, [&](Index r, Index j) { return sees(in, r, j) && j != right::visible(in, r).back(); });
}

inline void base2(const In& in, const Out& out) {
  with_logits(in, out, [&, ln_2 = ln2()](Index r, Index j) { return in.x(r, j) * ln_2; });
}

inline void logits_drift(const In& in, const Out& out, const Number& c) {
  with_logits(in, out, [&](Index r, Index j) { return in.x(r, j) * (Number(1) + c); });
}

}  // namespace attest::faults::attention::softmax_one
