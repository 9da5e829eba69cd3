// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/multi_head.hpp"
#include "attest/reference/positional/shaw_relative.hpp"
#include "attest/spec/positional/xl_relative_score.hpp"

namespace attest::reference::positional::xl_relative_score {

using attention::multi_head::projected;
using In = attest::spec::positional::xl_relative_score::In<Number>;
using Out = attest::spec::positional::xl_relative_score::Out<Number>;

/// The given scale, or 1/sqrt(d).
inline Number scale_of(const In& in) {
  return stage("scale", in.scale ? parameter(*in.scale) : 1 / sqrt(Number(in.w_q.extent(1))));
}

/// Projections that are computed once: queries, keys, and distances behind and ahead of a query.
struct Projections {
  Matrix q, k, behind, ahead;
  Index past;

  explicit Projections(const In& in)
      : q(attention::multi_head::queries(in.x_q, in.w_q)),
        k(attention::multi_head::keys(in.x_k, in.w_e)),
        behind(stage("projected distances", projected(in.r, in.w_r))),
        ahead(stage("projected distances", in.r_ahead ? projected(in.r_ahead, in.w_r) : Matrix(0, 0))),
        past(in.x_k.extent(0) - in.x_q.extent(0)) {}

  /// o = i + (s - n) - j
  Index offset(Index i, Index j) const { return i + past - j; }
  /// r_o w_r
  Row distance(Index o) const { return o >= 0 ? behind[o] : ahead[-o]; }
};

/// A query with a key, and with a distance.
inline Number content(const Row& q, const Row& k) { return stage("products", dot(q, k)); }
inline Number position(const Row& q, const Row& r) { return stage("position products", dot(q, r)); }

/// Whether the score of that offset is more than a place to be hidden.
inline bool scored(const In& in, Index o) { return o >= 0 || in.r_ahead; }

/// a_ij = scale * score(i, j), 0 where there is no r_o.
template <class F>
void each_pair(const In& in, const Out& out, F&& score) {
  const Number scale = scale_of(in);
  const auto [n, s] = out.a.extents();
  for (const Index i : wanted(out.a))
    for (Index j = 0; j < s; ++j)
      out.a(i, j) = scored(in, i + (s - n) - j) ? scale * stage("scores", score(i, j)) : Number(0);  // C1, C2
}

/// a_ij = scale ((x_i w_q) . (x_j w_e) + (x_i w_q) . (r_o w_r) + u . (x_j w_e) + v . (r_o w_r))      [Dai et al. 2019,
/// section 3.3]
inline void four_terms(const In& in, const Out& out) {
  const Projections p(in);
  const auto u_k = stage("biases", tabulate(p.k.extent(0), [&](Index j) { return dot(in.u, p.k[j]); }));
  const auto against_v = [&](const Matrix& r) {
    return stage("biases", tabulate(r.extent(0), [&](Index o) { return dot(in.v, r[o]); }));
  };
  const auto v_behind = against_v(p.behind), v_ahead = against_v(p.ahead);
  each_pair(in, out, [&](Index i, Index j) {
    const Index o = p.offset(i, j);
    return content(p.q[i], p.k[j]) + position(p.q[i], p.distance(o)) + u_k(j) + (o >= 0 ? v_behind(o) : v_ahead(-o));
  });
}

/// q + bias for every query
inline Matrix biased(const Matrix& q, const Row& bias) {
  Matrix y(q.extent(0), q.extent(1));
  for (Index i = 0; i < y.extent(0); ++i)
    for (Index a = 0; a < y.extent(1); ++a) y(i, a) = stage("queries with biases", q(i, a) + bias(a));
  return y;
}

/// a_ij = scale ((q_i + u) . k_j + (q_i + v) . (r_o w_r))
inline void grouped(const In& in, const Out& out) {
  const Projections p(in);
  const Matrix q_u = biased(p.q, in.u), q_v = biased(p.q, in.v);
  each_pair(in, out,
            [&](Index i, Index j) { return content(q_u[i], p.k[j]) + position(q_v[i], p.distance(p.offset(i, j))); });
}

/// (q_i + v) . (r_o w_r) for o = s - 1 down to 0, or down to 1 - n where there are rows ahead.
inline Matrix by_offset(const In& in, const Projections& p) {
  const auto [n, s] = std::pair(in.x_q.extent(0), in.x_k.extent(0));
  const Matrix q_v = biased(p.q, in.v);
  Matrix b(n, in.r_ahead ? n + s - 1 : s);
  for (Index i = 0; i < b.extent(0); ++i)
    for (Index t = 0; t < b.extent(1); ++t) b(i, t) = position(q_v[i], p.distance(in.x_k.extent(0) - 1 - t));
  return b;
}

/// The product with all offsets, skewed. Where r ends at offset 0, keys ahead would get numbers of the next row.
/// [appendix B]
inline void rel_shift(const In& in, const Out& out) {
  const Projections p(in);
  const Matrix q_u = biased(p.q, in.u), by_distance = shaw_relative::skewed(by_offset(in, p), in.x_k.extent(0));
  each_pair(in, out, [&](Index i, Index j) { return content(q_u[i], p.k[j]) + by_distance(i, j); });
}

}  // namespace attest::reference::positional::xl_relative_score
