// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/adaptive/act_halting.hpp"

namespace attest::reference::adaptive::act_halting {

using In = attest::spec::adaptive::act_halting::In<Number>;
using Out = attest::spec::adaptive::act_halting::Out<Number>;
using attest::spec::adaptive::act_halting::Output;

/// x >= threshold, a decision.
inline bool reaches(const Number& x, const Number& threshold) {
  Vector both(2);
  both(0) = x, both(1) = threshold;
  return top_k(1, both)[0] == 0;
}

/// p_i1 + .. + p_i,count
inline Number used(const In& in, Index i, Index count) {
  return stage("sums of probabilities", sum(count, [&](Index t) { return in.p(i, t); }));
}

/// 1 - eps
inline Number threshold(const In& in) { return 1 - parameter(in.eps); }

/// The first step of 0 .. T - 1 that halts, or the last. Every step is asked, so that each has its own decision
/// whatever the others are.
template <class F>
Index first_halt(Index steps, F&& halts) {
  Index first = steps - 1;
  for (Index t = steps - 2; t >= 0; --t)
    if (halts(t)) first = t;
  return first;
}

/// n_i - 1
inline Index last_step(const In& in, Index i) {
  const Number enough = threshold(in);
  return first_halt(in.p.extent(1), [&](Index t) { return reaches(used(in, i, t + 1), enough); });
}

inline Number remainder(const In& in, Index i, Index last) { return 1 - used(in, i, last); }

/// w_i, where the token halts at `last` with the remainder r.
inline Vector weights(const In& in, Index i, Index last, const Number& r) {
  return tabulate(in.p.extent(1), [&](Index t) { return t < last ? in.p(i, t) : t == last ? r : Number(0); });
}

/// y_ia from the weights.
inline Number mixed(const In& in, Index i, Index a, Index last, const Vector& w) {
  if (in.output == Output::last) return in.s(i, last, a);
  const auto states = tabulate(last + 1, [&](Index t) { return in.s(i, t, a); });
  if (in.output == Output::weighted) return dot(w.view().rows(0, last + 1), states);
  Number y(0);
  for (Index t = 0; t <= last; ++t) {
    const Number added = w(t) * states(t);
    y = t == 0 ? added : added + (1 - w(t)) * stage("running outputs", y);
  }
  return y;
}

inline bool asked(const Out& out, Index i) {
  return is_wanted(out.y, i) || is_wanted(out.weights, i) || is_wanted(out.steps, i) || is_wanted(out.remainders, i);
}

/// Every form: the results of each token from its last step and weights.
template <class L, class W>
void each_token(const In& in, const Out& out, L&& last_of, W&& weights_of) {
  for (Index i = 0; i < in.p.extent(0); ++i) {
    if (!asked(out, i)) continue;
    const Index last = last_of(i);
    const auto [w, r] = weights_of(i, last);
    out.steps(i) = Number(last + 1);
    out.remainders(i) = r;
    assign(out.weights[i], w);
    for (Index a = 0; a < in.s.extent(2); ++a) out.y(i, a) = mixed(in, i, a, last, w);
  }
}

/// n_i, R_i and w_i as written      [Graves 2016, eq. 6 to 11]
inline void closed(const In& in, const Out& out) {
  each_token(
      in, out, [&](Index i) { return last_step(in, i); },
      [&](Index i, Index last) {
        const Number r = remainder(in, i, last);
        return std::pair(weights(in, i, last, r), r);
      });
}

/// h <- h + p for a token that is running; one that has just halted adds 1 - h.
inline void masks(const In& in, const Out& out) {
  each_token(
      in, out, [&](Index i) { return last_step(in, i); },
      [&](Index i, Index last) {
        Number halting(0), r(0);
        auto w = tabulate(in.p.extent(1), [&](Index t) {
          if (t > last) return Number(0);
          if (t == last) return r = 1 - halting;
          halting = stage("sums of probabilities", t == 0 ? in.p(i, t) : halting + in.p(i, t));
          return in.p(i, t);
        });
        return std::pair(std::move(w), r);
      });
}

/// Steps in the outer loop: the loop ends when every token has halted.
inline void early_stop(const In& in, const Out& out) {
  const Index tokens = in.p.extent(0), steps = in.p.extent(1);
  std::vector<Index> last;
  for (Index i = 0; i < tokens; ++i) last.push_back(asked(out, i) ? last_step(in, i) : 0);
  const Index longest = last.empty() ? 0 : *std::max_element(last.begin(), last.end());
  Matrix w(tokens, steps);
  Vector left(tokens);
  for (Index i = 0; i < tokens; ++i) left(i) = Number(1);
  for (Index t = 0; t <= longest; ++t)
    for (Index i = 0; i < tokens; ++i) {
      const Index end = last[static_cast<std::size_t>(i)];
      if (t < end) {
        w(i, t) = in.p(i, t);
        left(i) = stage("what is left of 1", left(i) - in.p(i, t));
      } else if (t == end) {
        w(i, t) = left(i);
      }
    }
  each_token(
      in, out, [&](Index i) { return last[static_cast<std::size_t>(i)]; },
      [&](Index i, Index) { return std::pair(tabulate(steps, [&](Index t) { return w(i, t); }), left(i)); });
}

}  // namespace attest::reference::adaptive::act_halting
