// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/objective/perplexity.hpp"
#include "attest/spec/objective/decision_loss.hpp"

namespace attest::reference::objective::decision_loss {

using In = attest::spec::objective::decision_loss::In<Number>;
using Out = attest::spec::objective::decision_loss::Out<Number>;
using attest::spec::objective::decision_loss::Kind;
using perplexity::counted;
using perplexity::mean;

/// c_t
inline Index chosen(const In& in, Index t) { return perplexity::checked(in.chosen(t), in.predictions.extent(1)); }

/// (1/A) sum_a (x_ta - y_ta)^2
inline Number mean_square(const In& in, Index t) {
  const Index entries = in.predictions.extent(1);
  const auto off =
      stage("differences", tabulate(entries, [&](Index a) { return in.predictions(t, a) - in.actions(t, a); }));
  return dot(off, off) / Number(entries);
}

/// -ln p_t = ln sum_a e^(x_a - m) - (x_c - m), m the largest logit
inline Number cross_entropy(const In& in, Index t) {
  const perplexity::softmax::Exponentials of(perplexity::row(in.predictions[t]));
  return log(of.z) - stage("exponent", in.predictions(t, chosen(in, t)) - of.m);
}

/// The loss of step t.
inline Number loss(const In& in, Index t) {
  return stage("step losses", in.kind == Kind::mse ? mean_square(in, t) : cross_entropy(in, t));
}

/// L = (1/|S|) sum_{t in S} f(t)
template <class F>
void averaged(const In& in, const Out& out, F&& f) {
  out.loss() = mean(counted(in.mask, in.predictions.extent(0)), f);
}

/// The mean of squared differences, or of -ln p_t      [Chen et al. 2021, Algorithm 1]
inline void direct(const In& in, const Out& out) {
  averaged(in, out, [&](Index t) { return loss(in, t); });
}

/// -ln p_t = lse(x_t) - x_t,c_t
inline void logits(const In& in, const Out& out) {
  averaged(in, out,
           [&](Index t) { return stage("step losses", perplexity::surprisal(in.predictions[t], chosen(in, t))); });
}

}  // namespace attest::reference::objective::decision_loss
