// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "attest/reference/memory/segment_recurrence.hpp"
#include "faults/fault.hpp"

namespace attest::faults::memory::segment_recurrence {

namespace right = attest::reference::memory::segment_recurrence;
using right::In;
using right::Layer;
using right::Out;

/// A key that a query sees: a row of [memory; tokens], and how far behind it is said to be.
struct Seen {
  Index row, distance;
};

/// A token of a segment: its place, the first of its segment, how many it has, and the rows that are kept before it.
struct Token {
  Index i, first, count, before, given;  // given: rows of the memory that the call got

  /// The rows from `from` to `to`, each as far behind as it is.
  std::vector<Seen> range(Index from, Index to) const {
    std::vector<Seen> seen;
    for (Index row = from; row <= to; ++row) seen.push_back({row, std::max<Index>(own() - row, 0)});
    return seen;
  }
  Index own() const { return given + i; }
  Index oldest() const { return given + first - before; }
  std::vector<Seen> due() const { return range(oldest(), own()); }
};

/// The equation, with what a mistake changes.
struct Variant {
  std::function<std::vector<Seen>(const Token&)> sees = [](const Token& t) { return t.due(); };
  std::function<Index(const Token&)> query = [](const Token& t) { return t.own(); };
  std::function<Index(Index)> memory_of = [](Index n) { return n; };
  bool stopped = true, remembers_outputs = false, keeps_oldest = false;
  std::function<void(Layer&)> change = [](Layer&) {};
  bool scales_distances = true;
};

/// softmax(scores) values over those keys.
inline Vector attended(const right::Score& score, const Row& q, const Matrix& k, const Matrix& v,
                       const std::vector<Seen>& seen, bool scales_distances) {
  const Index count = static_cast<Index>(seen.size());
  const auto with = [&](const Row& bias) {
    return tabulate(q.extent(0), [&](Index a) { return bias ? q(a) + bias(a) : q(a); });
  };
  const auto q_u = with(score.u), q_v = with(score.v);
  const auto l = tabulate(count, [&](Index t) {
    const auto [row, distance] = seen[static_cast<std::size_t>(t)];
    const Number content = dot(q_u, k[row]);
    if (!score.distances) return score.scale * content;
    const Number position = dot(q_v, score.distances[std::min(distance, score.distances.extent(0) - 1)]);
    return scales_distances ? score.scale * (content + position) : score.scale * content + position;
  });
  const auto a = reference::attention::softmax::shifted(l).first;
  return tabulate(v.extent(1), [&](Index e) {
    return sum(count, [&](Index t) { return a(t) * v(seen[static_cast<std::size_t>(t)].row, e); });
  });
}

inline void evaluate(const In& in, const Out& out, const Variant& variant) {
  const Index n = in.h.extent(0), r = in.memory.extent(1), c = out.memory.extent(1);
  const auto held = [&](const View<const Number, 2>& x) {
    const StoppedMatrix states(x);
    return right::joined(in.h.rows(0, 0), variant.stopped ? View<const Number, 2>(states) : x);
  };
  Matrix x(in.h, n, in.h.extent(1));
  for (Index layer_number = 0; layer_number < in.w_q.extent(0); ++layer_number) {
    Layer layer(in, layer_number);
    variant.change(layer);
    const Matrix memory = held(in.memory[variant.memory_of(layer_number)]);
    Matrix y(n, x.extent(1));
    right::each_segment(in, [&](Index first, Index count) {
      // Rows of [memory; tokens]: earlier ones as they were remembered, those of the segment as they are.
      const auto& source = variant.remembers_outputs ? y : x;
      const Matrix past = right::joined(memory.view(), held(std::as_const(source).view().rows(0, first)));
      const Matrix all = right::joined(past.view(), std::as_const(x).view().rows(first, n - first));
      const Matrix q = right::queries(all, layer.w_q), k = right::keys(all, layer.w_k),
                   v = right::values(all, layer.w_v);
      for (Index i = first; i < first + count; ++i) {
        const Token token{i, first, count, right::rows_before(in, out, first), r};
        assign(y.view()[i],
               attended(layer.score, q[variant.query(token)], k, v, variant.sees(token), variant.scales_distances));
      }
    });
    const Matrix all = right::joined(memory.view(), held(std::as_const(variant.remembers_outputs ? y : x).view()));
    for (Index t = 0; is_wanted(out.memory, layer_number) && t < c; ++t)
      for (Index e = 0; e < x.extent(1); ++e)
        out.memory(layer_number, t, e) = all(variant.keeps_oldest ? t : r + n - c + t, e);
    x = std::move(y);
  }
  right::write(out, 0, x);
}

/// The equation where token t sees other keys.
template <class F>
void with_keys(const In& in, const Out& out, F&& sees) {
  Variant variant;
  variant.sees = sees;
  evaluate(in, out, variant);
}

/// The equation with other layers.
template <class F>
void with_layers(const In& in, const Out& out, F&& change) {
  Variant variant;
  variant.change = change;
  evaluate(in, out, variant);
}

inline void same_layer_memory(const In& in, const Out& out) {
  Variant variant;
  variant.remembers_outputs = true;
  evaluate(in, out, variant);
}

inline void queries_from_concat(const In& in, const Out& out) {
  Variant variant;
  variant.query = [](const Token& t) { return t.oldest() + t.i - t.first; };
  evaluate(in, out, variant);
}

inline void memory_after_current(const In& in, const Out& out) {
  with_keys(in, out, [](const Token& t) {
    std::vector<Seen> seen;
    for (Index j = 0; j <= t.i - t.first + t.before; ++j)
      seen.push_back({j < t.count ? t.given + t.first + j : t.oldest() + j - t.count, t.i - t.first + t.before - j});
    return seen;
  });
}

inline void stop_gradient_missing(const In& in, const Out& out) {
  Variant variant;
  variant.stopped = false;
  evaluate(in, out, variant);
}

inline void mask_offset_missing(const In& in, const Out& out) {
  with_keys(in, out, [](const Token& t) { return t.range(t.oldest(), t.oldest() + t.i - t.first); });
}

inline void memory_one_short(const In& in, const Out& out) {
  with_keys(in, out,
            [](const Token& t) { return t.range(t.oldest() + (t.first > 0 && t.before > 0 ? 1 : 0), t.own()); });
}

inline void memory_not_truncated(const In& in, const Out& out) {
  with_keys(in, out, [](const Token& t) { return t.range(0, t.own()); });
}

inline void oldest_slot_hidden(const In& in, const Out& out) {
  with_keys(in, out, [](const Token& t) { return t.range(t.oldest() + (t.before > 0 ? 1 : 0), t.own()); });
}

inline void oldest_kept(const In& in, const Out& out) {
  Variant variant;
  variant.keeps_oldest = true;
  variant.sees = [](const Token& t) {
    if (t.first == 0) return t.due();
    auto seen = t.range(t.given + t.first, t.own());
    for (Index j = t.before; j-- > 0;) seen.insert(seen.begin(), Seen{j, t.i - t.first + t.before - j});
    return seen;
  };
  evaluate(in, out, variant);
}

inline void memory_ignored(const In& in, const Out& out) {
  with_keys(in, out, [](const Token& t) { return t.range(t.given + t.first, t.own()); });
}

inline void given_memory_ignored(const In& in, const Out& out) {
  with_keys(in, out, [](const Token& t) { return t.range(std::max(t.oldest(), t.given), t.own()); });
}

inline void memory_of_first_layer(const In& in, const Out& out) {
  Variant variant;
  variant.memory_of = [](Index) { return Index{0}; };
  evaluate(in, out, variant);
}

inline void not_causal(const In& in, const Out& out) {
  with_keys(in, out, [](const Token& t) { return t.range(t.oldest(), t.given + t.first + t.count - 1); });
}

inline void strictly_causal(const In& in, const Out& out) {
  with_keys(in, out, [](const Token& t) { return t.range(t.oldest(), std::max(t.oldest(), t.own() - 1)); });
}

inline void weights_transposed(const In& in, const Out& out) {
  // A matrix [rows, columns] of which the memory is read as [columns, rows].
  const auto read = [](const View<const Number, 2>& w) {
    const Index rows = w.extent(0), columns = w.extent(1);
    return matrix_of(rows, columns, [&](Index i, Index j) {
      const Index flat = j * rows + i;
      return w(flat / columns, flat % columns);
    });
  };
  std::vector<Matrix> kept;
  kept.reserve(static_cast<std::size_t>(3 * in.w_q.extent(0)));
  with_layers(in, out, [&](Layer& layer) {
    for (auto* w : {&layer.w_q, &layer.w_k, &layer.w_v}) {
      kept.push_back(read(*w));
      *w = read_only(kept.back());
    }
  });
}

inline void distance_without_memory(const In& in, const Out& out) {
  with_keys(in, out, [](const Token& t) {
    auto seen = t.due();
    for (Seen& key : seen) key.distance = std::max<Index>(key.distance - t.before, 0);
    return seen;
  });
}

inline void distance_one_off(const In& in, const Out& out) {
  with_keys(in, out, [](const Token& t) {
    auto seen = t.due();
    for (Seen& key : seen) ++key.distance;
    return seen;
  });
}

inline void distances_ignored(const In& in, const Out& out) {
  with_layers(in, out, [](Layer& layer) { layer.score.distances = {}; });
}

inline void u_v_swapped(const In& in, const Out& out) {
  with_layers(in, out, [](Layer& layer) { std::swap(layer.score.u, layer.score.v); });
}

inline void biases_ignored(const In& in, const Out& out) {
  with_layers(in, out, [](Layer& layer) { layer.score.u = layer.score.v = {}; });
}

inline void scale_of_content_alone(const In& in, const Out& out) {
  Variant variant;
  variant.scales_distances = false;
  evaluate(in, out, variant);
}

inline void scale_missing(const In& in, const Out& out) {
  In other = in;
  if (!in.scale) other.scale = 1.0;
  right::concatenate(other, out);
}

inline void scale_ignored(const In& in, const Out& out) {
  In other = in;
  other.scale = {};
  right::concatenate(other, out);
}

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  with_layers(in, out, [&](Layer& layer) { layer.score.scale = layer.score.scale * (Number(1) + c); });
}

}  // namespace attest::faults::memory::segment_recurrence
