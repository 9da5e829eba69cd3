// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attest/mpi/ring.hpp"
#include "attest/openmp/attention.hpp"

namespace attest::mpi::attention {

/// The part of a problem that two pieces make: causal order and window count from where they lie in the sequence.
template <class T>
openmp::engine::Problem<T> between(openmp::engine::Problem<T> problem, const Piece& queries, const Piece& keys,
                                   Index tokens, Index all_keys) {
  problem.q = problem.q.rows(queries.at, queries.tokens);
  problem.k = problem.k.rows(keys.at, keys.tokens);
  problem.v = problem.v.rows(keys.at, keys.tokens);
  if (problem.bias) problem.bias = problem.bias.rows(queries.at, queries.tokens).columns(keys.begin, keys.tokens);
  if (problem.mask) problem.mask = problem.mask.rows(queries.at, queries.tokens).columns(keys.begin, keys.tokens);
  problem.shift = queries.begin - keys.begin + all_keys - tokens;
  return problem;
}

/// Rows of one head over the keys that have come by: e^top times `sum` is the sum of their weights, which `o` lacks.
template <class T>
struct Merged {
  std::vector<T> o, top, sum;
  Index m;

  Merged(Index n, Index m_)
      : o(static_cast<std::size_t>(n * m_)),
        top(static_cast<std::size_t>(n), -std::numeric_limits<T>::infinity()),
        sum(static_cast<std::size_t>(n)),
        m(m_) {}

  /// Row i takes the output over more keys, with the log of the sum of their weights.
  void take(Index i, View<const T, 1> more, T lse) {
    const auto at = static_cast<std::size_t>(i);
    if (lse == -std::numeric_limits<T>::infinity()) return;
    const T higher = std::max(top[at], lse), keep = std::exp(top[at] - higher), weight = std::exp(lse - higher);
    T* row = o.data() + i * m;
    for (Index b = 0; b < m; ++b) row[b] = row[b] * keep + weight * more(b);
    sum[at] = sum[at] * keep + weight;
    top[at] = higher;
  }

  /// A logit without a value: it adds to the denominator alone.
  void take_sink(Index i, T sink) {
    const auto at = static_cast<std::size_t>(i);
    const T higher = std::max(top[at], sink), keep = std::exp(top[at] - higher);
    for (Index b = 0; b < m; ++b) o[static_cast<std::size_t>(i * m + b)] *= keep;
    sum[at] = sum[at] * keep + std::exp(sink - higher);
    top[at] = higher;
  }

  bool is_empty(Index i) const { return sum[static_cast<std::size_t>(i)] == 0; }
  T lse(Index i) const { return top[static_cast<std::size_t>(i)] + std::log(sum[static_cast<std::size_t>(i)]); }
  T operator()(Index i, Index b) const {
    return o[static_cast<std::size_t>(i * m + b)] / sum[static_cast<std::size_t>(i)];
  }
};

/// Attends to the keys and values [k | v] of one head that are here.
template <class T>
void attend(const openmp::engine::Problem<T>& whole, View<const T, 2> rows, const std::vector<Piece>& queries,
            const std::vector<Piece>& keys, Index tokens, Index all_keys, Index block, Merged<T>& merged) {
  const Index d = whole.q.extent(1), m = rows.extent(1) - d;
  each_pair(queries, keys, [&](const Piece& of_queries, const Piece& of_keys) {
    auto here = whole;
    here.k = rows.columns(0, d), here.v = rows.columns(d, m);
    std::vector<T> o(static_cast<std::size_t>(of_queries.tokens * m)), lse(static_cast<std::size_t>(of_queries.tokens));
    openmp::engine::Forward<T> forward{.schedule = openmp::engine::Schedule::online, .block = block};
    forward.o = {o.data(), {of_queries.tokens, m}};
    forward.lse = {lse.data(), {of_queries.tokens}};
    openmp::engine::attend(between(here, of_queries, of_keys, tokens, all_keys), forward);
    for (Index i = 0; i < of_queries.tokens; ++i) merged.take(of_queries.at + i, forward.o[i], forward.lse(i));
  });
}

}  // namespace attest::mpi::attention
