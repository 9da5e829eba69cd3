// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include "attest/reference/sparse/attend.hpp"
#include "attest/spec/sparse/image_local_2d.hpp"

namespace attest::reference::sparse::image_local_2d {

using In = attest::spec::sparse::image_local_2d::In<Number>;
using Out = attest::spec::sparse::image_local_2d::Out<Number>;
using attend::Keys;

/// Where a token stands, and the first pixel of its block.
struct Pixel {
  Index row, column, block_row, block_column;
};

inline Pixel pixel(const In& in, Index i) {
  const Index row = i / in.columns, column = i % in.columns;
  return {row, column, row / in.block_rows * in.block_rows, column / in.block_columns * in.block_columns};
}

/// Whether pixel b is not generated after pixel a: blocks in raster order, pixels in raster order inside.
inline bool generated(const Pixel& a, const Pixel& b) {
  const auto order = [](const Pixel& p) { return std::tuple(p.block_row, p.block_column, p.row, p.column); };
  return order(b) <= order(a);
}

/// Whether a pixel is in those rows and columns around the block of another.
inline bool in_memory(const In& in, const Pixel& of, const Pixel& p, Index above, Index left, Index right) {
  return p.row >= of.block_row - above && p.row < of.block_row + in.block_rows && p.column >= of.block_column - left &&
         p.column < of.block_column + in.block_columns + right;
}

inline bool sees(const In& in, Index i, Index j) {
  const Pixel a = pixel(in, i), b = pixel(in, j);
  return in_memory(in, a, b, in.above, in.beside, in.beside) && (!in.causal || generated(a, b));
}

/// o_i = sum_{j in S_i} a_ij v_j      [Parmar et al. 2018, section 3.2.2]
inline void mask(const In& in, const Out& out) {
  attend::over_mask(in, out, [&](Index i, Index j) { return sees(in, i, j); });
}

/// The rows above, the columns beside, the block.
inline void blocks(const In& in, const Out& out) {
  attend::over_lists(in, out, [&](Index i) {
    std::vector<Keys> parts(3);
    const Pixel a = pixel(in, i);
    for (const Index j : attend::keys_below(in.k.extent(0), [&](Index r) { return sees(in, i, r); })) {
      const Pixel b = pixel(in, j);
      parts[b.row < a.block_row ? 0 : b.block_column != a.block_column ? 1 : 2].push_back(j);
    }
    return parts;
  });
}

}  // namespace attest::reference::sparse::image_local_2d
