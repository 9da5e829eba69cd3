// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/attend.hpp"
#include "attest/spec/sparse/blockwise.hpp"

namespace attest::reference::sparse::blockwise {

using In = attest::spec::sparse::blockwise::In<Number>;
using Out = attest::spec::sparse::blockwise::Out<Number>;
using attend::Keys;

inline Index blocks_of(const In& in) { return in.permutation.extent(0); }

/// floor(i p / n)
inline Index block(const In& in, Index i) { return i * blocks_of(in) / in.q.extent(0); }

/// The first token of a block: the smallest i with i p >= a n.
inline Index start(const In& in, Index a) { return (a * in.q.extent(0) + blocks_of(in) - 1) / blocks_of(in); }

/// pi, each block once.   C2
inline Keys permutation(const In& in) {
  const Index p = blocks_of(in);
  Keys pi;
  for (Index a = 0; a < p; ++a) pi.push_back(in.permutation(a));
  const Keys blocks = attend::distinct(pi);
  if (static_cast<Index>(blocks.size()) != p || blocks.front() != 0 || blocks.back() != p - 1)
    throw SpecError("sparse.blockwise: C2 is violated: the permutation does not have each of the blocks 0 to " +
                    std::to_string(p - 1) + " once");
  return pi;
}

/// M_ij = [pi(blk(i)) = blk(j)]
inline bool sees(const In& in, const Keys& pi, Index i, Index j) {
  return pi[static_cast<std::size_t>(block(in, i))] == block(in, j);
}

/// o_i = sum_{j : M_ij = 1} a_ij v_j      [Qiu et al. 2019, eq. 4]
inline void mask(const In& in, const Out& out) {
  const Keys pi = permutation(in);
  attend::over_mask(in, out, [&](Index i, Index j) { return sees(in, pi, i, j); });
}

/// The tokens of block pi(blk(i)).
inline Keys set_of(const In& in, const Keys& pi, Index i) {
  const Index seen = pi[static_cast<std::size_t>(block(in, i))], first = start(in, seen);
  Keys keys(static_cast<std::size_t>(start(in, seen + 1) - first));
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

/// Block a: softmax(scale q_a k_pi(a)^T) v_pi(a)
inline void blocks(const In& in, const Out& out) {
  const Keys pi = permutation(in);
  attend::over_sets(in, out, [&](Index i) { return set_of(in, pi, i); });
}

}  // namespace attest::reference::sparse::blockwise
