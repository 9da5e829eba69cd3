// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/adaptive/act_halting.hpp"
#include "faults/fault.hpp"

namespace attest::faults::adaptive::act_halting {

namespace right = attest::reference::adaptive::act_halting;
using right::first_halt;
using right::In;
using right::Out;
using right::Output;
using right::remainder;

/// Another last step.
template <class F>
void with_last(const In& in, const Out& out, F&& last) {
  right::each_token(in, out, last, [&](Index i, Index n) {
    const Number r = remainder(in, i, n);
    return std::pair(right::weights(in, i, n, r), r);
  });
}

inline void no_epsilon(In in, const Out& out) {
  in.eps = 0;
  right::closed(in, out);
}
inline void eps_ignored(In in, const Out& out) {
  in.eps = 0.01;
  right::closed(in, out);
}
inline void off_by_one_step(const In& in, const Out& out) {
  with_last(in, out, [&](Index i) { return std::min(right::last_step(in, i) + 1, in.p.extent(1) - 1); });
}
inline void one_probability(const In& in, const Out& out) {
  with_last(in, out, [&](Index i) {
    return first_halt(in.p.extent(1), [&](Index t) { return right::reaches(in.p(i, t), right::threshold(in)); });
  });
}
inline void global_halting(const In& in, const Out& out) {
  Index last = 0;
  for (Index i = 0; i < in.p.extent(0); ++i) last = std::max(last, right::last_step(in, i));
  with_last(in, out, [&](Index) { return last; });
}
inline void halts_with_first(const In& in, const Out& out) {
  Index first = in.p.extent(1);
  for (Index i = 0; i < in.p.extent(0); ++i) first = std::min(first, right::last_step(in, i));
  with_last(in, out, [&](Index) { return first; });
}

/// The right steps with other weights and another remainder: weights_of(token, last step).
template <class F>
void with_weights(const In& in, const Out& out, F&& weights_of) {
  right::each_token(in, out, [&](Index i) { return right::last_step(in, i); }, weights_of);
}
template <class F>
void with_remainder(const In& in, const Out& out, F&& remainder_of) {
  with_weights(in, out, [&](Index i, Index last) {
    const Number r = remainder_of(i, last);
    return std::pair(right::weights(in, i, last, r), r);
  });
}

inline void remainder_missing(const In& in, const Out& out) {
  with_weights(in, out, [&](Index i, Index last) {
    return std::pair(right::weights(in, i, last, in.p(i, last)), remainder(in, i, last));
  });
}
inline void remainder_includes_current(const In& in, const Out& out) {
  with_remainder(in, out, [&](Index i, Index last) { return remainder(in, i, last + 1); });
}
inline void remainder_of_epsilon(const In& in, const Out& out) {
  with_remainder(in, out, [&](Index i, Index last) { return right::threshold(in) - right::used(in, i, last); });
}
inline void limit_without_remainder(const In& in, const Out& out) {
  with_remainder(in, out, [&](Index i, Index last) {
    const bool halts = last + 1 < in.p.extent(1) || right::reaches(right::used(in, i, last + 1), right::threshold(in));
    return halts ? remainder(in, i, last) : in.p(i, last);
  });
}
inline void gradient_through_remainder_missing(const In& in, const Out& out) {
  with_remainder(in, out, [&](Index i, Index last) { return stop_gradient(remainder(in, i, last)); });
}
inline void mean_of_steps(const In& in, const Out& out) {
  with_weights(in, out, [&](Index i, Index last) {
    return std::pair(tabulate(in.p.extent(1), [&](Index t) { return t <= last ? 1 / Number(last + 1) : Number(0); }),
                     remainder(in, i, last));
  });
}
inline void weights_drift(const In& in, const Out& out, const Number& c) {
  with_weights(in, out, [&](Index i, Index last) {
    const Number r = remainder(in, i, last);
    const auto w = right::weights(in, i, last, r);
    return std::pair(tabulate(w.extent(), [&](Index t) { return w(t) * (1 + c); }), r);
  });
}

/// What steps after the last add, whatever the output.
inline void updates_after_halting(const In& in, const Out& out) {
  right::closed(in, out);
  const auto [tokens, steps, width] = in.s.extents();
  for (Index i = 0; i < tokens; ++i)
    for (Index t = right::last_step(in, i) + 1; t < steps; ++t) {
      out.weights(i, t) = in.p(i, t);
      for (Index a = 0; a < width; ++a)
        out.y(i, a) = in.output == Output::last           ? in.s(i, t, a)
                      : in.output == Output::interpolated ? in.p(i, t) * in.s(i, t, a) + (1 - in.p(i, t)) * out.y(i, a)
                                                          : out.y(i, a) + in.p(i, t) * in.s(i, t, a);
    }
}
inline void steps_from_0(const In& in, const Out& out) {
  right::closed(in, out);
  for (Index i = 0; i < in.p.extent(0); ++i) out.steps(i) = out.steps(i) - 1;
}
inline void last_for_weighted(In in, const Out& out) {
  in.output = Output::last;
  right::closed(in, out);
}
inline void weighted_for_all(In in, const Out& out) {
  in.output = Output::weighted;
  right::closed(in, out);
}
inline void interpolated_for_weighted(In in, const Out& out) {
  if (in.output == Output::weighted) in.output = Output::interpolated;
  right::closed(in, out);
}
inline void final_state(const In& in, const Out& out) {
  right::closed(in, out);
  if (in.output != Output::last) return;
  const auto [tokens, steps, width] = in.s.extents();
  for (Index i = 0; i < tokens; ++i)
    for (Index a = 0; a < width; ++a) out.y(i, a) = in.s(i, steps - 1, a);
}

}  // namespace attest::faults::adaptive::act_halting
