// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/content/routing_attention.hpp"
#include "faults/sparse/attend.hpp"

namespace attest::faults::content::routing_attention {

namespace right = attest::reference::content::routing_attention;
namespace plain = attest::reference::attention::scaled_dot_product;
namespace softmax = attest::reference::attention::softmax;
using right::Assign;
using right::Call;
using right::Clusters;
using right::EmptyRow;
using right::In;
using right::Keys;
using right::mean;
using right::Normalise;
using right::Out;
using right::Routes;
using right::side_by_side;
using right::Tokens;

inline Tokens keys_of(const In& in) { return in.k ? in.k : in.q; }

/// The equation with other sets.
template <class S>
void over(const In& in, const Out& out, const S& sets_of) {
  right::each_query(right::call_of(in), out, sets_of, side_by_side, mean);
}

/// The equation with scores(tokens) in place of the products with centroids.
template <class F>
void with_scores(const In& in, const Out& out, F&& scores) {
  const Clusters queries = right::clusters_of(in, scores(in.q));
  over(in, out, in.k ? Routes(in, queries, right::clusters_of(in, scores(in.k))) : Routes(in, queries));
}

/// The equation with another mean.
template <class F>
void with_combined(const In& in, const Out& out, F&& combined) {
  right::each_query(right::call_of(in), out, right::routes(in), side_by_side, combined);
}

/// The equation with other attention to a set.
template <class F>
void with_attention(const In& in, const Out& out, F&& attend) {
  right::each_query(right::call_of(in), out, right::routes(in), attend, mean);
}

/// The equation with other sets, made of the right ones.
template <class F>
void with_sets(const In& in, const Out& out, F&& change) {
  const Routes routes = right::routes(in);
  over(in, out, [&](Index i) { return change(routes, i); });
}

inline void nearest_unnormalised(const In& in, const Out& out) {
  with_scores(in, out, [&](const Tokens& x) {
    return matrix_of(x.extent(0), in.mu.extent(0), [&](Index i, Index c) {
      return -sum(x.extent(1), [&](Index a) { return (x(i, a) - in.mu(c, a)) * (x(i, a) - in.mu(c, a)); });
    });
  });
}

inline void separate_centroids(const In& in, const Out& out) {
  In other = in;
  other.mu = in.mu.reversed();
  over(in, out,
       Routes(in, right::clusters_of(in, right::scores(in, in.q)),
              right::clusters_of(in, right::scores(other, keys_of(in)))));
}

inline void argmin(const In& in, const Out& out) {
  with_scores(in, out, [&](const Tokens& x) {
    const Matrix right_ones = right::scores(in, x);
    return matrix_of(x.extent(0), in.mu.extent(0), [&](Index i, Index c) { return -right_ones(i, c); });
  });
}

inline void causal_missing(In in, const Out& out) {
  in.causal = false;
  right::set(in, out);
}

inline void queries_only_routed(const In& in, const Out& out) {
  over(in, out, Routes(in, right::clusters_of(in, right::scores(in, in.q))));
}

/// The keys that no cluster hides.
inline Keys visible(const In& in, Index i) {
  return reference::sparse::attend::keys_below(in.causal ? i + 1 : in.q.extent(0), [](Index) { return true; });
}

inline void clusters_ignored(const In& in, const Out& out) {
  over(in, out, [&](Index i) { return std::vector<Keys>{visible(in, i)}; });
}

inline void keys_are_queries(In in, const Out& out) {
  in.k = {};
  right::set(in, out);
}

inline void normalise_ignored(In in, const Out& out) {
  in.normalise = Normalise::none;
  right::set(in, out);
}

inline void layer_norm_for_unit(In in, const Out& out) {
  if (in.normalise == Normalise::unit) in.normalise = Normalise::layer_norm;
  right::set(in, out);
}

inline void mean_kept(const In& in, const Out& out) {
  if (in.normalise != Normalise::layer_norm) return right::set(in, out);
  In other = in;
  other.normalise = Normalise::none;
  with_scores(in, out, [&](const Tokens& x) {
    const auto scaled = matrix_of(x.extent(0), x.extent(1), [&](Index i, Index a) {
      return x(i, a) / sqrt(dot(x[i], x[i]) / Number(x.extent(1)) + parameter(in.eps));
    });
    return right::scores(other, read_only(scaled));
  });
}

inline void normalised_attention(const In& in, const Out& out) {
  const Matrix q = right::normalised(in, in.q), k = right::normalised(in, keys_of(in));
  Call call = right::call_of(in);
  call.q = read_only(q), call.k = read_only(k);
  right::each_query(call, out, right::routes(in), side_by_side, mean);
}

inline void centroids_normalised(const In& in, const Out& out) {
  const auto mu = matrix_of(in.mu.extent(0), in.mu.extent(1), [&](Index c, Index a) {
    const Number square = dot(in.mu[c], in.mu[c]);
    return is_zero(square) ? Number(0) : in.mu(c, a) / sqrt(square);
  });
  In other = in;
  other.mu = read_only(mu);
  right::set(other, out);
}

inline void last_centroid_dropped(const In& in, const Out& out) {
  In other = in;
  other.width = right::width_of(in);
  other.mu = in.mu.rows(0, std::max<Index>(in.mu.extent(0) - 1, 1));
  right::set(other, out);
}

inline void causal_by_rank(const In& in, const Out& out) {
  with_sets(in, out, [&](const Routes& routes, Index i) {
    if (!in.causal) return routes(i);
    std::vector<Keys> all;
    for (std::size_t c = 0; c < routes.queries.size(); ++c) {
      const Keys &queries = routes.queries[c], &keys = routes.keys[c];
      if (keys.empty() || !right::contains(queries, i)) continue;
      const auto rank = std::lower_bound(queries.begin(), queries.end(), i) - queries.begin();
      all.emplace_back(keys.begin(), keys.begin() + std::min<std::ptrdiff_t>(rank + 1, std::ssize(keys)));
    }
    return all;
  });
}

inline void not_unsorted(const In& in, const Out& out) {
  if (in.assign == Assign::balanced) return right::set(in, out);
  Matrix o(in.q.extent(0), in.v.extent(1));
  right::set(in, {.o = o.view()});
  Index place = 0;
  for (const Keys& cluster : right::routes(in).queries)
    for (const Index i : cluster) {
      for (Index e = 0; e < o.extent(1); ++e) out.o(place, e) = o(i, e);
      ++place;
    }
}

inline void normalised_over_all(const In& in, const Out& out) {
  with_attention(in, out, [&](const plain::In& all, Index i, const Keys& keys) {
    const Keys every = visible(in, i);
    const auto a = softmax::shifted(plain::logits(all, plain::scale_of(all), i, every)).first;
    return product(
        tabulate(static_cast<Index>(keys.size()), [&](Index t) { return a(keys[static_cast<std::size_t>(t)]); }),
        plain::Rows(all.v, keys));
  });
}

inline void assign_ignored(In in, const Out& out) {
  in.assign = Assign::argmax;
  right::set(in, out);
}

inline void width_ignored(In in, const Out& out) {
  in.width = 0;
  right::set(in, out);
}

inline void one_fewer(In in, const Out& out) {
  in.width = std::max<Index>(right::width_of(in) - 1, 1);
  right::set(in, out);
}

inline Vector total(const std::vector<Vector>& outputs) {
  return tabulate(outputs[0].extent(), [&](Index e) {
    return sum(static_cast<Index>(outputs.size()), [&](Index t) { return outputs[static_cast<std::size_t>(t)](e); });
  });
}

inline void outputs_summed(const In& in, const Out& out) { with_combined(in, out, total); }

inline void last_cluster_wins(const In& in, const Out& out) {
  with_combined(in, out, [](const std::vector<Vector>& outputs) { return outputs.back(); });
}

inline void divided_by_all(const In& in, const Out& out) {
  if (in.assign == Assign::argmax) return right::set(in, out);
  with_combined(in, out, [&](const std::vector<Vector>& outputs) {
    const Vector all = total(outputs);
    return tabulate(all.extent(), [&](Index e) { return all(e) / Number(in.mu.extent(0)); });
  });
}

inline void count_plus_eps(const In& in, const Out& out) {
  if (in.assign == Assign::argmax) return right::set(in, out);
  with_combined(in, out, [&](const std::vector<Vector>& outputs) {
    const Number count = Number(static_cast<Index>(outputs.size())) + rational(1, 100000);
    const Vector all = total(outputs);
    return tabulate(all.extent(), [&](Index e) { return all(e) / count; });
  });
}

inline void joint_softmax(const In& in, const Out& out) {
  with_sets(in, out, [](const Routes& routes, Index i) {
    Keys all;
    for (const Keys& keys : routes(i)) all.insert(all.end(), keys.begin(), keys.end());
    if (all.empty()) return std::vector<Keys>{};
    return std::vector<Keys>{reference::sparse::attend::distinct(std::move(all))};
  });
}

inline void empty_clusters_counted(const In& in, const Out& out) {
  const Routes routes = right::routes(in);
  const auto sets_of = [&](Index i) {
    std::vector<Keys> all = routes(i);
    std::size_t count = 0;
    for (const Keys& queries : routes.queries) count += right::contains(queries, i) ? 1 : 0;
    if (!all.empty()) all.resize(count);
    return all;
  };
  const auto attend = [](const plain::In& all, Index i, const Keys& keys) {
    return keys.empty() ? Vector(all.v.extent(1)) : side_by_side(all, i, keys);
  };
  right::each_query(right::call_of(in), out, sets_of, attend, mean);
}

inline void left_over_routed(const In& in, const Out& out) {
  const Matrix scores = right::scores(in, in.q);
  with_sets(in, out, [&](const Routes& routes, Index i) {
    std::vector<Keys> all = routes(i);
    const bool taken = std::any_of(routes.queries.begin(), routes.queries.end(),
                                   [&](const Keys& queries) { return right::contains(queries, i); });
    if (taken) return all;
    if (Keys keys = routes.seen(static_cast<std::size_t>(right::largest(scores[i])), i); !keys.empty())
      all.push_back(std::move(keys));
    return all;
  });
}

inline void own_key_hidden(const In& in, const Out& out) {
  with_sets(in, out, [&](const Routes& routes, Index i) {
    std::vector<Keys> all = routes(i);
    for (Keys& keys : all)
      if (!in.k && keys.size() > 1) keys.erase(std::remove(keys.begin(), keys.end(), i), keys.end());
    return all;
  });
}

inline void unit_keys(const In& in, const Out& out) {
  const Tokens given = keys_of(in);
  const auto k = matrix_of(given.extent(0), given.extent(1), [&](Index j, Index a) {
    const Number square = dot(given[j], given[j]);
    return in.k || is_zero(square) ? Number(given(j, a)) : given(j, a) / sqrt(square);
  });
  Call call = right::call_of(in);
  call.k = read_only(k);
  right::each_query(call, out, right::routes(in), side_by_side, mean);
}

/// What a query that sees nothing gets instead.
inline void with_empty(const In& in, const Out& out, plain::EmptyRow what) {
  right::set(in, out);
  const Routes routes = right::routes(in);
  plain::In all = reference::sparse::attend::plain_of(right::call_of(in));
  all.empty_row = what;
  for (const Index i : wanted(out.o))
    if (routes(i).empty()) plain::empty_row(all, plain::Out{out.o}, i);
}

inline void empty_row_mean(const In& in, const Out& out) { with_empty(in, out, plain::EmptyRow::mean); }

inline void empty_row_nan(const In& in, const Out& out) { with_empty(in, out, plain::EmptyRow::nan); }

inline void eps_ignored(In in, const Out& out) {
  in.eps = 1e-5;
  right::set(in, out);
}

inline void scale_missing(In in, const Out& out) {
  if (!in.scale) in.scale = 1;
  right::set(in, out);
}

inline void scale_ignored(In in, const Out& out) {
  in.scale.reset();
  right::set(in, out);
}

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  with_attention(in, out, [&](const plain::In& all, Index i, const Keys& keys) {
    const Vector l = plain::logits(all, plain::scale_of(all) * (Number(1) + c), i, keys);
    return product(softmax::shifted(l).first, plain::Rows(all.v, keys));
  });
}

inline void ties_to_last(const In& in, const Out& out) {
  const auto backwards = [](const Vector& x, Index k) {
    const Index last = x.extent() - 1;
    Keys some = top_k(k, tabulate(x.extent(), [&](Index t) { return x(last - t); }));
    for (Index& t : some) t = last - t;
    std::reverse(some.begin(), some.end());
    return some;
  };
  const auto clusters = [&](const Matrix& scores) {
    const Index n = scores.extent(0), count = scores.extent(1);
    Clusters all(static_cast<std::size_t>(count));
    for (Index c = 0; in.assign == Assign::balanced && c < count; ++c)
      all[static_cast<std::size_t>(c)] =
          backwards(tabulate(n, [&](Index i) { return scores(i, c); }), right::width_of(in));
    for (Index i = 0; in.assign == Assign::argmax && i < n; ++i) {
      const Index c = backwards(tabulate(count, [&](Index t) { return scores(i, t); }), 1)[0];
      all[static_cast<std::size_t>(c)].push_back(i);
    }
    return all;
  };
  const Clusters queries = clusters(right::scores(in, in.q));
  over(in, out, in.k ? Routes(in, queries, clusters(right::scores(in, in.k))) : Routes(in, queries));
}

}  // namespace attest::faults::content::routing_attention
