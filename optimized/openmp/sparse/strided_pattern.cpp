// SPDX-License-Identifier: MIT
#include "attest/spec/sparse/strided_pattern.hpp"

#include <limits>

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::sparse::strided_pattern {

using attest::spec::sparse::strided_pattern::In;
using attest::spec::sparse::strided_pattern::Out;
using attest::spec::sparse::strided_pattern::Part;
using attest::spec::sparse::strided_pattern::Window;

/// How many keys before its own A1 shows to a query.
template <class T>
Index reach(const In<T>& in) {
  return in.window == Window::exclusive ? in.stride - 1 : in.stride;
}

template <class T>
bool sees(const In<T>& in, Index i, Index j) {
  if (j > i) return false;
  return (in.part != Part::second && i - j <= reach(in)) || (in.part != Part::first && (i - j) % in.stride == 0);
}

template <class T>
void sets(const In<T>& in, const Out<T>& out) {
  over_sets<T>(in, out, engine::Schedule::whole_row,
               [&](Index i) { return keys_of(0, i + 1, [&](Index j) { return sees(in, i, j); }); });
}
template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  over_mask<T>(in, out, engine::Schedule::whole_row, [&](Index i, Index j) { return sees(in, i, j); });
}
template <class T>
void transposed(const In<T>& in, const Out<T>& out) {
  const Index n = in.q.extent(0), l = in.stride;
  const T scale = attention::scale_of<T>(in);
  if (in.part == Part::first) {
    engine::attend({.q = in.q, .k = in.k, .v = in.v, .scale = scale, .left = reach(in), .right = 0}, {.o = out.o});
    return;
  }
  Column<T> lse(n);
  for (Index c = 0; c < std::min(l, n); ++c) {  // a column is every l-th row
    const auto column = [&](const auto& x) { return every(x, c, l); };
    engine::attend({.q = column(in.q), .k = column(in.k), .v = column(in.v), .scale = scale, .right = 0},
                   {.o = column(out.o), .lse = {lse.data() + c, {(n - c + l - 1) / l}, {l}}});
  }
  if (in.part == Part::second) return;
  RowMajor<T> beside(n, in.v.extent(1));
  Column<T> beside_lse(n);
  engine::Problem<T> window{.q = in.q, .k = in.k, .v = in.v, .scale = scale, .left = reach(in), .right = 0};
  window.edit = [&](const engine::Tile<T>& tile) {
    tile.each([&](T& logit, Index i, Index j) {
      if ((i - j) % l == 0) logit = -std::numeric_limits<T>::infinity();
    });
  };
  engine::attend(window, {.o = view(beside), .lse = {beside_lse.data(), {n}}});
  attention::merge<T>(out.o, {lse.data(), {n}}, view(beside), {beside_lse.data(), {n}});
}

template void sets(const In<float>&, const Out<float>&);
template void sets(const In<double>&, const Out<double>&);
template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);
template void transposed(const In<float>&, const Out<float>&);
template void transposed(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::sparse::strided_pattern
