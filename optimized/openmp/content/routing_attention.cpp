// SPDX-License-Identifier: MIT
#include "attest/spec/content/routing_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::content::routing_attention {

using attest::spec::content::routing_attention::Assign;
using attest::spec::content::routing_attention::EmptyRow;
using attest::spec::content::routing_attention::In;
using attest::spec::content::routing_attention::Normalise;
using attest::spec::content::routing_attention::Out;
using sparse::Keys;
using Clusters = std::vector<Keys>;  ///< the tokens of each, ascending

/// The tensors that attention over sets reads.
template <class T>
struct Call {
  View<const T, 2> q, k, v;
  std::optional<double> scale;
};

/// LN(x_i) . mu_c; a token of zeros stays as it is at unit length too
template <class T>
RowMajor<T> scores_of(const In<T>& in, View<const T, 2> x) {
  RowMajor<T> y = matrix(x);
  if (in.normalise == Normalise::layer_norm)
    for (Index i = 0; i < y.rows(); ++i) {
      y.row(i).array() -= y.row(i).mean();
      y.row(i) /= std::sqrt(y.row(i).array().square().mean() + static_cast<T>(in.eps));
    }
  if (in.normalise == Normalise::unit)
    for (Index i = 0; i < y.rows(); ++i) y.row(i).stableNormalize();
  return y * matrix(in.mu).transpose();
}

/// Equal products go by index, so that the choice does not depend on the sort.
template <class T>
Keys largest(const Column<T>& scores, Index count) {
  Keys order = sparse::consecutive(0, scores.size());
  const auto split = order.begin() + std::min(count, scores.size());
  std::partial_sort(order.begin(), split, order.end(),
                    [&](Index a, Index b) { return scores(a) > scores(b) || (scores(a) == scores(b) && a < b); });
  order.erase(split, order.end());
  std::sort(order.begin(), order.end());
  return order;
}

template <class T>
Clusters clusters_of(const In<T>& in, View<const T, 2> x) {
  const RowMajor<T> scores = scores_of(in, x);
  const Index n = scores.rows(), count = scores.cols(),
              width = in.width > 0 ? in.width : (n + count - 1) / count;  // C1
  Clusters clusters(static_cast<std::size_t>(count));
  if (in.assign == Assign::balanced) {
    for (Index c = 0; c < count; ++c) clusters[static_cast<std::size_t>(c)] = largest<T>(scores.col(c), width);
    return clusters;
  }
  for (Index i = 0; i < n; ++i) {
    Index c = 0;
    scores.row(i).maxCoeff(&c);
    clusters[static_cast<std::size_t>(c)].push_back(i);
  }
  return clusters;
}

/// Queries of a cluster that see one of its keys, and these keys.
struct Cluster {
  Keys queries, keys;
};

template <class T>
std::vector<Cluster> routed(const In<T>& in) {
  const Clusters queries = clusters_of(in, in.q), keys = in.k ? clusters_of(in, in.k) : queries;
  std::vector<Cluster> all(queries.size());
  for (std::size_t c = 0; c < all.size(); ++c) {
    all[c].keys = keys[c];
    for (const Index i : queries[c])
      if (!keys[c].empty() && (!in.causal || keys[c].front() <= i)) all[c].queries.push_back(i);
  }
  return all;
}

/// attend(call, cluster, o) gives the outputs of a cluster, a row for each of its queries. A query's own output is
/// their mean; C4 says what one without any gets.
template <class T, class F>
void each_cluster(const In<T>& in, const Out<T>& out, F&& attend) {
  const Call<T> call{in.q, in.k ? in.k : in.q, in.v, in.scale};
  const Index n = in.q.extent(0), m = in.v.extent(1);
  RowMajor<T> sums = RowMajor<T>::Zero(n, m);
  Keys counts(static_cast<std::size_t>(n));
  for (const Cluster& cluster : routed(in)) {
    if (cluster.queries.empty()) continue;
    RowMajor<T> o(static_cast<Index>(cluster.queries.size()), m);
    attend(call, cluster, view(o));
    for (Index t = 0; t < o.rows(); ++t) {
      const Index i = cluster.queries[static_cast<std::size_t>(t)];
      sums.row(i) += o.row(t);
      ++counts[static_cast<std::size_t>(i)];
    }
  }
  const T empty = in.empty_row == EmptyRow::nan ? std::numeric_limits<T>::quiet_NaN() : T(0);
  for (Index i = 0; i < n; ++i) {
    const Index count = counts[static_cast<std::size_t>(i)];
    if (count > 0)
      vector(out.o[i]) = sums.row(i).transpose() / static_cast<T>(count);
    else
      vector(out.o[i]).setConstant(empty);
  }
}

/// What attention writes.
template <class T>
struct Results {
  View<T, 2> o;
};

template <class T>
void set(const In<T>& in, const Out<T>& out) {
  each_cluster(in, out, [&](const Call<T>& call, const Cluster& cluster, View<T, 2> o) {
    const RowMajor<T> q = sparse::gathered<T>(call.q, cluster.queries);
    sparse::over_sets<T>(
        Call<T>{view(q), call.k, call.v, call.scale}, Results<T>{o}, engine::Schedule::whole_row, [&](Index t) {
          const Index end = in.causal ? cluster.queries[static_cast<std::size_t>(t)] + 1 : call.k.extent(0);
          return Keys(cluster.keys.begin(), std::lower_bound(cluster.keys.begin(), cluster.keys.end(), end));
        });
  });
}

/// The cluster's queries and keys side by side, later keys hidden.
template <class T>
void sorted_clusters(const In<T>& in, const Out<T>& out) {
  each_cluster(in, out, [&](const Call<T>& call, const Cluster& cluster, View<T, 2> o) {
    const RowMajor<T> q = sparse::gathered<T>(call.q, cluster.queries), k = sparse::gathered<T>(call.k, cluster.keys),
                      v = sparse::gathered<T>(call.v, cluster.keys);
    sparse::over_mask<T>(
        Call<T>{view(q), view(k), view(v), call.scale}, Results<T>{o}, engine::Schedule::online, [&](Index t, Index s) {
          return !in.causal ||
                 cluster.keys[static_cast<std::size_t>(s)] <= cluster.queries[static_cast<std::size_t>(t)];
        });
  });
}

template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  each_cluster(in, out, [&](const Call<T>& call, const Cluster& cluster, View<T, 2> o) {
    const RowMajor<T> q = sparse::gathered<T>(call.q, cluster.queries);
    sparse::over_marks<T>(Call<T>{view(q), call.k, call.v, call.scale}, Results<T>{o}, engine::Schedule::whole_row,
                          [&](Index t, bool* row) {
                            for (const Index j : cluster.keys)
                              row[j] = !in.causal || j <= cluster.queries[static_cast<std::size_t>(t)];
                          });
  });
}

template void set(const In<float>&, const Out<float>&);
template void set(const In<double>&, const Out<double>&);
template void sorted_clusters(const In<float>&, const Out<float>&);
template void sorted_clusters(const In<double>&, const Out<double>&);
template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::content::routing_attention
