// SPDX-License-Identifier: MIT
#include "attest/spec/adaptive/early_exit.hpp"

#include <numeric>
#include <vector>

#include "attest/openmp/tiles.hpp"

namespace attest::openmp::adaptive::early_exit {

using attest::spec::adaptive::early_exit::In;
using attest::spec::adaptive::early_exit::Out;

template <class T>
void scan(const In<T>& in, const Out<T>& out) {
  const Index last = in.c.extent(1) - 1;
  each_tile(in.c.extent(0), [&](Index first, Index count) {
    for (Index t = first; t < first + count; ++t) {
      Index n = 0;
      while (n < last && in.c(t, n) < in.tau(n)) ++n;
      out.exit(t) = static_cast<T>(n + 1);
    }
  });
}

/// The tokens that are left, layer by layer.
template <class T>
void incremental(const In<T>& in, const Out<T>& out) {
  const Index layers = in.c.extent(1);
  std::vector<Index> left(static_cast<std::size_t>(in.c.extent(0)));
  std::iota(left.begin(), left.end(), Index{0});
  for (Index n = 0; !left.empty(); ++n)
    std::erase_if(left, [&](Index t) {
      if (n + 1 < layers && in.c(t, n) < in.tau(n)) return false;
      out.exit(t) = static_cast<T>(n + 1);
      return true;
    });
}

template void scan(const In<float>&, const Out<float>&);
template void scan(const In<double>&, const Out<double>&);
template void incremental(const In<float>&, const Out<float>&);
template void incremental(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::adaptive::early_exit
