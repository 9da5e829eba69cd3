// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/memory_retrieve.hpp"
#include "attest/reference/linear/attention.hpp"
#include "faults/fault.hpp"
#include "faults/features.hpp"

namespace attest::faults::linear::attention {

namespace right = attest::reference::linear::attention;
using attest::spec::linear::attention::ZeroDenominator;
using reference::linear::causal_step::ratio;
using right::In;
using right::Out;
using Given = attest::spec::linear::attention::In<Number>;  // before the map
using right::State;
using right::Visible;

inline State stored(const Visible& keys) { return right::stored(keys.phi_k.view(), keys.v.view()); }

/// The equation over rows first .. first + count - 1 of the visible keys.
inline void with_keys(const In& in, const Out& out, Index first, Index count) {
  const Visible keys(in);
  right::read_all(in, right::stored(keys.phi_k.view().rows(first, count), keys.v.view().rows(first, count)), out);
}

/// o_i = output(state of all keys, i, b).
template <class F>
void with_output(const In& in, const Out& out, F&& output) {
  const State state = stored(Visible(in));
  for (Index i = 0; i < in.phi_q.extent(0); ++i)
    for (Index b = 0; b < in.v.extent(1); ++b) out.o(i, b) = output(state, i, b);
}

inline Matrix mapped(View<const Number, 2> x) {
  using reference::infini::memory_retrieve::FeatureMap;
  return reference::infini::memory_retrieve::features(FeatureMap::elu_plus_one, x);
}

inline void no_normaliser(const In& in, const Out& out) {
  with_output(in, out, [&](const State& state, Index i, Index b) { return dot(in.phi_q[i], state.S.column(b)); });
}

inline void divide_by_count(const In& in, const Out& out) {
  const Number count(Visible(in).count());
  with_output(in, out, [&](const State& state, Index i, Index b) {
    return ratio(in, dot(in.phi_q[i], state.S.column(b)), count);
  });
}

inline void normaliser_from_queries(const In& in, const Out& out) {
  const State queries = right::stored(in.phi_q, in.phi_q);
  with_output(in, out, [&](const State& state, Index i, Index b) {
    return ratio(in, dot(in.phi_q[i], state.S.column(b)), dot(in.phi_q[i], queries.Z));
  });
}

inline void map_again_on_queries(const In& in, const Out& out) {
  In other = in;
  const auto phi = mapped(in.phi_q);
  other.phi_q = phi.view();
  right::quadratic(other, out);
}

inline void map_again_on_keys(const In& in, const Out& out) {
  In other = in;
  const auto phi = mapped(in.phi_k);
  other.phi_k = phi.view();
  right::quadratic(other, out);
}

/// x with elu(x) + 1 = phi: what stands in memory where nobody has mapped it.
inline Matrix unmapped(View<const Number, 2> phi) {
  return matrix_of(phi.extent(0), phi.extent(1), [&](Index i, Index a) {
    const Number x = phi(i, a);
    return less(Number(1), x) ? x - Number(1) : positive(x) ? log(x) : x;
  });
}

inline void map_missing_on_queries(const Given& in, const Out& out) {
  if (in.features != attest::spec::linear::attention::Features::given)
    return right::quadratic(features::map_missing_on_queries(in), out);
  In other = in;
  const auto x = unmapped(in.phi_q);
  other.phi_q = x.view();
  right::quadratic(other, out);
}

inline void map_missing_on_keys(const Given& in, const Out& out) {
  if (in.features != attest::spec::linear::attention::Features::given)
    return right::quadratic(features::map_missing_on_keys(in), out);
  In other = in;
  const auto x = unmapped(in.phi_k);
  other.phi_k = x.view();
  right::quadratic(other, out);
}

inline void map_on_values(const In& in, const Out& out) {
  In other = in;
  const auto phi = mapped(in.v);
  other.v = phi.view();
  right::quadratic(other, out);
}

inline void t_transposed(const In& in, const Out& out) {
  const Index c = in.phi_k.extent(1), m = in.v.extent(1);
  with_output(in, out, [&](const State& state, Index i, Index b) {
    return ratio(in, sum(c, [&](Index a) { return in.phi_q(i, a) * state.S(b % c, a % m); }),
                 dot(in.phi_q[i], state.Z));
  });
}

inline void denominator_not_inverted(const In& in, const Out& out) {
  with_output(in, out, [&](const State& state, Index i, Index b) {
    return dot(in.phi_q[i], state.S.column(b)) * (dot(in.phi_q[i], state.Z) + parameter(in.eps));
  });
}

inline void denominator_elementwise(const In& in, const Out& out) {
  with_output(in, out, [&](const State& state, Index i, Index b) {
    return sum(state.Z.extent(), [&](Index a) { return in.phi_q(i, a) * ratio(in, state.S(a, b), state.Z(a)); });
  });
}

inline void mean_of_values(const In& in, const Out& out) {
  const Visible keys(in);
  with_output(in, out, [&](const State&, Index, Index b) {
    return ratio(in, sum(keys.count(), [&](Index j) { return keys.v(j, b); }), Number(keys.count()));
  });
}

inline void always_causal(const In& in, const Out& out) {
  const Visible keys(in);
  for (Index i = 0; i < in.phi_q.extent(0); ++i) {
    const Index seen = std::min(i + 1, keys.count());
    reference::linear::causal_step::read(
        in, right::stored(keys.phi_k.view().rows(0, seen), keys.v.view().rows(0, seen)), in.phi_q[i], out.o[i]);
  }
}

inline void keys_beyond_queries_dropped(const In& in, const Out& out) {
  with_keys(in, out, 0, std::min(in.phi_q.extent(0), Visible(in).count()));
}

inline void partial_shard_dropped(const In& in, const Out& out) {
  with_keys(in, out, 0, Visible(in).count() / in.shard * in.shard);
}

inline void last_key_dropped(const In& in, const Out& out) {
  with_keys(in, out, 0, std::max<Index>(Visible(in).count() - 1, 0));
}

inline void mask_ignored(const In& in, const Out& out) {
  In other = in;
  other.mask = {};
  right::quadratic(other, out);
}

inline void mask_inverted(const In& in, const Out& out) {
  if (!in.mask) return right::quadratic(in, out);
  const Mask mask(1, in.v.extent(0), [&](Index, Index j) { return !in.mask(j); });
  In other = in;
  other.mask = mask.view()[0];
  right::quadratic(other, out);
}

inline void mask_on_values_only(const In& in, const Out& out) {
  const auto v = matrix_of(in.v.extent(0), in.v.extent(1),
                           [&](Index j, Index b) { return in.mask && !in.mask(j) ? Number(0) : in.v(j, b); });
  In other = in;
  other.v = v.view(), other.mask = {};
  right::quadratic(other, out);
}

inline void with_eps(const In& in, const Out& out, double eps) {
  In other = in;
  other.eps = eps;
  right::quadratic(other, out);
}

inline void eps_added(const In& in, const Out& out) { with_eps(in, out, in.eps + 1e-5); }

inline void eps_ignored(const In& in, const Out& out) { with_eps(in, out, 0); }

inline void always_nan(const In& in, const Out& out) {
  In other = in;
  other.zero_denominator = ZeroDenominator::nan;
  right::quadratic(other, out);
}

inline void bf16_state(const In& in, const Out& out) {
  const Visible keys(in);
  State state(in.phi_k.extent(1), in.v.extent(1));
  for (Index j = 0; j < keys.count(); ++j) {
    state.add(keys.phi_k[j], keys.v[j]);
    for (Index a = 0; a < state.Z.extent(); ++a) {
      for (Index b = 0; b < state.S.extent(1); ++b) state.S(a, b) = kept_in(DType::bf16, state.S(a, b));
      state.Z(a) = kept_in(DType::bf16, state.Z(a));
    }
  }
  right::read_all(in, state, out);
}

inline void normaliser_drift(const In& in, const Out& out, const Number& c) {
  with_output(in, out, [&](const State& state, Index i, Index b) {
    return ratio(in, dot(in.phi_q[i], state.S.column(b)), dot(in.phi_q[i], state.Z) * (Number(1) + c));
  });
}

inline void elu_without_one(const Given& in, const Out& out) { right::quadratic(features::elu_without_one(in), out); }

inline void expm1_features(const Given& in, const Out& out) { right::quadratic(features::expm1_features(in), out); }

inline void relu_plus_epsilon(const Given& in, const Out& out) {
  right::quadratic(features::relu_plus_epsilon(in), out);
}

inline void keys_shifted(const Given& in, const Out& out) { right::quadratic(features::keys_shifted(in), out); }

inline void prescaled(const Given& in, const Out& out) { right::quadratic(features::prescaled(in), out); }

inline void features_ignored(const Given& in, const Out& out) { right::quadratic(features::features_ignored(in), out); }

}  // namespace attest::faults::linear::attention
