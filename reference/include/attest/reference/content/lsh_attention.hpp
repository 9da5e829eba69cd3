// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/attend.hpp"
#include "attest/spec/content/lsh_attention.hpp"

namespace attest::reference::content::lsh_attention {

namespace sets = sparse::attend;
namespace plain = attention::scaled_dot_product;
using In = attest::spec::content::lsh_attention::In<Number>;
using Out = attest::spec::content::lsh_attention::Out<Number>;
using sets::Keys;

/// x_i / |x_i|, and 0 for a row of zeros
inline Matrix directions(const View<const Number, 2>& x) {
  Matrix y(x.extent(0), x.extent(1));
  for (Index i = 0; i < y.extent(0); ++i) {
    const Number square = stage("squared norms", dot(x[i], x[i]));
    if (is_zero(square)) continue;
    const Number length = stage("norms", sqrt(square));
    for (Index a = 0; a < y.extent(1); ++a) y(i, a) = x(i, a) / length;
  }
  return y;
}

/// k_j = q_j / |q_j|, and 0 for a query of zeros
inline Matrix keys_of(const View<const Number, 2>& q) { return stage("keys", directions(q)); }

/// The tensors that attention over sets reads.
struct Call {
  View<const Number, 2> q, k, v;
  std::optional<double> scale;
};

/// The places of the tokens in the order of (bucket, position) of a round.
inline Keys places(const In& in, Index round) {
  const Index n = in.q.extent(0);
  Keys order(static_cast<std::size_t>(n)), place(order.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return in.hashes(round, a) < in.hashes(round, b); });
  for (Index t = 0; t < n; ++t) place[static_cast<std::size_t>(order[static_cast<std::size_t>(t)])] = t;
  return place;
}

/// Whether a query sees a key that lies at such a place: own chunk or the one before.
inline bool near(const In& in, const Keys& place, Index i, Index j) {
  if (in.chunk == 0) return true;
  const Index own = place[static_cast<std::size_t>(i)] / in.chunk,
              other = place[static_cast<std::size_t>(j)] / in.chunk;
  return other == own || other == own - 1;
}

/// What each round shows to each query.
struct Rounds {
  const In& in;
  std::vector<Keys> place;

  explicit Rounds(const In& call) : in(call) {
    for (Index round = 0; round < in.hashes.extent(0); ++round) place.push_back(places(in, round));
  }
  Index count() const { return static_cast<Index>(place.size()); }
  bool sees(Index round, Index i, Index j) const {
    return in.hashes(round, i) == in.hashes(round, j) && (!in.causal || j <= i) &&
           near(in, place[static_cast<std::size_t>(round)], i, j);
  }
  /// In how many rounds query i sees key j.
  Index seen(Index i, Index j) const {
    Index times = 0;
    for (Index round = 0; round < count(); ++round) times += sees(round, i, j) ? 1 : 0;
    return times;
  }
  /// S_i
  Keys operator()(Index i) const {
    return kept(i, sets::keys_below(in.q.extent(0), [&](Index j) { return seen(i, j) > 0; }));
  }
  /// Without the query itself where that is asked for and another key is there.
  Keys kept(Index i, Keys keys) const {
    if (in.exclude_self && keys.size() > 1) keys.erase(std::remove(keys.begin(), keys.end(), i), keys.end());
    return keys;
  }
};

/// run(call, rounds) with the keys of the call.
template <class F>
void with_keys(const In& in, F&& run) {
  const Matrix k = keys_of(in.q);
  run(Call{in.q, k.view(), in.v, in.scale}, Rounds(in));
}

/// o_i = sum_{j in S_i} a_ij v_j      [Kitaev et al. 2020, eq. 2]
inline void set(const In& in, const Out& out) {
  with_keys(in, [&](const Call& call, const Rounds& rounds) { sets::over_sets(call, out, rounds); });
}

/// All keys, those outside of S_i hidden.
inline void mask(const In& in, const Out& out) {
  with_keys(in, [&](const Call& call, const Rounds& rounds) {
    std::vector<Keys> all(static_cast<std::size_t>(in.q.extent(0)));
    for (const Index i : wanted(out.o)) all[static_cast<std::size_t>(i)] = rounds(i);
    sets::over_mask(call, out, [&](Index i, Index j) {
      const Keys& keys = all[static_cast<std::size_t>(i)];
      return std::binary_search(keys.begin(), keys.end(), j);
    });
  });
}

/// Round after round: the logits of a key that N rounds see are less by ln N      [Kitaev et al. 2020, eq. 6]
inline void sorted_chunks(const In& in, const Out& out) {
  with_keys(in, [&](const Call& call, const Rounds& rounds) {
    const plain::In all = sets::plain_of(call);
    const Number scale = plain::scale_of(call);
    for (const Index i : wanted(out.o)) {
      const Keys seen = rounds(i);
      std::optional<plain::Partial> state;
      for (Index round = 0; round < rounds.count(); ++round) {
        Keys keys;
        for (const Index j : seen)
          if (rounds.sees(round, i, j)) keys.push_back(j);
        if (keys.empty()) continue;
        Vector l = plain::logits(all, scale, i, keys);
        for (Index t = 0; t < l.extent(); ++t) {
          const Index times = rounds.seen(i, keys[static_cast<std::size_t>(t)]);
          if (times > 1) l(t) = l(t) - log(Number(times));
        }
        const auto next = plain::partial(l, plain::Rows(in.v, keys), 0, l.extent());
        state = state ? plain::merged(*state, next) : next;
      }
      for (Index c = 0; c < state->o.extent(); ++c) out.o(i, c) = state->o(c) / state->l;
    }
  });
}

/// The bucket of each round, without the keys of earlier rounds.
inline void buckets(const In& in, const Out& out) {
  with_keys(in, [&](const Call& call, const Rounds& rounds) {
    sets::over_lists(call, out, [&](Index i) {
      std::vector<Keys> lists(static_cast<std::size_t>(rounds.count()));
      for (const Index j : rounds(i)) {
        Index first = 0;
        while (!rounds.sees(first, i, j)) ++first;
        lists[static_cast<std::size_t>(first)].push_back(j);
      }
      return lists;
    });
  });
}

}  // namespace attest::reference::content::lsh_attention
