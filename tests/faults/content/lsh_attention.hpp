// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/content/lsh_attention.hpp"
#include "faults/sparse/attend.hpp"

namespace attest::faults::content::lsh_attention {

namespace right = attest::reference::content::lsh_attention;
namespace plain = attest::reference::attention::scaled_dot_product;
namespace sets = attest::reference::sparse::attend;
using right::Call;
using right::In;
using right::Keys;
using right::Out;
using right::Rounds;

/// Attention of each query to the keys that sees(rounds, round, i, j) shows in some round.
template <class F>
void with_sight(const In& in, const Out& out, F&& sees) {
  right::with_keys(in, [&](const Call& call, const Rounds& rounds) {
    sets::over_sets(call, out, [&](Index i) {
      return rounds.kept(i, sets::keys_below(in.q.extent(0), [&](Index j) {
                           for (Index round = 0; round < rounds.count(); ++round)
                             if (sees(rounds, round, i, j)) return true;
                           return false;
                         }));
    });
  });
}

inline bool visible(const In& in, Index i, Index j) { return !in.causal || j <= i; }

inline bool same_bucket(const In& in, Index round, Index i, Index j) {
  return in.hashes(round, i) == in.hashes(round, j);
}

/// The chunk of a token in a round.
inline Index chunk(const Rounds& rounds, Index round, Index i) {
  return rounds.place[static_cast<std::size_t>(round)][static_cast<std::size_t>(i)] / rounds.in.chunk;
}

inline void keys_not_normalised(const In& in, const Out& out) {
  sets::over_sets(Call{in.q, in.q, in.v, in.scale}, out, Rounds(in));
}

inline void queries_normalised(const In& in, const Out& out) {
  const Matrix k = right::keys_of(in.q);
  sets::over_sets(Call{k.view(), k.view(), in.v, in.scale}, out, Rounds(in));
}

inline void bucket_mask_missing(const In& in, const Out& out) {
  with_sight(in, out, [&](const Rounds& rounds, Index round, Index i, Index j) {
    return visible(in, i, j) && (in.chunk == 0 ? same_bucket(in, round, i, j)
                                               : right::near(in, rounds.place[static_cast<std::size_t>(round)], i, j));
  });
}

inline void hashes_ignored(const In& in, const Out& out) {
  with_sight(in, out, [&](const Rounds&, Index, Index i, Index j) { return visible(in, i, j); });
}

inline void not_unsorted(const In& in, const Out& out) {
  Matrix o(in.q.extent(0), in.v.extent(1));
  right::set(in, {.o = o.view()});
  const Keys place = right::places(in, 0);
  for (Index i = 0; i < o.extent(0); ++i)
    for (Index c = 0; c < o.extent(1); ++c) out.o(place[static_cast<std::size_t>(i)], c) = o(i, c);
}

inline void causal_by_sorted_index(const In& in, const Out& out) {
  with_sight(in, out, [&](const Rounds& rounds, Index round, Index i, Index j) {
    const Keys& place = rounds.place[static_cast<std::size_t>(round)];
    return rounds.in.causal ? right::near(in, place, i, j) &&
                                  place[static_cast<std::size_t>(j)] <= place[static_cast<std::size_t>(i)]
                            : rounds.sees(round, i, j);
  });
}

inline void causal_ignored(In in, const Out& out) {
  in.causal = false;
  right::set(in, out);
}

inline void chunk_ignored(In in, const Out& out) {
  in.chunk = 0;
  right::set(in, out);
}

/// Chunks of a query and of a key that it sees.
template <class F>
void with_chunks(const In& in, const Out& out, F&& sees) {
  with_sight(in, out, [&](const Rounds& rounds, Index round, Index i, Index j) {
    if (in.chunk == 0) return rounds.sees(round, i, j);
    return same_bucket(in, round, i, j) && visible(in, i, j) && sees(chunk(rounds, round, i), chunk(rounds, round, j));
  });
}

inline void no_look_back(const In& in, const Out& out) {
  with_chunks(in, out, [](Index i, Index j) { return i == j; });
}

inline void look_ahead(const In& in, const Out& out) {
  with_chunks(in, out, [](Index i, Index j) { return j == i || j == i + 1; });
}

inline Index last_chunk(const In& in) { return in.chunk == 0 ? 0 : (in.q.extent(0) - 1) / in.chunk; }

inline void wraparound(const In& in, const Out& out) {
  const Index last = last_chunk(in);
  with_sight(in, out, [&](const Rounds& rounds, Index round, Index i, Index j) {
    if (in.chunk == 0) return rounds.sees(round, i, j);
    const Index own = chunk(rounds, round, i), other = chunk(rounds, round, j);
    const bool wrapped = own == 0 && other == last;  // without another look at the buckets
    return visible(in, i, j) && (wrapped || (same_bucket(in, round, i, j) && (other == own || other == own - 1)));
  });
}

inline void wraparound_in_bucket(const In& in, const Out& out) {
  const Index last = last_chunk(in);
  with_chunks(in, out, [&](Index i, Index j) { return j == i || j == i - 1 || (i == 0 && j == last); });
}

inline void unstable_sort(const In& in, const Out& out) {
  const Index n = in.q.extent(0);
  right::with_keys(in, [&](const Call& call, Rounds rounds) {
    for (Index round = 0; round < rounds.count(); ++round) {
      Keys order(static_cast<std::size_t>(n));
      for (Index t = 0; t < n; ++t) order[static_cast<std::size_t>(t)] = n - 1 - t;
      std::stable_sort(order.begin(), order.end(),
                       [&](Index a, Index b) { return in.hashes(round, a) < in.hashes(round, b); });
      for (Index t = 0; t < n; ++t)
        rounds.place[static_cast<std::size_t>(round)][static_cast<std::size_t>(order[static_cast<std::size_t>(t)])] = t;
    }
    sets::over_sets(call, out, rounds);
  });
}

/// Another scale.
inline void scaled(In in, const Out& out, const Number& scale) {
  right::with_keys(in,
                   [&](const Call& call, const Rounds& rounds) { sparse::attend::scaled(call, out, scale, rounds); });
}

inline void extra_scale(const In& in, const Out& out) {
  scaled(in, out, parameter(in.scale) / sqrt(Number(in.q.extent(1))));
}

inline void scale_ignored(const In& in, const Out& out) { scaled(in, out, Number(1)); }

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  scaled(in, out, parameter(in.scale) * (Number(1) + c));
}

inline void self_seen(In in, const Out& out) {
  in.exclude_self = false;
  right::set(in, out);
}

inline void self_always_excluded(In in, const Out& out) {
  in.exclude_self = true;
  right::set(in, out);
}

inline void self_never_seen(const In& in, const Out& out) {
  right::set(in, out);
  const Rounds rounds(in);
  for (Index i = 0; i < in.q.extent(0); ++i)
    if (in.exclude_self && rounds(i) == Keys{i})
      for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = Number(0);
}

inline void first_round_only(const In& in, const Out& out) {
  with_sight(in, out, [](const Rounds& rounds, Index, Index i, Index j) { return rounds.sees(0, i, j); });
}

inline void rounds_intersected(const In& in, const Out& out) {
  with_sight(in, out,
             [](const Rounds& rounds, Index, Index i, Index j) { return rounds.seen(i, j) == rounds.count(); });
}

inline void rounds_counted_twice(const In& in, const Out& out) {
  right::with_keys(in, [&](const Call& call, const Rounds& rounds) {
    sparse::attend::counted(call, out, rounds, [&](Index i, Index j) { return rounds.seen(i, j); });
  });
}

inline void rounds_averaged(const In& in, const Out& out) {
  const Index n = in.q.extent(0), m = in.v.extent(1), count = in.hashes.extent(0);
  std::vector<Matrix> all;
  for (Index round = 0; round < count; ++round) {
    In one = in;
    one.hashes = in.hashes.rows(round, 1);
    all.emplace_back(n, m);
    right::set(one, {.o = all.back().view()});
  }
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < m; ++c)
      out.o(i, c) = sum(count, [&](Index round) { return all[static_cast<std::size_t>(round)](i, c); }) / Number(count);
}

}  // namespace attest::faults::content::lsh_attention
