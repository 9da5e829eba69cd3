// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/etc_global_local.hpp"
#include "faults/sparse/attend.hpp"

namespace attest::faults::sparse::etc_global_local {

namespace right = attest::reference::sparse::etc_global_local;
namespace sets = attest::reference::sparse::attend;
using right::In;
using right::Keys;
using right::Out;

/// The equation with other sets, of which M hides as it does.
template <class F>
void with_pattern(const In& in, const Out& out, F&& sees) {
  for (const Index i : wanted(out.o)) {
    const auto of = [&](Index first, Index end) {
      return sets::keys_below(end, [&](Index j) { return j >= first && sees(i, j) && !right::hidden(in, i, j); });
    };
    const Index n = in.k.extent(0);
    const bool each = in.softmax == right::Softmax::per_piece;
    right::over_each(in, out, i,
                     each ? std::vector<Keys>{of(0, in.globals), of(in.globals, n)} : std::vector<Keys>{of(0, n)},
                     right::sum_of_products);
  }
}

inline void radius_one_sided(const In& in, const Out& out) {
  with_pattern(in, out,
               [&](Index i, Index j) { return std::min(i, j) < in.globals || (j <= i && i - j <= in.radius); });
}

inline void global_rows_local(const In& in, const Out& out) {
  with_pattern(in, out, [&](Index i, Index j) { return j < in.globals || std::abs(i - j) <= in.radius; });
}

inline void long_rows_local(const In& in, const Out& out) {
  with_pattern(in, out,
               [&](Index i, Index j) { return i < in.globals || (j >= in.globals && std::abs(i - j) <= in.radius); });
}

inline void width_2w(const In& in, const Out& out) {
  with_pattern(in, out,
               [&](Index i, Index j) { return std::min(i, j) < in.globals || std::abs(i - j) <= 2 * in.radius; });
}

/// The equation with other inputs or parameters.
template <class F>
void with_changed(const In& in, const Out& out, F&& change) {
  In other = in;
  change(other);
  right::banded(other, out);
}

inline void per_piece_softmax(const In& in, const Out& out) {
  with_changed(in, out, [](In& other) { other.softmax = right::Softmax::per_piece; });
}

inline void joint_ignored(const In& in, const Out& out) {
  with_changed(in, out, [](In& other) { other.softmax = right::Softmax::joint; });
}

inline void finite_constant(const In& in, const Out& out) {
  In open = in;
  open.mask = {};
  for (const Index i : wanted(out.o)) {
    std::vector<Keys> lists = right::lists(open, i);
    for (Keys& keys : lists) {
      const bool all = std::all_of(keys.begin(), keys.end(), [&](Index j) { return right::hidden(in, i, j); });
      if (!all) std::erase_if(keys, [&](Index j) { return right::hidden(in, i, j); });  // e^-10000 is nothing
    }
    right::over_each(open, out, i, lists, right::sum_of_products);
  }
}

inline void mask_ignored(const In& in, const Out& out) {
  with_changed(in, out, [](In& other) { other.mask = {}; });
}

inline void labels_ignored(const In& in, const Out& out) {
  with_changed(in, out, [](In& other) { other.labels = {}; });
}

inline void mask_sign(const In& in, const Out& out) {
  const Mask mask(in.q.extent(0), in.k.extent(0), [&](Index i, Index j) { return right::hidden(in, i, j); });
  with_changed(in, out, [&](In& other) {
    if (in.mask) other.mask = mask.view();
  });
}

/// The equation with other logits.
template <class F>
void with_products(const In& in, const Out& out, F&& labelled) {
  for (const Index i : wanted(out.o)) right::over_each(in, out, i, right::lists(in, i), labelled);
}

inline void label_index_swapped(const In& in, const Out& out) {
  with_products(in, out, [](const In& of, Index i, Index j) {
    const Number q_k = dot(of.q[i], of.k[j]);
    return of.labels ? q_k + dot(of.q[i], of.table[right::label(of, j, i)]) : q_k;
  });
}

inline void labels_after_scale(const In& in, const Out& out) {
  const Number scale = attest::reference::attention::scaled_dot_product::scale_of(in);
  with_products(in, out, [&](const In& of, Index i, Index j) {
    const Number q_k = dot(of.q[i], of.k[j]);
    return of.labels ? q_k + dot(of.q[i], of.table[right::label(of, i, j)]) / scale : q_k;
  });
}

/// The logits times a factor: another scale.
inline void with_factor(const In& in, const Out& out, const Number& factor) {
  with_products(in, out, [&](const In& of, Index i, Index j) { return factor * right::sum_of_products(of, i, j); });
}

inline void scale_missing(const In& in, const Out& out) {
  with_factor(in, out, in.scale ? Number(1) : sqrt(Number(in.q.extent(1))));
}

inline void scale_ignored(const In& in, const Out& out) {
  In other = in;
  other.scale = {};
  right::banded(other, out);
}

inline void scale_drift(const In& in, const Out& out, const Number& c) { with_factor(in, out, Number(1) + c); }

}  // namespace attest::faults::sparse::etc_global_local
