// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "attest/reference/linear/causal.hpp"
#include "attest/spec/linear/attention.hpp"

namespace attest::reference::linear::attention {

using In = feature_map::Mapped<attest::spec::linear::attention::In<Number>>;
using Out = attest::spec::linear::attention::Out<Number>;
using causal_chunked::add_chunk;
using causal_step::ratio;
using causal_step::State;

/// The keys that the mask leaves visible, with their values; of the others nothing is read.
struct Visible {
  Matrix phi_k, v;

  explicit Visible(const In& in) : Visible(in, rows(in)) {}
  Visible(const In& in, const std::vector<Index>& rows) : phi_k(picked(in.phi_k, rows)), v(picked(in.v, rows)) {}

  Index count() const { return v.extent(0); }

  static std::vector<Index> rows(const In& in) {
    std::vector<Index> rows;
    for (Index j = 0; j < in.v.extent(0); ++j)
      if (!in.mask || in.mask(j)) rows.push_back(j);
    return rows;
  }
  static Matrix picked(View<const Number, 2> x, const std::vector<Index>& rows) {
    Matrix copy(static_cast<Index>(rows.size()), x.extent(1));
    for (Index t = 0; t < copy.extent(0); ++t)
      for (Index a = 0; a < copy.extent(1); ++a) copy(t, a) = x(rows[static_cast<std::size_t>(t)], a);
    return copy;
  }
};

/// o_i = sum_j w_ij v_j / sum_j w_ij,  w_ij = phi_q_i . phi_k_j      [Katharopoulos et al. 2020, eq. 4]
inline void quadratic(const In& in, const Out& out) {
  const Visible keys(in);
  for (const Index i : wanted(out.o)) {
    const auto w = stage("weights", tabulate(keys.count(), [&](Index j) { return dot(in.phi_q[i], keys.phi_k[j]); }));
    const auto factors = stage("weight factors", w);
    const Number denominator = sum(w);
    for (Index b = 0; b < in.v.extent(1); ++b)
      out.o(i, b) = ratio(in, stage("accumulator", dot(factors, keys.v.column(b))), denominator);  // C2
  }
}

/// T = phi_k^T v and z = sum_j phi_k_j of these keys.
inline State stored(View<const Number, 2> phi_k, View<const Number, 2> v) {
  State state(phi_k.extent(1), v.extent(1));
  add_chunk(state, phi_k, v);
  return state;
}

inline void read_all(const In& in, const State& state, const Out& out) {
  for (const Index i : wanted(out.o)) causal_step::read(in, state, in.phi_q[i], out.o[i]);
}

/// o_i = phi_q_i^T T / (phi_q_i^T z)      [Katharopoulos et al. 2020, eq. 5 and 6]
inline void associative(const In& in, const Out& out) {
  const Visible keys(in);
  read_all(in, stored(keys.phi_k.view(), keys.v.view()), out);
}

/// phi_q [T | z] = phi_q phi_k^T [v | 1]: the last column divides the others.
inline void augmented(const In& in, const Out& out) {
  const Visible keys(in);
  const Index c = in.phi_k.extent(1), m = in.v.extent(1);
  Matrix V(keys.count(), m + 1), state(c, m + 1);
  for (Index j = 0; j < keys.count(); ++j)
    for (Index b = 0; b <= m; ++b) V(j, b) = b < m ? keys.v(j, b) : Number(1);
  for (Index a = 0; a < c; ++a)
    for (Index b = 0; b <= m; ++b)
      state(a, b) = stage(b < m ? "state" : "normaliser", dot(keys.phi_k.column(a), V.column(b)));
  for (const Index i : wanted(out.o)) {
    const auto w = tabulate(m + 1, [&](Index b) { return dot(in.phi_q[i], state.column(b)); });
    for (Index b = 0; b < m; ++b) out.o(i, b) = ratio(in, stage("accumulator", w(b)), w(m));
  }
}

/// (T, z) of all keys is the sum of those of the shards.
inline void sharded(const In& in, const Out& out) {
  const Visible keys(in);
  State total(in.phi_k.extent(1), in.v.extent(1));
  for (Index first = 0; first < keys.count(); first += in.shard) {  // C1
    const Index count = std::min(in.shard, keys.count() - first);
    total = causal::combined(std::move(total),
                             stored(keys.phi_k.view().rows(first, count), keys.v.view().rows(first, count)));
  }
  read_all(in, total, out);
}

}  // namespace attest::reference::linear::attention
