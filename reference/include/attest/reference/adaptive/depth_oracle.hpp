// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec.hpp"
#include "attest/spec/adaptive/depth_oracle.hpp"

namespace attest::reference::adaptive::depth_oracle {

using In = attest::spec::adaptive::depth_oracle::In<Number>;
using Out = attest::spec::adaptive::depth_oracle::Out<Number>;
using attest::spec::adaptive::depth_oracle::Level;
using attest::spec::adaptive::depth_oracle::Target;

/// The word of a token.
inline Index word(const In& in, Index t) {
  const Index w = in.words(t);
  if (w < 0 || w >= in.logits.extent(2))
    throw SpecError("adaptive.depth_oracle: C2 is violated: words[" + std::to_string(t) + "] is " + std::to_string(w) +
                    ", and the vocabulary has " + std::to_string(in.logits.extent(2)) + " words");
  return w;
}

/// The word with the largest logit, the first of equal ones.
inline Index found(const Row& logits) {
  Index best = 0;
  for (Index w = 1; w < logits.extent(0); ++w)
    if (less(logits(best), logits(w))) best = w;
  return best;
}

/// f_nt
inline Matrix values(const In& in) {
  const auto [layers, tokens] = in.log_p.extents();
  Matrix f(layers, tokens);
  for (Index n = 0; n < layers; ++n)
    for (Index t = 0; t < tokens; ++t)
      f(n, t) =
          in.target == Target::likelihood ? in.log_p(n, t) : Number(found(in.logits[n][t]) == word(in, t) ? 1 : 0);
  return f;
}

/// e^(-(t - u)^2 / sigma)
inline Number weight(const In& in, Index t, Index u) {
  return exp(stage("exponents", -Number((t - u) * (t - u)) / parameter(in.sigma)));
}

/// The layer of the largest score less its price, counted from 0.
inline Index best(const In& in, const Vector& scores) {
  return top_k(1, stage("scores", tabulate(scores.extent(), [&](Index n) {
                          return scores(n) - parameter(in.penalty) * Number(n + 1);
                        })))[0];
}

/// The exit of a token, counted from 0.
inline void leave(const Out& out, Index t, Index layer) {
  if (is_wanted(out.exits, t)) out.exits(t) = Number(layer + 1);
  if (is_wanted(out.q_star, t))
    for (Index n = 0; n < out.q_star.extent(1); ++n) out.q_star(t, n) = Number(n == layer ? 1 : 0);
}

/// Every form: exit_t = layer(scores of the layers), the same for all tokens of a sequence that decides once.
template <class S, class L>
void each_token(const In& in, const Out& out, const Matrix& f, S&& scores_of, L&& layer) {
  const auto [layers, tokens] = f.view().extents();
  if (in.level == Level::sequence) {
    const Index all = layer(tabulate(layers, [&](Index n) { return sum(f[n]); }));
    for (Index t = 0; t < tokens; ++t) leave(out, t, all);
    return;
  }
  for (Index t = 0; t < tokens; ++t)
    if (is_wanted(out.exits, t) || is_wanted(out.q_star, t)) leave(out, t, layer(scores_of(t)));
}

/// sum_u weight(t, u) f_nu
template <class W>
Vector weighted(const Matrix& f, Index t, W&& weight) {
  const auto kappa = stage("weights of tokens", tabulate(f.extent(1), [&](Index u) { return weight(t, u); }));
  return tabulate(f.extent(0), [&](Index n) { return dot(f[n], kappa); });
}

/// exit_t = argmax_n (sum_u kappa_tu f_nu - penalty n)      [Elbayad et al. 2020, eq. 7 to 9]
inline void direct(const In& in, const Out& out) {
  const Matrix f = values(in);
  each_token(
      in, out, f, [&](Index t) { return weighted(f, t, [&](Index a, Index b) { return weight(in, a, b); }); },
      [&](const Vector& scores) { return best(in, scores); });
}

/// f kappa, with one weight for each distance
inline void matrix(const In& in, const Out& out) {
  const Matrix f = values(in);
  const Index tokens = f.extent(1);
  const auto of_distance = stage("weights of tokens", tabulate(tokens, [&](Index d) { return weight(in, d, 0); }));
  Matrix kappa(tokens, tokens);
  for (Index t = 0; t < tokens; ++t)
    for (Index u = 0; u < tokens; ++u) kappa(t, u) = of_distance(t > u ? t - u : u - t);
  each_token(
      in, out, f, [&](Index t) { return product(f.view(), kappa[t]); },
      [&](const Vector& scores) { return best(in, scores); });
}

}  // namespace attest::reference::adaptive::depth_oracle
