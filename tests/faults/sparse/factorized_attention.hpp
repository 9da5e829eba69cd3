// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/factorized_attention.hpp"
#include "faults/sparse/attend.hpp"

namespace attest::faults::sparse::factorized_attention {

namespace right = attest::reference::sparse::factorized_attention;
namespace sets = attest::reference::sparse::attend;
namespace heads = right::heads;
namespace plain = right::plain;
using right::In;
using right::Mode;
using right::Out;

/// Another factor where the factors take turns.
template <class F>
void with_factor_of_layer(const In& in, const Out& out, F&& factor) {
  right::over_sets(in, out, [&](Index h, Index i, Index j) {
    return in.mode == Mode::interleaved ? right::in_factor(in, factor(in.layer, in.patterns.extent(0)), i, j)
                                        : right::sees(in, h, i, j);
  });
}
inline void index_without_plus_one(const In& in, const Out& out) {
  with_factor_of_layer(in, out, [](Index layer, Index p) { return (layer + p - 1) % p; });
}
inline void layer_ignored(const In& in, const Out& out) {
  with_factor_of_layer(in, out, [](Index, Index) { return Index{0}; });
}
inline void layer_not_wrapped(const In& in, const Out& out) {
  with_factor_of_layer(in, out, [](Index layer, Index p) { return std::min(layer, p - 1); });
}

/// Another factor where each head has its own.
template <class F>
void with_factor_of_head(const In& in, const Out& out, F&& factor) {
  right::over_sets(in, out, [&](Index h, Index i, Index j) {
    return in.mode == Mode::multi_head ? right::in_factor(in, factor(h, in.patterns.extent(0)), i, j)
                                       : right::sees(in, h, i, j);
  });
}
inline void head_pattern_shifted(const In& in, const Out& out) {
  with_factor_of_head(in, out, [](Index h, Index p) { return (h + 1) % p; });
}
inline void first_factor_for_heads(const In& in, const Out& out) {
  with_factor_of_head(in, out, [](Index, Index) { return Index{0}; });
}
inline void head_not_wrapped(const In& in, const Out& out) {
  with_factor_of_head(in, out, [](Index h, Index p) { return std::min(h, p - 1); });
}
inline void union_for_heads(In in, const Out& out) {
  if (in.mode == Mode::multi_head) in.mode = Mode::merged;
  right::sets(in, out);
}

/// Another way to merge the factors.
template <class F>
void with_merged(const In& in, const Out& out, F&& sees) {
  right::over_sets(in, out, [&](Index h, Index i, Index j) {
    return in.mode == Mode::merged ? sees(i, j) : right::sees(in, h, i, j);
  });
}
inline void intersection(const In& in, const Out& out) {
  with_merged(in, out, [&](Index i, Index j) { return right::factors_with(in, i, j) == in.patterns.extent(0); });
}
inline void last_factor_dropped(const In& in, const Out& out) {
  with_merged(in, out, [&](Index i, Index j) {
    const Index p = in.patterns.extent(0);
    return right::factors_with(in, i, j) > (p > 1 && right::in_factor(in, p - 1, i, j) ? 1 : 0);
  });
}
inline void union_counts_twice(const In& in, const Out& out) {
  right::each_head(in, out, [&](Index h, const plain::In& one, const plain::Out& head) {
    attend::counted(
        one, head, [&](Index i) { return sets::keys_below(i + 1, [&](Index j) { return right::sees(in, h, i, j); }); },
        [&](Index i, Index j) { return in.mode == Mode::merged ? right::factors_with(in, i, j) : 1; });
  });
}
inline void sum_of_attentions(const In& in, const Out& out) {
  if (in.mode != Mode::merged) return right::sets(in, out);
  right::each_head(in, out, [&](Index, const plain::In& one, const plain::Out& head) {
    std::vector<Matrix> results;
    for (Index m = 0; m < in.patterns.extent(0); ++m) {
      results.emplace_back(head.o.extent(0), head.o.extent(1));
      sets::over_sets(one, plain::Out{results.back().view()}, [&](Index i) {
        return sets::keys_below(i + 1, [&](Index j) { return right::in_factor(in, m, i, j); });
      });
    }
    for (Index i = 0; i < head.o.extent(0); ++i)
      for (Index c = 0; c < head.o.extent(1); ++c)
        head.o(i, c) = sum(static_cast<Index>(results.size()),
                           [&](Index m) { return Number(results[static_cast<std::size_t>(m)](i, c)); });
  });
}

/// Other patterns: marks(m, i, j).
template <class F>
void with_patterns(In in, const Out& out, F&& marks) {
  const auto [p, n, columns] = in.patterns.extents();
  const auto all = std::make_unique<bool[]>(static_cast<std::size_t>(p * n * columns));
  for (Index m = 0; m < p; ++m)
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < columns; ++j) all[static_cast<std::size_t>((m * n + i) * columns + j)] = marks(m, i, j);
  in.patterns = View<const bool, 3>(all.get(), {p, n, columns});
  right::sets(in, out);
}
inline void patterns_ignored(const In& in, const Out& out) {
  with_patterns(in, out, [](Index, Index, Index) { return true; });
}
inline void patterns_inverted(const In& in, const Out& out) {
  with_patterns(in, out, [&](Index m, Index i, Index j) { return !in.patterns(m, i, j); });
}
inline void patterns_transposed(const In& in, const Out& out) {
  with_patterns(in, out, [&](Index m, Index i, Index j) { return in.patterns(m, j, i); });
}
inline void self_added(const In& in, const Out& out) {
  with_patterns(in, out, [&](Index m, Index i, Index j) { return i == j || in.patterns(m, i, j); });
}
inline void future_keys(const In& in, const Out& out) {
  right::over_sets(in, out, [&](Index h, Index i, Index j) {
    const Index p = in.patterns.extent(0);
    if (in.mode == Mode::interleaved) return in.patterns(in.layer % p, i, j);
    if (in.mode == Mode::multi_head) return in.patterns(h % p, i, j);
    bool any = false;
    for (Index m = 0; m < p; ++m) any = any || in.patterns(m, i, j);
    return any;
  });
}
inline void normalised_over_all(const In& in, const Out& out) {
  right::each_head(in, out, [&](Index h, const plain::In& one, const plain::Out& head) {
    const Number scale = plain::scale_of(one);
    for (Index i = 0; i < head.o.extent(0); ++i) {
      const auto all = sets::keys_below(i + 1, [](Index) { return true; });
      const auto a = attend::shifted(plain::logits(one, scale, i, all)).first;
      const auto seen = tabulate(i + 1, [&](Index j) { return right::sees(in, h, i, j) ? a(j) : Number(0); });
      assign(head.o[i], product(seen, one.v.rows(0, i + 1)));
    }
  });
}

/// What a token that sees nothing gets instead, from the values up to its own.
template <class F>
void with_empty(const In& in, const Out& out, F&& instead) {
  right::each_head(in, out, [&](Index h, const plain::In& one, const plain::Out& head) {
    const auto set = [&](Index i) {
      return sets::keys_below(i + 1, [&](Index j) { return right::sees(in, h, i, j); });
    };
    sets::over_sets(one, head, set);
    for (Index i = 0; i < head.o.extent(0); ++i)
      for (Index c = 0; c < head.o.extent(1) && set(i).empty(); ++c) head.o(i, c) = instead(one, i, c);
  });
}
inline void empty_row_mean(const In& in, const Out& out) {
  with_empty(in, out, [](const plain::In& one, Index i, Index c) {
    return sum(i + 1, [&](Index j) { return Number(one.v(j, c)); }) / Number(i + 1);
  });
}
inline void empty_row_nan(const In& in, const Out& out) {
  with_empty(in, out, [](const plain::In&, Index, Index) { return not_a_number(); });
}

/// W_Q multiplied by `factor`.
inline void with_queries_times(In in, const Out& out, const Number& factor) {
  std::vector<Number> w;
  const auto [count, f, d] = in.w_q.extents();
  for (Index h = 0; h < count; ++h)
    for (Index a = 0; a < f; ++a)
      for (Index b = 0; b < d; ++b) w.push_back(in.w_q(h, a, b) * factor);
  in.w_q = View<const Number, 3>(w.data(), {count, f, d});
  right::sets(in, out);
}
inline void scale_total_width(const In& in, const Out& out) {
  with_queries_times(in, out, in.scale ? Number(1) : 1 / sqrt(Number(in.w_q.extent(0))));
}
inline void scale_drift(const In& in, const Out& out, const Number& c) { with_queries_times(in, out, Number(1) + c); }
inline void scale_missing(In in, const Out& out) {
  if (!in.scale) in.scale = 1;
  right::sets(in, out);
}
inline void scale_ignored(In in, const Out& out) {
  in.scale = {};
  right::sets(in, out);
}

/// [head_0 | head_1 | ..]
inline Matrix all_heads(const In& in) {
  return right::concatenated(in, [&](Index h, const plain::In& one, const plain::Out& head) {
    sets::over_sets(
        one, head, [&](Index i) { return sets::keys_below(i + 1, [&](Index j) { return right::sees(in, h, i, j); }); });
  });
}
inline void concat_reversed(const In& in, const Out& out) {
  const Matrix y = all_heads(in);
  const Index count = in.w_o.extent(0), m = in.w_o.extent(1);
  const Matrix reversed =
      matrix_of(y.extent(0), y.extent(1), [&](Index i, Index t) { return y(i, (count - 1 - t / m) * m + t % m); });
  heads::output(right::heads_of(in), reversed, heads::Out{out.o});
}
inline void heads_averaged(const In& in, const Out& out) {
  right::sets(in, out);
  for (Index i = 0; i < out.o.extent(0); ++i)
    for (Index e = 0; e < out.o.extent(1); ++e) out.o(i, e) = out.o(i, e) / Number(in.w_o.extent(0));
}
inline void output_projection_missing(const In& in, const Out& out) {
  const Matrix y = all_heads(in);
  for (Index i = 0; i < out.o.extent(0); ++i)
    for (Index e = 0; e < out.o.extent(1); ++e) out.o(i, e) = e < y.extent(1) ? y(i, e) : Number(0);
}

}  // namespace attest::faults::sparse::factorized_attention
