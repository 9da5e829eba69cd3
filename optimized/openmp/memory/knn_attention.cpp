// SPDX-License-Identifier: MIT
#include "attest/spec/memory/knn_attention.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "attest/openmp/attention.hpp"
#include "attest/openmp/eigen.hpp"
#include "attest/openmp/sigmoid.hpp"
#include "attest/openmp/tasks.hpp"

namespace attest::openmp::memory::knn_attention {

using attest::spec::memory::knn_attention::In;
using attest::spec::memory::knn_attention::Normalise;
using attest::spec::memory::knn_attention::Out;

/// The last rows of [memory; sequence], as many as the new memory holds; keys and values each if they are wanted.   C2
template <class T>
void remember(View<const T, 2> memory, View<const T, 2> sequence, View<T, 2> kept) {
  if (!kept) return;
  const Index r = memory.extent(0), first = r + sequence.extent(0) - kept.extent(0);
  for (Index t = 0; t < kept.extent(0); ++t)
    vector(kept[t]) = first + t < r ? vector(memory[first + t]) : vector(sequence[first + t - r]);
}

/// Queries and memory keys as they are compared.
template <class T>
RowMajor<T> compared(const In<T>& in, View<const T, 2> x) {
  RowMajor<T> rows = matrix(x);
  if (in.normalise == Normalise::queries_keys) rows.rowwise().normalize();
  return rows;
}

/// Both branches and the gate; `read` is true where a query reads a memory, and absent if it reads all.
template <class T>
void attend(const In<T>& in, const Out<T>& out, const RowMajor<T>& q, const RowMajor<T>& memory,
            View<const bool, 2> read) {
  const T scale = attention::scale_of<T>(in), g = sigmoid(in.gate_bias()), closed = sigmoid(-in.gate_bias());
  engine::attend({.q = in.q, .k = in.k, .v = in.v, .scale = scale, .right = 0}, {.o = out.o});
  auto o = matrix(out.o);
  o *= closed;
  if (memory.rows() > 0) {
    RowMajor<T> far(o.rows(), o.cols());
    engine::attend({.q = view(q), .k = view(memory), .v = in.memory_v, .scale = scale, .mask = read}, {.o = view(far)});
    o += g * far;
  }
  remember(in.memory_k, in.k, out.memory_k);
  remember(in.memory_v, in.v, out.memory_v);
}

/// A partial sort finds the largest scores; equal ones go by index, so that the choice does not depend on the sort.
template <class T>
void exact_topk(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> q = compared(in, in.q), memory = compared(in, in.memory_k);
  const Index n = q.rows(), r = memory.rows();
  const auto found = std::make_unique<bool[]>(static_cast<std::size_t>(n * r));
  each_task(n, n * r > 256, [&](Index i) {
    const Column<T> scores = memory * q.row(i).transpose();
    std::vector<Index> order(static_cast<std::size_t>(r));
    std::iota(order.begin(), order.end(), Index{0});
    const auto split = order.begin() + std::min(in.top, r);
    std::partial_sort(order.begin(), split, order.end(),
                      [&](Index a, Index b) { return scores(a) > scores(b) || (scores(a) == scores(b) && a < b); });
    std::for_each(order.begin(), split, [&](Index j) { found[static_cast<std::size_t>(i * r + j)] = true; });
  });
  attend(in, out, q, memory, {found.get(), {n, r}});
}

/// Nothing to search for: the whole memory.
template <class T>
void dense_when_k_ge_n(const In<T>& in, const Out<T>& out) {
  attend<T>(in, out, compared(in, in.q), compared(in, in.memory_k), {});
}

template void exact_topk(const In<float>&, const Out<float>&);
template void exact_topk(const In<double>&, const Out<double>&);
template void dense_when_k_ge_n(const In<float>&, const Out<float>&);
template void dense_when_k_ge_n(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::memory::knn_attention
