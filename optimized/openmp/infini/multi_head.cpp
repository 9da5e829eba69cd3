// SPDX-License-Identifier: MIT
#include "attest/spec/infini/multi_head.hpp"

#include <stdexcept>
#include <vector>

#include "attest/openmp/segments.hpp"

namespace attest::openmp::infini::multi_head {

using attest::spec::infini::multi_head::In;
using attest::spec::infini::multi_head::Out;

template <class T>
View<T, 2> whole(RowMajor<T>& x) {
  return {x.data(), {x.rows(), x.cols()}};
}

/// a^g and the head's state, given its queries, keys and values.
template <class T>
void attend(const In<T>& in, Index g, View<const T, 2> q, View<const T, 2> k, View<const T, 2> v, View<T, 2> a,
            const Out<T>& out) {
  segment_attention::In<T> head;
  head.q = q, head.k = k, head.v = v, head.beta = {&in.beta(g), {}};
  if (in.memory) head.memory = in.memory[g];
  if (in.z) head.z = in.z[g];
  head.segment = in.segment, head.update = in.update, head.position = in.position;
  segment_attention::Out<T> result{.o = a, .memory = {}, .z = {}};
  if (out.memory) result.memory = out.memory[g];
  if (out.z) result.z = out.z[g];
  segment_attention::loop(head, result);
}

/// An exception must not leave a parallel region: what a head refuses is refused beforehand.
template <class T>
void check(const In<T>& in) {
  if (in.x.extent(0) > 0 && in.segment.value_or(1) < 1)
    throw std::invalid_argument("segment must be at least 1");  // C1
}

/// Columns first .. first + count - 1.
template <class T>
View<T, 2> columns(RowMajor<T>& x, Index first, Index count) {
  return {x.data() + first, {x.rows(), count}, {x.cols(), 1}};
}

/// The matrices of all heads as the rows of one.
template <class T>
RowMajor<T> stacked(const View<const T, 3>& w) {
  RowMajor<T> rows(w.extent(0) * w.extent(1), w.extent(2));
  for (Index g = 0; g < w.extent(0); ++g) rows.middleRows(g * w.extent(1), w.extent(1)) = matrix(w[g]);
  return rows;
}

/// The matrices of all heads side by side.
template <class T>
RowMajor<T> abreast(const View<const T, 3>& w) {
  RowMajor<T> columns(w.extent(1), w.extent(0) * w.extent(2));
  for (Index g = 0; g < w.extent(0); ++g) columns.middleCols(g * w.extent(2), w.extent(2)) = matrix(w[g]);
  return columns;
}

/// Heads in parallel, each with its own projections, into one matrix of all heads; then one product with w_o.
template <class T>
void loop(const In<T>& in, const Out<T>& out) {
  check(in);
  const RowMajor<T> x = matrix(in.x);
  const Index h = in.beta.extent(0), m = in.w_v.extent(2);
  RowMajor<T> a(x.rows(), h * m);
#pragma omp parallel for schedule(dynamic) if (h > 1)
  for (Index g = 0; g < h; ++g) {
    RowMajor<T> q = x * matrix(in.w_q[g]), k = x * matrix(in.w_k[g]), v = x * matrix(in.w_v[g]);
    attend<T>(in, g, whole(q), whole(k), whole(v), columns(a, g * m, m), out);
  }
  matrix(out.o) = a * stacked(in.w_o);
}

/// Each head is projected on its own; the sum runs in the order of the heads, so that threads change no bit.
template <class T>
void sum_of_heads(const In<T>& in, const Out<T>& out) {
  check(in);
  const RowMajor<T> x = matrix(in.x);
  const Index h = in.beta.extent(0);
  std::vector<RowMajor<T>> y(static_cast<std::size_t>(h));
#pragma omp parallel for schedule(dynamic) if (h > 1)
  for (Index g = 0; g < h; ++g) {
    RowMajor<T> q = x * matrix(in.w_q[g]), k = x * matrix(in.w_k[g]), v = x * matrix(in.w_v[g]), a(v.rows(), v.cols());
    attend<T>(in, g, whole(q), whole(k), whole(v), whole(a), out);
    y[static_cast<std::size_t>(g)] = a * matrix(in.w_o[g]);
  }
  RowMajor<T> o = RowMajor<T>::Zero(x.rows(), in.w_o.extent(2));
  for (const auto& part : y) o += part;
  matrix(out.o) = o;
}

/// Three products project for all heads; a head is a slice of columns of each.
template <class T>
void packed(const In<T>& in, const Out<T>& out) {
  check(in);
  const RowMajor<T> x = matrix(in.x);
  const Index h = in.beta.extent(0), d = in.w_q.extent(2), m = in.w_v.extent(2);
  RowMajor<T> q = x * abreast(in.w_q), k = x * abreast(in.w_k), v = x * abreast(in.w_v), a(x.rows(), h * m);
#pragma omp parallel for schedule(dynamic) if (h > 1)
  for (Index g = 0; g < h; ++g)
    attend<T>(in, g, columns(q, g * d, d), columns(k, g * d, d), columns(v, g * m, m), columns(a, g * m, m), out);
  const RowMajor<T> w_o = stacked(in.w_o);
  each_tile(x.rows(), [&](Index first, Index count) {
    matrix(out.o).middleRows(first, count) = a.middleRows(first, count) * w_o;
  });
}

template void loop(const In<float>&, const Out<float>&);
template void loop(const In<double>&, const Out<double>&);
template void sum_of_heads(const In<float>&, const Out<float>&);
template void sum_of_heads(const In<double>&, const Out<double>&);
template void packed(const In<float>&, const Out<float>&);
template void packed(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infini::multi_head
