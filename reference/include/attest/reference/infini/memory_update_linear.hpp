// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/memory_retrieve.hpp"
#include "attest/spec/infini/memory_update_linear.hpp"

namespace attest::reference::infini::memory_update_linear {

using In = attest::spec::infini::memory_update_linear::In<Number>;
using Out = attest::spec::infini::memory_update_linear::Out<Number>;
using memory_retrieve::features;

/// The state after the tokens so far: memory = sum_t phi(k_t) v_t^T and z = sum_t phi(k_t).
struct State {
  Matrix memory;
  Vector z;

  /// No tokens.
  State(Index d, Index m) : memory(d, m), z(d) {}
  /// The carried state; zero where it is not given.
  State(View<const Number, 2> carried, Row carried_z, Index d, Index m)
      : memory(carried, d, m), z(tabulate(d, [&](Index a) { return carried_z ? carried_z(a) : Number(0); })) {}

  /// memory <- memory + phi^T v,  z <- z + sum_t phi_t
  void add(View<const Number, 2> phi, View<const Number, 2> v) {
    for (Index a = 0; a < z.extent(); ++a)
      for (Index b = 0; b < memory.extent(1); ++b)
        memory(a, b) = stage("memory", dot(phi.column(a), v.column(b), memory(a, b)));
    add_to_z(phi);
  }
  /// z <- z + sum_t phi_t; z may be one more column of the same product.
  void add_to_z(View<const Number, 2> phi) {
    const Index n = phi.extent(0);
    for (Index a = 0; a < z.extent(); ++a)
      z(a) = stage("normaliser", sum(n + 1, [&](Index t) { return t < n ? as_multiplied(phi(t, a)) : z(a); }));
  }

  /// The state of two sets of tokens is the sum of theirs.
  friend State operator+(State x, const State& y) {
    for (Index a = 0; a < x.z.extent(); ++a) {
      for (Index b = 0; b < x.memory.extent(1); ++b) x.memory(a, b) = stage("memory", x.memory(a, b) + y.memory(a, b));
      x.z(a) = stage("normaliser", x.z(a) + y.z(a));
    }
    return x;
  }

  /// The outputs of the same names.
  template <class O>
  void write(const O& out) const {
    for (Index a = 0; a < z.extent(); ++a) {
      for (Index b = 0; b < memory.extent(1); ++b) out.memory(a, b) = memory(a, b);
      out.z(a) = z(a);
    }
  }
};

/// The state from before the call.
template <class I>
State carried(const I& in) {
  return State(in.memory, in.z, in.k.extent(1), in.v.extent(1));
}

/// memory' = memory + phi(k)^T v,  z' = z + sum_t phi(k_t)      [Munkhdalai et al. 2024, eq. 4]
inline void matrix(const In& in, const Out& out) {
  const auto phi = features(in.feature_map, in.k);
  auto state = carried(in);
  state.add(phi.view(), in.v);
  state.write(out);
}

/// memory <- memory + phi(k_t) v_t^T, token after token.
inline void tokens(const In& in, const Out& out) {
  const auto phi = features(in.feature_map, in.k);
  auto state = carried(in);
  for (Index t = 0; t < in.k.extent(0); ++t) state.add(phi.view().rows(t, 1), in.v.rows(t, 1));
  state.write(out);
}

/// total[s] <- total[0] + ... + total[s] in log2(size) rounds, each of which may run in parallel over s; `join(x, y)`
/// puts y after x.
template <class S, class F>
void prefix_scan(std::vector<S>& total, F&& join) {
  for (std::size_t reach = 1; reach < total.size(); reach *= 2)
    for (std::size_t s = total.size(); s-- > reach;) total[s] = join(total[s - reach], total[s]);
}

/// Blocks of tokens on their own, then a prefix sum of their states; the last one is the sum of all.
inline void scan(const In& in, const Out& out) {
  const Index n = in.k.extent(0), d = in.k.extent(1), m = in.v.extent(1);
  const auto phi = features(in.feature_map, in.k);
  std::vector<State> total{carried(in)};
  for (Index first = 0; first < n; first += in.block) {  // C1
    const Index count = std::min(in.block, n - first);
    total.emplace_back(d, m).add(phi.view().rows(first, count), in.v.rows(first, count));
  }
  prefix_scan(total, [](const State& x, const State& y) { return x + y; });
  total.back().write(out);
}

}  // namespace attest::reference::infini::memory_update_linear
