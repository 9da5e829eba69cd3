// SPDX-License-Identifier: MIT
#include "attest/spec/infini/segment_attention.hpp"

#include <vector>

#include "attest/openmp/segments.hpp"

namespace attest::openmp::infini::segment_attention {

using attest::spec::infini::segment_attention::In;
using attest::spec::infini::segment_attention::Out;

/// x[s] becomes x[0], ..., x[s] joined, s ascending, by rounds of doubling reach. What a round reads is kept apart from
/// what it writes.
template <class S, class F>
void prefix_scan(std::vector<S>& x, F&& join) {
  const Index size = static_cast<Index>(x.size());
  for (Index reach = 1; reach < size; reach *= 2) {
    const std::vector<S> before = x;
#pragma omp parallel for schedule(static) if (size > 8)
    for (Index s = reach; s < size; ++s)
      x[static_cast<std::size_t>(s)] =
          join(before[static_cast<std::size_t>(s - reach)], before[static_cast<std::size_t>(s)]);
  }
}

/// Each segment's own sums in parallel, their prefix sums, then all segments in parallel.
template <class T>
void parallel_linear(const In<T>& in, const Out<T>& out) {
  const Head<T> head(in);
  std::vector<State<T>> before(static_cast<std::size_t>(head.segments) + 1, carried<T>({}, {}, head.d, head.m));
  before[0] = carried(in.memory, in.z, head.d, head.m);
#pragma omp parallel for schedule(dynamic) if (head.segments > 1 && head.n > kTile)
  for (Index s = 0; s < head.segments; ++s) head.store(before[static_cast<std::size_t>(s) + 1], s);
  prefix_scan(before, [](const State<T>& x, const State<T>& y) { return State<T>{x.memory + y.memory, x.z + y.z}; });
  head.answer_all(out, before);
  write(before.back(), out.memory, out.z);
}

/// z does not depend on the memory, so it is summed first; then every segment's affine map is known, and maps compose
/// in any grouping. The carried memory enters as the constant part of the first map.
template <class T>
void parallel_delta(const In<T>& in, const Out<T>& out) {
  const Head<T> head(in);
  const RowMajor<T> phi_k = features(in.feature_map, in.k), v = matrix(in.v);
  const auto start = carried(in.memory, in.z, head.d, head.m);
  std::vector<Column<T>> z(static_cast<std::size_t>(head.segments) + 1, start.z);
  for (Index s = 0; s < head.segments; ++s)
    z[static_cast<std::size_t>(s) + 1] =
        z[static_cast<std::size_t>(s)] +
        phi_k.middleRows(head.first_of(s), head.count_of(s)).colwise().sum().transpose();
  std::vector<Affine<T>> map(z.size(), {RowMajor<T>::Zero(head.d, head.d), start.memory});
#pragma omp parallel for schedule(dynamic) if (head.segments > 1 && head.n > kTile)
  for (Index s = 0; s < head.segments; ++s)
    map[static_cast<std::size_t>(s) + 1] = segment_map(phi_k.middleRows(head.first_of(s), head.count_of(s)),
                                                       v.middleRows(head.first_of(s), head.count_of(s)),
                                                       z[static_cast<std::size_t>(s)], T(0), in.zero_denominator);
  prefix_scan(map, [](const Affine<T>& x, const Affine<T>& y) { return Affine<T>{y.A * x.A, y.A * x.B + y.B}; });
  std::vector<State<T>> before;
  for (std::size_t s = 0; s < z.size(); ++s) before.push_back({map[s].B, z[s]});
  head.answer_all(out, before);
  write(before.back(), out.memory, out.z);
}

template void loop(const In<float>&, const Out<float>&);
template void loop(const In<double>&, const Out<double>&);
template void parallel_linear(const In<float>&, const Out<float>&);
template void parallel_linear(const In<double>&, const Out<double>&);
template void parallel_delta(const In<float>&, const Out<float>&);
template void parallel_delta(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infini::segment_attention
