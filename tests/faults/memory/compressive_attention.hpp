// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/memory/compressive_attention.hpp"
#include "faults/fault.hpp"

namespace attest::faults::memory::compressive_attention {

namespace right = attest::reference::memory::compressive_attention;
using right::In;
using right::joined;
using right::Out;
using right::Projections;
using right::Score;
using Keys = std::vector<Index>;

/// The rows from..end - 1.
inline Keys range(Index from, Index end) {
  Keys keys;
  for (Index j = from; j < end; ++j) keys.push_back(j);
  return keys;
}

/// scale ((q + u) . k_j + (q + v) . distances_o) over those keys, o = distance(j).
template <class F>
Vector logits(const Score& score, const Row& q, const Matrix& k, const Keys& keys, F&& distance) {
  const auto with = [&](const Row& bias) {
    return tabulate(q.extent(0), [&](Index a) { return bias ? q(a) + bias(a) : q(a); });
  };
  const auto q_u = with(score.u), q_v = with(score.v);
  return tabulate(static_cast<Index>(keys.size()), [&](Index t) {
    const Index j = keys[static_cast<std::size_t>(t)];
    const Number content = dot(q_u, k[j]);
    return score.scale *
           (score.distances ? content + dot(q_v, score.distances[std::max<Index>(distance(j), 0)]) : content);
  });
}

inline Vector mixed(const Vector& l, const Matrix& v, const Keys& keys) {
  const auto a = reference::attention::softmax::shifted(l).first;
  return tabulate(v.extent(1), [&](Index e) {
    return sum(a.extent(), [&](Index t) { return a(t) * v(keys[static_cast<std::size_t>(t)], e); });
  });
}

/// The equation with another score, and other keys(i, x) for query i.
template <class F>
void with(const Out& out, const Projections& x, const Score& score, F&& keys) {
  for (const Index i : wanted(out.o)) {
    const Keys seen = keys(i);
    assign(out.o[i], mixed(logits(score, x.q[i], x.k, seen, [&](Index j) { return x.past + i - j; }), x.v, seen));
  }
}

template <class F>
void with_keys(const In& in, const Out& out, F&& keys) {
  const Projections x(in, right::before(in));
  with(out, x, right::score_of(in), [&](Index i) { return keys(i, x.past); });
}

template <class F>
void with_score(const In& in, const Out& out, F&& change) {
  const Projections x(in, right::before(in));
  Score score = right::score_of(in);
  change(score);
  with(out, x, score, [&](Index i) { return range(0, x.past + i + 1); });
}

inline void offset_missing(const In& in, const Out& out) {
  with_keys(in, out, [](Index i, Index) { return range(0, i + 1); });
}

inline void separate_softmax(const In& in, const Out& out) {
  const Projections x(in, right::before(in));
  const Score score = right::score_of(in);
  for (const Index i : wanted(out.o)) {
    const auto part = [&](Index from, Index end) {
      const Keys keys = range(from, end);
      if (keys.empty()) return tabulate(x.v.extent(1), [](Index) { return Number(0); });
      return mixed(logits(score, x.q[i], x.k, keys, [&](Index j) { return x.past + i - j; }), x.v, keys);
    };
    const Index b = in.compressed.extent(0);
    const Vector far = part(0, b), near = part(b, x.past), own = part(x.past, x.past + i + 1);
    for (Index e = 0; e < own.extent(); ++e) out.o(i, e) = far(e) + near(e) + own(e);
  }
}

inline void compressed_after_memory(const In& in, const Out& out) {
  const StoppedMatrix compressed(in.compressed), memory(in.memory);
  const Projections x(in, joined(memory, compressed));
  with(out, x, right::score_of(in), [&](Index i) { return range(0, x.past + i + 1); });
}

inline void memory_masked_causally(const In& in, const Out& out) {
  const Index b = in.compressed.extent(0);
  with_keys(in, out, [&](Index i, Index past) {
    Keys keys = range(0, std::min(b, i + 1));
    for (Index j = b; j < std::min(past, b + i + 1); ++j) keys.push_back(j);
    for (Index j = past; j <= past + i; ++j) keys.push_back(j);
    return keys;
  });
}

inline void queries_from_memory(const In& in, const Out& out) {
  const Matrix before = right::before(in), all = joined(before, in.h);
  Projections x(in, before);
  x.q = right::queries(all, in.w_q);
  with(out, x, right::score_of(in), [&](Index i) { return range(0, x.past + i + 1); });
}

inline void self_hidden(const In& in, const Out& out) {
  with_keys(in, out, [](Index i, Index past) { return range(0, std::max<Index>(past + i, 1)); });
}

inline void not_causal(const In& in, const Out& out) {
  with_keys(in, out, [&](Index, Index past) { return range(0, past + in.h.extent(0)); });
}

inline void compressed_ignored(const In& in, const Out& out) {
  with_keys(in, out, [&](Index i, Index past) { return range(in.compressed.extent(0), past + i + 1); });
}

inline void memory_ignored(const In& in, const Out& out) {
  with_keys(in, out, [&](Index i, Index past) {
    Keys keys = range(0, in.compressed.extent(0));
    for (Index j = past; j <= past + i; ++j) keys.push_back(j);
    return keys;
  });
}

inline void oldest_row_hidden(const In& in, const Out& out) {
  with_keys(in, out, [](Index i, Index past) { return range(past + i > 0 ? 1 : 0, past + i + 1); });
}

inline void stop_gradient_missing(const In& in, const Out& out) {
  const Projections x(in, joined(in.compressed, in.memory));
  with(out, x, right::score_of(in), [&](Index i) { return range(0, x.past + i + 1); });
}

inline void distance_of_segment(const In& in, const Out& out) {
  const Projections x(in, right::before(in));
  const Score score = right::score_of(in);
  for (const Index i : wanted(out.o)) {
    const Keys keys = range(0, x.past + i + 1);
    assign(out.o[i], mixed(logits(score, x.q[i], x.k, keys, [&](Index j) { return i - j; }), x.v, keys));
  }
}

inline void distances_ignored(const In& in, const Out& out) {
  with_score(in, out, [](Score& score) { score.distances = {}; });
}

inline void u_v_swapped(const In& in, const Out& out) {
  with_score(in, out, [](Score& score) { std::swap(score.u, score.v); });
}

inline void biases_ignored(const In& in, const Out& out) {
  with_score(in, out, [](Score& score) { score.u = score.v = {}; });
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
  with_score(in, out, [&](Score& score) { score.scale = score.scale * (Number(1) + c); });
}

}  // namespace attest::faults::memory::compressive_attention
