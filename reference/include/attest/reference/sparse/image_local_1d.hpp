// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/attend.hpp"
#include "attest/spec/sparse/image_local_1d.hpp"

namespace attest::reference::sparse::image_local_1d {

using In = attest::spec::sparse::image_local_1d::In<Number>;
using Out = attest::spec::sparse::image_local_1d::Out<Number>;
using attend::Keys;

/// The first query of a query's block.
inline Index block_start(const In& in, Index i) { return i / in.query_block * in.query_block; }

/// Where the block of a query ends.
inline Index block_end(const In& in, Index i) { return std::min(block_start(in, i) + in.query_block, in.q.extent(0)); }

/// max(0, b l_q - l_m) <= j, to the query or to the end of its block.
inline bool sees(const In& in, Index i, Index j) {
  return j >= block_start(in, i) - in.extension && j < (in.causal ? i + 1 : block_end(in, i));
}

/// o_i = sum_{j in S_i} a_ij v_j      [Parmar et al. 2018, section 3.2.1]
inline void mask(const In& in, const Out& out) {
  attend::over_mask(in, out, [&](Index i, Index j) { return sees(in, i, j); });
}

/// The keys before the block, then those in it.
inline void blocks(const In& in, const Out& out) {
  attend::over_lists(in, out, [&](Index i) {
    const Keys keys = attend::keys_below(block_end(in, i), [&](Index j) { return sees(in, i, j); });
    return attend::split(keys, [&](Index j) { return j >= block_start(in, i); });
  });
}

}  // namespace attest::reference::sparse::image_local_1d
