// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/rl/decision_transformer.hpp"
#include "faults/fault.hpp"

namespace attest::faults::rl::decision_transformer {

namespace right = attest::reference::rl::decision_transformer;
using right::In;
using right::Kind;
using right::Out;

/// Token `kind` of step t, as it should be.
inline Vector token(const In& in, Kind kind, Index t) {
  return right::at_step(in, right::embedded(in, kind, t), in.start + t);
}

/// The model on other tokens.
template <class F>
Matrix outputs(const In& in, F&& f) {
  return right::model(in, right::tokens_of(in, f));
}

inline void state_first(const In& in, const Out& out) {
  constexpr Kind kOrder[] = {right::kState, right::kReturn, right::kAction};
  right::read_all(in, outputs(in, [&](Index i) { return token(in, kOrder[i % 3], i / 3); }), out);
}

inline Matrix right_outputs(const In& in) {
  return outputs(in, [&](Index i) { return token(in, static_cast<Kind>(i % 3), i / 3); });
}

inline void read_from_return_token(const In& in, const Out& out) {
  right::read_all(in, right_outputs(in), out, right::kReturn);
}

inline void read_from_action_token(const In& in, const Out& out) {
  right::read_all(in, right_outputs(in), out, right::kAction);
}

/// The equation with its attention changed.
inline void attending(const In& in, const Out& out, const right::Attending& how) {
  right::read_all(in, right::model(in, right::tokens(in), how), out);
}

inline void not_causal(const In& in, const Out& out) { attending(in, out, {.causal = false}); }

inline void scale_missing(const In& in, const Out& out) { attending(in, out, {.scale = 1.0}); }

inline void token_index_time(const In& in, const Out& out) {
  const auto row = [&](Index i) { return std::min(in.start + i, in.times.extent(0) - 1); };
  right::read_all(in,
                  outputs(in,
                          [&](Index i) {
                            return right::at_step(in, right::embedded(in, static_cast<Kind>(i % 3), i / 3), row(i));
                          }),
                  out);
}

inline void shifted_actions(const In& in, const Out& out) {
  right::read_all(in,
                  outputs(in,
                          [&](Index i) {
                            const auto kind = static_cast<Kind>(i % 3);
                            if (kind != right::kAction) return token(in, kind, i / 3);
                            const Index before = std::max<Index>(0, i / 3 - 1);
                            const Vector x =
                                i / 3 == 0 ? Vector(in.w_return.extent(0)) : right::embedded(in, kind, before);
                            return right::at_step(in, x, in.start + i / 3);
                          }),
                  out);
}

inline void blocks_of_kinds(const In& in, const Out& out) {
  const Index steps = in.returns.extent(0);
  right::read_all(in, outputs(in, [&](Index i) { return token(in, static_cast<Kind>(i / steps), i % steps); }), out);
}

inline void time_ignored(const In& in, const Out& out) {
  right::read_all(in, outputs(in, [&](Index i) { return right::embedded(in, static_cast<Kind>(i % 3), i / 3); }), out);
}

inline void start_ignored(const In& in, const Out& out) {
  In other = in;
  other.start = 0;
  right::interleave(other, out);
}

inline void time_on_states_only(const In& in, const Out& out) {
  right::read_all(in,
                  outputs(in,
                          [&](Index i) {
                            const auto kind = static_cast<Kind>(i % 3);
                            return kind == right::kState ? token(in, kind, i / 3) : right::embedded(in, kind, i / 3);
                          }),
                  out);
}

inline void residual_missing(const In& in, const Out& out) {
  const Matrix x = right::tokens(in);
  right::read_all(in, right::attended(in, x, x), out);
}

inline void head_bias_missing(const In& in, const Out& out) {
  In other = in;
  other.b_head = {};
  right::interleave(other, out);
}

inline void returns_drift(const In& in, const Out& out, const Number& c) {
  In other = in;
  const Vector returns = tabulate(in.returns.extent(0), [&](Index t) { return in.returns(t) * (Number(1) + c); });
  other.returns = returns.view();
  right::interleave(other, out);
}

}  // namespace attest::faults::rl::decision_transformer
