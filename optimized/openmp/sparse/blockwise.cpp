// SPDX-License-Identifier: MIT
#include "attest/spec/sparse/blockwise.hpp"

#include <stdexcept>

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::sparse::blockwise {

using attest::spec::sparse::blockwise::In;
using attest::spec::sparse::blockwise::Out;

/// pi, each block once.   C2
template <class T>
Keys permutation(const In<T>& in) {
  const Index p = in.permutation.extent(0);
  Keys pi;
  for (Index a = 0; a < p; ++a) pi.push_back(in.permutation(a));
  const Keys blocks = distinct(pi);
  if (static_cast<Index>(blocks.size()) != p || blocks.front() != 0 || blocks.back() != p - 1)
    throw std::invalid_argument("C2: no permutation of the blocks");
  return pi;
}

template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  const Keys pi = permutation(in);
  const auto block = [p = in.permutation.extent(0), n = in.q.extent(0)](Index i) { return i * p / n; };
  over_mask<T>(in, out, engine::Schedule::whole_row,
               [&](Index i, Index j) { return pi[static_cast<std::size_t>(block(i))] == block(j); });
}
template <class T>
void blocks(const In<T>& in, const Out<T>& out) {
  const Keys pi = permutation(in);
  const Index n = in.q.extent(0), p = in.permutation.extent(0);
  const auto start = [&](Index a) { return (a * n + p - 1) / p; };
  each_task(p, n >= kEnoughRows, [&](Index a) {
    const Index seen = pi[static_cast<std::size_t>(a)], first = start(seen), count = start(seen + 1) - first;
    engine::attend({.q = in.q.rows(start(a), start(a + 1) - start(a)),
                    .k = in.k.rows(first, count),
                    .v = in.v.rows(first, count),
                    .scale = attention::scale_of<T>(in)},
                   {.o = out.o.rows(start(a), start(a + 1) - start(a))});
  });
}

template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);
template void blocks(const In<float>&, const Out<float>&);
template void blocks(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::sparse::blockwise
