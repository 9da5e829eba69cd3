// SPDX-License-Identifier: MIT
#include "attest/spec/attention/scaled_dot_product.hpp"

#include <algorithm>

#include "attest/openmp/attention.hpp"

namespace attest::openmp::attention::scaled_dot_product {

using attest::spec::attention::scaled_dot_product::EmptyRow;
using attest::spec::attention::scaled_dot_product::In;
using attest::spec::attention::scaled_dot_product::Out;

/// Every form: `row(l, v)` is the output of a query from the logits and values of the keys that it sees. Behind the
/// logits stands the sink, if there is one, which has no value. Queries are independent, so they are shared among the
/// threads.
template <class T, class F>
void each_query(const In<T>& in, const Out<T>& out, F&& row) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
#pragma omp parallel for schedule(dynamic) if (n * s > 256)
  for (Index i = 0; i < n; ++i) {
    const auto keys = visible(in, i);
    auto o = vector(out.o[i]);
    if (keys.empty()) {  // C3
      if (in.sink)
        o.setZero();
      else if (in.empty_row == EmptyRow::mean)
        o = matrix(in.v).colwise().mean().transpose();
      else
        o.setConstant(in.empty_row == EmptyRow::nan ? std::numeric_limits<T>::quiet_NaN() : T(0));
      continue;
    }
    Column<T> l = logits<T>(in, i, keys, rows_of(in.k, keys));
    if (in.sink) {
      l.conservativeResize(l.size() + 1);
      l(l.size() - 1) = in.sink();
    }
    o = row(l, rows_of(in.v, keys));
  }
}

/// sum_t w_t v_t from value `first` on; a weight behind the values is that of the sink.
template <class T>
Column<T> mixed(const Column<T>& w, const RowMajor<T>& v, Index first = 0) {
  const Index count = std::min(w.size(), v.rows() - first);
  return v.middleRows(first, count).transpose() * w.head(count);
}

/// Weights, normalised, then their mean of the values.
template <class T>
void max_shift(const In<T>& in, const Out<T>& out) {
  each_query(in, out, [](const Column<T>& l, const RowMajor<T>& v) -> Column<T> {
    const Column<T> e = (l.array() - l.maxCoeff()).exp();
    return mixed<T>(e / e.sum(), v);
  });
}

/// Weights from the log-sum-exp.
template <class T>
void per_query(const In<T>& in, const Out<T>& out) {
  each_query(in, out, [](const Column<T>& l, const RowMajor<T>& v) -> Column<T> {
    const T m = l.maxCoeff();
    const T lse = m + std::log((l.array() - m).exp().sum());
    return mixed<T>((l.array() - lse).exp().matrix(), v);
  });
}

/// Keys seen so far: their maximum, the sum of e^(l - m) and of e^(l - m) v.
template <class T>
struct Partial {
  T m, l;
  Column<T> o;
};

template <class T>
Partial<T> partial(const Column<T>& l, const RowMajor<T>& v, Index first, Index count) {
  const T m = l.segment(first, count).maxCoeff();
  const Column<T> e = (l.segment(first, count).array() - m).exp();
  return {m, e.sum(), mixed(e, v, first)};
}

template <class T>
void merge_into(Partial<T>& a, const Partial<T>& b) {
  const T m = std::max(a.m, b.m), keep = std::exp(a.m - m), add = std::exp(b.m - m);
  a.o = a.o * keep + b.o * add;
  a.l = a.l * keep + b.l * add;
  a.m = m;
}

/// Block after block, nothing of size s kept but the logits: the shape of a flash kernel.
template <class T>
void online_blocked(const In<T>& in, const Out<T>& out) {
  each_query(in, out, [&](const Column<T>& l, const RowMajor<T>& v) -> Column<T> {
    Partial<T> state = partial(l, v, 0, std::min(in.block, l.size()));
    for (Index first = in.block; first < l.size(); first += in.block)
      merge_into(state, partial(l, v, first, std::min(in.block, l.size() - first)));
    return state.o / state.l;
  });
}

/// Shards of keys on their own, merged as a tree: the shape of a decoding kernel.
template <class T>
void split_k(const In<T>& in, const Out<T>& out) {
  each_query(in, out, [&](const Column<T>& l, const RowMajor<T>& v) -> Column<T> {
    std::vector<Partial<T>> shards;
    for (Index first = 0; first < l.size(); first += in.block)
      shards.push_back(partial(l, v, first, std::min(in.block, l.size() - first)));
    for (std::size_t reach = 1; reach < shards.size(); reach *= 2)
      for (std::size_t t = 0; t + reach < shards.size(); t += 2 * reach) merge_into(shards[t], shards[t + reach]);
    return shards[0].o / shards[0].l;
  });
}

template void max_shift(const In<float>&, const Out<float>&);
template void max_shift(const In<double>&, const Out<double>&);
template void per_query(const In<float>&, const Out<float>&);
template void per_query(const In<double>&, const Out<double>&);
template void online_blocked(const In<float>&, const Out<float>&);
template void online_blocked(const In<double>&, const Out<double>&);
template void split_k(const In<float>&, const Out<float>&);
template void split_k(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::scaled_dot_product
