// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/feed_forward.hpp"
#include "attest/reference/attention/layer_norm.hpp"
#include "attest/reference/attention/multi_head.hpp"
#include "attest/reference/linear/attention.hpp"
#include "attest/reference/linear/feature_map.hpp"
#include "attest/spec/attention/transformer_layer.hpp"

namespace attest::reference::attention::transformer_layer {

using In = attest::spec::attention::transformer_layer::In<Number>;
using Out = attest::spec::attention::transformer_layer::Out<Number>;
using attest::spec::attention::transformer_layer::Attention;
using attest::spec::attention::transformer_layer::Kind;
using multi_head::projected;
/// Inputs of one of the attentions: tokens of the queries, tokens of the keys and values, projections.
using Heads = multi_head::In;

/// Attention of the tokens on themselves.
inline Heads on_tokens(const In& in, View<const Number, 2> x) {
  return {.x_q = x,
          .x_k = x,
          .x_v = x,
          .w_q = in.w_q,
          .w_k = in.w_k,
          .w_v = in.w_v,
          .w_o = in.w_o,
          .mask = {},
          .scale = {},
          .causal = in.kind == Kind::decoder_post_norm};
}

/// Attention of the tokens on the memory.
inline Heads on_memory(const In& in, View<const Number, 2> x) {
  return {.x_q = x,
          .x_k = in.memory,
          .x_v = in.memory,
          .w_q = in.c_q,
          .w_k = in.c_k,
          .w_v = in.c_v,
          .w_o = in.c_o,
          .mask = {},
          .scale = {}};
}

/// phi(x) = elu(x) + 1
inline Matrix features(const Matrix& x) {
  Matrix phi(x.extent(0), x.extent(1));
  linear::feature_map::branch({.x = x.view()}, {.phi = phi.view()});
  return stage("features", std::move(phi));
}

/// Linear attention of one head; causal row by row over what comes before.
inline Matrix linear_head(const Matrix& q, const Matrix& k, const Matrix& v, bool causal, bool through_sums) {
  const Matrix phi_q = features(q), phi_k = features(k);
  Matrix o(q.extent(0), v.extent(1));
  const auto attend = [&](Index first, Index queries, Index keys) {
    const attest::spec::linear::attention::In<Number> in{.phi_q = phi_q.view().rows(first, queries),
                                                         .phi_k = phi_k.view().rows(0, keys),
                                                         .v = v.view().rows(0, keys),
                                                         .mask = {}};
    const linear::attention::Out out{.o = o.view().rows(first, queries)};
    through_sums ? linear::attention::associative(in, out) : linear::attention::quadratic(in, out);
  };
  if (!causal) attend(0, q.extent(0), k.extent(0));
  for (Index i = 0; causal && i < q.extent(0); ++i) attend(i, 1, i + 1);
  return o;
}

/// One head from its queries, keys and values.
inline Matrix head(const In& in, const Heads& a, const Matrix& q, const Matrix& k, const Matrix& v,
                   bool through_sums = false) {
  return stage("head outputs", in.attention == Attention::softmax ? multi_head::attended(a, q, k, v)
                                                                  : linear_head(q, k, v, a.causal, through_sums));
}

/// All heads of an attention, concatenated.
inline Matrix heads_of(const In& in, const Heads& a, bool through_sums = false) {
  return multi_head::concatenated(a, [&](Index h) {
    return head(in, a, multi_head::queries(a.x_q, a.w_q[h]), multi_head::keys(a.x_k, a.w_k[h]),
                multi_head::values(a.x_v, a.w_v[h]), through_sums);
  });
}

/// heads times W_O
inline Matrix mixed(const Heads& a, const Matrix& heads) {
  Matrix o(heads.extent(0), a.w_o.extent(2));
  multi_head::output(a, heads, {.o = o.view()});
  return stage("attention outputs", stored(std::move(o)));
}

/// A: attention with its output projection.
inline auto attention_of(const In& in, bool through_sums = false) {
  return [&in, through_sums](const Heads& a) { return mixed(a, heads_of(in, a, through_sums)); };
}

/// F
inline Matrix transformed(const In& in, const Matrix& x) {
  Matrix y(x.extent(0), x.extent(1));
  feed_forward::dense(
      {.x = x.view(), .w_1 = in.w_1, .b_1 = in.b_1, .w_2 = in.w_2, .b_2 = in.b_2, .activation = in.activation},
      {.y = y.view()});
  return y;
}

/// LN with gain and bias of that number; the additive layer has none, number 0.
inline Matrix normalised(const In& in, int norm, const Matrix& x) {
  if (norm == 0) return x;
  const auto gamma = norm == 1   ? in.gamma_1
                     : norm == 2 ? in.gamma_2
                                 : in.gamma_3,
             beta = norm == 1   ? in.beta_1
                    : norm == 2 ? in.beta_2
                                : in.beta_3;
  Matrix y(x.extent(0), x.extent(1));
  layer_norm::two_pass({.x = x.view(), .gamma = gamma, .beta = beta, .eps = in.eps}, {.y = y.view()});
  return y;
}

/// x + y
inline Matrix added(const Matrix& x, const Matrix& y) {
  Matrix z(x.extent(0), x.extent(1));
  for (Index i = 0; i < z.extent(0); ++i)
    for (Index a = 0; a < z.extent(1); ++a) z(i, a) = x(i, a) + y(i, a);
  return z;
}

/// LN(x + branch(x))
inline auto post_norm(const In& in) {
  return [&in](int norm, const Matrix& x, const auto& branch) {
    return normalised(in, norm, stage("residual sums", stored(added(x, branch(x)))));
  };
}

/// Every form: sublayers in order, `attend(heads)` being A and `join(norm, x, branch)` what a residual makes of a
/// sublayer.
///   additive: F(x + A(x))                                                                    [Katharopoulos et al.
///   2020, eq. 1] encoder:  z = LN(y + F(y)),  y = LN(x + A(x)) decoder:  z = LN(u + F(u)),  u = LN(y + A(y, memory)),
///   y = LN(x + A(x)) causal          [Vaswani et al. 2017, section 3.1]
template <class A, class J>
void layer(const In& in, const Out& out, A&& attend, J&& join) {
  const auto own = [&](const Matrix& x) { return attend(on_tokens(in, x.view())); };
  const auto other = [&](const Matrix& x) { return attend(on_memory(in, x.view())); };
  const auto network = [&](const Matrix& x) { return stage("network outputs", stored(transformed(in, x))); };
  const auto sublayer = [&](int norm, const Matrix& x, const auto& branch) {
    return stage("sublayer outputs", stored(join(norm, x, branch)));
  };
  const bool additive = in.kind == Kind::additive;
  const Matrix x(in.x, in.x.extent(0), in.x.extent(1));
  Matrix y = additive ? join(0, x, own) : sublayer(1, x, own);
  if (in.kind == Kind::decoder_post_norm) y = sublayer(2, y, other);
  y = additive ? transformed(in, y) : join(3, y, network);
  for (const Index i : wanted(out.z))
    for (Index a = 0; a < y.extent(1); ++a) out.z(i, a) = y(i, a);
}

inline void dense(const In& in, const Out& out) { layer(in, out, attention_of(in), post_norm(in)); }

/// Linear attention through T = sum_j phi(k_j) v_j^T and z = sum_j phi(k_j)      [Katharopoulos et al. 2020, eq. 6]
inline void linear_attention(const In& in, const Out& out) { layer(in, out, attention_of(in, true), post_norm(in)); }

/// The first rows of x.
inline Matrix first_rows(const Matrix& x, Index rows) { return Matrix(x.view().rows(0, rows), rows, x.extent(1)); }

/// Token by token: each adds its keys and values to those that earlier tokens left in the cache, and attends to them.
inline void incremental(const In& in, const Out& out) {
  const Index n = in.x.extent(0);
  std::vector<Matrix> keys, values;
  for (Index h = 0; h < in.w_k.extent(0); ++h)
    keys.emplace_back(n, in.w_k.extent(2)), values.emplace_back(n, in.w_v.extent(2));
  for (Index i = 0; i < n; ++i) {
    In token = in;
    token.x = in.x.rows(i, 1);
    const auto whole = attention_of(token);
    const auto cached = [&](Heads a) {
      if (!a.causal) return whole(a);
      a.causal = false;
      return mixed(a, multi_head::concatenated(a, [&](Index h) {
                     Matrix &k = keys[static_cast<std::size_t>(h)], &v = values[static_cast<std::size_t>(h)];
                     const Matrix key = multi_head::keys(a.x_k, a.w_k[h]), value = multi_head::values(a.x_v, a.w_v[h]);
                     for (Index c = 0; c < k.extent(1); ++c) k(i, c) = key(0, c);
                     for (Index c = 0; c < v.extent(1); ++c) v(i, c) = value(0, c);
                     return head(in, a, multi_head::queries(a.x_q, a.w_q[h]), first_rows(k, i + 1),
                                 first_rows(v, i + 1));
                   }));
    };
    layer(token, {.z = out.z.rows(i, 1)}, cached, post_norm(token));
  }
}

}  // namespace attest::reference::attention::transformer_layer
