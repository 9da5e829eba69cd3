// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <vector>

#include "attest/reference/linear/causal_chunked.hpp"
#include "attest/spec/linear/causal.hpp"

namespace attest::reference::linear::causal {

using In = feature_map::Mapped<attest::spec::linear::causal::In<Number>>;
using Out = attest::spec::linear::causal::Out<Number>;
using causal_chunked::add_chunk;
using causal_chunked::read_chunk;
using causal_step::State;

/// o = tril(phi_q phi_k^T) v, every row divided by the sum of its weights; the carried state is one more term of both.
inline void parallel_masked(const In& in, const Out& out) {
  State state(in.S, in.Z, in.phi_k.extent(1), in.v.extent(1));
  read_chunk(in, state, in.phi_q, in.phi_k, in.v, out.o);
  add_chunk(state, in.phi_k, in.v);
  state.write(out);
}

/// S_i = S_{i-1} + phi_k_i v_i^T,  Z_i = Z_{i-1} + phi_k_i,  o_i = phi_q_i^T S_i / (phi_q_i^T Z_i)
///                                                              [Katharopoulos et al. 2020, eq. 10 to 12]
inline void recurrent(const In& in, const Out& out) { causal_chunked::each_token(in, out); }

/// The rows of every chunk in order: `use(first, count)`; the last one is shorter.
template <class I, class F>
void each_chunk(const I& in, F&& use) {
  const Index n = in.v.extent(0);
  for (Index first = 0; first < n; first += in.chunk) use(first, std::min(in.chunk, n - first));  // C1
}

/// Chunk after chunk with the state of those before it.
inline void chunked(const In& in, const Out& out) {
  State state(in.S, in.Z, in.phi_k.extent(1), in.v.extent(1));
  each_chunk(in, [&](Index first, Index count) {
    const auto phi_k = in.phi_k.rows(first, count), v = in.v.rows(first, count);
    read_chunk(in, state, in.phi_q.rows(first, count), phi_k, v, out.o, first);
    add_chunk(state, phi_k, v);
  });
  state.write(out);
}

/// States form a monoid: what a, then b, leave behind.
inline State combined(State a, const State& b) {
  for (Index r = 0; r < a.S.extent(0); ++r) {
    for (Index s = 0; s < a.S.extent(1); ++s) a.S(r, s) = stage("state", a.S(r, s) + b.S(r, s));
    a.Z(r) = stage("normaliser", a.Z(r) + b.Z(r));
  }
  return a;
}

/// Inclusive prefix sums over a tree: neighbours are paired, the pairs scanned, and the places between them filled in.
inline std::vector<State> prefix_sums(std::vector<State> x) {
  if (x.size() < 2) return x;
  std::vector<State> pairs;
  for (std::size_t t = 0; t + 1 < x.size(); t += 2) pairs.push_back(combined(x[t], x[t + 1]));
  pairs = prefix_sums(std::move(pairs));
  for (std::size_t t = 1; t < x.size(); ++t) x[t] = t % 2 == 1 ? pairs[t / 2] : combined(pairs[t / 2 - 1], x[t]);
  return x;
}

/// All (S_i, Z_i) at once: prefix sums of (phi_k_j v_j^T, phi_k_j), the carried state in front.
inline void scan(const In& in, const Out& out) {
  const auto [n, m] = in.v.extents();
  const Index c = in.phi_k.extent(1);
  std::vector<State> state{State(in.S, in.Z, c, m)};
  for (Index i = 0; i < n; ++i) {
    state.emplace_back(c, m);
    state.back().add(in.phi_k[i], in.v[i]);
  }
  state = prefix_sums(std::move(state));
  for (const Index i : wanted(out.o))
    causal_step::read(in, state[static_cast<std::size_t>(i + 1)], in.phi_q[i], out.o[i]);
  state.back().write(out);
}

/// Chunk totals, the state before every chunk from their scan, then all chunks on their own.
inline void two_level(const In& in, const Out& out) {
  const Index c = in.phi_k.extent(1), m = in.v.extent(1);
  std::vector<State> before{State(in.S, in.Z, c, m)};
  each_chunk(in, [&](Index first, Index count) {
    before.emplace_back(c, m);
    add_chunk(before.back(), in.phi_k.rows(first, count), in.v.rows(first, count));
  });
  before = prefix_sums(std::move(before));
  each_chunk(in, [&](Index first, Index count) {
    read_chunk(in, before[static_cast<std::size_t>(first / in.chunk)], in.phi_q.rows(first, count),
               in.phi_k.rows(first, count), in.v.rows(first, count), out.o, first);
  });
  before.back().write(out);
}

}  // namespace attest::reference::linear::causal
