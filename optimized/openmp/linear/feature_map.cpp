// SPDX-License-Identifier: MIT
#include "attest/spec/linear/feature_map.hpp"

#include <algorithm>
#include <vector>

#include "attest/openmp/engine/rows.hpp"
#include "attest/openmp/tasks.hpp"

namespace attest::openmp::linear::feature_map {

using attest::spec::linear::feature_map::In;
using attest::spec::linear::feature_map::Out;

/// Some rows at a time: they are copied and mapped while they are in the cache.
template <class T>
void run(const In<T>& in, const Out<T>& out) {
  constexpr Index kRows = 32, kEnough = 1 << 15;
  const Index n = in.x.extent(0), d = in.x.extent(1);
  const auto phi = engine::map_of<T>(in.kind);
  each_task((n + kRows - 1) / kRows, n * d > kEnough, [&](Index t) {
    std::vector<T> row(static_cast<std::size_t>(d));
    for (Index i = t * kRows; i < std::min(n, (t + 1) * kRows); ++i) {
      for (Index a = 0; a < d; ++a) row[static_cast<std::size_t>(a)] = in.x(i, a);
      if (phi) phi(row.data(), d);
      for (Index a = 0; a < d; ++a) out.phi(i, a) = row[static_cast<std::size_t>(a)];
    }
  });
}

/// By the sign of each element: lanes of a vector take one case or the other.
template <class T>
void branch(const In<T>& in, const Out<T>& out) {
  run(in, out);
}
template <class T>
void max_min(const In<T>& in, const Out<T>& out) {
  run(in, out);
}

template void branch(const In<float>&, const Out<float>&);
template void branch(const In<double>&, const Out<double>&);
template void max_min(const In<float>&, const Out<float>&);
template void max_min(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::feature_map
