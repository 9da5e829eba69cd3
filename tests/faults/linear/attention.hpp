// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/memory_retrieve.hpp"
#include "attest/reference/linear/attention.hpp"
#include "faults/variant.hpp"

namespace attest::faults::linear::attention {

namespace right = attest::reference::linear::attention;
using reference::linear::causal_step::ratio;
using right::In;
using right::Out;
using right::State;
using right::Visible;

template <class T>
State<T> stored(const Visible<T>& keys) { return right::stored(keys.phi_k.view(), keys.v.view()); }

/// The equation over rows first .. first + count - 1 of the visible keys.
template <class T>
void with_keys(const In<T>& in, const Out<T>& out, Index first, Index count) {
  const Visible<T> keys(in);
  right::read_all(in, right::stored(keys.phi_k.view().rows(first, count), keys.v.view().rows(first, count)), out);
}

/// o_i = output(state of all keys, i, b).
template <class T, class F>
void with_output(const In<T>& in, const Out<T>& out, F&& output) {
  const State<T> state = stored(Visible<T>(in));
  for (Index i = 0; i < in.phi_q.extent(0); ++i)
    for (Index b = 0; b < in.v.extent(1); ++b) out.o(i, b) = output(state, i, b);
}

template <class T>
Matrix<T> mapped(View<const T, 2> x) { return reference::infini::memory_retrieve::features("elu_plus_one", x); }

template <class T>
void no_normaliser(const In<T>& in, const Out<T>& out) {
  with_output(in, out, [&](const State<T>& state, Index i, Index b) { return dot<T>(in.phi_q[i], state.S.column(b)); });
}

template <class T>
void divide_by_count(const In<T>& in, const Out<T>& out) {
  const T count(Visible<T>(in).count());
  with_output(in, out, [&](const State<T>& state, Index i, Index b) { return ratio(in, dot<T>(in.phi_q[i], state.S.column(b)), count); });
}

template <class T>
void normaliser_from_queries(const In<T>& in, const Out<T>& out) {
  const State<T> queries = right::stored(in.phi_q, in.phi_q);
  with_output(in, out, [&](const State<T>& state, Index i, Index b) {
    return ratio(in, dot<T>(in.phi_q[i], state.S.column(b)), dot<T>(in.phi_q[i], queries.Z));
  });
}

template <class T>
void map_again_on_queries(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  const auto phi = mapped(in.phi_q);
  other.phi_q = phi.view();
  right::quadratic(other, out);
}

template <class T>
void map_again_on_keys(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  const auto phi = mapped(in.phi_k);
  other.phi_k = phi.view();
  right::quadratic(other, out);
}

/// x with elu(x) + 1 = phi: what stands in memory where nobody has mapped it.
template <class T>
Matrix<T> unmapped(View<const T, 2> phi) {
  return matrix_of<T>(phi.extent(0), phi.extent(1), [&](Index i, Index a) {
    const T x = phi(i, a);
    return less(T(1), x) ? T(x - T(1)) : positive(x) ? T(log(x)) : x;
  });
}

template <class T>
void map_missing_on_queries(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  const auto x = unmapped(in.phi_q);
  other.phi_q = x.view();
  right::quadratic(other, out);
}

template <class T>
void map_missing_on_keys(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  const auto x = unmapped(in.phi_k);
  other.phi_k = x.view();
  right::quadratic(other, out);
}

template <class T>
void map_on_values(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  const auto phi = mapped(in.v);
  other.v = phi.view();
  right::quadratic(other, out);
}

template <class T>
void t_transposed(const In<T>& in, const Out<T>& out) {
  const Index c = in.phi_k.extent(1), m = in.v.extent(1);
  with_output(in, out, [&](const State<T>& state, Index i, Index b) {
    return ratio(in, sum(c, [&](Index a) { return in.phi_q(i, a) * state.S(b % c, a % m); }), dot<T>(in.phi_q[i], state.Z));
  });
}

template <class T>
void denominator_not_inverted(const In<T>& in, const Out<T>& out) {
  with_output(in, out, [&](const State<T>& state, Index i, Index b) {
    return T(dot<T>(in.phi_q[i], state.S.column(b)) * (dot<T>(in.phi_q[i], state.Z) + T(in.eps)));
  });
}

template <class T>
void denominator_elementwise(const In<T>& in, const Out<T>& out) {
  with_output(in, out, [&](const State<T>& state, Index i, Index b) {
    return sum(state.Z.extent(), [&](Index a) { return in.phi_q(i, a) * ratio(in, T(state.S(a, b)), T(state.Z(a))); });
  });
}

template <class T>
void mean_of_values(const In<T>& in, const Out<T>& out) {
  const Visible<T> keys(in);
  with_output(in, out, [&](const State<T>&, Index, Index b) {
    return ratio(in, sum(keys.count(), [&](Index j) { return T(keys.v(j, b)); }), T(keys.count()));
  });
}

template <class T>
void always_causal(const In<T>& in, const Out<T>& out) {
  const Visible<T> keys(in);
  for (Index i = 0; i < in.phi_q.extent(0); ++i) {
    const Index seen = std::min(i + 1, keys.count());
    reference::linear::causal_step::read(in, right::stored(keys.phi_k.view().rows(0, seen), keys.v.view().rows(0, seen)), in.phi_q[i], out.o[i]);
  }
}

template <class T>
void keys_beyond_queries_dropped(const In<T>& in, const Out<T>& out) {
  with_keys(in, out, 0, std::min(in.phi_q.extent(0), Visible<T>(in).count()));
}

template <class T>
void partial_shard_dropped(const In<T>& in, const Out<T>& out) { with_keys(in, out, 0, Visible<T>(in).count() / in.shard * in.shard); }

template <class T>
void last_key_dropped(const In<T>& in, const Out<T>& out) { with_keys(in, out, 0, std::max<Index>(Visible<T>(in).count() - 1, 0)); }

template <class T>
void mask_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.mask = {};
  right::quadratic(other, out);
}

template <class T>
void mask_inverted(const In<T>& in, const Out<T>& out) {
  if (!in.mask) return right::quadratic(in, out);
  const Mask mask(1, in.v.extent(0), [&](Index, Index j) { return !in.mask(j); });
  In<T> other = in;
  other.mask = mask.view()[0];
  right::quadratic(other, out);
}

template <class T>
void mask_on_values_only(const In<T>& in, const Out<T>& out) {
  const auto v = matrix_of<T>(in.v.extent(0), in.v.extent(1), [&](Index j, Index b) { return in.mask && !in.mask(j) ? T(0) : in.v(j, b); });
  In<T> other = in;
  other.v = v.view(), other.mask = {};
  right::quadratic(other, out);
}

template <class T>
void with_eps(const In<T>& in, const Out<T>& out, double eps) {
  In<T> other = in;
  other.eps = eps;
  right::quadratic(other, out);
}

template <class T>
void eps_added(const In<T>& in, const Out<T>& out) { with_eps(in, out, in.eps + 1e-5); }

template <class T>
void eps_ignored(const In<T>& in, const Out<T>& out) { with_eps(in, out, 0); }

template <class T>
void always_nan(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.zero_denominator = "nan";
  right::quadratic(other, out);
}

template <class T>
void bf16_state(const In<T>& in, const Out<T>& out) {
  const Visible<T> keys(in);
  State<T> state(in.phi_k.extent(1), in.v.extent(1));
  for (Index j = 0; j < keys.count(); ++j) {
    state.add(keys.phi_k[j], keys.v[j]);
    for (Index a = 0; a < state.Z.extent(); ++a) {
      for (Index b = 0; b < state.S.extent(1); ++b) state.S(a, b) = kept_in(DType::bf16, state.S(a, b));
      state.Z(a) = kept_in(DType::bf16, state.Z(a));
    }
  }
  right::read_all(in, state, out);
}

template <class T>
void normaliser_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_output(in, out, [&](const State<T>& state, Index i, Index b) {
    return ratio(in, dot<T>(in.phi_q[i], state.S.column(b)), T(dot<T>(in.phi_q[i], state.Z) * (T(1) + c)));
  });
}

}  // namespace attest::faults::linear::attention
