// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/rl/gtrxl_block.hpp"
#include "faults/fault.hpp"

namespace attest::faults::rl::gtrxl_block {

namespace right = attest::reference::rl::gtrxl_block;
namespace gru = attest::reference::rl::gru_gate;
using right::Gate;
using right::In;
using right::Out;

/// What is done otherwise than in the equation.
struct Changes {
  bool post_norm = false;         // LN after each gate, none in the branches
  bool norm_on_shortcut = false;  // the stream of a gate is what its branch gets
  bool raw_memory = false;
  bool relu[2] = {true, true};
  bool network_of_tokens = false;
  bool z_swapped = false;
  Index first_of_memory = 0;
  right::Attending how = {};
  Number stream = Number(1);  // factor of the stream at gate 1
};

inline Matrix joined(const In& in, int gate, const Matrix& x, const Matrix& y, bool swapped) {
  if (!swapped || in.gate == Gate::residual) return right::gated(in, gate, x, y);
  Matrix z(x.extent(0), x.extent(1));
  const gru::In weights = right::weights_of(in, gate, x, y);
  gru::each_token(
      weights, {.g = z.view()}, [&](const Row& a, const Row& b) { return gru::gated(weights, a, b); },
      [](const Number& s, const Number& a, const Number& b) { return s * a + (1 - s) * b; });
  return z;
}

inline void with(const In& in, const Out& out, const Changes& c) {
  const auto before = [&](int norm, const Matrix& x) { return c.post_norm ? x : right::normalised(in, norm, x); };
  const auto after = [&](int norm, const Matrix& x) { return c.post_norm ? right::normalised(in, norm, x) : x; };
  const auto ended = [&](int branch, Matrix y) { return c.relu[branch - 1] ? right::activated(in, std::move(y)) : y; };
  const StoppedMatrix kept(in.memory.rows(c.first_of_memory, in.memory.extent(0) - c.first_of_memory));
  const Matrix e = right::tokens(in.e), memory = right::tokens(kept);
  const Matrix x = before(1, e), context = right::stacked(c.raw_memory ? memory : before(1, memory), x);
  const Matrix stream = matrix_of(
      e.extent(0), e.extent(1), [&](Index i, Index a) { return (c.norm_on_shortcut ? x(i, a) : e(i, a)) * c.stream; });
  const Matrix y = after(1, joined(in, 1, stream, ended(1, right::attention_of(in, x, context, c.how)), c.z_swapped));
  const Matrix t = before(2, c.network_of_tokens ? e : y);
  right::write(out, after(2, joined(in, 2, c.norm_on_shortcut ? t : y, ended(2, right::network(in, t)), c.z_swapped)));
}

inline void post_norm(const In& in, const Out& out) { with(in, out, {.post_norm = true}); }

inline void norm_on_shortcut(const In& in, const Out& out) { with(in, out, {.norm_on_shortcut = true}); }

inline void one_gate_for_both(const In& in, const Out& out) {
  In other = in;
  other.w_r2 = in.w_r1, other.u_r2 = in.u_r1, other.w_z2 = in.w_z1, other.u_z2 = in.u_z1, other.w_g2 = in.w_g1,
  other.u_g2 = in.u_g1, other.b_g2 = in.b_g1;
  right::block(other, out);
}

inline void relu_missing(const In& in, const Out& out) { with(in, out, {.relu = {false, false}}); }

inline void relu_before_network_only(const In& in, const Out& out) { with(in, out, {.relu = {false, true}}); }

inline void memory_not_normalised(const In& in, const Out& out) { with(in, out, {.raw_memory = true}); }

inline void memory_ignored(const In& in, const Out& out) { with(in, out, {.first_of_memory = in.memory.extent(0)}); }

inline void oldest_memory_dropped(const In& in, const Out& out) {
  with(in, out, {.first_of_memory = std::min<Index>(1, in.memory.extent(0))});
}

inline void stop_gradient_missing(const In& in, const Out& out) {
  right::write(out, right::block_of(in, right::tokens(in.e), right::tokens(in.memory)));
}

inline void memory_behind_tokens(const In& in, const Out& out) {
  const Index past = in.memory.extent(0);
  with(in, out, {.how = {.row_of = [past](Index i, Index j, Index o) {
                   return o < 0 ? o : std::max<Index>(0, i - (j < past ? j : j - past));
                 }}});
}

inline void not_causal(const In& in, const Out& out) { with(in, out, {.how = {.causal = false}}); }

inline void distance_off_by_one(const In& in, const Out& out) {
  const Index last = in.memory.extent(0) + in.e.extent(0) - 1;
  with(in, out, {.how = {.row_of = [last](Index, Index, Index o) { return o < 0 ? o : std::min(o + 1, last); }}});
}

inline void positions_missing(const In& in, const Out& out) {
  with(in, out, {.how = {.row_of = [](Index, Index, Index) { return Index{-1}; }}});
}

inline void scale_missing(const In& in, const Out& out) { with(in, out, {.how = {.scale = 1.0}}); }

inline void bias_sign(const In& in, const Out& out) {
  In other = in;
  const auto negated = [](const Row& b) { return tabulate(b.extent(0), [&](Index a) { return -b(a); }); };
  const Vector b_1 = negated(in.b_g1), b_2 = negated(in.b_g2);
  other.b_g1 = b_1.view(), other.b_g2 = b_2.view();
  right::block(other, out);
}

inline void z_swapped(const In& in, const Out& out) { with(in, out, {.z_swapped = true}); }

inline void gate_ignored(const In& in, const Out& out) {
  In other = in;
  other.gate = Gate::residual;
  right::block(other, out);
}

inline void network_of_tokens(const In& in, const Out& out) { with(in, out, {.network_of_tokens = true}); }

inline void norms_exchanged(const In& in, const Out& out) {
  In other = in;
  other.gamma_1 = in.gamma_2, other.gamma_2 = in.gamma_1, other.beta_1 = in.beta_2, other.beta_2 = in.beta_1;
  right::block(other, out);
}

inline void eps_default(const In& in, const Out& out) {
  In other = in;
  other.eps = 1e-5;
  right::block(other, out);
}

inline void stream_drift(const In& in, const Out& out, const Number& c) { with(in, out, {.stream = Number(1) + c}); }

}  // namespace attest::faults::rl::gtrxl_block
