// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "attest/spec.hpp"
#include "attest/spec/memory/knn_lm.hpp"

namespace attest::reference::memory::knn_lm {

using In = attest::spec::memory::knn_lm::In<Number>;
using Out = attest::spec::memory::knn_lm::Out<Number>;
using attention::softmax::Exponentials;
using attest::spec::memory::knn_lm::Distance;

/// |f - keys_i|^2
inline Vector squares(const In& in) {
  return stage("squared distances", tabulate(in.keys.extent(0), [&](Index i) {
                 const auto gap =
                     stage("differences", tabulate(in.f.extent(0), [&](Index a) { return in.f(a) - in.keys(i, a); }));
                 return dot(gap, gap);
               }));
}

/// -x
inline Vector negated(const Vector& x) {
  return tabulate(x.extent(), [&](Index i) { return -x(i); });
}

/// The word of an entry.
inline Index word(const In& in, Index i) {
  const Index w = in.words(i);
  if (w < 0 || w >= in.p_lm.extent(0))
    throw SpecError("memory.knn_lm: C3 is violated: words[" + std::to_string(i) + "] is " + std::to_string(w) +
                    ", and the vocabulary has " + std::to_string(in.p_lm.extent(0)) + " words");
  return w;
}

/// Neighbours, and -d_i of each.
struct Neighbours {
  std::vector<Index> entries;
  Vector exponents;
};

/// d_i is the square, or its root.
inline Neighbours neighbours(const In& in, const Vector& squared, const std::vector<Index>& entries) {
  return {entries, tabulate(static_cast<Index>(entries.size()), [&](Index t) {
            const Number& square = squared(entries[static_cast<std::size_t>(t)]);
            return -stage("distances", in.distance == Distance::squared_l2 ? square : sqrt(square));
          })};
}

/// T: the `top` nearest, which are those of the smallest squares.   C1
inline Neighbours nearest(const In& in) {
  const auto squared = squares(in);
  return neighbours(in, squared, top_k(in.top, negated(squared)));
}

/// sum of x_t over the neighbours with that word
inline Number of_word(const In& in, const Neighbours& t, const Vector& x, Index y) {
  Sum sum;
  for (Index n = 0; n < x.extent(); ++n)
    if (word(in, t.entries[static_cast<std::size_t>(n)]) == y) sum.add(x(n));
  return sum.result();
}

/// p(y) = share p_knn(y) + (1 - share) p_lm(y), p_knn(y) the sum of the weights of its neighbours.      [Khandelwal et
/// al. 2020, eq. 3]
inline void mix(const In& in, const Out& out, const Neighbours& t, const Vector& weights) {
  const Number share = parameter(in.share), rest = 1 - share;
  for (const Index y : wanted(out.p))
    out.p(y) = share * stage("share of the neighbours", of_word(in, t, weights, y)) + rest * in.p_lm(y);
}

/// e^(-d_i) / sum_i e^(-d_i)      [eq. 2]
inline void direct(const In& in, const Out& out) {
  const auto t = nearest(in);
  const auto e = stage("exponentials", tabulate(t.exponents.extent(), [&](Index n) { return exp(t.exponents(n)); }));
  const Number z = stage("denominator", sum(e));
  mix(in, out, t, stage("weights", tabulate(e.extent(), [&](Index n) { return e(n) / z; })));
}

/// Weights with the smallest distance subtracted.
inline Vector weights(const Neighbours& t) { return attention::softmax::shifted(t.exponents).first; }

inline void shifted(const In& in, const Out& out) {
  const auto t = nearest(in);
  mix(in, out, t, weights(t));
}

/// log(e^a + e^b)
inline Number log_add_exp(const Number& a, const Number& b) {
  const bool first = approximate(a) > approximate(b);  // either is right where they are close
  const Number &large = first ? a : b, &small = first ? b : a;
  return large + log(1 + exp(small - large));
}

/// Each share as a logarithm, where it is not 0.
inline void log_domain(const In& in, const Out& out) {
  const auto t = nearest(in);
  const Number share = parameter(in.share), rest = 1 - share;
  std::optional<Exponentials> of;
  if (in.share > 0) of.emplace(t.exponents);
  for (const Index y : wanted(out.p)) {
    std::optional<Number> log_knn, log_lm;
    const bool found = std::any_of(t.entries.begin(), t.entries.end(), [&](Index i) { return word(in, i) == y; });
    if (in.share > 0 && found) log_knn = log(share) + log(of_word(in, t, of->e, y)) - log(of->z);
    if (in.share < 1 && positive(in.p_lm(y))) log_lm = log(rest) + log(in.p_lm(y));
    out.p(y) = log_knn && log_lm ? exp(stage("log-probabilities", log_add_exp(*log_knn, *log_lm)))
               : log_knn         ? exp(stage("log-probabilities", *log_knn))
               : log_lm          ? exp(stage("log-probabilities", *log_lm))
                                 : Number(0);
  }
}

/// Every entry is a neighbour.
inline void full(const In& in, const Out& out) {
  std::vector<Index> all(static_cast<std::size_t>(in.keys.extent(0)));
  std::iota(all.begin(), all.end(), Index{0});
  const auto t = neighbours(in, squares(in), all);
  mix(in, out, t, weights(t));
}

}  // namespace attest::reference::memory::knn_lm
