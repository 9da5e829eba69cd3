// SPDX-License-Identifier: MIT
#include "attest/spec/memory/segment_recurrence.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "attest/openmp/memory.hpp"

namespace attest::openmp::memory::segment_recurrence {

using attest::spec::memory::segment_recurrence::In;
using attest::spec::memory::segment_recurrence::Out;
using ScoreKind = attest::spec::memory::segment_recurrence::Score;

template <class T>
Score<T> score_of(const In<T>& in, Index layer) {
  Score<T> score;
  score.scale = in.scale ? static_cast<T>(*in.scale) : T(1) / std::sqrt(static_cast<T>(in.w_q.extent(2)));
  if (in.score == ScoreKind::relative) score.distances = in.distances[layer];
  if (in.u) score.u = in.u[layer];
  if (in.v) score.v = in.v[layer];
  return score;
}

/// The rows of one layer: its memory, then the states that enter it.
template <class T>
RowMajor<T> rows_of(const In<T>& in, Index layer, const RowMajor<T>& x) {
  const Index r = in.memory.extent(1);
  RowMajor<T> rows(r + x.rows(), x.cols());
  rows.topRows(r) = matrix(in.memory[layer]);
  rows.bottomRows(x.rows()) = x;
  return rows;
}

/// C2
template <class T>
void remember(const Out<T>& out, Index layer, const RowMajor<T>& rows) {
  matrix(out.memory[layer]) = rows.bottomRows(out.memory.extent(1));
}

/// Rows that the tokens from `first` on see before their segment; `kept` is c.
template <class T>
Index before(const In<T>& in, Index kept, Index first) {
  return first == 0 ? in.memory.extent(1) : std::min(kept, in.memory.extent(1) + first);
}

/// visit(first, count) for each segment.
template <class T, class F>
void each_segment(const In<T>& in, F&& visit) {
  const Index n = in.h.extent(0), segment = in.segment.value_or(n);  // C1
  for (Index first = 0; first < n; first += segment) visit(first, std::min(segment, n - first));
}

/// Layer after layer: `attend(layer, rows, x, y)` fills y from rows = [memory; x].
template <class T, class F>
void each_layer(const In<T>& in, const Out<T>& out, F&& attend) {
  RowMajor<T> x = matrix(in.h);
  for (Index layer = 0; layer < in.w_q.extent(0); ++layer) {
    const RowMajor<T> rows = rows_of(in, layer, x);
    RowMajor<T> y(x.rows(), x.cols());
    attend(layer, rows, x, y);
    remember(out, layer, rows);
    x = std::move(y);
  }
  matrix(out.o) = x;
}

/// The last rows of a memory and a segment are projected together.
template <class T>
void segment(const In<T>& in, Index layer, const RowMajor<T>& ht, const RowMajor<T>& h, View<T, 2> o) {
  const RowMajor<T> q = h * matrix(in.w_q[layer]), k = ht * matrix(in.w_k[layer]), v = ht * matrix(in.w_v[layer]);
  attend(score_of(in, layer), view(q), view(k), view(v), o);
}

template <class T>
void concatenate(const In<T>& in, const Out<T>& out) {
  each_layer(in, out, [&](Index layer, const RowMajor<T>& rows, const RowMajor<T>& x, RowMajor<T>& y) {
    each_segment(in, [&](Index first, Index count) {
      const Index past = before(in, out.memory.extent(1), first);
      segment<T>(in, layer, rows.middleRows(in.memory.extent(1) + first - past, past + count),
                 x.middleRows(first, count), view(y).rows(first, count));
    });
  });
}

/// Keys and values of all rows once.
template <class T>
void cached_projections(const In<T>& in, const Out<T>& out) {
  each_layer(in, out, [&](Index layer, const RowMajor<T>& rows, const RowMajor<T>& x, RowMajor<T>& y) {
    const RowMajor<T> q = x * matrix(in.w_q[layer]), k = rows * matrix(in.w_k[layer]), v = rows * matrix(in.w_v[layer]);
    each_segment(in, [&](Index first, Index count) {
      const Index past = before(in, out.memory.extent(1), first), from = in.memory.extent(1) + first - past;
      attend(score_of(in, layer), view(q).rows(first, count), view(k).rows(from, past + count),
             view(v).rows(from, past + count), view(y).rows(first, count));
    });
  });
}

/// One call of the engine for all segments.
template <class T>
void banded_mask(const In<T>& in, const Out<T>& out) {
  const Index n = in.h.extent(0), r = in.memory.extent(1);
  const auto visible = std::make_unique<bool[]>(static_cast<std::size_t>(n * (r + n)));
  each_segment(in, [&](Index first, Index count) {
    const Index from = r + first - before(in, out.memory.extent(1), first);
    for (Index i = first; i < first + count; ++i)
      std::fill(&visible[static_cast<std::size_t>(i * (r + n) + from)],
                &visible[static_cast<std::size_t>(i * (r + n) + r + i)] + 1, true);
  });
  each_layer(in, out, [&](Index layer, const RowMajor<T>& rows, const RowMajor<T>& x, RowMajor<T>& y) {
    const RowMajor<T> q = x * matrix(in.w_q[layer]), k = rows * matrix(in.w_k[layer]), v = rows * matrix(in.w_v[layer]);
    attend(score_of(in, layer), view(std::as_const(q)), view(std::as_const(k)), view(std::as_const(v)), view(y),
           View<const bool, 2>(visible.get(), {n, r + n}));
  });
}

/// Segment after segment through all layers.
template <class T>
void layer_stack(const In<T>& in, const Out<T>& out) {
  const Index layers = in.w_q.extent(0), r = in.memory.extent(1);
  std::vector<RowMajor<T>> rows;
  for (Index layer = 0; layer < layers; ++layer) rows.push_back(matrix(in.memory[layer]));
  each_segment(in, [&](Index first, Index count) {
    const Index past = before(in, out.memory.extent(1), first);
    RowMajor<T> x = matrix(in.h.rows(first, count));
    for (Index layer = 0; layer < layers; ++layer) {
      auto& all = rows[static_cast<std::size_t>(layer)];
      all.conservativeResize(r + first + count, x.cols());
      all.bottomRows(count) = x;
      RowMajor<T> y(count, x.cols());
      segment<T>(in, layer, all.bottomRows(past + count), x, view(y));
      x = std::move(y);
    }
    matrix(out.o.rows(first, count)) = x;
  });
  for (Index layer = 0; layer < layers; ++layer) remember(out, layer, rows[static_cast<std::size_t>(layer)]);
}

template void concatenate(const In<float>&, const Out<float>&);
template void concatenate(const In<double>&, const Out<double>&);
template void cached_projections(const In<float>&, const Out<float>&);
template void cached_projections(const In<double>&, const Out<double>&);
template void banded_mask(const In<float>&, const Out<float>&);
template void banded_mask(const In<double>&, const Out<double>&);
template void layer_stack(const In<float>&, const Out<float>&);
template void layer_stack(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::memory::segment_recurrence
