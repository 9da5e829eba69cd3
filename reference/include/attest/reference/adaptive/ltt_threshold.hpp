// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/adaptive/act_halting.hpp"
#include "attest/spec/adaptive/ltt_threshold.hpp"

namespace attest::reference::adaptive::ltt_threshold {

using In = attest::spec::adaptive::ltt_threshold::In<Number>;
using Out = attest::spec::adaptive::ltt_threshold::Out<Number>;
using act_halting::reaches;

/// max(0, delta - r_k)
inline Number gap(const In& in, Index k) {
  const Number r = stage("risks", sum(in.losses[k]) / Number(in.losses.extent(1)));
  return larger(parameter(in.delta) - r, 0);
}

/// 2 n gap^2, the exponent of p
inline Number exponent(const In& in, const Number& gap) {
  return stage("exponents", 2 * Number(in.losses.extent(1)) * gap * gap);
}

/// How many of the first candidates pass: each is tested, so that each has its own decision whatever the others are.
template <class F>
Index first_failure(Index candidates, F&& passes) {
  Index first = candidates;
  for (Index k = candidates - 1; k >= 0; --k)
    if (!passes(k)) first = k;
  return first;
}

/// The candidate accepted - 1, counted from 0; no number is too large where there is none.
inline void choose(const In& in, const Out& out, Index accepted) {
  out.accepted() = Number(accepted);
  out.threshold() =
      accepted == 0 ? Number(Literal(std::numeric_limits<double>::infinity())) : in.candidates(accepted - 1);
}

/// The p-values.
inline Vector p_values(const In& in) {
  return tabulate(in.losses.extent(0), [&](Index k) { return exp(-exponent(in, gap(in, k))); });
}
inline void write(const Out& out, const Vector& p) {
  for (const Index k : wanted(out.p)) out.p(k) = p(k);
}

/// Every form that compares p with eps.
inline void by_p(const In& in, const Out& out, const Vector& p) {
  write(out, p);
  const Number eps = parameter(in.eps);
  choose(in, out, first_failure(p.extent(), [&](Index k) { return reaches(eps, p(k)); }));
}

/// p_k <= eps for the first candidates      [Angelopoulos et al. 2021, algorithm 1]
inline void sequential(const In& in, const Out& out) { by_p(in, out, p_values(in)); }

/// 2 n gap^2 >= -ln eps
inline void log_domain(const In& in, const Out& out) {
  const auto x = tabulate(in.losses.extent(0), [&](Index k) { return exponent(in, gap(in, k)); });
  write(out, tabulate(x.extent(), [&](Index k) { return exp(-x(k)); }));
  const Number least = -log(parameter(in.eps));
  choose(in, out, first_failure(x.extent(), [&](Index k) { return reaches(x(k), least); }));
}

}  // namespace attest::reference::adaptive::ltt_threshold
