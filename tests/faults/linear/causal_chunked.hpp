// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/causal_chunked.hpp"
#include "faults/fault.hpp"
#include "faults/features.hpp"

namespace attest::faults::linear::causal_chunked {

namespace right = attest::reference::linear::causal_chunked;
using right::In;
using right::Out;
using Given = attest::spec::linear::causal_chunked::In<Number>;  // before the map
using right::State;

inline State carried(const In& in) { return State(in.S, in.Z, in.phi_k.extent(1), in.v.extent(1)); }

/// One chunk whose tokens read `seen(i)` tokens of it, after what `inter(i)` and `below(i)` take from the state:
/// numerator and denominator.
struct Terms {
  const In& in;
  State state = carried(in);

  Vector scores(Index i, Index first, Index end) const {
    return tabulate(end - first, [&](Index t) { return dot(in.phi_q[i], in.phi_k[first + t]); });
  }
  Number above(Index i, Index b, Index first, Index end) const {
    return dot(scores(i, first, end), in.v.rows(first, end - first).column(b));
  }
  Number below(Index i, Index first, Index end) const {
    const auto p = scores(i, first, end);
    return sum(p.extent(), [&](Index t) { return p(t); });
  }
  Number carried_above(Index i, Index b) const { return dot(in.phi_q[i], state.S.column(b)); }
  Number carried_below(Index i) const { return dot(in.phi_q[i], state.Z); }
};

/// o_ib = output(terms, i, b), and the state as it should be.
template <class F>
void with_output(const In& in, const Out& out, F&& output) {
  Terms terms{in};
  for (Index i = 0; i < in.v.extent(0); ++i)
    for (Index b = 0; b < in.v.extent(1); ++b) out.o(i, b) = output(terms, i, b);
  right::add_chunk(terms.state, in.phi_k, in.v);
  terms.state.write(out);
}

inline void state_used_updated(const In& in, const Out& out) {
  State state = carried(in);
  right::add_chunk(state, in.phi_k, in.v);
  right::read_chunk(in, state, in.phi_q, in.phi_k, in.v, out.o);
  state.write(out);
}

inline void no_inter_term(const In& in, const Out& out) {
  with_output(in, out, [&](const Terms& t, Index i, Index b) {
    return right::ratio(in, t.above(i, b, 0, i + 1), t.below(i, 0, i + 1));
  });
}

inline void strict_lower(const In& in, const Out& out) {
  with_output(in, out, [&](const Terms& t, Index i, Index b) {
    return right::ratio(in, t.carried_above(i, b) + t.above(i, b, 0, i), t.carried_below(i) + t.below(i, 0, i));
  });
}

inline void intra_chunk_unmasked(const In& in, const Out& out) {
  const Index n = in.v.extent(0);
  with_output(in, out, [&](const Terms& t, Index i, Index b) {
    return right::ratio(in, t.carried_above(i, b) + t.above(i, b, 0, n), t.carried_below(i) + t.below(i, 0, n));
  });
}

inline void denominator_intra_only(const In& in, const Out& out) {
  with_output(in, out, [&](const Terms& t, Index i, Index b) {
    return right::ratio(in, t.carried_above(i, b) + t.above(i, b, 0, i + 1), t.below(i, 0, i + 1));
  });
}

inline void denominator_missing(const In& in, const Out& out) {
  with_output(in, out,
              [&](const Terms& t, Index i, Index b) { return t.carried_above(i, b) + t.above(i, b, 0, i + 1); });
}

inline void denominator_not_inverted(const In& in, const Out& out) {
  with_output(in, out, [&](const Terms& t, Index i, Index b) {
    return (t.carried_above(i, b) + t.above(i, b, 0, i + 1)) *
           (t.carried_below(i) + t.below(i, 0, i + 1) + parameter(in.eps));
  });
}

inline void eps_added(const In& in, const Out& out) {
  In other = in;
  other.eps = in.eps + 1e-5;
  right::matrix(other, out);
}

inline void eps_ignored(const In& in, const Out& out) {
  In other = in;
  other.eps = 0;
  right::matrix(other, out);
}

inline void state_from_queries(const In& in, const Out& out) {
  right::matrix(in, out);
  State state = carried(in);
  right::add_chunk(state, in.phi_q, in.v);
  state.write(out);
}

inline void last_token_not_stored(const In& in, const Out& out) {
  right::matrix(in, out);
  State state = carried(in);
  const Index kept = std::max<Index>(in.v.extent(0) - 1, 0);
  right::add_chunk(state, in.phi_k.rows(0, kept), in.v.rows(0, kept));
  state.write(out);
}

inline void z_overwritten(const In& in, const Out& out) {
  right::matrix(in, out);
  for (Index a = 0; a < in.phi_k.extent(1); ++a)
    out.Z(a) = sum(in.phi_k.extent(0), [&](Index j) { return in.phi_k(j, a); });
}

inline void state_decay(const In& in, const Out& out, const Number& c) {
  const auto S =
      matrix_of(in.S.extent(0), in.S.extent(1), [&](Index a, Index b) { return in.S(a, b) * (Number(1) - c); });
  const auto Z = tabulate(in.Z.extent(0), [&](Index a) { return in.Z(a) * (Number(1) - c); });
  In other = in;
  other.S = S.view(), other.Z = Z.view();
  right::matrix(other, out);
}

inline void bf16_state(const In& in, const Out& out) {
  right::matrix(in, out);
  for (Index a = 0; a < in.S.extent(0); ++a) {
    for (Index b = 0; b < in.S.extent(1); ++b) out.S(a, b) = kept_in(DType::bf16, out.S(a, b));
    out.Z(a) = kept_in(DType::bf16, out.Z(a));
  }
}

inline void map_missing_on_queries(const Given& in, const Out& out) {
  right::matrix(features::map_missing_on_queries(in), out);
}

inline void map_missing_on_keys(const Given& in, const Out& out) {
  right::matrix(features::map_missing_on_keys(in), out);
}

inline void elu_without_one(const Given& in, const Out& out) { right::matrix(features::elu_without_one(in), out); }

inline void expm1_features(const Given& in, const Out& out) { right::matrix(features::expm1_features(in), out); }

inline void relu_plus_epsilon(const Given& in, const Out& out) { right::matrix(features::relu_plus_epsilon(in), out); }

inline void keys_shifted(const Given& in, const Out& out) { right::matrix(features::keys_shifted(in), out); }

inline void prescaled(const Given& in, const Out& out) { right::matrix(features::prescaled(in), out); }

inline void features_ignored(const Given& in, const Out& out) { right::matrix(features::features_ignored(in), out); }

}  // namespace attest::faults::linear::causal_chunked
