// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/layer_norm.hpp"
#include "attest/reference/content/lsh_attention.hpp"
#include "attest/reference/sparse/attend.hpp"
#include "attest/spec/content/routing_attention.hpp"

namespace attest::reference::content::routing_attention {

namespace sets = sparse::attend;
namespace plain = attention::scaled_dot_product;
namespace softmax = attention::softmax;
using In = attest::spec::content::routing_attention::In<Number>;
using Out = attest::spec::content::routing_attention::Out<Number>;
using attest::spec::content::routing_attention::Assign;
using attest::spec::content::routing_attention::EmptyRow;
using attest::spec::content::routing_attention::Normalise;
using lsh_attention::directions;
using sets::Keys;
using Tokens = View<const Number, 2>;
/// The tokens of each cluster, ascending.
using Clusters = std::vector<Keys>;

/// The tensors that attention reads.
struct Call {
  Tokens q, k, v;
  std::optional<double> scale;
  EmptyRow empty_row;
};

/// Without k the queries are the keys.
inline Call call_of(const In& in) { return {in.q, in.k ? in.k : in.q, in.v, in.scale, in.empty_row}; }

/// LN(x), x / |x|, or x itself.
inline Matrix normalised(const In& in, const Tokens& x) {
  if (in.normalise == Normalise::unit) return stage("normalised tokens", directions(x));
  Matrix y(x, x.extent(0), x.extent(1));
  if (in.normalise == Normalise::none) return y;
  attention::layer_norm::In call;
  call.x = x, call.eps = in.eps;
  attention::layer_norm::two_pass(call, {.y = y.view()});
  return stage("normalised tokens", std::move(y));
}

/// LN(x_i) . mu_c, a row for each token.
inline Matrix scores(const In& in, const Tokens& x) {
  const Matrix y = normalised(in, x);
  Matrix all(x.extent(0), in.mu.extent(0));
  for (Index i = 0; i < all.extent(0); ++i)
    for (Index c = 0; c < all.extent(1); ++c) all(i, c) = dot(y[i], in.mu[c]);
  return stage("scores", std::move(all));
}

/// Tokens that a centroid takes.   C1
inline Index width_of(const In& in) {
  const Index n = in.q.extent(0), c = in.mu.extent(0);
  return in.width > 0 ? in.width : (n + c - 1) / c;
}

/// The place of the largest.
inline Index largest(const Row& x) {
  return top_k(1, tabulate(x.extent(0), [&](Index t) { return x(t); }))[0];
}

/// Each token in the cluster of its largest product.
inline Clusters chosen(const Matrix& scores) {
  Clusters clusters(static_cast<std::size_t>(scores.extent(1)));
  for (Index i = 0; i < scores.extent(0); ++i) clusters[static_cast<std::size_t>(largest(scores[i]))].push_back(i);
  return clusters;
}

/// For each centroid the `width` tokens of its largest products.
inline Clusters filled(const Matrix& scores, Index width) {
  Clusters clusters;
  for (Index c = 0; c < scores.extent(1); ++c)
    clusters.push_back(top_k(width, tabulate(scores.extent(0), [&](Index i) { return scores(i, c); })));
  return clusters;
}

inline Clusters clusters_of(const In& in, const Matrix& scores) {
  return in.assign == Assign::balanced ? filled(scores, width_of(in)) : chosen(scores);
}

inline bool contains(const Keys& keys, Index j) { return std::binary_search(keys.begin(), keys.end(), j); }

/// Where queries and keys are: decided once for all rows, queries first.
struct Routes {
  Clusters queries, keys;
  bool causal;

  Routes(const In& in, const Clusters& of_queries, const Clusters& of_keys)
      : queries(of_queries), keys(of_keys), causal(in.causal) {}
  Routes(const In& in, const Clusters& shared) : Routes(in, shared, shared) {}

  /// The keys of a cluster that a query sees.
  Keys seen(std::size_t cluster, Index i) const {
    Keys some;
    for (const Index j : keys[cluster])
      if (!causal || j <= i) some.push_back(j);
    return some;
  }
  /// S_i in each cluster that has query i and shows it a key.
  std::vector<Keys> operator()(Index i) const {
    std::vector<Keys> all;
    for (std::size_t cluster = 0; cluster < queries.size(); ++cluster)
      if (contains(queries[cluster], i))
        if (Keys some = seen(cluster, i); !some.empty()) all.push_back(std::move(some));
    return all;
  }
};

inline Routes routes(const In& in) {
  const Clusters queries = clusters_of(in, scores(in, in.q));
  return in.k ? Routes(in, queries, clusters_of(in, scores(in, in.k))) : Routes(in, queries);
}

/// The mean of what a query gets from several clusters, which a kernel may have kept in memory.
inline Vector mean(const std::vector<Vector>& outputs) {
  const auto count = static_cast<Index>(outputs.size());
  if (count == 1) return outputs[0];
  const auto kept = [&](Index t, Index e) {
    return stored(stage("outputs of clusters", outputs[static_cast<std::size_t>(t)](e)));
  };
  return tabulate(outputs[0].extent(),
                  [&](Index e) { return sum(count, [&](Index t) { return kept(t, e); }) / Number(count); });
}

/// o_i: combined(the results of attend(call, i, S_i) in each cluster that has query i); empty_row without any.   C4
template <class S, class F, class G>
void each_query(const Call& call, const Out& out, const S& sets_of, F&& attend, G&& combined) {
  const plain::In all = sets::plain_of(call);
  for (const Index i : wanted(out.o)) {
    std::vector<Vector> outputs;
    for (const Keys& keys : sets_of(i)) outputs.push_back(attend(all, i, keys));
    if (outputs.empty())
      plain::empty_row(all, plain::Out{out.o}, i);
    else
      assign(out.o[i], combined(outputs));
  }
}

/// The keys of a set side by side.
inline Vector side_by_side(const plain::In& all, Index i, const Keys& keys) {
  return product(softmax::shifted(plain::logits(all, plain::scale_of(all), i, keys)).first, plain::Rows(all.v, keys));
}

/// o_i = sum_{j in S_i} a_ij v_j      [Roy et al. 2021, section 4]
inline void set(const In& in, const Out& out) { each_query(call_of(in), out, routes(in), side_by_side, mean); }

/// Exponentials of a cluster and their sum, divided at the end.
inline void sorted_clusters(const In& in, const Out& out) {
  each_query(
      call_of(in), out, routes(in),
      [](const plain::In& all, Index i, const Keys& keys) {
        const Vector l = plain::logits(all, plain::scale_of(all), i, keys);
        const auto run = plain::partial(l, plain::Rows(all.v, keys), 0, l.extent());
        return tabulate(run.o.extent(), [&](Index e) { return run.o(e) / run.l; });
      },
      mean);
}

/// All keys, those outside of S_i hidden.
inline void mask(const In& in, const Out& out) {
  each_query(
      call_of(in), out, routes(in),
      [](plain::In all, Index i, const Keys& keys) {
        const sets::Mask visible(1, all.k.extent(0), {0}, [&](Index, Index j) { return contains(keys, j); });
        all.q = all.q.rows(i, 1), all.mask = visible.view();
        Matrix o(1, all.v.extent(1));
        plain::max_shift(all, {.o = o.view()});
        return tabulate(o.extent(1), [&](Index e) { return o(0, e); });
      },
      mean);
}

}  // namespace attest::reference::content::routing_attention
