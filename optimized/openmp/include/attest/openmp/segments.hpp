// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "attest/openmp/engine/attend.hpp"
#include "attest/openmp/infini.hpp"
#include "attest/spec/infini/segment_attention.hpp"

/// One head of Infini-attention over segments, for a head alone and for several.
namespace attest::openmp::infini::segment_attention {

using attest::spec::infini::segment_attention::In;
using attest::spec::infini::segment_attention::Out;
using attest::spec::infini::segment_attention::Position;
using attest::spec::infini::segment_attention::Update;

/// Rows turned by their positions: pair a = (2a, 2a + 1) of token t by the angle (offset + t) 10000^(-2a/d). The angles
/// are taken in double, because a float's angle of a late position is too coarse.
template <class T>
RowMajor<T> positioned(const In<T>& in, const View<const T, 2>& x) {
  RowMajor<T> turned = matrix(x);
  if (in.position == Position::none) return turned;
  const Index d = turned.cols();
  each_tile(turned.rows(), [&](Index first, Index count) {
    for (Index t = first; t < first + count; ++t)
      for (Index a = 0; a + 1 < d; a += 2) {  // C2
        const double angle =
            static_cast<double>(in.offset + t) * std::pow(10000.0, -static_cast<double>(a) / static_cast<double>(d));
        const T c = static_cast<T>(std::cos(angle)), s = static_cast<T>(std::sin(angle)), x0 = turned(t, a),
                x1 = turned(t, a + 1);
        turned(t, a) = c * x0 - s * x1;
        turned(t, a + 1) = s * x0 + c * x1;
      }
  });
  return turned;
}

/// The inputs that all segments are computed from.
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
    engine::Problem<T> problem{.q = view(q.middleRows(i, count)),
                               .k = view(k.middleRows(first, keys)),
                               .v = view(v.middleRows(first, keys)),
                               .scale = scale};
    problem.shift = i - first;
    problem.right = 0;
    RowMajor<T> o(count, m);
    engine::attend(problem, {.o = view(o)});
    return o;
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
    if (in.update == Update::delta) {
      each_tile(u.rows(), [&](Index first, Index count) {
        u.middleRows(first, count) -=
            retrieve(phi.middleRows(first, count), state.memory, state.z, T(0), in.zero_denominator);
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
    each_tile(head.count_of(s), [&](Index from, Index count) {
      head.answer(out, state, head.first_of(s), head.first_of(s) + from, count);
    });
    head.store(state, s);
  }
  write(state, out.memory, out.z);
}

}  // namespace attest::openmp::infini::segment_attention
