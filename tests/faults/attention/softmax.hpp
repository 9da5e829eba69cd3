// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "faults/variant.hpp"

namespace attest::faults::attention::softmax {

namespace right = attest::reference::attention::softmax;
using right::In;
using right::Out;

/// The equation on other logits: x_rj = f(r, j).
template <class T, class F>
void with_logits(In<T> in, const Out<T>& out, F&& f) {
  const auto x = matrix_of<T>(in.x.extent(0), in.x.extent(1), f);
  in.x = x.view();
  right::max_shift(in, out);
}

/// The equation under another mask.
template <class T, class F>
void with_mask(In<T> in, const Out<T>& out, F&& f) {
  const Mask mask(in.x.extent(0), in.x.extent(1), f);
  in.mask = mask.view();
  right::max_shift(in, out);
}

template <class T>
bool sees(const In<T>& in, Index r, Index j) { return !in.mask || in.mask(r, j); }

/// Weights e^(x_j - lse) where `log_normaliser(x, r)` is not the log-sum-exp.
template <class T, class F>
void normalised_by(const In<T>& in, const Out<T>& out, F&& log_normaliser) {
  Index r = 0;  // each_row visits only rows that see something
  std::vector<Index> rows;
  for (Index i = 0; i < in.x.extent(0); ++i)
    if (!right::visible(in, i).empty()) rows.push_back(i);
  right::each_row(in, out, [&](const Vector<T>& x) {
    const T lse = log_normaliser(x, rows[static_cast<std::size_t>(r++)]);
    return std::pair(tabulate(x.extent(), [&](Index t) { return exp(x(t) - lse); }), lse);
  });
}

template <class T>
void wrong_axis(const In<T>& in, const Out<T>& out) {
  right::max_shift(in, out);
  for (Index j = 0; j < in.x.extent(1); ++j) {
    const T z = sum(in.x.extent(0), [&](Index r) { return sees(in, r, j) ? T(exp(in.x(r, j))) : T(0); });
    for (Index r = 0; r < in.x.extent(0); ++r)
      if (sees(in, r, j)) out.a(r, j) = exp(in.x(r, j)) / z;
  }
}

template <class T>
void no_shift(const In<T>& in, const Out<T>& out) { right::direct(in, out); }

/// Shifted by `m(r, x)`.
template <class T, class F>
void shifted_by(const In<T>& in, const Out<T>& out, F&& m) {
  std::vector<Index> rows;
  for (Index i = 0; i < in.x.extent(0); ++i)
    if (!right::visible(in, i).empty()) rows.push_back(i);
  std::size_t next = 0;
  right::each_row(in, out, [&](const Vector<T>& x) {
    const T shift = m(rows[next++], x);
    const auto e = tabulate(x.extent(), [&](Index t) { return exp(x(t) - shift); });
    const T z = sum(x.extent(), [&](Index t) { return e(t); });
    return std::pair(tabulate(x.extent(), [&](Index t) { return e(t) / z; }), T(shift + log(z)));
  });
}

template <class T>
void max_includes_masked(const In<T>& in, const Out<T>& out) {
  shifted_by(in, out, [&](Index r, const Vector<T>&) { return pivot_max(in.x.extent(1), [&](Index j) { return T(in.x(r, j)); }); });
}

template <class T>
void maximum_from_zero(const In<T>& in, const Out<T>& out) {
  shifted_by(in, out, [&](Index, const Vector<T>& x) {
    const T m = pivot_max(x.extent(), [&](Index t) { return x(t); });
    return approximate(m) > 0 ? m : T(0);
  });
}

template <class T>
void shift_above_maximum(const In<T>& in, const Out<T>& out) {
  shifted_by(in, out, [&](Index, const Vector<T>& x) { return T(pivot_max(x.extent(), [&](Index t) { return x(t); }) + T(1)); });
}

template <class T>
void masked_in_sum(const In<T>& in, const Out<T>& out) {
  normalised_by(in, out, [&](const Vector<T>&, Index r) {
    return right::shifted(tabulate(in.x.extent(1), [&](Index j) { return T(in.x(r, j)); })).second;
  });
}

template <class T>
void base2(const In<T>& in, const Out<T>& out) {
  with_logits(in, out, [&, ln_2 = ln2<T>()](Index r, Index j) { return in.x(r, j) * ln_2; });
}

template <class T>
void additive_one_mask(const In<T>& in, const Out<T>& out) {
  In<T> all = in;
  all.mask = {};
  with_logits(all, out, [&](Index r, Index j) { return in.mask && in.mask(r, j) ? T(in.x(r, j) + T(1)) : T(in.x(r, j)); });
}

template <class T>
void mask_inverted(const In<T>& in, const Out<T>& out) {
  with_mask(in, out, [&](Index r, Index j) { return !in.mask || !in.mask(r, j); });
}

template <class T>
void mask_ignored(const In<T>& in, const Out<T>& out) {
  with_mask(in, out, [](Index, Index) { return true; });
}

template <class T>
void mask_plus_infinity(const In<T>& in, const Out<T>& out) {
  right::max_shift(in, out);
  for (Index r = 0; r < in.x.extent(0); ++r) {
    if (static_cast<Index>(right::visible(in, r).size()) == in.x.extent(1)) continue;
    for (Index j = 0; j < in.x.extent(1); ++j) out.a(r, j) = not_a_number<T>();
    out.lse(r) = not_a_number<T>();
  }
}

template <class T>
void empty_row_mean(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.empty_row = "mean";
  right::max_shift(other, out);
}

template <class T>
void empty_row_nan(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.empty_row = "nan";
  right::max_shift(other, out);
}

template <class T>
void padding_counted(const In<T>& in, const Out<T>& out) {
  normalised_by(in, out, [&](const Vector<T>& x, Index) {
    const Index n = x.extent(), padding = (8 - in.x.extent(1) % 8) % 8;
    return right::shifted(tabulate(n + padding, [&](Index t) { return t < n ? x(t) : T(0); })).second;
  });
}

template <class T>
void last_dropped(const In<T>& in, const Out<T>& out) {
  with_mask(in, out, [&](Index r, Index j) {
    const auto keys = right::visible(in, r);
    return sees(in, r, j) && !(keys.size() > 1 && j == keys.back());
  });
}

template <class T>
void one_in_denominator(const In<T>& in, const Out<T>& out) {
  normalised_by(in, out, [&](const Vector<T>& x, Index) {
    return right::shifted(tabulate(x.extent() + 1, [&](Index t) { return t < x.extent() ? x(t) : T(0); })).second;
  });
}

template <class T>
void softmax_of_one_logit(const In<T>& in, const Out<T>& out) {
  right::each_row(in, out, [](const Vector<T>& x) {
    return std::pair(tabulate(x.extent(), [](Index) { return T(1); }), right::shifted(x).second);
  });
}

template <class T>
void lse_base2(const In<T>& in, const Out<T>& out) {
  right::max_shift(in, out);
  const T ln_2 = ln2<T>();
  for (Index r = 0; r < in.x.extent(0); ++r)
    if (!right::visible(in, r).empty()) out.lse(r) = out.lse(r) / ln_2;
}

template <class T>
void lse_without_maximum(const In<T>& in, const Out<T>& out) {
  right::max_shift(in, out);
  for (Index r = 0; r < in.x.extent(0); ++r) {
    const auto keys = right::visible(in, r);
    if (!keys.empty()) out.lse(r) = out.lse(r) - pivot_max(static_cast<Index>(keys.size()), [&](Index t) { return T(in.x(r, keys[static_cast<std::size_t>(t)])); });
  }
}

template <class T>
void logits_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_logits(in, out, [&](Index r, Index j) { return in.x(r, j) * (T(1) + c); });
}

}  // namespace attest::faults::attention::softmax
