// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/lowrank/linformer.hpp"
#include "faults/fault.hpp"

namespace attest::faults::lowrank::linformer {

namespace right = attest::reference::lowrank::linformer;
using reference::attention::scaled_dot_product::scale_of;
using reference::attention::softmax::shifted;
using right::In;
using right::Out;
using right::Sharing;

/// The equation on inputs that `change` has edited.
template <class F>
void with(In in, const Out& out, F&& change) {
  change(in);
  right::project_keys(in, out);
}

/// The equation with other slots for the values.
inline void with_values(const In& in, const Out& out, const Matrix& v) {
  const Matrix k = right::keys(in);
  right::attend(in, out, k.view(), v.view());
}

inline void projection_after_softmax(const In& in, const Out& out) {
  const Matrix e = right::weights(in, in.e), v = right::values(in);
  const Number scale = scale_of(in);
  for (const Index i : wanted(out.o)) {
    const auto a = shifted(tabulate(in.k.extent(0), [&](Index j) { return scale * dot(in.q[i], in.k[j]); })).first;
    assign(out.o[i], product(product(e.view(), a), v.view()));
  }
}

inline void e_used_for_values(const In& in, const Out& out) {
  with(in, out, [](In& other) { other.f = other.e; });
}

inline void f_used_for_keys(const In& in, const Out& out) {
  with_values({.q = in.q,
               .k = in.k,
               .v = in.v,
               .e = right::weights_of_values(in),
               .f = in.f,
               .scale = in.scale,
               .sharing = in.sharing},
              out, right::values(in));
}

/// The equation with another scale where none is given.
inline void with_scale(const In& in, const Out& out, const Number& scale) {
  if (in.scale) return right::project_keys(in, out);
  const auto q = matrix_of(in.q.extent(0), in.q.extent(1), [&](Index i, Index a) { return scale * in.q(i, a); });
  with(in, out, [&](In& other) { other.q = read_only(q), other.scale = 1; });
}

inline void scale_by_k(const In& in, const Out& out) { with_scale(in, out, 1 / sqrt(Number(in.e.extent(0)))); }

inline void scale_missing(const In& in, const Out& out) { with_scale(in, out, Number(1)); }

inline void scale_ignored(const In& in, const Out& out) {
  with(in, out, [](In& other) { other.scale = {}; });
}

inline void softmax_over_queries(const In& in, const Out& out) {
  const Matrix k = right::keys(in), v = right::values(in);
  const Number scale = scale_of(in);
  const Index n = in.q.extent(0), slots = k.extent(0);
  Matrix a(n, slots);
  for (Index r = 0; r < slots; ++r) {
    const auto column = shifted(tabulate(n, [&](Index i) { return scale * dot(in.q[i], k[r]); })).first;
    for (Index i = 0; i < n; ++i) a(i, r) = column(i);
  }
  for (const Index i : wanted(out.o)) assign(out.o[i], product(a[i], v.view()));
}

inline void queries_projected(const In& in, const Out& out) {
  if (in.q.extent(0) != in.k.extent(0) || in.e.extent(0) != in.q.extent(0) || right::pools(in))
    return right::project_keys(in, out);
  const Matrix q = right::projected(in.e, in.q);
  with(in, out, [&](In& other) { other.q = q.view(); });
}

inline void transposed_projection(const In& in, const Out& out) {
  const Index slots = in.e.extent(0), s = in.e.extent(1);
  const auto turned = [&](View<const Number, 2> w) {
    return matrix_of(slots, s, [&](Index r, Index j) { return w((j * slots + r) / s, (j * slots + r) % s); });
  };
  const Matrix e = turned(in.e), f = turned(in.f);
  with(in, out, [&](In& other) { other.e = e.view(), other.f = f.view(); });
}

inline void last_token_dropped(const In& in, const Out& out) {
  const Index s = in.k.extent(0);
  const auto cut = [&](View<const Number, 2> x) {
    return matrix_of(s, x.extent(1), [&](Index j, Index a) { return j < s - 1 ? Number(x(j, a)) : Number(0); });
  };
  const Matrix k = cut(in.k), v = cut(in.v);
  with(in, out, [&](In& other) { other.k = k.view(), other.v = v.view(); });
}

inline void sharing_ignored(const In& in, const Out& out) {
  with(in, out, [](In& other) {
    if (other.sharing == Sharing::key_value) other.sharing = Sharing::none;
  });
}

/// Pooled values and keys times a factor.
inline void sum_pool(const In& in, const Out& out) {
  if (in.sharing != Sharing::mean_pool) return right::project_keys(in, out);
  const Number length(in.k.extent(0) / in.e.extent(0));
  const auto times = [&](View<const Number, 2> x) {
    return matrix_of(x.extent(0), x.extent(1), [&](Index j, Index a) { return length * x(j, a); });
  };
  const Matrix k = times(in.k), v = times(in.v);
  with(in, out, [&](In& other) { other.k = k.view(), other.v = v.view(); });
}

inline void mean_for_max(const In& in, const Out& out) {
  with(in, out, [](In& other) {
    if (other.sharing == Sharing::max_pool) other.sharing = Sharing::mean_pool;
  });
}

inline void strided_pools(const In& in, const Out& out) {
  if (!right::pools(in)) return right::project_keys(in, out);
  const Index slots = in.e.extent(0), length = in.k.extent(0) / slots;
  const auto dealt = [&](View<const Number, 2> x) {
    return matrix_of(x.extent(0), x.extent(1),
                     [&](Index j, Index a) { return Number(x(j % length * slots + j / length, a)); });
  };
  const Matrix k = dealt(in.k), v = dealt(in.v);
  with(in, out, [&](In& other) { other.k = k.view(), other.v = v.view(); });
}

inline void value_drift(const In& in, const Out& out, const Number& c) {
  const Matrix v = right::values(in);
  with_values(in, out,
              matrix_of(v.extent(0), v.extent(1), [&](Index r, Index a) { return v(r, a) * (Number(1) + c); }));
}

}  // namespace attest::faults::lowrank::linformer
