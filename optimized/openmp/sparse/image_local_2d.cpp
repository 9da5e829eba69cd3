// SPDX-License-Identifier: MIT
#include "attest/spec/sparse/image_local_2d.hpp"

#include <array>

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::sparse::image_local_2d {

using attest::spec::sparse::image_local_2d::In;
using attest::spec::sparse::image_local_2d::Out;

/// A pixel, and its place in the order in which pixels are generated: block row, block column, row, column.
template <class T>
std::array<Index, 4> place(const In<T>& in, Index i) {
  const Index row = i / in.columns, column = i % in.columns;
  return {row / in.block_rows, column / in.block_columns, row, column};
}

template <class T>
bool sees(const In<T>& in, Index i, Index j) {
  const auto a = place(in, i), b = place(in, j);
  if (in.causal && b > a) return false;
  const Index first_row = a[0] * in.block_rows, first_column = a[1] * in.block_columns;
  return b[2] >= first_row - in.above && b[2] < first_row + in.block_rows && b[3] >= first_column - in.beside &&
         b[3] < first_column + in.block_columns + in.beside;
}

template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  over_mask<T>(in, out, engine::Schedule::whole_row, [&](Index i, Index j) { return sees(in, i, j); });
}
template <class T>
void blocks(const In<T>& in, const Out<T>& out) {
  const Index n = in.q.extent(0), rows = (n + in.columns - 1) / in.columns;
  const Index across = (in.columns + in.block_columns - 1) / in.block_columns;
  const Index down = (rows + in.block_rows - 1) / in.block_rows;
  each_task(down * across, n >= kEnoughRows, [&](Index b) {
    const Index row = b / across * in.block_rows, column = b % across * in.block_columns;
    const auto pixels = [&](Index above, Index beside) {
      Keys all;
      for (Index r = std::max<Index>(0, row - above); r < std::min(rows, row + in.block_rows); ++r)
        for (Index c = std::max<Index>(0, column - beside);
             c < std::min(in.columns, column + in.block_columns + beside); ++c)
          if (r * in.columns + c < n) all.push_back(r * in.columns + c);
      return all;
    };
    const Keys queries = pixels(0, 0);
    if (!queries.empty())
      over_keys<T>(in, out, queries, pixels(in.above, in.beside), [&](Index i, Index j) { return sees(in, i, j); });
  });
}

template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);
template void blocks(const In<float>&, const Out<float>&);
template void blocks(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::sparse::image_local_2d
