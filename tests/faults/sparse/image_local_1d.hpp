// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/image_local_1d.hpp"
#include "faults/sparse/attend.hpp"

namespace attest::faults::sparse::image_local_1d {

namespace right = attest::reference::sparse::image_local_1d;
namespace sets = attest::reference::sparse::attend;
using right::In;
using right::Out;

inline void sliding_instead_of_block(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) {
    return j >= i - in.extension && j < (in.causal ? i + 1 : right::block_end(in, i));
  });
}

inline void block_not_causal(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) {
    return j >= right::block_start(in, i) - in.extension && j < right::block_end(in, i);
  });
}

inline void always_causal(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) { return j <= i && right::sees(in, i, j); });
}

inline void extension_in_blocks(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) {
    return j >= right::block_start(in, i) - in.extension * in.query_block &&
           j < (in.causal ? i + 1 : right::block_end(in, i));
  });
}

inline void extension_after(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) {
    return j >= right::block_start(in, i) && j < (in.causal ? i + 1 : right::block_end(in, i) + in.extension);
  });
}

inline void extension_minus_one(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) {
    return right::sees(in, i, j) && (j >= right::block_start(in, i) || j > right::block_start(in, i) - in.extension);
  });
}

inline void block_off_by_one(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) {
    return j >= (i + 1) / in.query_block * in.query_block - in.extension &&
           j < (in.causal ? i + 1 : ((i + 1) / in.query_block + 1) * in.query_block - 1);
  });
}

inline void scale_missing(const In& in, const Out& out) {
  attend::scaled(in, out, attend::missing_scale(in), attend::seen(in, right::sees));
}

inline void scale_ignored(const In& in, const Out& out) {
  attend::scaled(in, out, attend::default_scale(in), attend::seen(in, right::sees));
}

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  attend::scaled(in, out, attend::drifted_scale(in, c), attend::seen(in, right::sees));
}

}  // namespace attest::faults::sparse::image_local_1d
