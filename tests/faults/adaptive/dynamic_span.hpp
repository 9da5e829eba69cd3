// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/reference/adaptive/dynamic_span.hpp"
#include "faults/fault.hpp"

namespace attest::faults::adaptive::dynamic_span {

namespace right = attest::reference::adaptive::dynamic_span;
using right::In;
using right::Out;

/// S times another function of v . x + b.
template <class F>
void with_gate(const In& in, const Out& out, F&& gate) {
  right::each_token(in, out, [&](const Number& l) { return parameter(in.s) * gate(l); });
}

inline void scale_missing(const In& in, const Out& out) {
  right::each_token(in, out, [](const Number& l) { return sigmoid(l); });
}
inline void scale_ignored(In in, const Out& out) {
  in.s = 1024;
  right::direct(in, out);
}
inline void sigmoid_missing(const In& in, const Out& out) {
  with_gate(in, out, [](const Number& l) { return l; });
}
inline void tanh_for_sigmoid(const In& in, const Out& out) {
  with_gate(in, out, [](const Number& l) { return tanh(l); });
}
inline void clamped_for_sigmoid(const In& in, const Out& out) {
  with_gate(in, out, [](const Number& l) {
    return less(l, Number(0)) ? Number(0) : less(Number(1), l) ? Number(1) : l;
  });
}
inline void rounded(const In& in, const Out& out) {
  right::each_token(in, out, [&](const Number& l) {
    return Number(static_cast<Index>(std::lround(approximate(parameter(in.s) * sigmoid(l)))));
  });
}
inline void rounded_up(const In& in, const Out& out) {
  right::each_token(in, out, [&](const Number& l) {
    return Number(static_cast<Index>(std::ceil(approximate(parameter(in.s) * sigmoid(l)))));
  });
}
inline void bias_missing(const In& in, const Out& out) {
  with_gate(in, out, [&](const Number& l) { return sigmoid(l - in.b()); });
}
inline void bias_after_sigmoid(const In& in, const Out& out) {
  with_gate(in, out, [&](const Number& l) { return sigmoid(l - in.b()) + in.b(); });
}
inline void complement(const In& in, const Out& out) {
  with_gate(in, out, [](const Number& l) { return sigmoid(-l); });
}
inline void overflowing_sigmoid(const In& in, const Out& out) {
  with_gate(in, out, [](const Number& l) { return exp(l) / (1 + exp(l)); });
}
inline void logits_drift(const In& in, const Out& out, const Number& c) {
  with_gate(in, out, [&](const Number& l) { return sigmoid(l * (1 + c)); });
}

/// The equation of other tokens.
template <class F>
void with_tokens(In in, const Out& out, F&& x) {
  const auto tokens = matrix_of(in.x.extent(0), in.x.extent(1), x);
  in.x = tokens.view();
  right::direct(in, out);
}
inline void first_token_for_all(const In& in, const Out& out) {
  with_tokens(in, out, [&](Index, Index a) { return in.x(0, a); });
}
inline void token_before(const In& in, const Out& out) {
  with_tokens(in, out, [&](Index t, Index a) { return t == 0 ? Number(0) : in.x(t - 1, a); });
}
inline void mean_of_tokens(const In& in, const Out& out) {
  with_tokens(in, out, [&](Index, Index a) { return sum(in.x.column(a)) / Number(in.x.extent(0)); });
}
inline void last_column_dropped(const In& in, const Out& out) {
  with_tokens(in, out, [&](Index t, Index a) { return a + 1 == in.x.extent(1) ? Number(0) : in.x(t, a); });
}

}  // namespace attest::faults::adaptive::dynamic_span
