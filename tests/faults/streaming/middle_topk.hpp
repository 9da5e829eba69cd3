// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/streaming/middle_topk.hpp"
#include "faults/fault.hpp"

namespace attest::faults::streaming::middle_topk {

namespace right = attest::reference::streaming::middle_topk;
using right::In;
using right::Keys;
using right::Out;
using right::Position;
using right::Query;
using right::SelectBy;
using right::ShortMiddle;

/// The equation where choose(query, middle, inserted scores) says which of the middle are taken.
template <class F>
void with_choice(const In& in, const Out& out, F&& choose) {
  right::each_query(in, out, [&](const Query& query) {
    const Keys between = right::middle(in, query.t);
    const auto inserted = query.at(between, right::insert_distance(in));
    const Keys chosen = choose(query, between, inserted);
    return right::mixed(query, right::others(in, query.t), right::picked(between, chosen),
                        right::picked(inserted, chosen));
  });
}

/// The equation with logits of what is taken: logits(query, keys that are taken).
template <class F>
void with_logits(const In& in, const Out& out, F&& logits) {
  right::each_query(in, out, [&](const Query& query) {
    const Keys between = right::middle(in, query.t);
    const Keys chosen = query.chosen(between, query.at(between, right::insert_distance(in)));
    const Keys taken = right::picked(between, chosen);
    return right::mixed(query, right::others(in, query.t), taken, logits(query, taken));
  });
}

/// The equation where first and last tokens are others: keep(query, key, how many of the middle are taken).
template <class F>
void with_others(const In& in, const Out& out, F&& keep) {
  right::each_query(in, out, [&](const Query& query) {
    const Keys between = right::middle(in, query.t);
    const auto inserted = query.at(between, right::insert_distance(in));
    const Keys chosen = query.chosen(between, inserted);
    Keys keys;
    for (const Index j : right::others(in, query.t))
      if (j == query.t || keep(query, j, static_cast<Index>(chosen.size()))) keys.push_back(j);
    return right::mixed(query, keys, right::picked(between, chosen), right::picked(inserted, chosen));
  });
}

inline void select_smallest(const In& in, const Out& out) {
  with_choice(in, out, [&](const Query& query, const Keys& between, const Vector& inserted) {
    return query.chosen(between, inserted).empty()
               ? Keys()
               : top_k(in.top, tabulate(inserted.extent(), [&](Index t) { return -inserted(t); }));
  });
}

inline void select_by_key_norm(const In& in, const Out& out) {
  with_choice(in, out, [&](const Query& query, const Keys& between, const Vector& inserted) {
    if (query.chosen(between, inserted).empty()) return Keys();
    return top_k(in.top, tabulate(inserted.extent(), [&](Index t) {
                   const Row k = query.head.k[between[static_cast<std::size_t>(t)]];
                   return dot(k, k);
                 }));
  });
}

inline void true_distance(const In& in, const Out& out) {
  with_logits(in, out, [](const Query& query, const Keys& keys) {
    return query.scores(query.head.q[query.i], query.head.k, keys, [&](Index j) { return query.t - j; });
  });
}

inline void ceiling_distance_logits(const In& in, const Out& out) {
  with_logits(in, out, [&](const Query& query, const Keys& keys) { return query.at(keys, right::ceiling_of(in)); });
}

inline Keys numbers_in(const Keys& between, const Keys& keys) {
  Keys numbers;
  for (std::size_t t = 0; t < between.size(); ++t)
    if (std::find(keys.begin(), keys.end(), between[t]) != keys.end()) numbers.push_back(static_cast<Index>(t));
  return numbers;
}

/// What those queries of a head select.
inline std::vector<Keys> selected(const In& in, Index h, Index first) {
  const right::Head head(in, h);
  reference::streaming::lambda_attention::Scores<right::Head> scores(head);
  std::vector<Keys> all;
  for (Index i = first; i < in.q.extent(1); ++i) {
    const Query query{in, head, scores, i, right::position(in, i)};
    const Keys between = right::middle(in, query.t);
    all.push_back(right::picked(between, query.chosen(between, query.at(between, right::insert_distance(in)))));
  }
  return all;
}

inline void shared_selection(const In& in, const Out& out) {
  const auto all = selected(in, 0, 0);
  with_choice(in, out, [&](const Query& query, const Keys& between, const Vector&) {
    return numbers_in(between, all[static_cast<std::size_t>(query.i)]);
  });
}

inline void last_query_selects(const In& in, const Out& out) {
  for (const Index h : wanted(out.o)) {
    const Keys last = selected(in, h, in.q.extent(1) - 1).back();
    const right::Head head(in, h);
    reference::streaming::lambda_attention::Scores<right::Head> scores(head);
    for (Index i = 0; i < in.q.extent(1); ++i) {
      const Query query{in, head, scores, i, right::position(in, i)};
      const Keys between = right::middle(in, query.t);
      const Keys taken = right::picked(between, numbers_in(between, last));
      assign(out.o[h][i],
             right::mixed(query, right::others(in, query.t), taken, query.at(taken, right::insert_distance(in))));
    }
  }
}

inline void middle_ignored(const In& in, const Out& out) {
  with_choice(in, out, [](const Query&, const Keys&, const Vector&) { return Keys(); });
}

inline void all_of_the_middle(const In& in, const Out& out) {
  with_choice(in, out, [](const Query&, const Keys& between, const Vector&) { return numbers_in(between, between); });
}

inline void one_fewer(const In& in, const Out& out) {
  In fewer = in;
  fewer.top = std::max<Index>(0, in.top - 1);
  fewer.short_middle = ShortMiddle::all;
  with_choice(in, out, [&](const Query& query, const Keys& between, const Vector& inserted) {
    if (query.chosen(between, inserted).empty()) return Keys();
    return Query{fewer, query.head, query.scores, query.i, query.t}.chosen(between, inserted);
  });
}

inline void last_query_only(const In& in, const Out& out) {
  with_choice(in, out, [&](const Query& query, const Keys& between, const Vector& inserted) {
    return query.i + 1 < in.q.extent(1) ? Keys() : query.chosen(between, inserted);
  });
}

inline void short_middle_ignored(const In& in, const Out& out) {
  In other = in;
  other.short_middle = in.short_middle == ShortMiddle::all ? ShortMiddle::none : ShortMiddle::all;
  right::sort(other, out);
}

inline void select_by_ignored(const In& in, const Out& out) {
  In other = in;
  other.select_by = SelectBy::inserted;
  right::sort(other, out);
}

inline void insert_distance_ignored(const In& in, const Out& out) {
  In other = in;
  other.insert_distance = -1;
  right::sort(other, out);
}

inline void replaces_window(const In& in, const Out& out) {
  with_others(in, out, [&](const Query& query, Index j, Index taken) {
    return j < in.starts || query.t - j < std::max<Index>(1, in.window - taken);
  });
}

inline void window_minus_one(const In& in, const Out& out) {
  with_others(in, out,
              [&](const Query& query, Index j, Index) { return j < in.starts || query.t - j < in.window - 1; });
}

inline void starts_not_seen(const In& in, const Out& out) {
  with_others(in, out, [&](const Query& query, Index j, Index) { return query.t - j < in.window; });
}

inline void middle_from_window(const In& in, const Out& out) {
  right::each_query(in, out, [&](const Query& query) {
    Keys between = right::middle(in, query.t);
    const Index edge = query.t - in.window + 1;
    if (edge >= in.starts && edge < query.t) between.push_back(edge);
    const auto inserted = query.at(between, right::insert_distance(in));
    const Keys chosen = query.chosen(between, inserted);
    return right::mixed(query, right::others(in, query.t), right::picked(between, chosen),
                        right::picked(inserted, chosen));
  });
}

inline void no_ceiling(const In& in, const Out& out) {
  right::each_query(in, out, [&](const Query& query) {
    const Keys between = right::middle(in, query.t), keys = right::others(in, query.t);
    const auto inserted = query.at(between, right::insert_distance(in));
    const Keys chosen = query.chosen(between, inserted);
    const auto l =
        right::joined(query.scores(query.head.q[query.i], query.head.k, keys, [&](Index j) { return query.t - j; }),
                      right::picked(inserted, chosen));
    const auto [all, logits] = right::in_order(right::joined(keys, right::picked(between, chosen)), l);
    return product(right::shifted(logits).first, right::Rows(query.head.v, all));
  });
}

inline void position_ignored(const In& in, const Out& out) {
  In other = in;
  other.position = Position::none;
  right::sort(other, out);
}

inline void pairing_ignored(const In& in, const Out& out) {
  In other = in;
  other.pairing = decltype(in.pairing)::interleaved;
  right::sort(other, out);
}

/// The equation on queries that are multiplied by a factor.
inline void with_queries(const In& in, const Out& out, const Number& factor) {
  const auto [heads, n, d] = in.q.extents();
  std::vector<Number> q;
  for (Index h = 0; h < heads; ++h)
    for (Index i = 0; i < n; ++i)
      for (Index a = 0; a < d; ++a) q.push_back(factor * in.q(h, i, a));
  In other = in;
  other.q = {q.data(), {heads, n, d}};
  right::sort(other, out);
}

inline void scale_missing(const In& in, const Out& out) {
  with_queries(in, out, in.scale ? Number(1) : sqrt(Number(in.q.extent(2))));
}

inline void scale_ignored(const In& in, const Out& out) {
  In other = in;
  other.scale.reset();
  right::sort(other, out);
}

inline void scale_drift(const In& in, const Out& out, const Number& c) { with_queries(in, out, Number(1) + c); }

}  // namespace attest::faults::streaming::middle_topk
