// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/blockwise.hpp"
#include "faults/sparse/attend.hpp"

namespace attest::faults::sparse::blockwise {

namespace right = attest::reference::sparse::blockwise;
namespace plain = attest::reference::attention::scaled_dot_product;
namespace sets = attest::reference::sparse::attend;
using attest::reference::attention::softmax::shifted;
using right::In;
using right::Keys;
using right::Out;

/// The keys of each query.
inline auto set(const In& in) {
  return [&in, pi = right::permutation(in)](Index i) { return right::set_of(in, pi, i); };
}

inline void inverse_permutation(const In& in, const Out& out) {
  const Keys pi = right::permutation(in);
  sets::over_mask(in, out, [&](Index i, Index j) { return right::sees(in, pi, j, i); });
}

inline void permutation_ignored(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) { return right::block(in, i) == right::block(in, j); });
}

inline void attention_to_all(const In& in, const Out& out) {
  sets::over_mask(in, out, [](Index, Index) { return true; });
}

inline void mask_multiplied(const In& in, const Out& out) {
  const Keys pi = right::permutation(in);
  const Number scale = plain::scale_of(in);
  for (const Index i : wanted(out.o)) {
    const auto l = tabulate(
        in.k.extent(0), [&](Index j) { return right::sees(in, pi, i, j) ? scale * dot(in.q[i], in.k[j]) : Number(0); });
    assign(out.o[i], product(shifted(l).first, in.v));
  }
}

/// Row r of another block in place of the row at the same place in block a; its last row where it is shorter.
inline Index row_in(const In& in, Index a, Index r, Index other) {
  const Index first = right::start(in, other), last = right::start(in, other + 1) - 1;
  return std::min(first + r - right::start(in, a), last);
}

inline void permuted_queries(const In& in, const Out& out) {
  const Keys pi = right::permutation(in);
  const Matrix q = matrix_of(in.q.extent(0), in.q.extent(1), [&](Index i, Index c) {
    const Index a = right::block(in, i);
    return in.q(row_in(in, a, i, pi[static_cast<std::size_t>(a)]), c);
  });
  In other = in;
  other.q = q.view();
  right::blocks(other, out);
}

inline void values_not_permuted(const In& in, const Out& out) {
  sets::each_row(in, out, set(in), [&](Index i, const Keys& keys, const Vector& l) {
    const Index a = right::block(in, i);
    const auto v = matrix_of(l.extent(), in.v.extent(1), [&](Index t, Index c) {
      const Index j = keys[static_cast<std::size_t>(t)];
      return in.v(row_in(in, right::block(in, j), j, a), c);
    });
    assign(out.o[i], product(shifted(l).first, v));
  });
}

/// Blocks of so many tokens; what lies beyond the last belongs to none.
inline void with_length(const In& in, const Out& out, Index length) {
  const Keys pi = right::permutation(in);
  const Index p = right::blocks_of(in);
  sets::over_mask(in, out, [&](Index i, Index j) {
    return i / length < p && pi[static_cast<std::size_t>(i / length)] == j / length;
  });
}

inline void block_size_floor(const In& in, const Out& out) {
  with_length(in, out, in.q.extent(0) / right::blocks_of(in));
}

inline void block_size_ceil(const In& in, const Out& out) {
  with_length(in, out, (in.q.extent(0) + right::blocks_of(in) - 1) / right::blocks_of(in));
}

inline void scale_missing(const In& in, const Out& out) { attend::scaled(in, out, attend::missing_scale(in), set(in)); }

inline void scale_ignored(const In& in, const Out& out) { attend::scaled(in, out, attend::default_scale(in), set(in)); }

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  attend::scaled(in, out, attend::drifted_scale(in, c), set(in));
}

}  // namespace attest::faults::sparse::blockwise
