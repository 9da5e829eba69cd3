// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/xl_relative_score.hpp"
#include "attest/spec/memory/segment_recurrence.hpp"

namespace attest::reference::memory::segment_recurrence {

using In = attest::spec::memory::segment_recurrence::In<Number>;
using Out = attest::spec::memory::segment_recurrence::Out<Number>;
using ScoreKind = attest::spec::memory::segment_recurrence::Score;
using attention::multi_head::keys;
using attention::multi_head::queries;
using attention::multi_head::values;

/// The given scale, or 1/sqrt(d).
template <class I>
Number scale_of(const I& in, Index d) {
  return stage("scale", in.scale ? parameter(*in.scale) : 1 / sqrt(Number(d)));
}

/// How a query scores keys: scale ((q + u) . k + (q + v) . distance). What is absent is 0.
struct Score {
  Number scale;
  View<const Number, 2> distances;
  Row u, v;
};

/// The logits of a query over the first `visible` keys, the last of which is no place behind.
inline Vector logits(const Score& score, const Row& q, const View<const Number, 2>& k, Index visible) {
  const auto with = [&](const Row& bias) {
    return tabulate(q.extent(0), [&](Index a) { return bias ? stage("queries with biases", q(a) + bias(a)) : q(a); });
  };
  const auto content = stage("products", product(with(score.u), k.rows(0, visible).transposed()));
  const auto scores = [&] {
    const auto q_v = with(score.v);
    return stage("scores", tabulate(visible, [&](Index j) {
                   return content(j) + positional::xl_relative_score::position(q_v, score.distances[visible - 1 - j]);
                 }));
  };
  const Vector x = score.distances ? scores() : content;
  return stage("logits", tabulate(visible, [&](Index j) { return score.scale * x(j); }));
}

/// softmax(logits) values over those rows
inline Vector attend(const Score& score, const Row& q, const View<const Number, 2>& k, const View<const Number, 2>& v,
                     Index visible) {
  return product(attention::softmax::shifted(logits(score, q, k, visible)).first, v.rows(0, visible));
}

/// The rows of a, then those of b.
inline Matrix joined(const View<const Number, 2>& a, const View<const Number, 2>& b) {
  const Index first = a.extent(0);
  Matrix x(first + b.extent(0), b.extent(1));
  for (Index i = 0; i < x.extent(0); ++i)
    for (Index e = 0; e < x.extent(1); ++e) x(i, e) = i < first ? a(i, e) : b(i - first, e);
  return x;
}

/// The last `count` rows, or all where there are fewer.
inline View<const Number, 2> last(const View<const Number, 2>& x, Index count) {
  const Index kept = std::min(count, x.extent(0));
  return x.rows(x.extent(0) - kept, kept);
}

/// One layer: projections, and how it scores.
struct Layer {
  View<const Number, 2> w_q, w_k, w_v;
  Score score;

  Layer(const In& in, Index n)
      : w_q(in.w_q[n]), w_k(in.w_k[n]), w_v(in.w_v[n]), score{scale_of(in, in.w_q.extent(2)), {}, {}, {}} {
    if (in.score == ScoreKind::relative) score.distances = in.distances[n];
    if (in.u) score.u = in.u[n];
    if (in.v) score.v = in.v[n];
  }
};

inline Index segment_of(const In& in) {
  const Index segment = in.segment.value_or(std::max<Index>(in.h.extent(0), 1));
  if (segment < 1) throw std::invalid_argument("memory.segment_recurrence: segment must be at least 1");  // C1
  return segment;
}

/// visit(first, count) for each segment.
template <class F>
void each_segment(const In& in, F&& visit) {
  const Index n = in.h.extent(0), segment = segment_of(in);
  for (Index first = 0; first < n; first += segment) visit(first, std::min(segment, n - first));
}

/// Writes the outputs of tokens first, first + 1, ..
inline void write(const Out& out, Index first, const Matrix& o) {
  for (Index i = 0; i < o.extent(0); ++i)
    if (is_wanted(out.o, first + i))
      for (Index e = 0; e < o.extent(1); ++e) out.o(first + i, e) = o(i, e);
}

/// The last c rows of a layer's memory and the states that entered it.   C2
inline void remember(const Out& out, Index n, const View<const Number, 2>& memory, const View<const Number, 2>& x) {
  if (!is_wanted(out.memory, n)) return;
  const StoppedMatrix states(x);
  const Matrix all = joined(memory, states);
  const auto kept = last(all, out.memory.extent(1));
  for (Index t = 0; t < kept.extent(0); ++t)
    for (Index e = 0; e < kept.extent(1); ++e) out.memory(n, t, e) = kept(t, e);
}

/// Layer after layer over the whole sequence: `outputs(layer, memory, x, y)` fills y, what the layer makes of x.
template <class F>
void each_layer(const In& in, const Out& out, F&& outputs) {
  Matrix x(in.h, in.h.extent(0), in.h.extent(1));
  for (Index n = 0; n < in.w_q.extent(0); ++n) {
    const StoppedMatrix memory(in.memory[n]);
    Matrix y(x.extent(0), x.extent(1));
    outputs(Layer(in, n), memory, std::as_const(x).view(), y);
    remember(out, n, memory, std::as_const(x).view());
    x = stage("layer outputs", y);
  }
  write(out, 0, x);
}

/// What the tokens of a segment see before it: at first the memory that was given, then the last c of all states.
inline Index rows_before(const In& in, const Out& out, Index first) {
  return first == 0 ? in.memory.extent(1) : std::min(out.memory.extent(1), in.memory.extent(1) + first);
}

/// A segment's outputs: ht = [memory; h], q = h w_q, k = ht w_k, v = ht w_v, o = attention(q, k, v).      [Dai et al.
/// 2019, section 3.2]
inline Matrix segment_outputs(const Layer& layer, const View<const Number, 2>& memory, const View<const Number, 2>& h) {
  const Matrix ht = joined(memory, h), q = queries(h, layer.w_q), k = keys(ht, layer.w_k), v = values(ht, layer.w_v);
  Matrix o(h.extent(0), v.extent(1));
  for (Index i = 0; i < o.extent(0); ++i)
    assign(o.view()[i], attend(layer.score, q[i], k, v, memory.extent(0) + i + 1));
  return o;
}

/// No gradient flows into what was remembered.
inline void concatenate(const In& in, const Out& out) {
  each_layer(in, out,
             [&](const Layer& layer, const View<const Number, 2>& memory, const View<const Number, 2>& x, Matrix& y) {
               each_segment(in, [&](Index first, Index count) {
                 const StoppedMatrix states(x.rows(0, first));
                 const Matrix past = joined(memory, states);
                 const Matrix o = segment_outputs(layer, last(past, rows_before(in, out, first)), x.rows(first, count));
                 for (Index i = 0; i < count; ++i)
                   for (Index e = 0; e < o.extent(1); ++e) y(first + i, e) = o(i, e);
               });
             });
}

/// Keys and values are remembered in place of states.
inline void cached_projections(const In& in, const Out& out) {
  each_layer(in, out,
             [&](const Layer& layer, const View<const Number, 2>& memory, const View<const Number, 2>& x, Matrix& y) {
               Matrix cached_k = keys(memory, layer.w_k), cached_v = values(memory, layer.w_v);
               each_segment(in, [&](Index first, Index count) {
                 const auto h = x.rows(first, count);
                 const Index before = rows_before(in, out, first);
                 const Matrix q = queries(h, layer.w_q),
                              k = joined(last(std::as_const(cached_k).view(), before), keys(h, layer.w_k)),
                              v = joined(last(std::as_const(cached_v).view(), before), values(h, layer.w_v));
                 for (Index i = 0; i < count; ++i)
                   assign(y.view()[first + i], attend(layer.score, q[i], k, v, before + i + 1));
                 const StoppedMatrix states(h);
                 cached_k = joined(std::as_const(cached_k).view(), keys(states, layer.w_k));
                 cached_v = joined(std::as_const(cached_v).view(), values(states, layer.w_v));
               });
             });
}

/// One pass over the sequence: token i of the segment that begins at `first` sees the rows from r + first - rows_before
/// to r + i of [memory; h].
inline void banded_mask(const In& in, const Out& out) {
  each_layer(in, out,
             [&](const Layer& layer, const View<const Number, 2>& memory, const View<const Number, 2>& x, Matrix& y) {
               const Index r = memory.extent(0);
               const StoppedMatrix states(x);
               const Matrix all = joined(memory, states), q = queries(x, layer.w_q), k = keys(x, layer.w_k),
                            v = values(x, layer.w_v), past_k = keys(all, layer.w_k), past_v = values(all, layer.w_v);
               each_segment(in, [&](Index first, Index count) {
                 const Index before = rows_before(in, out, first), from = r + first - before;
                 const auto banded = [&](const Matrix& past, const Matrix& present) {
                   return joined(past.view().rows(from, before), present.view().rows(first, count));
                 };
                 const Matrix seen_k = banded(past_k, k), seen_v = banded(past_v, v);
                 for (Index i = 0; i < count; ++i)
                   assign(y.view()[first + i], attend(layer.score, q[first + i], seen_k, seen_v, before + i + 1));
               });
             });
}

/// Segment after segment through all layers, which is how a model runs: one memory per layer.
inline void layer_stack(const In& in, const Out& out) {
  const Index layers = in.w_q.extent(0);
  std::vector<Matrix> memory;
  for (Index n = 0; n < layers; ++n) {
    const StoppedMatrix given(in.memory[n]);
    memory.push_back(joined(given, View<const Number, 2>(in.h.rows(0, 0))));
  }
  each_segment(in, [&](Index first, Index count) {
    Matrix x = joined(in.h.rows(0, 0), in.h.rows(first, count));
    for (Index n = 0; n < layers; ++n) {
      Matrix& past = memory[static_cast<std::size_t>(n)];
      const Matrix o = segment_outputs(Layer(in, n), std::as_const(past).view(), std::as_const(x).view());
      const StoppedMatrix states(std::as_const(x).view());
      const Matrix all = joined(std::as_const(past).view(), states);
      past = joined(in.h.rows(0, 0), last(all, out.memory.extent(1)));
      x = stage("layer outputs", o);
    }
    write(out, first, x);
  });
  for (Index n = 0; n < layers; ++n)
    remember(out, n, std::as_const(memory[static_cast<std::size_t>(n)]).view(), in.h.rows(0, 0));
}

}  // namespace attest::reference::memory::segment_recurrence
