// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/spec/memory/knn_attention.hpp"

namespace attest::reference::memory::knn_attention {

using In = attest::spec::memory::knn_attention::In<Number>;
using Out = attest::spec::memory::knn_attention::Out<Number>;
using attention::scaled_dot_product::Rows;
using attention::scaled_dot_product::scale_of;
using attention::softmax::shifted;
using attest::spec::memory::knn_attention::Normalise;

/// x / |x|, or x itself.
inline Vector direction(const In& in, Row x) {
  if (in.normalise == Normalise::none) return tabulate(x.extent(0), [&](Index a) { return x(a); });
  const Number length = stage("norms", sqrt(dot(x, x)));
  return stage("directions", tabulate(x.extent(0), [&](Index a) { return x(a) / length; }));
}

/// scale x
inline Vector logits(const Number& scale, const Vector& x) {
  return stage("logits", tabulate(x.extent(), [&](Index t) { return scale * x(t); }));
}

/// sum_j softmax(l)_j v_j over those rows of v.
inline Vector mean(const Vector& l, View<const Number, 2> v, const std::vector<Index>& rows) {
  const auto a = shifted(l).first;
  const Rows values(v, rows);
  return tabulate(v.extent(1), [&](Index c) { return dot(a, values.column(c)); });
}

/// o = g o_mem + (1 - g) o_loc; `retrieve(scores)` names the memories that a query reads.      [Wu et al. 2022, section
/// 3]
template <class F>
void attend_with_gradient(const In& in, const Out& out, F&& retrieve) {
  const Index n = in.q.extent(0), r = in.memory_k.extent(0), m = in.v.extent(1), c = out.memory_k.extent(0);
  const Number scale = scale_of(in), g = stage("gate", sigmoid(in.gate_bias())), closed = stage("gate", 1 - g);
  for (const Index i : wanted(out.o)) {
    std::vector<Index> past(static_cast<std::size_t>(i + 1));
    std::iota(past.begin(), past.end(), Index{0});
    const auto q_k = stage("products", tabulate(i + 1, [&](Index j) { return dot(in.q[i], in.k[j]); }));
    const auto local = stage("local results", mean(logits(scale, q_k), in.v, past));
    if (r == 0) {
      for (Index e = 0; e < m; ++e) out.o(i, e) = times(closed, local(e));
      continue;
    }
    const auto q = direction(in, in.q[i]);
    const auto scores = stage("scores", tabulate(r, [&](Index j) { return dot(q, direction(in, in.memory_k[j])); }));
    const auto found = retrieve(scores);
    const auto of_found =
        tabulate(static_cast<Index>(found.size()), [&](Index t) { return scores(found[static_cast<std::size_t>(t)]); });
    const auto retrieved = stage("retrieved", mean(logits(scale, of_found), in.memory_v, found));
    for (Index e = 0; e < m; ++e)
      out.o(i, e) = stage("share of the memory", times(g, retrieved(e))) +
                    stage("share of the local results", times(closed, local(e)));
  }
  // The sequence is remembered after it was answered: the last c rows of [memory; sequence].   C2
  for (Index t = 0; t < c; ++t) {
    const Index row = r + n - c + t;
    for (Index a = 0; a < in.k.extent(1); ++a) out.memory_k(t, a) = row < r ? in.memory_k(row, a) : in.k(row - r, a);
    for (Index e = 0; e < m; ++e) out.memory_v(t, e) = row < r ? in.memory_v(row, e) : in.v(row - r, e);
  }
}

/// The same: no gradient flows into the memory.
template <class F>
void attend(const In& in, const Out& out, F&& retrieve) {
  const StoppedMatrix memory_k(in.memory_k), memory_v(in.memory_v);
  In stopped = in;
  stopped.memory_k = memory_k, stopped.memory_v = memory_v;
  attend_with_gradient(stopped, out, retrieve);
}

/// T_i: the `top` largest scores.   C1
inline void exact_topk(const In& in, const Out& out) {
  attend(in, out, [&](const Vector& scores) { return top_k(in.top, scores); });
}

/// Every memory.
inline void dense_when_k_ge_n(const In& in, const Out& out) {
  attend(in, out, [](const Vector& scores) {
    std::vector<Index> all(static_cast<std::size_t>(scores.extent()));
    std::iota(all.begin(), all.end(), Index{0});
    return all;
  });
}

}  // namespace attest::reference::memory::knn_attention
