// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/attend.hpp"
#include "attest/spec/sparse/etc_global_local.hpp"

namespace attest::reference::sparse::etc_global_local {

namespace plain = attention::scaled_dot_product;
using In = attest::spec::sparse::etc_global_local::In<Number>;
using Out = attest::spec::sparse::etc_global_local::Out<Number>;
using attend::Keys;
using attention::softmax::shifted;
using attest::spec::sparse::etc_global_local::Softmax;

/// Whether the pattern has the pair
inline bool in_pattern(const In& in, Index i, Index j) {
  return std::min(i, j) < in.globals || std::abs(i - j) <= in.radius;
}

inline bool hidden(const In& in, Index i, Index j) { return in.mask && !in.mask(i, j); }

/// j in S_i
inline bool sees(const In& in, Index i, Index j) { return in_pattern(in, i, j) && !hidden(in, i, j); }

/// lab_ij, a row of the table.   C3
inline Index label(const In& in, Index i, Index j) {
  const Index r = in.labels(i, j);
  if (r < 0 || r >= in.table.extent(0))
    throw SpecError("sparse.etc_global_local: C3 is violated: labels[" + std::to_string(i) + ", " + std::to_string(j) +
                    "] is " + std::to_string(r) + ", and the table has " + std::to_string(in.table.extent(0)) +
                    " rows");
  return r;
}

/// q_i . (k_j + P_lab_ij)
inline Number product_with_sum(const In& in, Index i, Index j) {
  if (!in.labels) return dot(in.q[i], in.k[j]);
  const Index r = label(in, i, j);
  return dot(in.q[i],
             stage("labelled keys", tabulate(in.k.extent(1), [&](Index a) { return in.k(j, a) + in.table(r, a); })));
}

/// q_i . k_j + q_i . P_lab_ij
inline Number sum_of_products(const In& in, Index i, Index j) {
  const Number q_k = dot(in.q[i], in.k[j]);
  return in.labels ? q_k + stage("products with labels", dot(in.q[i], in.table[label(in, i, j)])) : q_k;
}

/// l_ij of those keys.
template <class P>
Vector logits(const In& in, Index i, const Keys& keys, P&& labelled) {
  const Number scale = plain::scale_of(in);
  return stage("logits", tabulate(static_cast<Index>(keys.size()), [&](Index t) {
                 const Index j = keys[static_cast<std::size_t>(t)];
                 return scale * stage("products", labelled(in, i, j));
               }));
}

/// The keys of row i: global ones, then those of the long input.
inline std::vector<Keys> pieces(const In& in, Index i) {
  const Index n = in.k.extent(0);
  return {attend::keys_below(n, [&](Index j) { return j < in.globals && sees(in, i, j); }),
          attend::keys_below(n, [&](Index j) { return j >= in.globals && sees(in, i, j); })};
}

/// Softmax attention over each of the lists, the results added.
template <class P>
void over_each(const In& in, const Out& out, Index i, const std::vector<Keys>& lists, P&& labelled) {
  std::vector<Vector> results;
  for (const Keys& keys : lists)
    if (!keys.empty())
      results.push_back(product(shifted(logits(in, i, keys, labelled)).first, plain::Rows(in.v, keys)));
  for (Index c = 0; c < in.v.extent(1); ++c) {
    if (results.empty()) out.o(i, c) = Number(0);
    if (results.size() == 1) out.o(i, c) = results[0](c);
    if (results.size() == 2) out.o(i, c) = results[0](c) + results[1](c);
  }
}

/// The lists that have a softmax of their own.
inline std::vector<Keys> lists(const In& in, Index i) {
  auto both = pieces(in, i);
  if (in.softmax == Softmax::per_piece) return both;
  both[0].insert(both[0].end(), both[1].begin(), both[1].end());
  return {both[0]};
}

/// o_i = sum_{j in S_i} a_ij v_j      [Ainslie et al. 2020, section 3]
inline void dense(const In& in, const Out& out) {
  for (const Index i : wanted(out.o)) over_each(in, out, i, lists(in, i), product_with_sum);
}

inline void banded(const In& in, const Out& out) {
  for (const Index i : wanted(out.o)) over_each(in, out, i, lists(in, i), sum_of_products);
}

/// Both kinds of keys with a maximum and a sum each.
inline void split(const In& in, const Out& out) {
  for (const Index i : wanted(out.o)) {
    if (in.softmax == Softmax::per_piece) {
      over_each(in, out, i, pieces(in, i), sum_of_products);
      continue;
    }
    std::optional<plain::Partial> state;
    for (const Keys& keys : pieces(in, i)) {
      if (keys.empty()) continue;
      const Vector l = logits(in, i, keys, sum_of_products);
      const auto next = plain::partial(l, plain::Rows(in.v, keys), 0, l.extent());
      state = state ? plain::merged(*state, next) : next;
    }
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = state ? state->o(c) / state->l : Number(0);
  }
}

}  // namespace attest::reference::sparse::etc_global_local
