// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/memory_update_delta.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infini::memory_update_delta {

namespace right = attest::reference::infini::memory_update_delta;
using attest::spec::infini::memory_update_delta::FeatureMap;
using attest::spec::infini::memory_update_delta::ZeroDenominator;
using right::In;
using right::news;
using right::Out;
using right::State;

inline Matrix features(const In& in) { return right::features(in.feature_map, in.k); }

/// u_t = v_t - r_t, with r_t, the answer of the old state, changed.
template <class F>
void with_news(const In& in, const Out& out, F&& u) {
  const auto phi = features(in);
  auto state = right::carried(in);
  const Matrix stored = u(phi, state);
  state.add(phi.view(), stored.view());
  state.write(out);
}

inline void token_sequential(const In& in, const Out& out) {
  const auto phi = features(in);
  auto state = right::carried(in);
  for (Index t = 0; t < in.k.extent(0); ++t) {
    const auto u = news(phi.view().rows(t, 1), in.v.rows(t, 1), state, in.eps, in.zero_denominator);
    state.add(phi.view().rows(t, 1), u.view());
  }
  state.write(out);
}

inline void updated_z(const In& in, const Out& out) {
  with_news(in, out, [&](const Matrix& phi, const State& old) {
    auto with = old;
    with.add(phi.view(), in.v);
    with.memory = old.memory;
    return news(phi.view(), in.v, with, in.eps, in.zero_denominator);
  });
}

/// r_t from news(v = 0) = -r
inline Matrix answers(const In& in, const Matrix& phi, const State& old, double eps) {
  const Matrix zero(in.v.extent(0), in.v.extent(1));
  const auto minus = news(phi.view(), zero.view(), old, eps, in.zero_denominator);
  return matrix_of(in.v.extent(0), in.v.extent(1), [&](Index t, Index b) { return -minus(t, b); });
}

inline void no_denominator(const In& in, const Out& out) {
  with_news(in, out, [&](const Matrix& phi, const State& old) {
    return matrix_of(in.v.extent(0), in.v.extent(1),
                     [&](Index t, Index b) { return in.v(t, b) - dot(phi[t], old.memory.column(b)); });
  });
}

inline void sign_plus(const In& in, const Out& out) {
  with_news(in, out, [&](const Matrix& phi, const State& old) {
    const auto r = answers(in, phi, old, in.eps);
    return matrix_of(in.v.extent(0), in.v.extent(1), [&](Index t, Index b) { return in.v(t, b) + r(t, b); });
  });
}

inline void delta_ignored(const In& in, const Out& out) {
  with_news(in, out, [&](const Matrix&, const State&) { return Matrix(in.v, in.v.extent(0), in.v.extent(1)); });
}

inline void z_frozen(const In& in, const Out& out) {
  right::matrix(in, out);
  const auto old = right::carried(in);
  for (Index a = 0; a < old.z.extent(); ++a) out.z(a) = old.z(a);
}

inline void z_overwritten(const In& in, const Out& out) {
  right::matrix(in, out);
  const auto phi = features(in);
  for (Index a = 0; a < phi.extent(1); ++a) out.z(a) = sum(phi.extent(0), [&](Index t) { return phi(t, a); });
}

inline void first_segment_nan(const In& in, const Out& out) {
  In other = in;
  other.zero_denominator = ZeroDenominator::nan;
  right::matrix(other, out);
}

inline void map_missing(const In& in, const Out& out) {
  In other = in;
  other.feature_map = FeatureMap::identity;
  right::matrix(other, out);
}

inline void map_missing_in_read(const In& in, const Out& out) {
  with_news(in, out,
            [&](const Matrix&, const State& old) { return news(in.k, in.v, old, in.eps, in.zero_denominator); });
}

inline void eps_added(const In& in, const Out& out) {
  In other = in;
  other.eps = in.eps + 1e-5;
  right::matrix(other, out);
}

inline void eps_ignored(const In& in, const Out& out) {
  In other = in;
  other.eps = 0;
  right::matrix(other, out);
}

inline void last_token_dropped(const In& in, const Out& out) {
  const auto phi = features(in);
  auto state = right::carried(in);
  const auto u = news(phi.view(), in.v, state, in.eps, in.zero_denominator);
  const Index kept = std::max<Index>(in.k.extent(0) - 1, 0);
  state.add(phi.view().rows(0, kept), u.view().rows(0, kept));
  state.write(out);
}

inline void answer_drift(const In& in, const Out& out, const Number& c) {
  with_news(in, out, [&](const Matrix& phi, const State& old) {
    const auto r = answers(in, phi, old, in.eps);
    return matrix_of(in.v.extent(0), in.v.extent(1),
                     [&](Index t, Index b) { return in.v(t, b) - (Number(1) + c) * r(t, b); });
  });
}

}  // namespace attest::faults::infini::memory_update_delta
