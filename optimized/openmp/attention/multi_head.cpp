// SPDX-License-Identifier: MIT
#include "attest/spec/attention/multi_head.hpp"

#include <cmath>
#include <vector>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/attend.hpp"
#include "attest/openmp/tasks.hpp"

namespace attest::openmp::attention::multi_head {

using attest::spec::attention::multi_head::In;
using attest::spec::attention::multi_head::Out;

/// Softmax attention of one head; a query that sees no key leaves zeros.
template <class T, class M>
RowMajor<T> attend(const In<T>& in, const M& q, const M& k, const M& v) {
  RowMajor<T> head(q.rows(), v.cols());
  engine::Problem<T> problem{.q = view(q), .k = view(k), .v = view(v), .mask = in.mask};
  problem.scale = in.scale ? static_cast<T>(*in.scale) : T(1) / std::sqrt(static_cast<T>(q.cols()));
  problem.shift = k.rows() - q.rows();
  if (in.causal) problem.right = 0;  // C1
  engine::attend(problem, {.o = view(head)});
  return head;
}

/// All heads, each a task: head(h) is [n, m].
template <class T, class F>
std::vector<RowMajor<T>> all_heads(const In<T>& in, F&& head) {
  const Index heads = in.w_q.extent(0);
  std::vector<RowMajor<T>> all(static_cast<std::size_t>(heads));
  each_task(heads, in.x_q.extent(0) * in.x_k.extent(0) > 256,
            [&](Index h) { all[static_cast<std::size_t>(h)] = head(h); });
  return all;
}

template <class T>
std::vector<RowMajor<T>> head_by_head(const In<T>& in) {
  return all_heads(in, [&](Index h) {
    const RowMajor<T> q = matrix(in.x_q) * matrix(in.w_q[h]), k = matrix(in.x_k) * matrix(in.w_k[h]),
                      v = matrix(in.x_v) * matrix(in.w_v[h]);
    return attend<T>(in, q, k, v);
  });
}

/// The concatenation times W_O with its first two axes as one.
template <class T>
void project_out(const In<T>& in, const std::vector<RowMajor<T>>& heads, const Out<T>& out) {
  const Index n = in.x_q.extent(0), m = in.w_o.extent(1), width = in.w_o.extent(2);
  RowMajor<T> y(n, in.w_o.extent(0) * m), w_o(y.cols(), width);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const Index first = static_cast<Index>(h) * m;
    y.middleCols(first, m) = heads[h];
    w_o.middleRows(first, m) = matrix(in.w_o[static_cast<Index>(h)]);
  }
  matrix(out.o) = y * w_o;
}

template <class T>
void loop(const In<T>& in, const Out<T>& out) {
  project_out(in, head_by_head(in), out);
}

/// x [W[0] | W[1] | ..], one product for all heads.
template <class T>
RowMajor<T> pack(View<const T, 2> x, View<const T, 3> w) {
  const Index width = w.extent(2);
  RowMajor<T> all(w.extent(1), w.extent(0) * width);
  for (Index h = 0; h < w.extent(0); ++h) all.middleCols(h * width, width) = matrix(w[h]);
  return matrix(x) * all;
}

/// Three wide products, then heads are blocks of columns.
template <class T>
void packed(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> q = pack(in.x_q, in.w_q), k = pack(in.x_k, in.w_k), v = pack(in.x_v, in.w_v);
  const Index d = in.w_q.extent(2), m = in.w_v.extent(2);
  project_out(in,
              all_heads(in,
                        [&](Index h) -> RowMajor<T> {
                          return attend<T>(in, q.middleCols(h * d, d), k.middleCols(h * d, d), v.middleCols(h * m, m));
                        }),
              out);
}

/// No concatenation: what each head adds to the output, summed in the order of the heads.
template <class T>
void sum_of_heads(const In<T>& in, const Out<T>& out) {
  const auto heads = head_by_head(in);
  auto o = matrix(out.o);
  o.setZero();
  for (std::size_t h = 0; h < heads.size(); ++h) o += heads[h] * matrix(in.w_o[static_cast<Index>(h)]);
}

template void loop(const In<float>&, const Out<float>&);
template void loop(const In<double>&, const Out<double>&);
template void packed(const In<float>&, const Out<float>&);
template void packed(const In<double>&, const Out<double>&);
template void sum_of_heads(const In<float>&, const Out<float>&);
template void sum_of_heads(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::multi_head
