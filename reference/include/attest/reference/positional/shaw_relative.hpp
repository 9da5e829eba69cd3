// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/spec/positional/shaw_relative.hpp"

namespace attest::reference::positional::shaw_relative {

using attention::scaled_dot_product::scale_of;
using In = attest::spec::positional::shaw_relative::In<Number>;
using Out = attest::spec::positional::shaw_relative::Out<Number>;

/// The given offset, or s - n.
template <class I>
Index offset_of(const I& in) {
  return in.offset ? *in.offset : in.k.extent(0) - in.q.extent(0);
}

/// r_ij = max(-c, min(c, j - i - offset)) + c
template <class I>
Index row_of(const I& in, Index i, Index j) {
  const Index c = (in.p_k.extent(0) - 1) / 2;  // C1
  return std::clamp<Index>(j - i - offset_of(in), -c, c) + c;
}

/// The keys that the mask leaves visible, in ascending order.
template <class I>
std::vector<Index> visible(const I& in, Index i) {
  std::vector<Index> keys;
  for (Index j = 0; j < in.k.extent(0); ++j)
    if (!in.mask || in.mask(i, j)) keys.push_back(j);
  return keys;
}

/// Every form: weights from scale * score(i, j), then o_ic = output(i, c, keys, weights).
template <class S, class O>
void each_row(const In& in, const Out& out, S&& score, O&& output) {
  const Number scale = scale_of(in);
  for (const Index i : wanted(out.o)) {
    const auto keys = visible(in, i);
    const Index count = static_cast<Index>(keys.size());
    const auto l = stage("logits", tabulate(count, [&](Index t) {
                           return scale * stage("scores", score(i, keys[static_cast<std::size_t>(t)]));
                         }));
    const auto a = count == 0 ? l : attention::softmax::shifted(l).first;
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = count == 0 ? Number(0) : output(i, c, keys, a);  // C2
  }
}

/// q_i . (k_j + p_k[r])
inline Number score_at(const In& in, Index i, Index j, Index r) {
  return dot(in.q[i], stage("keys with embeddings",
                            tabulate(in.q.extent(1), [&](Index a) { return in.k(j, a) + in.p_k(r, a); })));
}

/// sum_j a_j (v_j + p_v[row(j)])
template <class R>
Number mean_at(const In& in, Index c, const std::vector<Index>& keys, const Vector& a, R&& row) {
  return dot(a, stage("values with embeddings", tabulate(a.extent(), [&](Index t) {
                        const Index j = keys[static_cast<std::size_t>(t)];
                        return Number(in.v(j, c) + in.p_v(row(j), c));
                      })));
}

/// The values' half of the definition.
inline auto values(const In& in) {
  return [&in](Index i, Index c, const std::vector<Index>& keys, const Vector& a) {
    return mean_at(in, c, keys, a, [&](Index j) { return row_of(in, i, j); });
  };
}

/// o_i = sum_j a_ij (v_j + p_v[r_ij]),  a_i = softmax_j scale q_i . (k_j + p_k[r_ij])      [Shaw et al. 2018, eq. 3 and
/// 4]
inline void pairwise(const In& in, const Out& out) {
  each_row(in, out, [&](Index i, Index j) { return score_at(in, i, j, row_of(in, i, j)); }, values(in));
}

/// q . k_j
inline Number content(const In& in, Index i, Index j) { return stage("products", dot(in.q[i], in.k[j])); }

/// q table^T
inline Matrix against(View<const Number, 2> q, View<const Number, 2> table) {
  Matrix product(q.extent(0), table.extent(0));
  for (Index i = 0; i < product.extent(0); ++i)
    for (Index r = 0; r < product.extent(1); ++r) product(i, r) = stage("position products", dot(q[i], table[r]));
  return product;
}

/// q_i . k_j + (q p_k^T)_{i, r_ij}      [Shaw et al. 2018, eq. 5]
inline void split_logits(const In& in, const Out& out) {
  const Matrix by_distance = against(in.q, in.p_k);
  each_row(in, out, [&](Index i, Index j) { return content(in, i, j) + by_distance(i, row_of(in, i, j)); }, values(in));
}

/// o_i = sum_j a_ij v_j + sum_r (sum_{j: r_ij = r} a_ij) p_v[r]
inline void bucketed_values(const In& in, const Out& out) {
  const Matrix by_distance = against(in.q, in.p_k);
  each_row(
      in, out, [&](Index i, Index j) { return content(in, i, j) + by_distance(i, row_of(in, i, j)); },
      [&](Index i, Index c, const std::vector<Index>& keys, const Vector& a) {
        const auto buckets = stage("bucket weights", tabulate(in.p_v.extent(0), [&](Index r) {
                                     Sum share;
                                     for (Index t = 0; t < a.extent(); ++t)
                                       if (row_of(in, i, keys[static_cast<std::size_t>(t)]) == r) share.add(a(t));
                                     return share.result();
                                   }));
        return stage("share of the values", dot(a, attention::scaled_dot_product::Rows(in.v, keys).column(c))) +
               stage("share of the embeddings", dot(buckets, in.p_v.column(c)));
      });
}

/// Row i of x moved left by n - 1 - i places: a column of zeros in front, the same numbers read as rows that are one
/// shorter, and the first n numbers dropped      [Huang et al. 2018, section 3.4.1; Dai et al. 2019, appendix B]
inline Matrix skewed(const Matrix& x, Index columns) {
  const Index n = x.extent(0), width = x.extent(1);
  const auto padded = tabulate(n * (width + 1), [&](Index at) {
    return at % (width + 1) == 0 ? Number(0) : x(at / (width + 1), at % (width + 1) - 1);
  });
  Matrix y(n, columns);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < columns; ++j) y(i, j) = padded(n + i * width + j);
  return y;
}

/// The scores with p_k for every distance in order, -(n - 1) - offset .. s - 1 - offset, skewed so that column j is key
/// j.
inline void skew(const In& in, const Out& out) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  Matrix p_k(n + s - 1, in.p_k.extent(1));
  for (Index t = 0; t < p_k.extent(0); ++t)
    for (Index a = 0; a < p_k.extent(1); ++a) p_k(t, a) = in.p_k(row_of(in, n - 1, t), a);
  const Matrix position = skewed(against(in.q, p_k.view()), s);
  each_row(in, out, [&](Index i, Index j) { return content(in, i, j) + position(i, j); }, values(in));
}

}  // namespace attest::reference::positional::shaw_relative
