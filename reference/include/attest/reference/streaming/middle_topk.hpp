// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>

#include "attest/reference/streaming/lambda_attention.hpp"
#include "attest/spec/streaming/middle_topk.hpp"

namespace attest::reference::streaming::middle_topk {

namespace lambda = lambda_attention;
using In = attest::spec::streaming::middle_topk::In<Number>;
using Out = attest::spec::streaming::middle_topk::Out<Number>;
using attest::spec::streaming::middle_topk::SelectBy;
using attest::spec::streaming::middle_topk::ShortMiddle;
using lambda::Position;
using lambda::Rows;
using lambda::shifted;
using Keys = std::vector<Index>;

/// One head, as lambda::Scores reads it.
struct Head {
  View<const Number, 2> q, k, v;
  std::optional<double> scale;
  Position position;
  decltype(In::pairing) pairing;
  Number slope_;

  Head(const In& in, Index h)
      : q(in.q[h]),
        k(in.k[h]),
        v(in.v[h]),
        scale(in.scale),
        position(in.position),
        pairing(in.pairing),
        slope_(in.slopes(h)) {}
  const Number& slope() const { return slope_; }
};

inline Index ceiling_of(const In& in) { return in.ceiling > 0 ? in.ceiling : in.window; }
inline Index insert_distance(const In& in) { return in.insert_distance >= 0 ? in.insert_distance : in.window / 2; }

/// The position of query i.
inline Index position(const In& in, Index i) { return i + in.k.extent(1) - in.q.extent(1); }

/// starts <= j <= t - window
inline Keys middle(const In& in, Index t) {
  Keys keys;
  for (Index j = in.starts; j <= t - in.window; ++j) keys.push_back(j);
  return keys;
}

/// j < starts or t - j < window, j <= t
inline Keys others(const In& in, Index t) {
  Keys keys;
  for (Index j = 0; j <= t; ++j)
    if (j < in.starts || t - j < in.window) keys.push_back(j);
  return keys;
}

/// What a query sees of one head.
struct Query {
  const In& in;
  const Head& head;
  lambda::Scores<Head>& scores;
  Index i, t;

  Vector at(const Keys& keys, Index distance) const {
    return scores(head.q[i], head.k, keys, [&](Index) { return distance; });
  }
  Vector by_distance(const Keys& keys) const {
    return scores(head.q[i], head.k, keys, [&](Index j) { return std::min(t - j, ceiling_of(in)); });
  }
  /// Numbers of the keys that are chosen among these of those scores.
  Keys chosen(const Keys& keys, const Vector& inserted) const {
    if (in.short_middle == ShortMiddle::none && static_cast<Index>(keys.size()) < in.top) return {};
    return top_k(in.top, in.select_by == SelectBy::inserted ? inserted : at(keys, ceiling_of(in)));
  }
};

inline Keys picked(const Keys& keys, const Keys& numbers) {
  Keys some;
  for (const Index t : numbers) some.push_back(keys[static_cast<std::size_t>(t)]);
  return some;
}

inline Vector picked(const Vector& x, const Keys& numbers) {
  return tabulate(static_cast<Index>(numbers.size()), [&](Index t) { return x(numbers[static_cast<std::size_t>(t)]); });
}

inline Vector joined(const Vector& a, const Vector& b) {
  return tabulate(a.extent() + b.extent(), [&](Index t) { return t < a.extent() ? a(t) : b(t - a.extent()); });
}

inline Keys joined(Keys a, const Keys& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Every form: o_i = row(query) for the queries of each head.
template <class F>
void each_query(const In& in, const Out& out, F&& row) {
  for (const Index h : wanted(out.o)) {
    const Head head(in, h);
    lambda::Scores<Head> scores(head);
    for (Index i = 0; i < in.q.extent(1); ++i) assign(out.o[h][i], row(Query{in, head, scores, i, position(in, i)}));
  }
}

/// Keys in ascending order, as Rows needs them, and what belongs to each.
inline std::pair<Keys, Vector> in_order(const Keys& keys, const Vector& x) {
  Keys order(keys.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)]; });
  return {picked(keys, order), picked(x, order)};
}

/// One softmax over those keys at their distances and those middle keys of those logits.
inline Vector mixed(const Query& query, const Keys& keys, const Keys& taken, const Vector& inserted) {
  const auto [all, l] = in_order(joined(keys, taken), joined(query.by_distance(keys), inserted));
  return product(shifted(l).first, Rows(query.head.v, all));
}

/// The `top` largest s_ij of the middle beside first and last tokens      [Han et al. 2023, section 4]
inline void sort(const In& in, const Out& out) {
  each_query(in, out, [&](const Query& query) {
    const Keys between = middle(in, query.t);
    const auto inserted = query.at(between, insert_distance(in));
    const Keys chosen = query.chosen(between, inserted);
    return mixed(query, others(in, query.t), picked(between, chosen), picked(inserted, chosen));
  });
}

/// What is chosen is a branch of its own.
inline void heap(const In& in, const Out& out) {
  each_query(in, out, [&](const Query& query) {
    const Keys between = middle(in, query.t), keys = others(in, query.t);
    const auto inserted = query.at(between, insert_distance(in));
    const Keys chosen = query.chosen(between, inserted);
    const lambda::Branch near(query.by_distance(keys), Rows(query.head.v, keys));
    if (chosen.empty()) return near.o;
    return lambda::merged(near, lambda::Branch(picked(inserted, chosen), Rows(query.head.v, picked(between, chosen))));
  });
}

/// All middle keys beside the others, with weights of 0 where they are not chosen.
inline void threshold(const In& in, const Out& out) {
  each_query(in, out, [&](const Query& query) {
    const Keys between = middle(in, query.t), keys = others(in, query.t);
    const auto inserted = query.at(between, insert_distance(in));
    const Keys chosen = query.chosen(between, inserted);
    const auto near = query.by_distance(keys);
    const auto seen = shifted(joined(near, picked(inserted, chosen))).first;
    Vector weights(near.extent() + inserted.extent());
    for (Index t = 0; t < near.extent(); ++t) weights(t) = seen(t);
    for (std::size_t c = 0; c < chosen.size(); ++c)
      weights(near.extent() + chosen[c]) = seen(near.extent() + static_cast<Index>(c));
    const auto [all, a] = in_order(joined(keys, between), weights);
    return product(a, Rows(query.head.v, all));
  });
}

}  // namespace attest::reference::streaming::middle_topk
