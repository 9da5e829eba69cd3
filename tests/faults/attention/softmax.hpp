// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "faults/fault.hpp"

namespace attest::faults::attention::softmax {

namespace right = attest::reference::attention::softmax;
using attest::spec::attention::softmax::EmptyRow;
using right::In;
using right::Out;

/// The equation on other logits: x_rj = f(r, j).
template <class F>
void with_logits(In in, const Out& out, F&& f) {
  const auto x = matrix_of(in.x.extent(0), in.x.extent(1), f);
  in.x = x.view();
  right::max_shift(in, out);
}

/// The equation under another mask.
template <class F>
void with_mask(In in, const Out& out, F&& f) {
  const Mask mask(in.x.extent(0), in.x.extent(1), f);
  in.mask = mask.view();
  right::max_shift(in, out);
}

inline bool sees(const In& in, Index r, Index j) { return !in.mask || in.mask(r, j); }

/// Weights e^(x_j - lse) where `log_normaliser(x, r)` is not the log-sum-exp.
template <class F>
void normalised_by(const In& in, const Out& out, F&& log_normaliser) {
  Index r = 0;  // each_row visits only rows that see something
  std::vector<Index> rows;
  for (Index i = 0; i < in.x.extent(0); ++i)
    if (!right::visible(in, i).empty()) rows.push_back(i);
  right::each_row(in, out, [&](const Vector& x) {
    const Number lse = log_normaliser(x, rows[static_cast<std::size_t>(r++)]);
    return std::pair(tabulate(x.extent(), [&](Index t) { return exp(x(t) - lse); }), lse);
  });
}

inline void wrong_axis(const In& in, const Out& out) {
  right::max_shift(in, out);
  for (Index j = 0; j < in.x.extent(1); ++j) {
    std::vector<Index> rows;
    for (Index r = 0; r < in.x.extent(0); ++r)
      if (sees(in, r, j)) rows.push_back(r);
    if (rows.empty()) continue;
    const auto x = [&](Index t) { return in.x(rows[static_cast<std::size_t>(t)], j); };
    const auto n = static_cast<Index>(rows.size());
    const Number m = pivot_max(n, x), z = sum(n, [&](Index t) { return exp(x(t) - m); });
    for (const Index r : rows) out.a(r, j) = exp(in.x(r, j) - m) / z;
  }
}

inline void no_shift(const In& in, const Out& out) { right::direct(in, out); }

/// Shifted by `m(r, x)`.
template <class F>
void shifted_by(const In& in, const Out& out, F&& m) {
  std::vector<Index> rows;
  for (Index i = 0; i < in.x.extent(0); ++i)
    if (!right::visible(in, i).empty()) rows.push_back(i);
  std::size_t next = 0;
  right::each_row(in, out, [&](const Vector& x) {
    const Number shift = m(rows[next++], x);
    const auto e = tabulate(x.extent(), [&](Index t) { return exp(x(t) - shift); });
    const Number z = sum(x.extent(), [&](Index t) { return e(t); });
    return std::pair(tabulate(x.extent(), [&](Index t) { return e(t) / z; }), shift + log(z));
  });
}

inline void max_includes_masked(const In& in, const Out& out) {
  shifted_by(in, out,
             [&](Index r, const Vector&) { return pivot_max(in.x.extent(1), [&](Index j) { return in.x(r, j); }); });
}

inline void maximum_from_zero(const In& in, const Out& out) {
  shifted_by(in, out, [&](Index, const Vector& x) {
    const Number m = pivot_max(x.extent(), [&](Index t) { return x(t); });
    return approximate(m) > 0 ? m : Number(0);
  });
}

inline void shift_above_maximum(const In& in, const Out& out) {
  shifted_by(in, out,
             [&](Index, const Vector& x) { return pivot_max(x.extent(), [&](Index t) { return x(t); }) + Number(1); });
}

inline void masked_in_sum(const In& in, const Out& out) {
  normalised_by(in, out, [&](const Vector&, Index r) {
    return right::log_sum_exp(tabulate(in.x.extent(1), [&](Index j) { return in.x(r, j); }));
  });
}

inline void base2(const In& in, const Out& out) {
  with_logits(in, out, [&, ln_2 = ln2()](Index r, Index j) { return in.x(r, j) * ln_2; });
}

inline void additive_one_mask(const In& in, const Out& out) {
  In all = in;
  all.mask = {};
  with_logits(all, out,
              [&](Index r, Index j) { return in.mask && in.mask(r, j) ? in.x(r, j) + Number(1) : in.x(r, j); });
}

inline void mask_inverted(const In& in, const Out& out) {
  with_mask(in, out, [&](Index r, Index j) { return !in.mask || !in.mask(r, j); });
}

inline void mask_ignored(const In& in, const Out& out) {
  with_mask(in, out, [](Index, Index) { return true; });
}

inline void mask_plus_infinity(const In& in, const Out& out) {
  right::max_shift(in, out);
  for (Index r = 0; r < in.x.extent(0); ++r) {
    if (static_cast<Index>(right::visible(in, r).size()) == in.x.extent(1)) continue;
    for (Index j = 0; j < in.x.extent(1); ++j) out.a(r, j) = not_a_number();
    out.lse(r) = not_a_number();
  }
}

inline void empty_row_mean(const In& in, const Out& out) {
  In other = in;
  other.empty_row = EmptyRow::mean;
  right::max_shift(other, out);
}

inline void empty_row_nan(const In& in, const Out& out) {
  In other = in;
  other.empty_row = EmptyRow::nan;
  right::max_shift(other, out);
}

inline void padding_counted(const In& in, const Out& out) {
  normalised_by(in, out, [&](const Vector& x, Index) {
    const Index n = x.extent(), padding = (8 - in.x.extent(1) % 8) % 8;
    return right::log_sum_exp(tabulate(n + padding, [&](Index t) { return t < n ? x(t) : Number(0); }));
  });
}

inline void last_dropped(const In& in, const Out& out) {
  with_mask(in, out, [&](Index r, Index j) {
    const auto keys = right::visible(in, r);
    return sees(in, r, j) && !(keys.size() > 1 && j == keys.back());
  });
}

inline void one_in_denominator(const In& in, const Out& out) {
  normalised_by(in, out, [&](const Vector& x, Index) {
    return right::log_sum_exp(tabulate(x.extent() + 1, [&](Index t) { return t < x.extent() ? x(t) : Number(0); }));
  });
}

inline void softmax_of_one_logit(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& x) {
    return std::pair(tabulate(x.extent(), [](Index) { return Number(1); }), right::log_sum_exp(x));
  });
}

inline void lse_base2(const In& in, const Out& out) {
  right::max_shift(in, out);
  const Number ln_2 = ln2();
  for (Index r = 0; r < in.x.extent(0); ++r)
    if (!right::visible(in, r).empty()) out.lse(r) = out.lse(r) / ln_2;
}

inline void lse_without_maximum(const In& in, const Out& out) {
  right::max_shift(in, out);
  for (Index r = 0; r < in.x.extent(0); ++r) {
    const auto keys = right::visible(in, r);
    if (!keys.empty())
      out.lse(r) = out.lse(r) - pivot_max(static_cast<Index>(keys.size()),
                                          [&](Index t) { return in.x(r, keys[static_cast<std::size_t>(t)]); });
  }
}

inline void logits_drift(const In& in, const Out& out, const Number& c) {
  with_logits(in, out, [&](Index r, Index j) { return in.x(r, j) * (Number(1) + c); });
}

}  // namespace attest::faults::attention::softmax
