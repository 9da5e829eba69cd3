// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/content/centroid_ema.hpp"
#include "faults/fault.hpp"

namespace attest::faults::content::centroid_ema {

namespace right = attest::reference::content::centroid_ema;
using right::Empty;
using right::In;
using right::Members;
using right::Out;
using right::Reduce;
using right::Side;

/// The sides of every cluster: f(in, cluster, its queries, its keys).
template <class F>
void each_cluster(const In& in, F&& f) {
  const auto q = right::members(in, in.c_q), k = right::members(in, in.c_k);
  for (Index c = 0; c < in.mu.extent(0); ++c)
    f(c, right::side(in.q, q[static_cast<std::size_t>(c)]), right::side(in.k, k[static_cast<std::size_t>(c)]));
}

/// mu'_c = keep mu_c + share (red q + red k) for clusters with members; the others as they should be.
template <class F>
void weighted(const In& in, const Out& out, const Number& keep, F&& share) {
  each_cluster(in, [&](Index c, const Side& q, const Side& k) {
    if (q.count + k.count == 0) return right::update(in, out, c, q, k);
    for (Index a = 0; a < in.mu.extent(1); ++a)
      out.mu_next(c, a) = keep * in.mu(c, a) + share(q, k) * (right::reduced(in, q, a) + right::reduced(in, k, a));
  });
}

inline void decay_swapped(const In& in, const Out& out) {
  const Number decay = parameter(in.decay);
  weighted(in, out, 1 - decay, [&](const Side&, const Side&) { return decay / 2; });
}

inline void half_missing(const In& in, const Out& out) {
  const Number decay = parameter(in.decay);
  weighted(in, out, decay, [&](const Side&, const Side&) { return 1 - decay; });
}

inline void absent_side_counts(const In& in, const Out& out) {
  const Number decay = parameter(in.decay);
  weighted(in, out, decay, [&](const Side&, const Side&) { return (1 - decay) / 2; });
}

inline void decay_drift(const In& in, const Out& out, const Number& c) {
  weighted(in, out, parameter(in.decay) * (Number(1) + c),
           [&](const Side& q, const Side& k) { return right::share(in, q, k); });
}

inline void decay_ignored(In in, const Out& out) {
  in.decay = 0.999;
  right::scatter(in, out);
}

inline void reduce_ignored(In in, const Out& out) {
  in.reduce = Reduce::sum;
  right::scatter(in, out);
}

inline void empty_decays(In in, const Out& out) {
  in.empty = Empty::decay;
  right::scatter(in, out);
}

inline void empty_kept(In in, const Out& out) {
  in.empty = Empty::keep;
  right::scatter(in, out);
}

/// Nothing of one side.
inline Side none(const In& in) { return right::side(in.q, {}); }

inline void queries_only(const In& in, const Out& out) {
  each_cluster(in, [&](Index c, const Side& q, const Side&) { right::update(in, out, c, q, none(in)); });
}

inline void keys_only(const In& in, const Out& out) {
  each_cluster(in, [&](Index c, const Side&, const Side& k) { right::update(in, out, c, none(in), k); });
}

/// Every row of x.
inline Side all_of(const View<const Number, 2>& x) {
  Members all(static_cast<std::size_t>(x.extent(0)));
  std::iota(all.begin(), all.end(), Index{0});
  return right::side(x, all);
}

inline void global_mean(In in, const Out& out) {
  in.reduce = Reduce::mean;
  for (Index c = 0; c < in.mu.extent(0); ++c) right::update(in, out, c, all_of(in.q), all_of(in.k));
}

inline void pooled_mean(const In& in, const Out& out) {
  each_cluster(in, [&](Index c, const Side& q, const Side& k) {
    if (in.reduce == Reduce::sum || q.count == 0 || k.count == 0) return right::update(in, out, c, q, k);
    for (Index a = 0; a < in.mu.extent(1); ++a)
      out.mu_next(c, a) = parameter(in.decay) * in.mu(c, a) +
                          (1 - parameter(in.decay)) * (q.sums(a) + k.sums(a)) / Number(q.count + k.count);
  });
}

inline void mean_over_all(const In& in, const Out& out) {
  each_cluster(in, [&](Index c, Side q, Side k) {
    if (q.count > 0) q.count = in.q.extent(0);
    if (k.count > 0) k.count = in.k.extent(0);
    right::update(in, out, c, q, k);
  });
}

inline void last_query_dropped(const In& in, const Out& out) {
  auto q = right::members(in, in.c_q), k = right::members(in, in.c_k);
  for (Members& of : q)
    if (!of.empty() && of.back() == in.q.extent(0) - 1) of.pop_back();
  for (std::size_t c = 0; c < q.size(); ++c)
    right::update(in, out, static_cast<Index>(c), right::side(in.q, q[c]), right::side(in.k, k[c]));
}

inline void last_key_wins(const In& in, const Out& out) {
  auto q = right::members(in, in.c_q), k = right::members(in, in.c_k);
  for (Members& of : k)
    if (of.size() > 1) of = {of.back()};
  for (std::size_t c = 0; c < q.size(); ++c)
    right::update(in, out, static_cast<Index>(c), right::side(in.q, q[c]), right::side(in.k, k[c]));
}

inline void clusters_of_keys(const In& in, const Out& out) {
  std::vector<Members> q(static_cast<std::size_t>(in.mu.extent(0)));
  const auto k = right::members(in, in.c_k);
  for (Index i = 0; i < in.q.extent(0); ++i)
    q[static_cast<std::size_t>(right::cluster(in, in.c_k, i % in.k.extent(0)))].push_back(i);
  for (std::size_t c = 0; c < q.size(); ++c)
    right::update(in, out, static_cast<Index>(c), right::side(in.q, q[c]), right::side(in.k, k[c]));
}

/// The tokens by the centroid of the largest product, the first of equal ones.
inline std::vector<Members> nearest(const Matrix& mu, const View<const Number, 2>& x) {
  std::vector<Members> clusters(static_cast<std::size_t>(mu.extent(0)));
  for (Index i = 0; i < x.extent(0); ++i) {
    const auto scores = product(mu.view(), x[i]);
    Index best = 0;
    for (Index c = 1; c < scores.extent(); ++c)
      if (approximate(scores(c)) > approximate(scores(best))) best = c;
    clusters[static_cast<std::size_t>(best)].push_back(i);
  }
  return clusters;
}

inline void assign_after_update(const In& in, const Out& out) {
  Matrix updated(in.mu.extent(0), in.mu.extent(1));
  right::scatter(in, {.mu_next = updated.view()});
  const auto q = nearest(updated, in.q), k = nearest(updated, in.k);
  for (std::size_t c = 0; c < q.size(); ++c)
    right::update(in, out, static_cast<Index>(c), right::side(in.q, q[c]), right::side(in.k, k[c]));
}

}  // namespace attest::faults::content::centroid_ema
