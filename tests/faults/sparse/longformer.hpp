// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/longformer.hpp"
#include "faults/sparse/attend.hpp"

namespace attest::faults::sparse::longformer {

namespace right = attest::reference::sparse::longformer;
namespace sets = attest::reference::sparse::attend;
using right::In;
using right::Out;

/// The equation with other sets.
template <class F>
void with_sets(const In& in, const Out& out, F&& sees) {
  right::each_query(in, out, [&](const In& row, const Out& o, Index i) {
    sets::over_mask(row, o, [&](Index, Index j) { return sees(i, j); });
  });
}

/// The keys of row i.
inline auto set(const In& in, Index i) {
  return [&in, i](Index) { return sets::keys_below(in.k.extent(0), [&](Index j) { return right::sees(in, i, j); }); };
}

inline void double_counted_global(const In& in, const Out& out) {
  right::each_query(in, out, [&](const In& row, const Out& o, Index i) {
    attend::counted(row, o, set(in, i), [&](Index, Index j) {
      return right::in_window(in, i, j) && in.symmetric && right::is_global(in, j) && !right::is_global(in, i) ? 2 : 1;
    });
  });
}

inline void global_rows_not_global(const In& in, const Out& out) {
  with_sets(in, out, [&](Index i, Index j) {
    return (!in.causal || j <= i) && (right::in_window(in, i, j) || (in.symmetric && right::is_global(in, j)));
  });
}

inline void global_columns_missing(const In& in, const Out& out) {
  with_sets(in, out, [&](Index i, Index j) {
    return (!in.causal || j <= i) && (right::in_window(in, i, j) || right::is_global(in, i));
  });
}

inline void globals_ignored(const In& in, const Out& out) {
  with_sets(in, out, [&](Index i, Index j) { return (!in.causal || j <= i) && right::in_window(in, i, j); });
}

inline void radius_is_width(const In& in, const Out& out) {
  with_sets(in, out, [&](Index i, Index j) {
    return (!in.causal || j <= i) && ((right::in_window(in, i, j) && std::abs(i - j) <= in.radius / 2 * in.dilation) ||
                                      right::is_global(in, i) || (in.symmetric && right::is_global(in, j)));
  });
}

inline void dilation_without_extent(const In& in, const Out& out) {
  with_sets(in, out, [&](Index i, Index j) {
    return (!in.causal || j <= i) && ((right::in_window(in, i, j) && std::abs(i - j) <= in.radius) ||
                                      right::is_global(in, i) || (in.symmetric && right::is_global(in, j)));
  });
}

inline void dilation_ignored(const In& in, const Out& out) {
  with_sets(in, out, [&](Index i, Index j) {
    return (!in.causal || j <= i) &&
           (std::abs(i - j) <= in.radius || right::is_global(in, i) || (in.symmetric && right::is_global(in, j)));
  });
}

inline void causal_ignored(const In& in, const Out& out) {
  with_sets(in, out, [&](Index i, Index j) {
    return right::in_window(in, i, j) || right::is_global(in, i) || (in.symmetric && right::is_global(in, j));
  });
}

inline void always_causal(const In& in, const Out& out) {
  with_sets(in, out, [&](Index i, Index j) { return j <= i && right::sees(in, i, j); });
}

inline void symmetric_ignored(const In& in, const Out& out) {
  with_sets(in, out, [&](Index i, Index j) {
    return (!in.causal || j <= i) && (right::in_window(in, i, j) || right::is_global(in, i) || right::is_global(in, j));
  });
}

inline void local_projections_for_global(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) { return right::sees(in, i, j); });
}

inline void global_projections_for_all(const In& in, const Out& out) {
  In all = in;
  if (in.q_g) all.q = in.q_g;
  if (in.k_g) all.k = in.k_g;
  if (in.v_g) all.v = in.v_g;
  local_projections_for_global(all, out);
}

inline void global_keys_in_columns(const In& in, const Out& out) {
  const Matrix k = matrix_of(in.k.extent(0), in.k.extent(1), [&](Index j, Index a) {
    return right::is_global(in, j) && in.k_g ? in.k_g(j, a) : in.k(j, a);
  });
  In mixed = in;
  mixed.k = k.view();
  right::mask(mixed, out);
}

inline void with_scale(const In& in, const Out& out, const Number& scale) {
  right::each_query(in, out, [&](const In& row, const Out& o, Index i) { attend::scaled(row, o, scale, set(in, i)); });
}

inline void scale_missing(const In& in, const Out& out) { with_scale(in, out, attend::missing_scale(in)); }

inline void scale_ignored(const In& in, const Out& out) { with_scale(in, out, attend::default_scale(in)); }

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  with_scale(in, out, attend::drifted_scale(in, c));
}

}  // namespace attest::faults::sparse::longformer
