// SPDX-License-Identifier: MIT
#include "attest/spec/sparse/image_local_1d.hpp"

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::sparse::image_local_1d {

using attest::spec::sparse::image_local_1d::In;
using attest::spec::sparse::image_local_1d::Out;

template <class T>
bool sees(const In<T>& in, Index i, Index j) {
  const Index start = i / in.query_block * in.query_block;
  return j >= start - in.extension && j < (in.causal ? i + 1 : start + in.query_block);
}

template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  over_mask<T>(in, out, engine::Schedule::whole_row, [&](Index i, Index j) { return sees(in, i, j); });
}
template <class T>
void blocks(const In<T>& in, const Out<T>& out) {
  const Index n = in.q.extent(0), l = in.query_block;
  each_task((n + l - 1) / l, n >= kEnoughRows, [&](Index b) {
    const Index start = b * l, count = std::min(l, n - start), first = std::max<Index>(0, start - in.extension);
    engine::Problem<T> problem{.q = in.q.rows(start, count),
                               .k = in.k.rows(first, start + count - first),
                               .v = in.v.rows(first, start + count - first),
                               .scale = attention::scale_of<T>(in)};
    problem.shift = start - first;
    if (in.causal) problem.right = 0;
    engine::attend(problem, {.o = out.o.rows(start, count)});
  });
}

template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);
template void blocks(const In<float>&, const Out<float>&);
template void blocks(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::sparse::image_local_1d
