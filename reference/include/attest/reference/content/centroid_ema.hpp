// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "attest/reference/vocabulary.hpp"
#include "attest/spec.hpp"
#include "attest/spec/content/centroid_ema.hpp"

namespace attest::reference::content::centroid_ema {

using In = attest::spec::content::centroid_ema::In<Number>;
using Out = attest::spec::content::centroid_ema::Out<Number>;
using attest::spec::content::centroid_ema::Empty;
using attest::spec::content::centroid_ema::Reduce;
using Clusters = decltype(In::c_q);
using Members = std::vector<Index>;

/// The cluster of a token.   C2
inline Index cluster(const In& in, const Clusters& of, Index token) {
  const Index c = of(token);
  if (c < 0 || c >= in.mu.extent(0))
    throw SpecError("content.centroid_ema: C2 is violated: token " + std::to_string(token) + " is in cluster " +
                    std::to_string(c) + ", and there are " + std::to_string(in.mu.extent(0)) + " centroids");
  return c;
}

/// The tokens of each cluster.
inline std::vector<Members> members(const In& in, const Clusters& of) {
  std::vector<Members> clusters(static_cast<std::size_t>(in.mu.extent(0)));
  for (Index i = 0; i < of.extent(0); ++i) clusters[static_cast<std::size_t>(cluster(in, of, i))].push_back(i);
  return clusters;
}

/// Sums over the members of a cluster, and how many there are.
struct Side {
  Vector sums;
  Index count;
};

/// Where one of the means is missing, the other has its share too.
inline Number share(const In& in, const Side& q, const Side& k) {
  const Number rest = stage("rest", 1 - parameter(in.decay));
  return in.reduce == Reduce::mean && (q.count == 0 || k.count == 0) ? rest : rest / 2;
}

/// red
inline Number reduced(const In& in, const Side& x, Index a) {
  return stage("sums or means", in.reduce == Reduce::mean && x.count > 0 ? x.sums(a) / Number(x.count) : x.sums(a));
}

/// decay mu_c + share (red q + red k) for a cluster with these members
inline void update(const In& in, const Out& out, Index c, const Side& q, const Side& k) {
  const bool empty = q.count == 0 && k.count == 0;
  for (Index a = 0; a < in.mu.extent(1); ++a) {
    if (empty)
      out.mu_next(c, a) = in.empty == Empty::keep ? in.mu(c, a) : parameter(in.decay) * in.mu(c, a);
    else
      out.mu_next(c, a) = parameter(in.decay) * in.mu(c, a) + share(in, q, k) * (reduced(in, q, a) + reduced(in, k, a));
  }
}

/// The sums of these rows of x.
inline Side side(const View<const Number, 2>& x, const Members& rows) {
  const auto count = static_cast<Index>(rows.size());
  return {
      tabulate(x.extent(1),
               [&](Index a) { return sum(count, [&](Index t) { return x(rows[static_cast<std::size_t>(t)], a); }); }),
      count};
}

/// mu'_c = decay mu_c + (1 - decay) / 2 (red q + red k)      [Roy et al. 2021, eq. 13]
inline void scatter(const In& in, const Out& out) {
  const auto q = members(in, in.c_q), k = members(in, in.c_k);
  for (const Index c : wanted(out.mu_next))
    update(in, out, c, side(in.q, q[static_cast<std::size_t>(c)]), side(in.k, k[static_cast<std::size_t>(c)]));
}

/// Row c of P x, P_ci = [c(i) = c], and the sum of that row of P.
inline Side one_hot(const In& in, const View<const Number, 2>& x, const Clusters& of, Index c) {
  Index count = 0;
  const auto row = tabulate(x.extent(0), [&](Index i) {
    const bool member = cluster(in, of, i) == c;
    count += member ? 1 : 0;
    return Number(member ? 1 : 0);
  });
  return {product(row, x), count};
}

inline void one_hot_matrix(const In& in, const Out& out) {
  for (const Index c : wanted(out.mu_next))
    update(in, out, c, one_hot(in, in.q, in.c_q, c), one_hot(in, in.k, in.c_k, c));
}

}  // namespace attest::reference::content::centroid_ema
