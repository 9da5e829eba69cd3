// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/multi_head.hpp"
#include "attest/spec/objective/compressive_attention_reconstruction.hpp"

namespace attest::reference::objective::compressive_attention_reconstruction {

using In = attest::spec::objective::compressive_attention_reconstruction::In<Number>;
using Out = attest::spec::objective::compressive_attention_reconstruction::Out<Number>;
using attest::spec::objective::compressive_attention_reconstruction::Norm;
namespace multi_head = attention::multi_head;

/// Projected queries of the tokens, which take no gradient.
inline Matrix queries(const In& in) {
  const StoppedMatrix h(in.h), w_q(in.w_q);
  return multi_head::queries(h, w_q);
}

/// Projected keys and values of a memory.
struct Memory {
  Matrix k, v;
};

/// M W_K and M W_V, where the projections take no gradient.
inline Memory memory_of(const In& in, View<const Number, 2> m) {
  const StoppedMatrix w_k(in.w_k), w_v(in.w_v);
  return {multi_head::keys(m, w_k), multi_head::values(m, w_v)};
}

/// The old memories, which take none either.
inline Memory old_memory(const In& in) {
  const StoppedMatrix old(in.old);
  return memory_of(in, old);
}

/// A(H, M) = softmax(scale (H W_Q) (M W_K)^T) (M W_V)
inline Matrix fetched(const In& in, const Matrix& q, const Memory& m) {
  multi_head::In attention;
  attention.scale = in.scale;
  return stage("fetched", multi_head::attended(attention, q, m.k, m.v));
}

/// a - b, element after element
inline Vector differences(const Matrix& a, const Matrix& b) {
  const Index width = a.extent(1);
  return stage("differences", tabulate(a.extent(0) * width,
                                       [&](Index i) { return a(i / width, i % width) - b(i / width, i % width); }));
}

/// L from the sum of the squares of that many differences.
inline Number loss(const In& in, const Number& squares, Index elements) {
  if (in.norm == Norm::frobenius) return sqrt(stage("sum of squares", squares));
  return in.norm == Norm::squared ? squares : stage("sum of squares", squares) / Number(elements);
}

/// L from the differences.
inline Number loss(const In& in, const Vector& off) { return loss(in, dot(off, off), off.extent()); }

/// L = ||A(H, O) - A(H, C)||_F      [Rae et al. 2019, Algorithm 2]
inline void direct(const In& in, const Out& out) {
  const Matrix q = queries(in);
  out.loss() = loss(in, differences(fetched(in, q, old_memory(in)), fetched(in, q, memory_of(in, in.compressed))));
}

/// sum <- sum + |a_i - b_i|^2
inline void by_token(const In& in, const Out& out) {
  const Matrix q = queries(in);
  const Memory old = old_memory(in), compressed = memory_of(in, in.compressed);
  Number squares(0);
  for (Index i = 0; i < q.extent(0); ++i) {
    const Matrix one(q.view().rows(i, 1), 1, q.extent(1));
    const Vector off = differences(fetched(in, one, old), fetched(in, one, compressed));
    squares = stage("sum of squares", squares + dot(off, off));
  }
  out.loss() = loss(in, squares, q.extent(0) * in.w_v.extent(1));
}

}  // namespace attest::reference::objective::compressive_attention_reconstruction
