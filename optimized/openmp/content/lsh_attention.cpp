// SPDX-License-Identifier: MIT
#include "attest/spec/content/lsh_attention.hpp"

#include <algorithm>
#include <cmath>

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::content::lsh_attention {

using attest::spec::content::lsh_attention::In;
using attest::spec::content::lsh_attention::Out;
using sparse::Keys;

/// The tensors that attention over sets reads.
template <class T>
struct Call {
  View<const T, 2> q, k, v;
  std::optional<double> scale;
};

/// q_j / |q_j|, 0 for zeros
template <class T>
RowMajor<T> directions(const In<T>& in) {
  RowMajor<T> k = matrix(in.q);
  for (Index j = 0; j < k.rows(); ++j) {
    const T length = k.row(j).stableNorm();
    if (length > 0) k.row(j) /= length;
  }
  return k;
}

/// The tokens of a round by bucket, then position.
template <class T>
Keys sorted(const In<T>& in, Index round) {
  Keys order = sparse::consecutive(0, in.q.extent(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return in.hashes(round, a) < in.hashes(round, b); });
  return order;
}

/// S_i of every query.
template <class T>
std::vector<Keys> sets_of(const In<T>& in) {
  const Index n = in.q.extent(0);
  std::vector<Keys> sets(static_cast<std::size_t>(n));
  for (Index round = 0; round < in.hashes.extent(0); ++round) {
    const Keys order = sorted(in, round);
    for (Index t = 0; t < n; ++t) {
      const Index i = order[static_cast<std::size_t>(t)];
      const Index first = in.chunk == 0 ? 0 : std::max<Index>(0, (t / in.chunk - 1) * in.chunk),  // C1
          end = in.chunk == 0 ? n : std::min(n, (t / in.chunk + 1) * in.chunk);
      for (Index s = first; s < end; ++s) {
        const Index j = order[static_cast<std::size_t>(s)];
        if (in.hashes(round, i) == in.hashes(round, j) && (!in.causal || j <= i))
          sets[static_cast<std::size_t>(i)].push_back(j);
      }
    }
  }
  for (Index i = 0; i < n; ++i) {
    Keys& keys = sets[static_cast<std::size_t>(i)];
    keys = sparse::distinct(std::move(keys));
    if (in.exclude_self && keys.size() > 1) keys.erase(std::remove(keys.begin(), keys.end(), i), keys.end());
  }
  return sets;
}

/// run(call, sets) with the keys of the call.
template <class T, class F>
void with_keys(const In<T>& in, F&& run) {
  const RowMajor<T> k = directions(in);
  const auto sets = sets_of(in);
  run(Call<T>{in.q, view(k), in.v, in.scale},
      [&](Index i) -> const Keys& { return sets[static_cast<std::size_t>(i)]; });
}

template <class T>
void set(const In<T>& in, const Out<T>& out) {
  with_keys(in,
            [&](const Call<T>& call, auto&& of) { sparse::over_sets<T>(call, out, engine::Schedule::whole_row, of); });
}

template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  with_keys(in, [&](const Call<T>& call, auto&& of) {
    sparse::over_marks<T>(call, out, engine::Schedule::whole_row, [&](Index i, bool* row) {
      for (const Index j : of(i)) row[j] = true;
    });
  });
}

/// Groups of queries that follow each other in the sorted first round, each with all keys that one of them sees.
template <class T, class S>
void grouped(const In<T>& in, const Out<T>& out, S&& starts_group) {
  with_keys(in, [&](const Call<T>& call, auto&& of) {
    const Keys order = sorted(in, 0);
    const auto n = static_cast<Index>(order.size());
    for (Index first = 0, end = 0; first < n; first = end) {
      for (end = first + 1; end < n && !starts_group(order, end);) ++end;
      const Keys queries(order.begin() + first, order.begin() + end);
      Keys keys;
      for (const Index i : queries) keys.insert(keys.end(), of(i).begin(), of(i).end());
      sparse::over_keys<T>(call, out, queries, sparse::distinct(std::move(keys)),
                           [&](Index i, Index j) { return std::binary_search(of(i).begin(), of(i).end(), j); });
    }
  });
}

template <class T>
void sorted_chunks(const In<T>& in, const Out<T>& out) {
  const Index length = in.chunk > 0 ? in.chunk : 64;
  grouped(in, out, [length](const Keys&, Index t) { return t % length == 0; });
}

template <class T>
void buckets(const In<T>& in, const Out<T>& out) {
  grouped(in, out, [&](const Keys& order, Index t) {
    const auto at = static_cast<std::size_t>(t);
    return in.hashes(0, order[at]) != in.hashes(0, order[at - 1]);
  });
}

template void set(const In<float>&, const Out<float>&);
template void set(const In<double>&, const Out<double>&);
template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);
template void sorted_chunks(const In<float>&, const Out<float>&);
template void sorted_chunks(const In<double>&, const Out<double>&);
template void buckets(const In<float>&, const Out<float>&);
template void buckets(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::content::lsh_attention
