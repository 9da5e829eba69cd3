// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/memory_update_delta.hpp"
#include "faults/variant.hpp"

namespace attest::faults::infini::memory_update_delta {

namespace right = attest::reference::infini::memory_update_delta;
using right::In;
using right::news;
using right::Out;
using right::State;

template <class T>
Matrix<T> features(const In<T>& in) { return right::features(in.feature_map, in.k); }

/// What the old state does not answer, with the answer changed: u_t = v_t - r_t.
template <class T, class F>
void with_news(const In<T>& in, const Out<T>& out, F&& u) {
  const auto phi = features(in);
  auto state = right::carried<T>(in);
  const Matrix<T> stored = u(phi, state);
  state.add(phi.view(), stored.view());
  state.write(out);
}

template <class T>
void token_sequential(const In<T>& in, const Out<T>& out) {
  const auto phi = features(in);
  auto state = right::carried<T>(in);
  for (Index t = 0; t < in.k.extent(0); ++t) {
    const auto u = news(phi.view().rows(t, 1), in.v.rows(t, 1), state, in.eps, in.zero_denominator);
    state.add(phi.view().rows(t, 1), u.view());
  }
  state.write(out);
}

template <class T>
void updated_z(const In<T>& in, const Out<T>& out) {
  with_news(in, out, [&](const Matrix<T>& phi, const State<T>& old) {
    auto with = old;
    with.add(phi.view(), in.v);
    with.memory = old.memory;
    return news(phi.view(), in.v, with, in.eps, in.zero_denominator);
  });
}

/// r_t from news(v = 0) = -r
template <class T>
Matrix<T> answers(const In<T>& in, const Matrix<T>& phi, const State<T>& old, double eps) {
  const Matrix<T> zero(in.v.extent(0), in.v.extent(1));
  const auto minus = news(phi.view(), zero.view(), old, eps, in.zero_denominator);
  return matrix_of<T>(in.v.extent(0), in.v.extent(1), [&](Index t, Index b) { return -minus(t, b); });
}

template <class T>
void no_denominator(const In<T>& in, const Out<T>& out) {
  with_news(in, out, [&](const Matrix<T>& phi, const State<T>& old) {
    return matrix_of<T>(in.v.extent(0), in.v.extent(1), [&](Index t, Index b) { return in.v(t, b) - dot<T>(phi[t], old.memory.column(b)); });
  });
}

template <class T>
void sign_plus(const In<T>& in, const Out<T>& out) {
  with_news(in, out, [&](const Matrix<T>& phi, const State<T>& old) {
    const auto r = answers(in, phi, old, in.eps);
    return matrix_of<T>(in.v.extent(0), in.v.extent(1), [&](Index t, Index b) { return in.v(t, b) + r(t, b); });
  });
}

template <class T>
void delta_ignored(const In<T>& in, const Out<T>& out) {
  with_news(in, out, [&](const Matrix<T>&, const State<T>&) { return Matrix<T>(in.v, in.v.extent(0), in.v.extent(1)); });
}

template <class T>
void z_frozen(const In<T>& in, const Out<T>& out) {
  right::matrix(in, out);
  const auto old = right::carried<T>(in);
  for (Index a = 0; a < old.z.extent(); ++a) out.z(a) = old.z(a);
}

template <class T>
void z_overwritten(const In<T>& in, const Out<T>& out) {
  right::matrix(in, out);
  const auto phi = features(in);
  for (Index a = 0; a < phi.extent(1); ++a) out.z(a) = sum(phi.extent(0), [&](Index t) { return phi(t, a); });
}

template <class T>
void first_segment_nan(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.zero_denominator = "nan";
  right::matrix(other, out);
}

template <class T>
void map_missing(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.feature_map = "identity";
  right::matrix(other, out);
}

template <class T>
void map_missing_in_read(const In<T>& in, const Out<T>& out) {
  with_news(in, out, [&](const Matrix<T>&, const State<T>& old) { return news(in.k, in.v, old, in.eps, in.zero_denominator); });
}

template <class T>
void eps_added(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.eps = in.eps + 1e-5;
  right::matrix(other, out);
}

template <class T>
void eps_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.eps = 0;
  right::matrix(other, out);
}

template <class T>
void last_token_dropped(const In<T>& in, const Out<T>& out) {
  const auto phi = features(in);
  auto state = right::carried<T>(in);
  const auto u = news(phi.view(), in.v, state, in.eps, in.zero_denominator);
  const Index kept = std::max<Index>(in.k.extent(0) - 1, 0);
  state.add(phi.view().rows(0, kept), u.view().rows(0, kept));
  state.write(out);
}

template <class T>
void answer_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_news(in, out, [&](const Matrix<T>& phi, const State<T>& old) {
    const auto r = answers(in, phi, old, in.eps);
    return matrix_of<T>(in.v.extent(0), in.v.extent(1), [&](Index t, Index b) { return in.v(t, b) - (T(1) + c) * r(t, b); });
  });
}

}  // namespace attest::faults::infini::memory_update_delta
