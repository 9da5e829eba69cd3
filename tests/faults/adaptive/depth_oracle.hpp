// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>

#include "attest/reference/adaptive/depth_oracle.hpp"
#include "faults/fault.hpp"

namespace attest::faults::adaptive::depth_oracle {

namespace right = attest::reference::adaptive::depth_oracle;
using right::In;
using right::Level;
using right::Out;
using right::Target;

/// The equation with other values of f.
template <class F>
void with_values(const In& in, const Out& out, F&& of) {
  const Matrix f = of(right::values(in));
  right::each_token(
      in, out, f,
      [&](Index t) { return right::weighted(f, t, [&](Index a, Index b) { return right::weight(in, a, b); }); },
      [&](const Vector& scores) { return right::best(in, scores); });
}

/// The equation with other weights of tokens.
template <class W>
void with_weight(const In& in, const Out& out, W&& weight) {
  const Matrix f = right::values(in);
  right::each_token(
      in, out, f, [&](Index t) { return right::weighted(f, t, weight); },
      [&](const Vector& scores) { return right::best(in, scores); });
}
inline Number squared(Index t, Index u) { return Number((t - u) * (t - u)); }

inline void kernel_sign(const In& in, const Out& out) {
  with_weight(in, out, [&](Index t, Index u) { return exp(squared(t, u) / parameter(in.sigma)); });
}
inline void unsquared_distance(const In& in, const Out& out) {
  with_weight(in, out, [&](Index t, Index u) { return exp(-Number(Index{std::abs(t - u)}) / parameter(in.sigma)); });
}
inline void half_exponent(const In& in, const Out& out) {
  with_weight(in, out, [&](Index t, Index u) { return exp(-squared(t, u) / (2 * parameter(in.sigma))); });
}
inline void sigma_squared(const In& in, const Out& out) {
  with_weight(in, out,
              [&](Index t, Index u) { return exp(-squared(t, u) / (parameter(in.sigma) * parameter(in.sigma))); });
}
inline void own_token_only(const In& in, const Out& out) {
  with_weight(in, out, [](Index t, Index u) { return Number(t == u ? 1 : 0); });
}
inline void earlier_tokens_only(const In& in, const Out& out) {
  with_weight(in, out, [&](Index t, Index u) { return u > t ? Number(0) : right::weight(in, t, u); });
}
inline void kernel_normalised(const In& in, const Out& out) {
  const Index tokens = in.log_p.extent(1);
  with_weight(in, out, [&](Index t, Index u) {
    return right::weight(in, t, u) / sum(tokens, [&](Index a) { return right::weight(in, t, a); });
  });
}

/// The equation with another choice from the scores.
template <class L>
void with_choice(const In& in, const Out& out, L&& layer) {
  const Matrix f = right::values(in);
  right::each_token(
      in, out, f,
      [&](Index t) { return right::weighted(f, t, [&](Index a, Index b) { return right::weight(in, a, b); }); }, layer);
}
inline Vector with_price(const In& in, const Vector& scores) {
  return tabulate(scores.extent(), [&](Index n) { return scores(n) - parameter(in.penalty) * Number(n + 1); });
}
inline void argmin(const In& in, const Out& out) {
  with_choice(in, out, [&](const Vector& scores) {
    const auto x = with_price(in, scores);
    return top_k(1, tabulate(x.extent(), [&](Index n) { return -x(n); }))[0];
  });
}
inline void ties_to_last(const In& in, const Out& out) {
  with_choice(in, out, [&](const Vector& scores) {
    const auto x = with_price(in, scores);
    const Index layers = x.extent();
    return layers - 1 - top_k(1, tabulate(layers, [&](Index n) { return x(layers - 1 - n); }))[0];
  });
}
inline void penalty_from_0(const In& in, const Out& out) {
  with_choice(in, out, [&](const Vector& scores) {
    return top_k(1,
                 tabulate(scores.extent(), [&](Index n) { return scores(n) - parameter(in.penalty) * Number(n); }))[0];
  });
}
inline void last_layer_dropped(const In& in, const Out& out) {
  with_choice(in, out, [&](const Vector& scores) {
    const Index layers = std::max<Index>(scores.extent() - 1, 1);
    return right::best(in, tabulate(layers, [&](Index n) { return scores(n); }));
  });
}
inline void mean_over_tokens(const In& in, const Out& out) {
  if (in.level == Level::token) return right::direct(in, out);
  with_choice(in, out, [&](const Vector& scores) {
    return right::best(in, tabulate(scores.extent(), [&](Index n) { return scores(n) / Number(in.log_p.extent(1)); }));
  });
}

/// The equation with other parameters.
inline void sigma_ignored(In in, const Out& out) {
  in.sigma = 2;
  right::direct(in, out);
}
inline void penalty_sign(In in, const Out& out) {
  in.penalty = -in.penalty;
  right::direct(in, out);
}
inline void penalty_halved(In in, const Out& out) {
  in.penalty /= 2;
  right::direct(in, out);
}
inline void level_ignored(In in, const Out& out) {
  in.level = Level::sequence;
  right::direct(in, out);
}
inline void token_for_sequence(In in, const Out& out) {
  in.level = Level::token;
  right::direct(in, out);
}
inline void target_ignored(In in, const Out& out) {
  in.target = Target::likelihood;
  right::direct(in, out);
}

inline void exits_from_0(const In& in, const Out& out) {
  right::direct(in, out);
  for (Index t = 0; t < out.exits.extent(0); ++t) out.exits(t) = out.exits(t) - 1;
}
inline void one_hot_shifted(const In& in, const Out& out) {
  right::direct(in, out);
  const Index layers = out.q_star.extent(1);
  for (Index t = 0; t < out.q_star.extent(0); ++t) {
    const auto row = tabulate(layers, [&](Index n) { return out.q_star(t, n); });
    for (Index n = 0; n < layers; ++n) out.q_star(t, n) = row((n + layers - 1) % layers);
  }
}
inline void probabilities(const In& in, const Out& out) {
  with_values(in, out, [&](Matrix f) {
    if (in.target == Target::correctness) return f;
    return matrix_of(f.extent(0), f.extent(1), [&](Index n, Index t) { return exp(f(n, t)); });
  });
}
inline void next_word(const In& in, const Out& out) {
  with_values(in, out, [&](Matrix f) {
    if (in.target == Target::likelihood) return f;
    return matrix_of(f.extent(0), f.extent(1), [&](Index n, Index t) {
      return Number(right::found(in.logits[n][t]) == right::word(in, std::min(t + 1, f.extent(1) - 1)) ? 1 : 0);
    });
  });
}
inline void last_of_equal_words(const In& in, const Out& out) {
  with_values(in, out, [&](Matrix f) {
    if (in.target == Target::likelihood) return f;
    return matrix_of(f.extent(0), f.extent(1), [&](Index n, Index t) {
      Index best = 0;
      for (Index w = 1; w < in.logits.extent(2); ++w)
        if (!less(in.logits(n, t, w), in.logits(n, t, best))) best = w;
      return Number(best == right::word(in, t) ? 1 : 0);
    });
  });
}

}  // namespace attest::faults::adaptive::depth_oracle
