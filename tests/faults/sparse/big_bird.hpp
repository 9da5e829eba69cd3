// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/big_bird.hpp"
#include "faults/sparse/attend.hpp"

namespace attest::faults::sparse::big_bird {

namespace right = attest::reference::sparse::big_bird;
namespace sets = attest::reference::sparse::attend;
using right::In;
using right::Keys;
using right::Out;

/// The equation where a query of block a sees block e if sees(a, e, the list of the query).
template <class L, class F>
void with_blocks(const In& in, const Out& out, L&& list, F&& sees) {
  sets::over_sets(in, out, [&](Index i) {
    const Keys random = list(i);
    return sets::keys_below(in.k.extent(0), [&](Index j) { return sees(i / in.block, j / in.block, random); });
  });
}

inline auto set(const In& in) {
  return [&in](Index i) { return right::set_of(in, i); };
}

inline void double_counted_overlap(const In& in, const Out& out) {
  attend::counted(in, out, set(in), [&](Index i, Index j) {
    const Index a = i / in.block, e = j / in.block;
    if (right::is_global(in, a)) return 1;
    return (std::abs(a - e) <= in.radius ? 1 : 0) + (right::is_global(in, e) ? 1 : 0) +
           (right::holds(right::list(in, a * in.block), e) ? 1 : 0);
  });
}

inline void global_columns_only(const In& in, const Out& out) {
  with_blocks(
      in, out, [&](Index i) { return right::list(in, i / in.block * in.block); },
      [&](Index a, Index e, const Keys& random) {
        return std::abs(a - e) <= in.radius || right::is_global(in, e) || right::holds(random, e);
      });
}

inline void global_rows_only(const In& in, const Out& out) {
  with_blocks(
      in, out, [&](Index i) { return right::list(in, i / in.block * in.block); },
      [&](Index a, Index e, const Keys& random) {
        return std::abs(a - e) <= in.radius || right::is_global(in, a) || right::holds(random, e);
      });
}

inline void random_per_token_shared(const In& in, const Out& out) {
  with_blocks(
      in, out, [&](Index) { return right::list(in, 0); },
      [&](Index a, Index e, const Keys& random) {
        return std::abs(a - e) <= in.radius || right::is_global(in, a) || right::is_global(in, e) ||
               right::holds(random, e);
      });
}

inline void random_ignored(const In& in, const Out& out) {
  with_blocks(
      in, out, [&](Index i) { return right::list(in, i / in.block * in.block); },
      [&](Index a, Index e, const Keys&) {
        return std::abs(a - e) <= in.radius || right::is_global(in, a) || right::is_global(in, e);
      });
}

inline void window_wraps(const In& in, const Out& out) {
  with_blocks(
      in, out, [&](Index i) { return right::list(in, i / in.block * in.block); },
      [&](Index a, Index e, const Keys& random) {
        return std::abs(a - e) <= in.radius || std::abs(a - e) >= right::blocks_of(in) - in.radius ||
               right::is_global(in, a) || right::is_global(in, e) || right::holds(random, e);
      });
}

inline void last_block_not_global(const In& in, const Out& out) {
  with_blocks(
      in, out, [&](Index i) { return right::list(in, i / in.block * in.block); },
      [&](Index a, Index e, const Keys& random) {
        return std::abs(a - e) <= in.radius || std::min(a, e) < in.first_global || right::holds(random, e);
      });
}

inline void list_of_token(const In& in, const Out& out) {
  with_blocks(
      in, out, [&](Index i) { return right::list(in, i); },
      [&](Index a, Index e, const Keys& random) {
        return std::abs(a - e) <= in.radius || right::is_global(in, a) || right::is_global(in, e) ||
               right::holds(random, e);
      });
}

/// The equation with other keys beside those of the window and of global blocks.
template <class F>
void with_keys(const In& in, const Out& out, F&& sees) {
  sets::over_mask(in, out, [&](Index i, Index j) {
    return right::is_global(in, i / in.block) || right::is_global(in, j / in.block) || sees(i, j);
  });
}

inline void window_of_tokens(const In& in, const Out& out) {
  with_keys(in, out, [&](Index i, Index j) {
    const Index a = i / in.block;
    return std::abs(i - j) <= in.radius || right::holds(right::list(in, a * in.block), j / in.block);
  });
}

inline void tokens_of_lists(const In& in, const Out& out) {
  with_keys(in, out, [&](Index i, Index j) {
    const Index a = i / in.block;
    if (std::abs(a - j / in.block) <= in.radius) return true;
    for (Index t = 0; t < in.random.extent(1); ++t)
      if (in.random(a * in.block, t) == j) return true;
    return false;
  });
}

inline void last_place_dropped(const In& in, const Out& out) {
  with_keys(in, out, [&](Index i, Index j) {
    const Index a = i / in.block;
    if (std::abs(a - j / in.block) <= in.radius) return true;
    for (Index t = 0; t + 1 < in.random.extent(1); ++t)
      if (in.random(a * in.block, t) / in.block == j / in.block) return true;
    return false;
  });
}

inline void scale_missing(const In& in, const Out& out) { attend::scaled(in, out, attend::missing_scale(in), set(in)); }

inline void scale_ignored(const In& in, const Out& out) { attend::scaled(in, out, attend::default_scale(in), set(in)); }

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  attend::scaled(in, out, attend::drifted_scale(in, c), set(in));
}

}  // namespace attest::faults::sparse::big_bird
