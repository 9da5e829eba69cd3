// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/memory/knn_lm.hpp"
#include "faults/fault.hpp"

namespace attest::faults::memory::knn_lm {

namespace right = attest::reference::memory::knn_lm;
using attest::spec::memory::knn_lm::Distance;
using right::In;
using right::mix;
using right::nearest;
using right::Neighbours;
using right::Out;
using right::weights;
using right::word;

/// The equation with other neighbours.
inline void with_neighbours(const In& in, const Out& out, const Neighbours& t) { mix(in, out, t, weights(t)); }

/// The equation with the `count` best by other scores.
inline void with_choice(const In& in, const Out& out, Index count, const Vector& scores) {
  with_neighbours(in, out, right::neighbours(in, right::squares(in), top_k(count, scores)));
}

inline void positive_exponent(const In& in, const Out& out) {
  auto t = nearest(in);
  t.exponents = right::negated(t.exponents);
  with_neighbours(in, out, t);
}

inline void lambda_swapped(const In& in, const Out& out) {
  const auto t = nearest(in);
  const auto a = weights(t);
  const Number share = parameter(in.share);
  for (const Index y : wanted(out.p)) out.p(y) = (1 - share) * right::of_word(in, t, a, y) + share * in.p_lm(y);
}

/// The equation where one neighbour of each word has weight: that which `better(n, other)` prefers.
template <class F>
void with_one_per_word(const In& in, const Out& out, F&& better) {
  const auto t = nearest(in);
  auto a = weights(t);
  for (Index n = 0; n < a.extent(); ++n)
    for (Index other = 0; other < a.extent(); ++other)
      if (other != n &&
          word(in, t.entries[static_cast<std::size_t>(n)]) == word(in, t.entries[static_cast<std::size_t>(other)]) &&
          better(t, other, n))
        a(n) = Number(0);
  mix(in, out, t, a);
}

inline void max_per_token(const In& in, const Out& out) {
  with_one_per_word(in, out, [](const Neighbours& t, Index a, Index b) {
    const double x = approximate(t.exponents(a)), y = approximate(t.exponents(b));
    return x > y || (x == y && a < b);
  });
}

inline void last_per_token(const In& in, const Out& out) {
  with_one_per_word(in, out, [](const Neighbours&, Index a, Index b) { return a > b; });
}

inline void l2_for_squared(const In& in, const Out& out) {
  In other = in;
  other.distance = in.distance == Distance::l2 ? Distance::squared_l2 : Distance::l2;
  right::shifted(other, out);
}

inline void vocabulary_softmax(const In& in, const Out& out) {
  const auto t = nearest(in);
  const Number share = parameter(in.share);
  const Index words = in.p_lm.extent(0);
  Vector e(words);
  for (Index y = 0; y < words; ++y) {
    Sum sum;
    for (Index n = 0; n < t.exponents.extent(); ++n)
      if (word(in, t.entries[static_cast<std::size_t>(n)]) == y) sum.add(exp(t.exponents(n)));
    const bool found = std::any_of(t.entries.begin(), t.entries.end(), [&](Index i) { return word(in, i) == y; });
    e(y) = found ? sum.result() : Number(1);
  }
  const Number z = sum(e);
  for (const Index y : wanted(out.p)) out.p(y) = share * (e(y) / z) + (1 - share) * in.p_lm(y);
}

inline void unnormalised(const In& in, const Out& out) {
  const auto t = nearest(in);
  mix(in, out, t, tabulate(t.exponents.extent(), [&](Index n) { return exp(t.exponents(n)); }));
}

inline void log_mixture(const In& in, const Out& out) {
  const auto t = nearest(in);
  const auto a = weights(t);
  const Number share = parameter(in.share);
  for (const Index y : wanted(out.p)) {
    const Number knn = right::of_word(in, t, a, y);
    const bool any = in.share == 0 || positive(knn);
    const bool lm = in.share == 1 || positive(in.p_lm(y));
    Number l(0);
    if (any && lm) {
      if (in.share > 0) l += share * log(knn);
      if (in.share < 1) l += (1 - share) * log(in.p_lm(y));
    }
    out.p(y) = any && lm ? exp(l) : Number(0);
  }
}

inline void exact_match_ignored(const In& in, const Out& out) {
  auto t = nearest(in);
  Neighbours others{{}, Vector(0)};
  std::vector<Number> exponents;
  for (Index n = 0; n < t.exponents.extent(); ++n) {
    if (is_zero(t.exponents(n))) continue;
    others.entries.push_back(t.entries[static_cast<std::size_t>(n)]);
    exponents.push_back(t.exponents(n));
  }
  others.exponents =
      tabulate(static_cast<Index>(exponents.size()), [&](Index n) { return exponents[static_cast<std::size_t>(n)]; });
  mix(in, out, others, others.entries.empty() ? Vector(0) : weights(others));
}

inline void farthest(const In& in, const Out& out) { with_choice(in, out, in.top, right::squares(in)); }

inline void largest_products(const In& in, const Out& out) { with_choice(in, out, in.top, product(in.keys, in.f)); }

inline void top_ignored(const In& in, const Out& out) { right::full(in, out); }

inline void one_fewer(const In& in, const Out& out) {
  with_choice(in, out, std::max<Index>(std::min(in.top, in.keys.extent(0)) - 1, 1), right::negated(right::squares(in)));
}

inline void word_before(const In& in, const Out& out) {
  auto t = nearest(in);
  const auto a = weights(t);
  for (Index& i : t.entries) i = (i + in.keys.extent(0) - 1) % in.keys.extent(0);
  mix(in, out, t, a);
}

inline void share_ignored(const In& in, const Out& out) {
  In other = in;
  other.share = 0.25;
  right::shifted(other, out);
}

inline void underflowing(const In& in, const Out& out) {
  if (in.share > 0) return right::direct(in, out);
  right::shifted(in, out);
}

inline void share_drift(const In& in, const Out& out, const Number& c) {
  const auto t = nearest(in);
  const auto a = weights(t);
  const Number share = parameter(in.share) * (Number(1) + c);
  for (const Index y : wanted(out.p)) out.p(y) = share * right::of_word(in, t, a, y) + (1 - share) * in.p_lm(y);
}

}  // namespace attest::faults::memory::knn_lm
