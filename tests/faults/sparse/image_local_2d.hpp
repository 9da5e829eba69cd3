// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/image_local_2d.hpp"
#include "faults/sparse/attend.hpp"

namespace attest::faults::sparse::image_local_2d {

namespace right = attest::reference::sparse::image_local_2d;
namespace sets = attest::reference::sparse::attend;
using right::In;
using right::Out;
using right::Pixel;

/// The equation where a pixel sees another one if sees(pixel, other).
template <class F>
void with_memory(const In& in, const Out& out, F&& sees) {
  sets::over_mask(in, out, [&](Index i, Index j) { return sees(right::pixel(in, i), right::pixel(in, j)); });
}

inline void wraps_around(const In& in, const Out& out) {
  with_memory(in, out, [&](const Pixel& a, const Pixel& b) {
    return (!in.causal || right::generated(a, b)) && b.row >= a.block_row - in.above &&
           b.row < a.block_row + in.block_rows &&
           (b.column - a.block_column + in.beside + in.columns) % in.columns < in.block_columns + 2 * in.beside;
  });
}

inline void raster_order(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) {
    return right::in_memory(in, right::pixel(in, i), right::pixel(in, j), in.above, in.beside, in.beside) &&
           (!in.causal || j <= i);
  });
}

inline void extends_down(const In& in, const Out& out) {
  with_memory(in, out, [&](const Pixel& a, const Pixel& b) {
    return (!in.causal || right::generated(a, b)) && b.row >= a.block_row - in.above &&
           b.row < a.block_row + in.block_rows + in.above && b.column >= a.block_column - in.beside &&
           b.column < a.block_column + in.block_columns + in.beside;
  });
}

inline void left_only(const In& in, const Out& out) {
  with_memory(in, out, [&](const Pixel& a, const Pixel& b) {
    return (!in.causal || right::generated(a, b)) && right::in_memory(in, a, b, in.above, in.beside, 0);
  });
}

inline void extension_per_pixel(const In& in, const Out& out) {
  with_memory(in, out, [&](const Pixel& a, const Pixel& b) {
    return (!in.causal || right::generated(a, b)) && std::abs(a.row - b.row) <= in.above &&
           std::abs(a.column - b.column) <= in.beside;
  });
}

inline void nothing_above(const In& in, const Out& out) {
  with_memory(in, out, [&](const Pixel& a, const Pixel& b) {
    return (!in.causal || right::generated(a, b)) && right::in_memory(in, a, b, 0, in.beside, in.beside);
  });
}

inline void causal_ignored(const In& in, const Out& out) {
  with_memory(in, out, [&](const Pixel& a, const Pixel& b) {
    return right::in_memory(in, a, b, in.above, in.beside, in.beside);
  });
}

inline void always_causal(const In& in, const Out& out) {
  with_memory(in, out, [&](const Pixel& a, const Pixel& b) {
    return right::generated(a, b) && right::in_memory(in, a, b, in.above, in.beside, in.beside);
  });
}

inline void sides_exchanged(const In& in, const Out& out) {
  with_memory(in, out, [&](const Pixel& a, const Pixel& b) {
    return (!in.causal || right::generated(a, b)) && right::in_memory(in, a, b, in.beside, in.above, in.above);
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

}  // namespace attest::faults::sparse::image_local_2d
