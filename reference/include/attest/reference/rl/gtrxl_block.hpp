// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "attest/reference/attention/feed_forward.hpp"
#include "attest/reference/attention/layer_norm.hpp"
#include "attest/reference/attention/multi_head.hpp"
#include "attest/reference/attention/transformer_layer.hpp"
#include "attest/reference/positional/xl_relative_score.hpp"
#include "attest/reference/rl/gru_gate.hpp"
#include "attest/spec/rl/gtrxl_block.hpp"

namespace attest::reference::rl::gtrxl_block {

using In = attest::spec::rl::gtrxl_block::In<Number>;
using Out = attest::spec::rl::gtrxl_block::Out<Number>;
using attention::transformer_layer::added;
using attest::spec::rl::gtrxl_block::Gate;
namespace score = positional::xl_relative_score;

/// What a branch gets of the tokens: LN with gain and bias of that number.
inline Matrix normalised(const In& in, int norm, const Matrix& x) {
  Matrix y(x.extent(0), x.extent(1));
  attention::layer_norm::two_pass({.x = x.view(),
                                   .gamma = norm == 1 ? in.gamma_1 : in.gamma_2,
                                   .beta = norm == 1 ? in.beta_1 : in.beta_2,
                                   .eps = in.eps},
                                  {.y = y.view()});
  return stage("normalised tokens", std::move(y));
}

/// [a; b]
inline Matrix stacked(const Matrix& a, const Matrix& b) {
  Matrix all(a.extent(0) + b.extent(0), b.extent(1));
  for (Index i = 0; i < all.extent(0); ++i)
    for (Index c = 0; c < all.extent(1); ++c) all(i, c) = i < a.extent(0) ? a(i, c) : b(i - a.extent(0), c);
  return all;
}

/// The row of r for the key j of query i, o places behind it; negative: none.
using RowOf = std::function<Index(Index i, Index j, Index o)>;

/// How heads attend.
struct Attending {
  std::optional<double> scale = {};  // 1/sqrt(d)
  bool causal = true;
  RowOf row_of = [](Index, Index, Index o) { return o; };
};

/// Attention of one head: scores scale ((q_i + u) . k_j + (q_i + v) . (r_o w_p)), the second part as a bias.
inline Matrix head(const In& in, Index h, const Matrix& x, const Matrix& context, const Attending& how = {}) {
  const score::In scores{.x_q = x.view(),
                         .x_k = context.view(),
                         .w_q = in.w_q[h],
                         .w_e = in.w_k[h],
                         .w_r = in.w_p[h],
                         .u = in.u[h],
                         .v = in.v[h],
                         .r = in.r.rows(0, context.extent(0)),
                         .r_ahead = {},
                         .scale = how.scale};
  const score::Projections p(scores);
  const Number scale = score::scale_of(scores);
  const Matrix asks_content = score::biased(p.q, scores.u), asks_distance = score::biased(p.q, scores.v);
  Matrix of_distance(x.extent(0), context.extent(0));
  for (Index i = 0; i < of_distance.extent(0); ++i)
    for (Index j = 0; j < of_distance.extent(1); ++j)
      if (const Index o = how.row_of(i, j, p.offset(i, j)); o >= 0)
        of_distance(i, j) = stage("scores of distances", scale * score::position(asks_distance[i], p.distance(o)));
  const Matrix v = attention::multi_head::values(context, in.w_v[h]);
  Matrix o(x.extent(0), v.extent(1));
  attention::scaled_dot_product::max_shift({.q = asks_content.view(),
                                            .k = p.k.view(),
                                            .v = v.view(),
                                            .mask = {},
                                            .bias = std::as_const(of_distance).view(),
                                            .sink = {},
                                            .scale = how.scale,
                                            .causal = how.causal},
                                           {.o = o.view()});
  return stage("head outputs", std::move(o));
}

/// A: the heads side by side, times the output projection.
template <class H>
Matrix attended(const In& in, const Matrix& x, H&& one_head) {
  const attention::multi_head::In heads{.x_q = x.view(),
                                        .x_k = x.view(),
                                        .x_v = x.view(),
                                        .w_q = in.w_q,
                                        .w_k = in.w_k,
                                        .w_v = in.w_v,
                                        .w_o = in.w_o,
                                        .mask = {},
                                        .scale = {}};
  Matrix o(x.extent(0), in.w_o.extent(2));
  attention::multi_head::output(heads, attention::multi_head::concatenated(heads, one_head), {.o = o.view()});
  return stage("attention outputs", stored(std::move(o)));
}

/// A(x, context)
inline Matrix attention_of(const In& in, const Matrix& x, const Matrix& context, const Attending& how = {}) {
  return attended(in, x, [&](Index h) { return head(in, h, x, context, how); });
}

/// F
inline Matrix network(const In& in, const Matrix& x) {
  Matrix y(x.extent(0), x.extent(1));
  attention::feed_forward::dense({.x = x.view(), .w_1 = in.w_1, .b_1 = in.b_1, .w_2 = in.w_2, .b_2 = in.b_2},
                                 {.y = y.view()});
  return stage("network outputs", stored(std::move(y)));
}

/// act(y)
inline Matrix activated(const In& in, Matrix y) {
  for (Index i = 0; in.submodule_relu && i < y.extent(0); ++i)
    for (Index a = 0; a < y.extent(1); ++a) y(i, a) = larger(y(i, a), 0);
  return y;
}

/// The weights of gate 1 or 2.
inline gru_gate::In weights_of(const In& in, int gate, const Matrix& x, const Matrix& y) {
  gru_gate::In gru{.x = x.view(),
                   .y = y.view(),
                   .w_r = in.w_r1,
                   .u_r = in.u_r1,
                   .w_z = in.w_z1,
                   .u_z = in.u_z1,
                   .w_g = in.w_g1,
                   .u_g = in.u_g1,
                   .b_g = in.b_g1};
  if (gate == 2)
    gru.w_r = in.w_r2, gru.u_r = in.u_r2, gru.w_z = in.w_z2, gru.u_z = in.u_z2, gru.w_g = in.w_g2, gru.u_g = in.u_g2,
    gru.b_g = in.b_g2;
  return gru;
}

/// gate(x, y)
inline Matrix gated(const In& in, int gate, const Matrix& x, const Matrix& y) {
  if (in.gate == Gate::residual) return added(x, y);
  Matrix z(x.extent(0), x.extent(1));
  gru_gate::direct(weights_of(in, gate, x, y), {.g = z.view()});
  return z;
}

/// A copy of some tokens.
inline Matrix tokens(View<const Number, 2> x) { return Matrix(x, x.extent(0), x.extent(1)); }

/// The memory, which takes no gradient.
inline Matrix memory_of(const In& in) {
  const StoppedMatrix memory(in.memory);
  return tokens(memory);
}

/// The block: `attend(x, context)` being A.
template <class A>
Matrix block_of(const In& in, const Matrix& e, const Matrix& memory, A&& attend) {
  const Matrix x = normalised(in, 1, e), context = stacked(normalised(in, 1, memory), x);
  const Matrix y = stage("tokens after attention", stored(gated(in, 1, e, activated(in, attend(x, context)))));
  return gated(in, 2, y, activated(in, network(in, normalised(in, 2, y))));
}

inline Matrix block_of(const In& in, const Matrix& e, const Matrix& memory) {
  return block_of(in, e, memory, [&](const Matrix& x, const Matrix& context) { return attention_of(in, x, context); });
}

inline void write(const Out& out, const Matrix& z) {
  for (const Index i : wanted(out.z)) assign(out.z[i], tabulate(z.extent(1), [&](Index a) { return z(i, a); }));
}

/// Y = gate(E, act(A(LN(E), LN([M; E])))),  E' = gate(Y, act(F(LN(Y))))      [Parisotto et al. 2019, section 3.2]
inline void block(const In& in, const Out& out) { write(out, block_of(in, tokens(in.e), memory_of(in))); }

/// Token i behind the memory and the i tokens before it.
inline void incremental(const In& in, const Out& out) {
  for (const Index i : wanted(out.z)) {
    const Matrix before = stacked(memory_of(in), tokens(in.e.rows(0, i)));
    const Matrix z = block_of(in, tokens(in.e.rows(i, 1)), before);
    assign(out.z[i], tabulate(z.extent(1), [&](Index a) { return z(0, a); }));
  }
}

}  // namespace attest::reference::rl::gtrxl_block
