// SPDX-License-Identifier: MIT
#include "attest/spec/memory/knn_attention.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "attest/openmp/attention.hpp"

namespace attest::openmp::memory::knn_attention {

using attest::spec::memory::knn_attention::In;
using attest::spec::memory::knn_attention::Normalise;
using attest::spec::memory::knn_attention::Out;

template <class T>
T sigmoid(T x) {  // e^-|x| cannot overflow
  const T e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/// The mean of the rows of v under softmax(l).
template <class T>
Column<T> mean(const Column<T>& l, const RowMajor<T>& v) {
  const Column<T> e = (l.array() - l.maxCoeff()).exp();
  return v.transpose() * (e / e.sum());
}

/// The last rows of [memory; sequence], as many as the new memory holds; keys and values each if they are wanted.   C2
template <class T>
void remember(View<const T, 2> memory, View<const T, 2> sequence, View<T, 2> kept) {
  if (!kept) return;
  const Index r = memory.extent(0), first = r + sequence.extent(0) - kept.extent(0);
  for (Index t = 0; t < kept.extent(0); ++t)
    vector(kept[t]) = first + t < r ? vector(memory[first + t]) : vector(sequence[first + t - r]);
}

/// Both branches and the gate, queries in parallel; `choose(scores)` names the memories that a query reads.
template <class T, class F>
void attend(const In<T>& in, const Out<T>& out, F&& choose) {
  const Index n = in.q.extent(0), r = in.memory_k.extent(0);
  const T scale = attention::scale_of<T>(in), g = sigmoid(in.gate_bias()), closed = sigmoid(-in.gate_bias());
  RowMajor<T> q = matrix(in.q), memory = matrix(in.memory_k);
  const RowMajor<T> k = matrix(in.k), v = matrix(in.v), memory_v = matrix(in.memory_v);
  if (in.normalise == Normalise::queries_keys) {
    q.rowwise().normalize();
    memory.rowwise().normalize();
  }
#pragma omp parallel for schedule(dynamic) if (n * (n + r) > 256)
  for (Index i = 0; i < n; ++i) {
    const Column<T> local = mean<T>(scale * (k.topRows(i + 1) * vector(in.q[i])), v.topRows(i + 1));
    auto o = vector(out.o[i]);
    o = closed * local;
    if (r == 0) continue;
    const Column<T> scores = memory * q.row(i).transpose();
    const std::vector<Index> found = choose(scores);
    Column<T> l(static_cast<Index>(found.size()));
    RowMajor<T> values(l.size(), v.cols());
    for (Index t = 0; t < l.size(); ++t) {
      l(t) = scale * scores(found[static_cast<std::size_t>(t)]);
      values.row(t) = memory_v.row(found[static_cast<std::size_t>(t)]);
    }
    o += g * mean<T>(l, values);
  }
  remember(in.memory_k, in.k, out.memory_k);
  remember(in.memory_v, in.v, out.memory_v);
}

/// A partial sort finds the largest scores; equal ones go by index, so that the choice does not depend on the sort.
template <class T>
void exact_topk(const In<T>& in, const Out<T>& out) {
  attend(in, out, [&](const Column<T>& scores) {
    std::vector<Index> order(static_cast<std::size_t>(scores.size()));
    std::iota(order.begin(), order.end(), Index{0});
    const auto split = order.begin() + std::min(in.top, scores.size());
    std::partial_sort(order.begin(), split, order.end(),
                      [&](Index a, Index b) { return scores(a) > scores(b) || (scores(a) == scores(b) && a < b); });
    order.erase(split, order.end());
    return order;
  });
}

/// Nothing to search for: the whole memory.
template <class T>
void dense_when_k_ge_n(const In<T>& in, const Out<T>& out) {
  attend(in, out, [](const Column<T>& scores) {
    std::vector<Index> all(static_cast<std::size_t>(scores.size()));
    std::iota(all.begin(), all.end(), Index{0});
    return all;
  });
}

template void exact_topk(const In<float>&, const Out<float>&);
template void exact_topk(const In<double>&, const Out<double>&);
template void dense_when_k_ge_n(const In<float>&, const Out<float>&);
template void dense_when_k_ge_n(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::memory::knn_attention
