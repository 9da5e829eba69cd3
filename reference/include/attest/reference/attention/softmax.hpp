// SPDX-License-Identifier: MIT
#pragma once

#include <limits>

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/attention/softmax.hpp"

namespace attest::reference::attention::softmax {

using In = attest::spec::attention::softmax::In<Number>;
using Out = attest::spec::attention::softmax::Out<Number>;
using attest::spec::attention::softmax::EmptyRow;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// S_r, in ascending order.
inline std::vector<Index> visible(const In& in, Index r) {
  std::vector<Index> keys;
  for (Index j = 0; j < in.x.extent(1); ++j)
    if (!in.mask || in.mask(r, j)) keys.push_back(j);
  return keys;
}

/// The part of a row that all forms share: zero weights where invisible, the convention where nothing is visible (C1),
/// and `fill(keys, logits)`, which returns the weights of the visible entries and their log-sum-exp, elsewhere.
template <class F>
void each_row(const In& in, const Out& out, F&& fill) {
  const Index s = in.x.extent(1);
  for (const Index r : wanted(out.a)) {
    const auto keys = visible(in, r);
    for (Index j = 0; j < s; ++j) out.a(r, j) = Number(0);
    if (keys.empty()) {
      for (Index j = 0; j < s; ++j)
        out.a(r, j) = in.empty_row == EmptyRow::nan    ? not_a_number()
                      : in.empty_row == EmptyRow::mean ? 1 / Number(s)
                                                       : Number(0);
      out.lse(r) = Number(-kInfinity);
      continue;
    }
    const auto x =
        tabulate(static_cast<Index>(keys.size()), [&](Index t) { return in.x(r, keys[static_cast<std::size_t>(t)]); });
    auto [a, lse] = fill(x);
    for (Index t = 0; t < x.extent(); ++t) out.a(r, keys[static_cast<std::size_t>(t)]) = a(t);
    out.lse(r) = lse;
  }
}

/// e^(x - m)
inline Number exponential(const Number& x, const Number& m) { return exp(stage("exponent", exponent_of(x, m))); }

/// The largest logit m, e^(x_j - m) and their sum.
struct Exponentials {
  Number m;
  Vector e;
  Number z;

  explicit Exponentials(const Vector& x)
      : m(pivot_max(x.extent(), [&](Index t) { return x(t); })),
        e(stage("exponentials", tabulate(x.extent(), [&](Index t) { return exponential(x(t), m); }))),
        z(stage("denominator", sum(e))) {}
  Number log_sum() const { return m + log(z); }
  Vector weights() const {
    return tabulate(e.extent(), [&](Index t) { return e(t) / z; });
  }
};

/// log sum_t e^x_t
inline Number log_sum_exp(const Vector& x) { return Exponentials(x).log_sum(); }

/// e^x_j / sum_t e^x_t, with the maximum subtracted from every logit, and the log-sum-exp.
inline std::pair<Vector, Number> shifted(const Vector& x) {
  const Exponentials of(x);
  return {stage("weights", of.weights()), of.log_sum()};
}

/// The same, the weights being results.
inline std::pair<Vector, Number> result(const Vector& x) {
  const Exponentials of(x);
  return {of.weights(), of.log_sum()};
}

/// a_rj = [j in S_r] e^x_rj / sum_{t in S_r} e^x_rt      [Vaswani et al. 2017, section 3.2.1]
inline void direct(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) {
    const Index n = x.extent();
    const auto e = stage("exponentials", tabulate(n, [&](Index t) { return exp(x(t)); }));
    const Number z = stage("denominator", sum(e));
    return std::pair(tabulate(n, [&](Index t) { return e(t) / z; }), log(z));
  });
}

/// e^(x_j - m) / sum_t e^(x_t - m), m the visible maximum
inline void max_shift(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) { return result(x); });
}

/// e^(x_j - lse)
inline void lse(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) {
    const Number lse = log_sum_exp(x), subtracted = stage("log-sum-exp", lse);
    return std::pair(tabulate(x.extent(), [&](Index t) { return exponential(x(t), subtracted); }), lse);
  });
}

/// What a running sum is multiplied by when the maximum m becomes `next`.
inline Number rescaling(const Number& m, const Number& next) { return stage("rescaling factors", exp(m - next)); }

/// One pass: l <- l e^(m - m') + e^(x - m')
inline void online(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) {
    const auto e = [&](Index t, const Number& m) { return stage("exponentials", exponential(x(t), m)); };
    Number m = pivot(x(0)), l = stage("denominator", e(0, m));
    for (Index t = 1; t < x.extent(); ++t) {
      const Number next = approximate(x(t)) > approximate(m) ? pivot(x(t)) : m;
      l = stage("denominator", l * rescaling(m, next) + e(t, next));
      m = next;
    }
    return std::pair(tabulate(x.extent(), [&](Index t) { return e(t, m) / l; }), m + log(l));
  });
}

/// Two partial (m, l) combined: l = l_a e^(m_a - m) + l_b e^(m_b - m)
inline void merge(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) {
    const Index n = x.extent(), half = n / 2;
    if (half == 0) return result(x);
    const auto e = [&](Index t, const Number& m) { return stage("exponentials", exponential(x(t), m)); };
    const auto partial = [&](Index first, Index count) {
      const Number m = pivot_max(count, [&](Index t) { return x(first + t); });
      return std::pair(m, stage("denominator", sum(count, [&](Index t) { return e(first + t, m); })));
    };
    const auto [m_a, l_a] = partial(0, half);
    const auto [m_b, l_b] = partial(half, n - half);
    const Number m = approximate(m_a) > approximate(m_b) ? m_a : m_b;
    const Number l = stage("denominator", l_a * rescaling(m_a, m) + l_b * rescaling(m_b, m));
    return std::pair(tabulate(n, [&](Index t) { return e(t, m) / l; }), m + log(l));
  });
}

}  // namespace attest::reference::attention::softmax
