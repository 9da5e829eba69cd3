// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "attest/spec/objective/perplexity.hpp"

namespace attest::reference::objective::perplexity {

using In = attest::spec::objective::perplexity::In<Number>;
using Out = attest::spec::objective::perplexity::Out<Number>;
namespace softmax = attest::reference::attention::softmax;

/// S, in ascending order.
inline std::vector<Index> counted(View<const bool, 1> mask, Index tokens) {
  std::vector<Index> rows;
  for (Index t = 0; t < tokens; ++t)
    if (!mask || mask(t)) rows.push_back(t);
  return rows;
}

/// (1/|S|) sum_{t in S} f(t)
template <class F>
Number mean(const std::vector<Index>& rows, F&& f) {
  const auto n = static_cast<Index>(rows.size());
  if (n == 0) return not_a_number();  // C1
  return sum(n, [&](Index i) { return f(rows[static_cast<std::size_t>(i)]); }) / Number(n);
}

/// A class, if it is one.
inline Index checked(Index target, Index classes) {
  if (target < 0 || target >= classes)  // C2
    throw std::invalid_argument("target " + std::to_string(target) + " is no class: they are 0 .. " +
                                std::to_string(classes - 1));
  return target;
}

/// c_t
inline Index target(const In& in, Index t) { return checked(in.targets(t), in.logits.extent(1)); }

/// The logits of a row.
inline Vector row(const Row& x) {
  return tabulate(x.extent(0), [&](Index c) { return x(c); });
}

/// lse(x) - x_c = -ln p_c
inline Number surprisal(const Row& x, Index c) { return stage("log-sum-exp", softmax::log_sum_exp(row(x))) - x(c); }

/// The same from the probability, nothing subtracted from the exponents.
inline Number surprisal_of_probability(const Row& x, Index c) {
  const auto e = stage("exponentials", tabulate(x.extent(0), [&](Index j) { return exp(x(j)); }));
  return -log(stage("probabilities", e(c) / stage("denominator", sum(e))));
}

inline void write(const Out& out, const Number& nll) { out.nll() = nll, out.ppl() = exp(nll); }

/// nll = -(1/|S|) sum_{t in S} ln p_t,  ppl = e^nll
inline void probabilities(const In& in, const Out& out) {
  write(out, mean(counted(in.mask, in.logits.extent(0)),
                  [&](Index t) { return surprisal_of_probability(in.logits[t], target(in, t)); }));
}

/// -ln p_t = lse(x_t) - x_t,c_t
inline void logits(const In& in, const Out& out) {
  write(out, mean(counted(in.mask, in.logits.extent(0)),
                  [&](Index t) { return stage("token losses", surprisal(in.logits[t], target(in, t))); }));
}

/// total <- total - ln p_t, whose exponentials are added up as l <- l e^(m - m') + e^(x_c - m')
inline void streaming(const In& in, const Out& out) {
  const auto rows = counted(in.mask, in.logits.extent(0));
  if (rows.empty()) return write(out, not_a_number());  // C1
  Number total(0);
  for (const Index t : rows) {
    const Row x = in.logits[t];
    Number m = pivot(x(0)), l = stage("denominator", softmax::exponential(x(0), m));
    for (Index c = 1; c < x.extent(0); ++c) {
      const Number next = approximate(x(c)) > approximate(m) ? pivot(x(c)) : m;
      l = stage("denominator", l * softmax::rescaling(m, next) + softmax::exponential(x(c), next));
      m = next;
    }
    total = stage("sum of losses", total + (m + log(l) - x(target(in, t))));
  }
  write(out, total / Number(static_cast<Index>(rows.size())));
}

}  // namespace attest::reference::objective::perplexity
