// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/causal.hpp"
#include "attest/cuda/dense.hpp"
#include "attest/cuda/noncausal.hpp"
#include "attest/cuda/softmax_attention.hpp"

/// Multi-head attention: each head projects the tokens by its own weights, and an output projection combines the heads.

namespace attest::cuda {

/// While an OwnHeads exists, heads() counts the equation's own heads in each head of the call.
class OwnHeads {
public:
  OwnHeads(Call& call, int own) : call_(call) { call_.split_heads(own); }
  ~OwnHeads() { call_.split_heads(1); }
  OwnHeads(const OwnHeads&) = delete;
  OwnHeads& operator=(const OwnHeads&) = delete;

private:
  Call& call_;
};

/// Tensors of each head in the workspace: the projections of its tokens, or the gradients with respect to them.
struct Projections {
  Rows q{}, k{}, v{};
};

struct MultiHead {
  Rows x_q{}, x_k{}, x_v{};  // tokens of queries, keys and values
  Sequences queries{}, keys{};
  Weights w_q{}, w_k{}, w_v{}, w_o{};  // of own heads
  float scale = 1;
  bool causal = false, linear = false;  // linear: with features elu(x) + 1 in place of the softmax
  Seen seen{};

  int heads() const { return w_q.rows.place.own; }
  Rows shared(Rows rows) const {
    rows.place.own = heads();
    return rows;
  }

  /// q = x_q w_q, k = x_k w_k and v = x_v w_v of every head.
  template <class T, class Factor>
  Projections project(Call& call) const {
    const OwnHeads own(call, heads());
    const auto projected = [&](const Sequences& tokens, const Rows& x, const Weights& w) {
      const OutputRows y = call.workspace_rows(tokens, w.width());
      dense<T, Factor>(call, {.tokens = tokens, .x = shared(x), .w = w, .y = y});
      return read_back(y);
    };
    Projections p{projected(queries, x_q, w_q), projected(keys, x_k, w_k), projected(keys, x_v, w_v)};
    if (linear) p.q.map = p.k.map = Map::elu_plus_one;
    return p;
  }

  /// The attention output of every head.
  template <class T, class Factor>
  Rows attend(Call& call, const Projections& p) const {
    const OwnHeads own(call, heads());
    const OutputRows o = call.workspace_rows(queries, p.v.stored);
    if (!linear)
      attend_online<T, Factor>(call, logits(p), p.v, o);
    else if (causal)
      outputs_by<Algorithm::parallel, T, Factor>(
          call, {.a = p.q, .b = p.k, .c = p.v, .tokens = queries, .division = {.wanted = true}, .output = o});
    else
      noncausal(p).attend<T, Factor>(call, {.wanted = true}, o);
    return read_back(o);
  }

  /// o = sum_h head_outputs_h w_o[h] + residual: the concatenation times w_o, or one product per head and then their
  /// sum.
  template <class T, class Factor>
  void project_output(Call& call, const Rows& head_outputs, const Rows& residual, const OutputRows& o,
                      bool one_after_other = false) const {
    dense<T, Factor>(call, {.tokens = queries,
                            .x = head_outputs,
                            .w = w_o,
                            .addend = residual,
                            .y = o,
                            .summed = heads(),
                            .one_after_other = one_after_other});
  }

  /// The gradients by q, k and v of every head.
  template <class T, class Factor>
  Projections backward(Call& call, const Projections& p, const Rows& grad_o) const {
    const OwnHeads own(call, heads());
    const OutputRows grad_head_outputs = call.workspace_rows(queries, p.v.stored);
    dense<T, Factor>(call, {.tokens = queries, .x = shared(grad_o), .w = w_o.transposed(), .y = grad_head_outputs});
    const Rows cotangent = read_back(grad_head_outputs);
    const OutputRows q = call.workspace_rows(queries, p.q.stored), k = call.workspace_rows(keys, p.k.stored),
                     v = call.workspace_rows(keys, p.v.stored);
    if (!linear)
      attend_backward<T, Factor>(call, logits(p),
                                 {.v = p.v, .grad_o = cotangent, .grad_q = q, .grad_k = k, .grad_v = v});
    else if (causal)
      cuda::backward<Algorithm::parallel, T, Factor>(call, {.phi_q = p.q,
                                                            .phi_k = p.k,
                                                            .v = p.v,
                                                            .grad_o = cotangent,
                                                            .tokens = queries,
                                                            .grad_phi_q = q,
                                                            .grad_phi_k = k,
                                                            .grad_v = v});
    else
      noncausal(p).backward<T, Factor>(call, 0, cotangent, q, k, v);
    return {read_back(q), read_back(k), read_back(v)};
  }

  /// grad_x = sum_h grad_h w[h]^T + addend, from the gradients by one of the projections.
  template <class T, class Factor>
  void token_gradient(Call& call, const Sequences& tokens, const Rows& grad, const Weights& w, const Rows& addend,
                      const OutputRows& grad_x) const {
    dense<T, Factor>(
        call, {.tokens = tokens, .x = grad, .w = w.transposed(), .addend = addend, .y = grad_x, .summed = heads()});
  }
  /// grad_w[h] = sum_i x_i^T grad_i, where either may be the same for all heads, to the output of this name.
  template <class T, class Factor>
  void weight_gradient(Call& call, const Sequences& tokens, const Rows& x, const Rows& grad, const char* name) const {
    const OwnHeads own(call, heads());
    dense_gradient<T, Factor>(
        call, {.tokens = tokens, .x = x, .grad_y = grad, .grad_w = call.output_rows_of_own_heads(name)});
  }

private:
  Logits logits(const Projections& p) const {
    return {.q = p.q, .k = p.k, .queries = queries, .keys = keys, .scale = scale, .causal = causal, .seen = seen};
  }
  Noncausal noncausal(const Projections& p) const {
    Rows values = p.v;
    values.ones = true;
    return {p.q, p.k, values, queries, keys};
  }
};

}  // namespace attest::cuda
