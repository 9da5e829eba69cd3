// SPDX-License-Identifier: MIT
#include "attest/spec/infini/segment_attention.hpp"

#include <stdexcept>
#include <vector>

#include "attest/openmp/infini.hpp"

namespace attest::openmp::infini::segment_attention {

using attest::spec::infini::segment_attention::In;
using attest::spec::infini::segment_attention::Out;

/// Rows turned by their positions: pair a = (2a, 2a + 1) of token t by the angle (offset + t) 10000^(-2a/d). The angles
/// are taken in double, because a float's angle of a late position is too coarse.
template <class T>
RowMajor<T> positioned(const In<T>& in, const View<const T, 2>& x) {
  RowMajor<T> turned = matrix(x);
  if (in.position == "none") return turned;
  const Index d = turned.cols();
  each_tile(turned.rows(), [&](Index first, Index count) {
    for (Index t = first; t < first + count; ++t)
      for (Index a = 0; a + 1 < d; a += 2) {  // C2
        const double angle = static_cast<double>(in.offset + t) * std::pow(10000.0, -static_cast<double>(a) / static_cast<double>(d));
        const T c = static_cast<T>(std::cos(angle)), s = static_cast<T>(std::sin(angle)), x0 = turned(t, a), x1 = turned(t, a + 1);
        turned(t, a) = c * x0 - s * x1;
        turned(t, a + 1) = s * x0 + c * x1;
      }
  });
  return turned;
}

/// What all segments are computed from.
template <class T>
struct Head {
  const In<T>& in;
  Index n, d, m, segment, segments;
  RowMajor<T> phi_q, phi_k, q, k, v;
  T scale, memory_weight, local_weight;

  explicit Head(const In<T>& input)
      : in(input),
        n(in.q.extent(0)),
        d(in.q.extent(1)),
        m(in.v.extent(1)),
        segment(std::min(in.segment.value_or(n), std::max<Index>(n, 1))),
        segments(0),
        phi_q(features(in.feature_map, in.q)),  // the memory sees no scale and no position
        phi_k(features(in.feature_map, in.k)),
        q(positioned(in, in.q)),
        k(positioned(in, in.k)),
        v(matrix(in.v)),
        scale(in.scale ? static_cast<T>(*in.scale) : 1 / std::sqrt(static_cast<T>(d))),
        memory_weight(sigmoid(in.beta())),
        local_weight(sigmoid(-in.beta())) {
    if (n > 0 && segment < 1) throw std::invalid_argument("segment must be at least 1");  // C1
    segments = n > 0 ? (n + segment - 1) / segment : 0;
  }

  Index first_of(Index s) const { return s * segment; }
  Index count_of(Index s) const { return std::min(segment, n - s * segment); }

  /// Causal softmax attention of rows i .. i + count - 1 over their segment, which begins at `first`.
  RowMajor<T> local(Index first, Index i, Index count) const {
    const Index keys = i + count - first;
    RowMajor<T> weight = scale * (q.middleRows(i, count) * k.middleRows(first, keys).transpose());
    for (Index r = 0; r < count; ++r) {
      const Index visible = i + r - first + 1;
      auto row = weight.row(r).head(visible);
      row = (row.array() - row.maxCoeff()).exp().matrix().eval();
      row /= row.sum();
      weight.row(r).tail(keys - visible).setZero();
    }
    return weight * v.middleRows(first, keys);
  }

  /// Rows i .. i + count - 1 of the output, given the memory from before their segment (C3 in `retrieve`).
  void answer(const Out<T>& out, const State<T>& before, Index first, Index i, Index count) const {
    const RowMajor<T> far = retrieve(phi_q.middleRows(i, count), before.memory, before.z, T(0), in.zero_denominator);
    matrix(out.o).middleRows(i, count) = memory_weight * far + local_weight * local(first, i, count);
  }

  /// All rows of all segments; before[s] is the state that segment s reads.
  void answer_all(const Out<T>& out, const std::vector<State<T>>& before) const {
    const Index tiles = (segment + kTile - 1) / kTile;
#pragma omp parallel for collapse(2) schedule(dynamic) if (n > kTile)
    for (Index s = 0; s < segments; ++s)
      for (Index tile = 0; tile < tiles; ++tile) {
        const Index from = tile * kTile, count = std::min(kTile, count_of(s) - from);
        if (count > 0) answer(out, before[static_cast<std::size_t>(s)], first_of(s), first_of(s) + from, count);
      }
  }

  /// The state with segment s.
  void store(State<T>& state, Index s) const {
    const auto phi = phi_k.middleRows(first_of(s), count_of(s));
    RowMajor<T> u = v.middleRows(first_of(s), count_of(s));
    if (in.update == "delta") {
      each_tile(u.rows(), [&](Index first, Index count) {
        u.middleRows(first, count) -= retrieve(phi.middleRows(first, count), state.memory, state.z, T(0), in.zero_denominator);
      });
    }
    add(state, phi, u);
  }
};

/// Segments in order; the rows of a segment in parallel.
template <class T>
void loop(const In<T>& in, const Out<T>& out) {
  const Head<T> head(in);
  auto state = carried(in.memory, in.z, head.d, head.m);
  for (Index s = 0; s < head.segments; ++s) {
    each_tile(head.count_of(s), [&](Index from, Index count) { head.answer(out, state, head.first_of(s), head.first_of(s) + from, count); });
    head.store(state, s);
  }
  write(state, out.memory, out.z);
}

/// x[s] becomes x[0], ..., x[s] joined, s ascending, by rounds of doubling reach. What a round reads is kept apart from
/// what it writes.
template <class S, class F>
void prefix_scan(std::vector<S>& x, F&& join) {
  const Index size = static_cast<Index>(x.size());
  for (Index reach = 1; reach < size; reach *= 2) {
    const std::vector<S> before = x;
#pragma omp parallel for schedule(static) if (size > 8)
    for (Index s = reach; s < size; ++s)
      x[static_cast<std::size_t>(s)] = join(before[static_cast<std::size_t>(s - reach)], before[static_cast<std::size_t>(s)]);
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

/// z does not depend on the memory, so it is summed first; then every segment's affine map is known, and maps compose in
/// any grouping. The carried memory enters as the constant part of the first map.
template <class T>
void parallel_delta(const In<T>& in, const Out<T>& out) {
  const Head<T> head(in);
  const auto start = carried(in.memory, in.z, head.d, head.m);
  std::vector<Column<T>> z(static_cast<std::size_t>(head.segments) + 1, start.z);
  for (Index s = 0; s < head.segments; ++s)
    z[static_cast<std::size_t>(s) + 1] =
        z[static_cast<std::size_t>(s)] + head.phi_k.middleRows(head.first_of(s), head.count_of(s)).colwise().sum().transpose();
  std::vector<Affine<T>> map(z.size(), {RowMajor<T>::Zero(head.d, head.d), start.memory});
#pragma omp parallel for schedule(dynamic) if (head.segments > 1 && head.n > kTile)
  for (Index s = 0; s < head.segments; ++s)
    map[static_cast<std::size_t>(s) + 1] =
        segment_map(head.phi_k.middleRows(head.first_of(s), head.count_of(s)), head.v.middleRows(head.first_of(s), head.count_of(s)),
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
