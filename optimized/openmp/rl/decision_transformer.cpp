// SPDX-License-Identifier: MIT
#include "attest/spec/rl/decision_transformer.hpp"

#include <cmath>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/attend.hpp"

namespace attest::openmp::rl::decision_transformer {

using attest::spec::rl::decision_transformer::In;
using attest::spec::rl::decision_transformer::Out;

/// Embeddings of returns, states and actions, with those of the steps.
template <class T>
struct Parts {
  RowMajor<T> returns, states, actions;
};

template <class T>
Parts<T> parts_of(const In<T>& in) {
  Parts<T> parts{vector(in.returns) * vector(in.w_return).transpose(), matrix(in.states) * matrix(in.w_state),
                 matrix(in.actions) * matrix(in.w_action)};
  const auto steps = matrix(in.times.rows(in.start, in.returns.extent(0)));  // C1, C2
  for (auto* part : {&parts.returns, &parts.states, &parts.actions}) *part += steps;
  return parts;
}

/// Keys and values of tokens as they come.
template <class T>
struct Cache {
  RowMajor<T> k, v;

  Cache(const In<T>& in, Index tokens) : k(tokens, in.w_k.extent(1)), v(tokens, in.w_v.extent(1)) {}
  void write(const In<T>& in, Index first, const RowMajor<T>& x) {
    k.middleRows(first, x.rows()) = x * matrix(in.w_k);
    v.middleRows(first, x.rows()) = x * matrix(in.w_v);
  }
};

/// x + A(x) of tokens that are the last of the first `known` in the cache.
template <class T>
RowMajor<T> model(const In<T>& in, const Cache<T>& cache, const RowMajor<T>& x, Index known) {
  const RowMajor<T> q = x * matrix(in.w_q);
  RowMajor<T> o(x.rows(), x.cols());
  engine::Problem<T> problem{.q = view(q), .k = view(cache.k.topRows(known)), .v = view(cache.v.topRows(known))};
  problem.scale = T(1) / std::sqrt(static_cast<T>(q.cols()));
  problem.right = 0;
  problem.shift = known - x.rows();
  engine::attend(problem, {.o = view(o)});
  return x + o;
}

/// y w_h + b_h
template <class T, class Y>
RowMajor<T> read(const In<T>& in, const Y& y) {
  RowMajor<T> predicted = y * matrix(in.w_head);
  if (in.b_head) predicted.rowwise() += vector(in.b_head).transpose();
  return predicted;
}

/// The model on all tokens of `x`, the second of every three of which are read.
template <class T>
void whole(const In<T>& in, const Out<T>& out, const RowMajor<T>& x) {
  Cache<T> cache(in, x.rows());
  cache.write(in, 0, x);
  const RowMajor<T> y = model(in, cache, x, x.rows());
  const Eigen::Map<const RowMajor<T>> steps(y.data(), y.rows() / 3, 3 * y.cols());
  matrix(out.predicted) = read<T>(in, steps.middleCols(y.cols(), y.cols()));
}

/// Tokens are written where they belong, one after another.
template <class T>
void interleave(const In<T>& in, const Out<T>& out) {
  const Parts<T> parts = parts_of(in);
  RowMajor<T> x(3 * parts.states.rows(), parts.states.cols());
  for (Index t = 0; t < parts.states.rows(); ++t) {
    x.row(3 * t) = parts.returns.row(t);
    x.row(3 * t + 1) = parts.states.row(t);
    x.row(3 * t + 2) = parts.actions.row(t);
  }
  whole(in, out, x);
}

/// [T, 3 f] and [3 T, f] are one array.
template <class T>
void stack_reshape(const In<T>& in, const Out<T>& out) {
  const Parts<T> parts = parts_of(in);
  const Index steps = parts.states.rows(), f = parts.states.cols();
  RowMajor<T> stacked(steps, 3 * f);
  stacked << parts.returns, parts.states, parts.actions;
  whole<T>(in, out, Eigen::Map<const RowMajor<T>>(stacked.data(), 3 * steps, f));
}

/// A return and a state per step; the action is cached once it has been taken.
template <class T>
void incremental(const In<T>& in, const Out<T>& out) {
  const Parts<T> parts = parts_of(in);
  const Index steps = parts.states.rows();
  Cache<T> cache(in, 3 * steps);
  for (Index t = 0; t < steps; ++t) {
    cache.write(in, 3 * t, parts.returns.row(t));
    cache.write(in, 3 * t + 1, parts.states.row(t));
    matrix(out.predicted.rows(t, 1)) = read<T>(in, model<T>(in, cache, parts.states.row(t), 3 * t + 2));
    cache.write(in, 3 * t + 2, parts.actions.row(t));
  }
}

template void interleave(const In<float>&, const Out<float>&);
template void interleave(const In<double>&, const Out<double>&);
template void stack_reshape(const In<float>&, const Out<float>&);
template void stack_reshape(const In<double>&, const Out<double>&);
template void incremental(const In<float>&, const Out<float>&);
template void incremental(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::rl::decision_transformer
