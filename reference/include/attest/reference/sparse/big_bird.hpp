// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/attend.hpp"
#include "attest/spec/sparse/big_bird.hpp"

namespace attest::reference::sparse::big_bird {

using In = attest::spec::sparse::big_bird::In<Number>;
using Out = attest::spec::sparse::big_bird::Out<Number>;
using attend::Keys;

inline Index blocks_of(const In& in) { return (in.q.extent(0) + in.block - 1) / in.block; }

/// Whether a block is one of G.
inline bool is_global(const In& in, Index a) { return a < in.first_global || a >= blocks_of(in) - in.last_global; }

/// Z_a, from that row of the lists.
inline Keys list(const In& in, Index row) {
  const Index n = in.q.extent(0);
  Keys blocks;
  for (Index t = 0; t < in.random.extent(1); ++t) {
    const Index token = in.random(row, t);
    if (token < 0 || token >= n)
      throw SpecError("sparse.big_bird: C4 is violated: random[" + std::to_string(row) + ", " + std::to_string(t) +
                      "] is " + std::to_string(token) + ", and there are " + std::to_string(n) + " tokens");
    blocks.push_back(token / in.block);
  }
  return attend::distinct(blocks);
}

/// Whether block e is one of the blocks.
inline bool holds(const Keys& blocks, Index e) { return std::binary_search(blocks.begin(), blocks.end(), e); }

/// The keys that query i sees.
inline Keys set_of(const In& in, Index i) {
  const Index a = i / in.block;
  const Keys random = list(in, a * in.block);
  return attend::keys_below(in.k.extent(0), [&](Index j) {
    const Index e = j / in.block;
    return std::abs(a - e) <= in.radius || is_global(in, a) || is_global(in, e) || holds(random, e);
  });
}

/// o_i = sum_{j in S_i} a_ij v_j      [Zaheer et al. 2020, section 2]
inline void mask(const In& in, const Out& out) {
  std::vector<Keys> sets(static_cast<std::size_t>(in.q.extent(0)));
  for (const Index i : wanted(out.o)) sets[static_cast<std::size_t>(i)] = set_of(in, i);
  attend::over_mask(in, out, [&](Index i, Index j) { return holds(sets[static_cast<std::size_t>(i)], j); });
}

/// One visible block after the other.
inline void blocks(const In& in, const Out& out) {
  attend::over_lists(in, out,
                     [&](Index i) { return attend::split(set_of(in, i), [&](Index j) { return j / in.block; }); });
}

/// The edges of each query in the graph of who sees whom.
inline void edge_list(const In& in, const Out& out) {
  attend::over_sets(in, out, [&](Index i) { return set_of(in, i); });
}

}  // namespace attest::reference::sparse::big_bird
