// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/multi_head.hpp"
#include "attest/spec/objective/compressive_attention_reconstruction.hpp"

namespace attest::reference::objective::compressive_attention_reconstruction {

using In = attest::spec::objective::compressive_attention_reconstruction::In<Number>;
using Out = attest::spec::objective::compressive_attention_reconstruction::Out<Number>;
using attest::spec::objective::compressive_attention_reconstruction::Norm;
namespace multi_head = attention::multi_head;

/// A(H, M) = softmax(scale (H W_Q) (M W_K)^T) (M W_V). The gradient goes to M alone.
inline Matrix fetched(const In& in, View<const Number, 2> h, View<const Number, 2> memory) {
  const StoppedMatrix tokens(h), w_q(in.w_q), w_k(in.w_k), w_v(in.w_v);
  multi_head::In attention;
  attention.scale = in.scale;
  return stage("fetched", multi_head::attended(attention, multi_head::queries(tokens, w_q),
                                               multi_head::keys(memory, w_k), multi_head::values(memory, w_v)));
}

/// A(H, O), a constant
inline Matrix from_old(const In& in, View<const Number, 2> h) {
  const StoppedMatrix old(in.old);
  return fetched(in, h, old);
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
  out.loss() = loss(in, differences(from_old(in, in.h), fetched(in, in.h, in.compressed)));
}

/// sum <- sum + |a_i - b_i|^2
inline void by_token(const In& in, const Out& out) {
  Number squares(0);
  for (Index i = 0; i < in.h.extent(0); ++i) {
    const auto h = in.h.rows(i, 1);
    const Vector off = differences(from_old(in, h), fetched(in, h, in.compressed));
    squares = stage("sum of squares", squares + dot(off, off));
  }
  out.loss() = loss(in, squares, in.h.extent(0) * in.w_v.extent(1));
}

}  // namespace attest::reference::objective::compressive_attention_reconstruction
