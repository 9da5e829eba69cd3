// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/memory_update_linear.hpp"
#include "faults/variant.hpp"

namespace attest::faults::infini::memory_update_linear {

namespace right = attest::reference::infini::memory_update_linear;
using right::In;
using right::Out;
using right::State;

/// The new state as `update(state, phi)` makes it of the old one.
template <class T, class F>
void with_update(const In<T>& in, const Out<T>& out, F&& update) {
  const auto phi = right::features(in.feature_map, in.k);
  auto state = right::carried<T>(in);
  update(state, phi);
  state.write(out);
}

template <class T>
void map_missing(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.feature_map = "identity";
  right::matrix(other, out);
}

template <class T>
void map_missing_in_memory(const In<T>& in, const Out<T>& out) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    auto raw = state;
    state.add(phi.view(), in.v);
    raw.add(in.k, in.v);
    state.memory = raw.memory;
  });
}

template <class T>
void map_missing_in_z(const In<T>& in, const Out<T>& out) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    auto raw = state;
    state.add(phi.view(), in.v);
    raw.add(in.k, in.v);
    state.z = raw.z;
  });
}

template <class T>
void relu_map(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  if (in.feature_map == "elu_plus_one") other.feature_map = "relu";
  right::matrix(other, out);
}

template <class T>
void k_v_swapped(const In<T>& in, const Out<T>& out) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    const Index d = in.k.extent(1), m = in.v.extent(1);
    auto z = state;
    z.add(phi.view(), in.v);
    for (Index a = 0; a < d; ++a)
      for (Index b = 0; b < m; ++b) state.memory(a, b) = state.memory(a, b) + dot<T>(phi.column(b % d), in.v.column(a % m));
    state.z = z.z;
  });
}

template <class T>
void count_z(const In<T>& in, const Out<T>& out) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    const auto z = state.z;
    state.add(phi.view(), in.v);
    for (Index a = 0; a < z.extent(); ++a) state.z(a) = z(a) + T(in.k.extent(0));
  });
}

template <class T>
void mean_instead_of_sum(const In<T>& in, const Out<T>& out) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    if (in.k.extent(0) == 0) return;
    const T n = T(in.k.extent(0));
    State<T> news(in.k.extent(1), in.v.extent(1));
    news.add(phi.view(), in.v);
    for (Index a = 0; a < state.z.extent(); ++a) {
      for (Index b = 0; b < state.memory.extent(1); ++b) state.memory(a, b) = state.memory(a, b) + news.memory(a, b) / n;
      state.z(a) = state.z(a) + news.z(a) / n;
    }
  });
}

template <class T>
void overwrite(const In<T>& in, const Out<T>& out) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    state = State<T>(in.k.extent(1), in.v.extent(1));
    state.add(phi.view(), in.v);
  });
}

template <class T>
void z_overwritten(const In<T>& in, const Out<T>& out) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    State<T> fresh(in.k.extent(1), in.v.extent(1));
    fresh.add(phi.view(), in.v);
    state.add(phi.view(), in.v);
    state.z = fresh.z;
  });
}

template <class T>
void z_forgotten(const In<T>& in, const Out<T>& out) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    const auto z = state.z;
    state.add(phi.view(), in.v);
    state.z = z;
  });
}

template <class T>
void last_token_dropped(const In<T>& in, const Out<T>& out) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    const Index kept = std::max<Index>(in.k.extent(0) - 1, 0);
    state.add(phi.view().rows(0, kept), in.v.rows(0, kept));
  });
}

template <class T>
void remainder_dropped(const In<T>& in, const Out<T>& out) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    const Index kept = in.k.extent(0) / in.block * in.block;
    state.add(phi.view().rows(0, kept), in.v.rows(0, kept));
  });
}

template <class T>
void expm1_features(const In<T>& in, const Out<T>& out) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    if (in.feature_map != "elu_plus_one") return state.add(phi.view(), in.v);
    const auto flushed = matrix_of<T>(in.k.extent(0), in.k.extent(1), [&](Index t, Index a) {
      const T x = in.k(t, a);
      return positive(x) ? T(x + T(1)) : T((exp(x) - T(1)) + T(1));
    });
    state.add(flushed.view(), in.v);
  });
}

template <class T>
void state_decay(const In<T>& in, const Out<T>& out, const T& c) {
  with_update(in, out, [&](State<T>& state, const Matrix<T>& phi) {
    for (Index a = 0; a < state.z.extent(); ++a) {
      for (Index b = 0; b < state.memory.extent(1); ++b) state.memory(a, b) = state.memory(a, b) * (T(1) - c);
      state.z(a) = state.z(a) * (T(1) - c);
    }
    state.add(phi.view(), in.v);
  });
}

}  // namespace attest::faults::infini::memory_update_linear
