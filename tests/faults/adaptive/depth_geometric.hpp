// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/adaptive/depth_geometric.hpp"
#include "faults/fault.hpp"

namespace attest::faults::adaptive::depth_geometric {

namespace right = attest::reference::adaptive::depth_geometric;
using right::at;
using right::Exit;
using right::Exits;
using right::Given;
using right::In;
using right::last;
using right::Out;

/// X_n times another product; the last layer has that product alone.
template <class F>
void with_product(const In& in, const Out& out, F&& product) {
  right::each_token(in, out, [&](const Exits& exits, Index n) {
    return last(exits, n) ? product(exits, n) : at(exits, n).leaves * product(exits, n);
  });
}

inline void includes_current(const In& in, const Out& out) {
  with_product(in, out, [](const Exits& exits, Index n) { return right::left(exits, last(exits, n) ? n : n + 1); });
}
inline void one_layer_late(const In& in, const Out& out) {
  with_product(in, out, [](const Exits& exits, Index n) { return right::left(exits, std::max<Index>(n - 1, 0)); });
}
inline void unnormalised_last(const In& in, const Out& out) {
  with_product(in, out, [](const Exits& exits, Index n) {
    return right::left(exits, last(exits, n) ? std::max<Index>(n - 1, 0) : n);
  });
}
inline void no_product(const In& in, const Out& out) {
  with_product(in, out, [](const Exits& exits, Index n) { return last(exits, n) ? right::left(exits, n) : Number(1); });
}
inline void previous_factor_only(const In& in, const Out& out) {
  with_product(in, out, [](const Exits& exits, Index n) { return n == 0 ? Number(1) : at(exits, n - 1).stays; });
}

/// The equation of other probabilities.
template <class F>
void with_exits(const In& in, const Out& out, F&& exit) {
  right::each_token(in, out, [&](Exits exits, Index n) {
    for (Exit& e : exits) e = exit(e);
    const Number rest = right::left(exits, n);
    return last(exits, n) ? rest : at(exits, n).leaves * rest;
  });
}
inline void complement_swapped(const In& in, const Out& out) {
  with_exits(in, out, [](const Exit& e) { return Exit{e.stays, e.leaves}; });
}
inline void complement_by_difference(const In& in, const Out& out) {
  with_exits(in, out, [](const Exit& e) { return Exit{e.leaves, 1 - e.leaves}; });
}
inline void probability_drift(const In& in, const Out& out, const Number& c) {
  with_exits(in, out, [&](const Exit& e) { return Exit{e.leaves * (1 + c), 1 - e.leaves * (1 + c)}; });
}

inline void last_uses_x(const In& in, const Out& out) {
  right::product(in, out);
  const Index n = in.x.extent(1) - 1;
  for (Index t = 0; t < in.x.extent(0); ++t) out.q(t, n) = right::exit(in, t, n).leaves * out.q(t, n);
}

/// The equation of another x.
template <class F>
void with_x(In in, const Out& out, F&& f) {
  const auto x = matrix_of(in.x.extent(0), in.x.extent(1), f);
  in.x = x.view();
  right::product(in, out);
}
inline void first_token_for_all(const In& in, const Out& out) {
  with_x(in, out, [&](Index, Index n) { return in.x(0, n); });
}
inline void from_the_top(const In& in, const Out& out) {
  with_x(in, out, [&](Index t, Index n) { return in.x(t, in.x.extent(1) - 1 - n); });
}
inline void tanh_for_sigmoid(In in, const Out& out) {
  if (in.given == Given::probabilities) return right::product(in, out);
  in.given = Given::probabilities;
  with_x(in, out, [&](Index t, Index n) { return tanh(in.x(t, n)); });
}
inline void logits_as_probabilities(In in, const Out& out) {
  in.given = Given::probabilities;
  right::product(in, out);
}
inline void probabilities_as_logits(In in, const Out& out) {
  in.given = Given::logits;
  right::product(in, out);
}

}  // namespace attest::faults::adaptive::depth_geometric
