// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "attest/reference/infini/memory_retrieve.hpp"
#include "faults/variant.hpp"

namespace attest::faults::infini::memory_retrieve {

namespace right = attest::reference::infini::memory_retrieve;
using right::In;
using right::Out;

/// a_ib = answer(phi(q_i), b)
template <class T, class F>
void with_answer(const In<T>& in, const Out<T>& out, F&& answer) {
  const auto phi = right::features(in.feature_map, in.q);
  for (Index i = 0; i < in.q.extent(0); ++i)
    for (Index b = 0; b < in.memory.extent(1); ++b) out.a(i, b) = answer(phi[i], b);
}

/// The equation on other queries.
template <class T, class F>
void with_queries(In<T> in, const Out<T>& out, F&& f) {
  const auto q = matrix_of<T>(in.q.extent(0), in.q.extent(1), f);
  in.q = q.view();
  right::rows(in, out);
}

template <class T>
void no_normaliser(const In<T>& in, const Out<T>& out) {
  with_answer(in, out, [&](View<const T, 1> phi, Index b) { return dot<T>(phi, in.memory.column(b)); });
}

template <class T>
void elementwise_z(const In<T>& in, const Out<T>& out) {
  with_answer(in, out, [&](View<const T, 1> phi, Index b) {
    return right::ratio(dot<T>(phi, in.memory.column(b)), T(in.z(b % in.z.extent(0)) + T(in.eps)), in.zero_denominator);
  });
}

template <class T>
void sum_of_z(const In<T>& in, const Out<T>& out) {
  const T total = sum(in.z.extent(0), [&](Index a) { return T(in.z(a)); }) + T(in.eps);
  with_answer(in, out, [&](View<const T, 1> phi, Index b) { return right::ratio(dot<T>(phi, in.memory.column(b)), total, in.zero_denominator); });
}

template <class T>
void map_missing(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.feature_map = "identity";
  right::rows(other, out);
}

template <class T>
void relu_map(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  if (in.feature_map == "elu_plus_one") other.feature_map = "relu";
  right::rows(other, out);
}

template <class T>
void softmax_read(const In<T>& in, const Out<T>& out) {
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const auto w = reference::attention::softmax::shifted(tabulate(in.q.extent(1), [&](Index a) { return T(in.q(i, a)); })).first;
    for (Index b = 0; b < in.memory.extent(1); ++b) out.a(i, b) = dot<T>(w, in.memory.column(b));
  }
}

template <class T>
void nan_first_segment(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.zero_denominator = "nan";
  right::rows(other, out);
}

template <class T>
void scaled_queries(const In<T>& in, const Out<T>& out) {
  const T scale = T(1) / sqrt(T(in.q.extent(1)));
  with_queries(in, out, [&](Index i, Index a) { return scale * in.q(i, a); });
}

template <class T>
void eps_added(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.eps = in.eps + 1e-5;
  right::rows(other, out);
}

template <class T>
void eps_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.eps = 0;
  right::rows(other, out);
}

template <class T>
void expm1_features(const In<T>& in, const Out<T>& out) {
  if (in.feature_map != "elu_plus_one") return right::rows(in, out);
  const auto phi = matrix_of<T>(in.q.extent(0), in.q.extent(1), [&](Index i, Index a) {
    const T x = in.q(i, a);
    return positive(x) ? T(x + T(1)) : T((exp(x) - T(1)) + T(1));
  });
  In<T> other = in;
  other.q = phi.view(), other.feature_map = "identity";
  right::rows(other, out);
}

template <class T>
void normaliser_drift(const In<T>& in, const Out<T>& out, const T& c) {
  right::rows(in, out);
  for (Index i = 0; i < in.q.extent(0); ++i)
    for (Index b = 0; b < in.memory.extent(1); ++b) out.a(i, b) = out.a(i, b) / (T(1) + c);
}

}  // namespace attest::faults::infini::memory_retrieve
