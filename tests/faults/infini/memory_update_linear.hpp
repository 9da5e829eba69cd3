// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/memory_update_linear.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infini::memory_update_linear {

namespace right = attest::reference::infini::memory_update_linear;
using attest::spec::infini::memory_update_linear::FeatureMap;
using right::In;
using right::Out;
using right::State;

/// The new state as `update(state, phi)` makes it of the old one.
template <class F>
void with_update(const In& in, const Out& out, F&& update) {
  const auto phi = right::features(in.feature_map, in.k);
  auto state = right::carried(in);
  update(state, phi);
  state.write(out);
}

inline void map_missing(const In& in, const Out& out) {
  In other = in;
  other.feature_map = FeatureMap::identity;
  right::matrix(other, out);
}

inline void map_missing_in_memory(const In& in, const Out& out) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    auto raw = state;
    state.add(phi.view(), in.v);
    raw.add(in.k, in.v);
    state.memory = raw.memory;
  });
}

inline void map_missing_in_z(const In& in, const Out& out) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    auto raw = state;
    state.add(phi.view(), in.v);
    raw.add(in.k, in.v);
    state.z = raw.z;
  });
}

inline void relu_map(const In& in, const Out& out) {
  In other = in;
  if (in.feature_map == FeatureMap::elu_plus_one) other.feature_map = FeatureMap::relu;
  right::matrix(other, out);
}

inline void k_v_swapped(const In& in, const Out& out) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    const Index d = in.k.extent(1), m = in.v.extent(1);
    auto z = state;
    z.add(phi.view(), in.v);
    for (Index a = 0; a < d; ++a)
      for (Index b = 0; b < m; ++b)
        state.memory(a, b) = state.memory(a, b) + dot(phi.column(b % d), in.v.column(a % m));
    state.z = z.z;
  });
}

inline void count_z(const In& in, const Out& out) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    const auto z = state.z;
    state.add(phi.view(), in.v);
    for (Index a = 0; a < z.extent(); ++a) state.z(a) = z(a) + Number(in.k.extent(0));
  });
}

inline void mean_instead_of_sum(const In& in, const Out& out) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    if (in.k.extent(0) == 0) return;
    const Number n = Number(in.k.extent(0));
    State news(in.k.extent(1), in.v.extent(1));
    news.add(phi.view(), in.v);
    for (Index a = 0; a < state.z.extent(); ++a) {
      for (Index b = 0; b < state.memory.extent(1); ++b)
        state.memory(a, b) = state.memory(a, b) + news.memory(a, b) / n;
      state.z(a) = state.z(a) + news.z(a) / n;
    }
  });
}

inline void overwrite(const In& in, const Out& out) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    state = State(in.k.extent(1), in.v.extent(1));
    state.add(phi.view(), in.v);
  });
}

inline void z_overwritten(const In& in, const Out& out) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    State fresh(in.k.extent(1), in.v.extent(1));
    fresh.add(phi.view(), in.v);
    state.add(phi.view(), in.v);
    state.z = fresh.z;
  });
}

inline void z_forgotten(const In& in, const Out& out) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    const auto z = state.z;
    state.add(phi.view(), in.v);
    state.z = z;
  });
}

inline void last_token_dropped(const In& in, const Out& out) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    const Index kept = std::max<Index>(in.k.extent(0) - 1, 0);
    state.add(phi.view().rows(0, kept), in.v.rows(0, kept));
  });
}

inline void remainder_dropped(const In& in, const Out& out) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    const Index kept = in.k.extent(0) / in.block * in.block;
    state.add(phi.view().rows(0, kept), in.v.rows(0, kept));
  });
}

inline void expm1_features(const In& in, const Out& out) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    if (in.feature_map != FeatureMap::elu_plus_one) return state.add(phi.view(), in.v);
    const auto flushed = matrix_of(in.k.extent(0), in.k.extent(1), [&](Index t, Index a) {
      const Number x = in.k(t, a);
      return positive(x) ? x + 1 : (exp(x) - Number(1)) + Number(1);
    });
    state.add(flushed.view(), in.v);
  });
}

inline void state_decay(const In& in, const Out& out, const Number& c) {
  with_update(in, out, [&](State& state, const Matrix& phi) {
    for (Index a = 0; a < state.z.extent(); ++a) {
      for (Index b = 0; b < state.memory.extent(1); ++b) state.memory(a, b) = state.memory(a, b) * (Number(1) - c);
      state.z(a) = state.z(a) * (Number(1) - c);
    }
    state.add(phi.view(), in.v);
  });
}

}  // namespace attest::faults::infini::memory_update_linear
