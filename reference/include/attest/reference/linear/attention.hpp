// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "attest/reference/linear/causal.hpp"
#include "attest/spec/linear/attention.hpp"

namespace attest::reference::linear::attention {

using attest::spec::linear::attention::In;
using attest::spec::linear::attention::Out;
using causal_chunked::add_chunk;
using causal_step::ratio;
using causal_step::State;

/// The keys that the mask leaves visible, with their values; of the others nothing is read.
template <class T>
struct Visible {
  Matrix<T> phi_k, v;

  explicit Visible(const In<T>& in) : Visible(in, rows(in)) {}
  Visible(const In<T>& in, const std::vector<Index>& rows) : phi_k(picked(in.phi_k, rows)), v(picked(in.v, rows)) {}

  Index count() const { return v.extent(0); }

  static std::vector<Index> rows(const In<T>& in) {
    std::vector<Index> rows;
    for (Index j = 0; j < in.v.extent(0); ++j)
      if (!in.mask || in.mask(j)) rows.push_back(j);
    return rows;
  }
  static Matrix<T> picked(View<const T, 2> x, const std::vector<Index>& rows) {
    Matrix<T> copy(static_cast<Index>(rows.size()), x.extent(1));
    for (Index t = 0; t < copy.extent(0); ++t)
      for (Index a = 0; a < copy.extent(1); ++a) copy(t, a) = x(rows[static_cast<std::size_t>(t)], a);
    return copy;
  }
};

/// o_i = sum_j w_ij v_j / sum_j w_ij,  w_ij = phi_q_i . phi_k_j      [Katharopoulos et al. 2020, eq. 4]
template <class T>
void quadratic(const In<T>& in, const Out<T>& out) {
  const Visible<T> keys(in);
  for (Index i = 0; i < in.phi_q.extent(0); ++i) {
    const auto w = tabulate(keys.count(), [&](Index j) { return dot<T>(in.phi_q[i], keys.phi_k[j]); });
    const T denominator = sum(keys.count(), [&](Index j) { return w(j); });
    for (Index b = 0; b < in.v.extent(1); ++b) out.o(i, b) = ratio(in, dot<T>(w, keys.v.column(b)), denominator);  // C2
  }
}

/// T = phi_k^T v and z = sum_j phi_k_j of these keys.
template <class T>
State<T> stored(View<const T, 2> phi_k, View<const T, 2> v) {
  State<T> state(phi_k.extent(1), v.extent(1));
  add_chunk(state, phi_k, v);
  return state;
}

template <class T>
void read_all(const In<T>& in, const State<T>& state, const Out<T>& out) {
  for (Index i = 0; i < in.phi_q.extent(0); ++i) causal_step::read(in, state, in.phi_q[i], out.o[i]);
}

/// o_i = phi_q_i^T T / (phi_q_i^T z)      [Katharopoulos et al. 2020, eq. 5 and 6]
template <class T>
void associative(const In<T>& in, const Out<T>& out) {
  const Visible<T> keys(in);
  read_all(in, stored(keys.phi_k.view(), keys.v.view()), out);
}

/// phi_q [T | z] = phi_q phi_k^T [v | 1]: the last column divides the others.
template <class T>
void augmented(const In<T>& in, const Out<T>& out) {
  const Visible<T> keys(in);
  const Index c = in.phi_k.extent(1), m = in.v.extent(1);
  Matrix<T> V(keys.count(), m + 1), state(c, m + 1);
  for (Index j = 0; j < keys.count(); ++j)
    for (Index b = 0; b <= m; ++b) V(j, b) = b < m ? keys.v(j, b) : T(1);
  for (Index a = 0; a < c; ++a)
    for (Index b = 0; b <= m; ++b) state(a, b) = dot<T>(keys.phi_k.column(a), V.column(b));
  for (Index i = 0; i < in.phi_q.extent(0); ++i) {
    const auto w = tabulate(m + 1, [&](Index b) { return dot<T>(in.phi_q[i], state.column(b)); });
    for (Index b = 0; b < m; ++b) out.o(i, b) = ratio(in, w(b), w(m));
  }
}

/// (T, z) of all keys is the sum of those of the shards.
template <class T>
void sharded(const In<T>& in, const Out<T>& out) {
  const Visible<T> keys(in);
  State<T> total(in.phi_k.extent(1), in.v.extent(1));
  for (Index first = 0; first < keys.count(); first += in.shard) {  // C1
    const Index count = std::min(in.shard, keys.count() - first);
    total = causal::combined(std::move(total), stored(keys.phi_k.view().rows(first, count), keys.v.view().rows(first, count)));
  }
  read_all(in, total, out);
}

}  // namespace attest::reference::linear::attention
