// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "attest/reference/attention/multi_head.hpp"
#include "attest/spec/rl/decision_transformer.hpp"

namespace attest::reference::rl::decision_transformer {

using In = attest::spec::rl::decision_transformer::In<Number>;
using Out = attest::spec::rl::decision_transformer::Out<Number>;
namespace multi_head = attention::multi_head;

/// What a token stands for, by its place among the three of a step.
enum Kind : Index { kReturn, kState, kAction };

/// The embedding of what step t has of that kind, without the step's own.
inline Vector embedded(const In& in, Kind kind, Index t) {
  const auto of = [&] {
    if (kind == kReturn)
      return tabulate(in.w_return.extent(0), [&](Index a) { return times(in.returns(t), in.w_return(a)); });
    return kind == kState ? product(in.states[t], in.w_state) : product(in.actions[t], in.w_action);
  };
  return stage("embeddings", of());
}

/// x + e, row `row` of the table.
inline Vector at_step(const In& in, const Vector& x, Index row) {
  return stage("tokens", tabulate(x.extent(), [&](Index a) { return stored(stored(x(a)) + in.times(row, a)); }));
}

/// A model's inputs: f(i) is token i of 3 T.
template <class F>
Matrix tokens_of(const In& in, F&& f) {
  Matrix x(3 * in.returns.extent(0), in.w_return.extent(0));
  for (Index i = 0; i < x.extent(0); ++i) {
    const Vector token = f(i);
    for (Index a = 0; a < x.extent(1); ++a) x(i, a) = token(a);
  }
  return x;
}

/// x_3t, x_(3t+1), x_(3t+2)
inline Matrix tokens(const In& in) {
  return tokens_of(in, [&](Index i) {
    return at_step(in, embedded(in, static_cast<Kind>(i % 3), i / 3), in.start + i / 3);  // C1, C2
  });
}

/// How the model attends.
struct Attending {
  std::optional<double> scale = {};  // 1/sqrt(d)
  bool causal = true;
};

/// A: attention of the tokens x, the last of the context.
inline Matrix attended(const In& in, View<const Number, 2> x, View<const Number, 2> context,
                       const Attending& how = {}) {
  multi_head::In attention;
  attention.scale = how.scale, attention.causal = how.causal;
  return stage("attention outputs",
               stored(multi_head::attended(attention, multi_head::queries(x, in.w_q), multi_head::keys(context, in.w_k),
                                           multi_head::values(context, in.w_v))));
}

/// x + attended, what comes out of the model.
inline Matrix residual(View<const Number, 2> x, const Matrix& attended) {
  Matrix y(x.extent(0), x.extent(1));
  for (Index i = 0; i < y.extent(0); ++i)
    for (Index a = 0; a < y.extent(1); ++a) y(i, a) = x(i, a) + attended(i, a);
  return stage("model outputs", stored(std::move(y)));
}

/// y = x + A(x)
inline Matrix model(const In& in, const Matrix& x, const Attending& how = {}) {
  return residual(x, attended(in, x, x, how));
}

/// y w_h + b_h
inline void read(const In& in, const Row& y, const View<Number, 1>& predicted) {
  const Vector a = product(y, in.w_head);
  for (Index e = 0; e < a.extent(); ++e) predicted(e) = in.b_head ? biased(a(e), in.b_head(e), y.extent(0)) : a(e);
}

/// a^_t from token 3 t + kind of y.
inline void read_all(const In& in, const Matrix& y, const Out& out, Kind kind = kState) {
  for (const Index t : wanted(out.predicted)) read(in, y[3 * t + kind], out.predicted[t]);
}

/// a^_t = y_(3t+1) w_h + b_h      [Chen et al. 2021, Algorithm 1]
inline void interleave(const In& in, const Out& out) { read_all(in, model(in, tokens(in)), out); }

/// Three matrices [T, f], side by side as [T, 3 f], read as [3 T, f].
inline void stack_reshape(const In& in, const Out& out) {
  const Index steps = in.returns.extent(0), f = in.w_return.extent(0);
  Matrix stacked(steps, 3 * f);
  for (const Kind kind : {kReturn, kState, kAction})
    for (Index t = 0; t < steps; ++t) {
      const Vector x = at_step(in, embedded(in, kind, t), in.start + t);
      for (Index a = 0; a < f; ++a) stacked(t, kind * f + a) = x(a);
    }
  Matrix x(3 * steps, f);
  for (Index i = 0; i < 3 * steps * f; ++i) x(i / f, i % f) = stacked(i / (3 * f), i % (3 * f));
  read_all(in, model(in, x), out);
}

/// Step after step: a return and a state are asked with, behind all tokens of the steps before.
inline void incremental(const In& in, const Out& out) {
  const Matrix all = tokens(in);
  for (const Index t : wanted(out.predicted)) {
    const Index known = 3 * t + 2;  // the action of the step is not
    const auto context = all.view().rows(0, known), state = context.rows(known - 1, 1);
    read(in, residual(state, attended(in, state, context))[0], out.predicted[t]);
  }
}

}  // namespace attest::reference::rl::decision_transformer
