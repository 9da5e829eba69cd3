// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/transformer_layer.hpp"
#include "faults/fault.hpp"

namespace attest::faults::attention::transformer_layer {

namespace right = attest::reference::attention::transformer_layer;
using attest::spec::attention::transformer_layer::Activation;
using attest::spec::attention::transformer_layer::Attention;
using attest::spec::attention::transformer_layer::Kind;
using right::Heads;
using right::In;
using right::Out;

/// The layer with another residual, or another norm.
template <class J>
void with_join(const In& in, const Out& out, J&& join) {
  right::layer(in, out, right::attention_of(in), join);
}

/// The layer with its attentions changed: `change(heads, on_memory)`.
template <class F>
void with_heads(const In& in, const Out& out, F&& change) {
  const auto attend = right::attention_of(in);
  right::layer(in, out, [&](Heads a) { return change(a, a.x_k.is(in.memory)), attend(a); }, right::post_norm(in));
}

inline void no_residual(const In& in, const Out& out) {
  with_join(in, out,
            [&](int norm, const Matrix& x, const auto& branch) { return right::normalised(in, norm, branch(x)); });
}

inline void pre_norm(const In& in, const Out& out) {
  with_join(in, out, [&](int norm, const Matrix& x, const auto& branch) {
    return right::added(x, branch(right::normalised(in, norm, x)));
  });
}

inline void residual_from_norm(const In& in, const Out& out) {
  with_join(in, out, [&](int norm, const Matrix& x, const auto& branch) {
    return right::normalised(in, norm, right::added(right::normalised(in, norm, x), branch(x)));
  });
}

inline void second_norm_missing(const In& in, const Out& out) {
  with_join(in, out, [&](int norm, const Matrix& x, const auto& branch) {
    return right::normalised(in, norm == 3 ? 0 : norm, right::added(x, branch(x)));
  });
}

inline void cross_missing(const In& in, const Out& out) {
  with_join(in, out, [&](int norm, const Matrix& x, const auto& branch) {
    return norm == 2 ? x : right::normalised(in, norm, right::added(x, branch(x)));
  });
}

inline void residual_drift(const In& in, const Out& out, const Number& c) {
  with_join(in, out, [&](int norm, const Matrix& x, const auto& branch) {
    const auto off = matrix_of(x.extent(0), x.extent(1), [&](Index i, Index a) { return x(i, a) * (Number(1) + c); });
    return right::normalised(in, norm, right::added(off, branch(x)));
  });
}

inline void cross_uses_self(const In& in, const Out& out) {
  with_heads(in, out, [](Heads& a, bool on_memory) {
    if (on_memory) a.x_k = a.x_v = a.x_q;
  });
}

inline void cross_weights_of_self(const In& in, const Out& out) {
  In other = in;
  other.c_q = in.w_q, other.c_k = in.w_k, other.c_v = in.w_v, other.c_o = in.w_o;
  right::dense(other, out);
}

inline void mask_missing(const In& in, const Out& out) {
  with_heads(in, out, [](Heads& a, bool) { a.causal = false; });
}

inline void cross_causal(const In& in, const Out& out) {
  with_heads(in, out, [&](Heads& a, bool on_memory) {
    a.causal = a.causal || (on_memory && in.attention == Attention::softmax);
  });
}

inline void always_causal(const In& in, const Out& out) {
  with_heads(in, out, [](Heads& a, bool on_memory) { a.causal = !on_memory; });
}

inline void scale_missing(const In& in, const Out& out) {
  with_heads(in, out, [](Heads& a, bool) { a.scale = 1; });
}

inline void norms_exchanged(const In& in, const Out& out) {
  In other = in;
  other.gamma_1 = in.gamma_3, other.gamma_3 = in.gamma_1, other.beta_1 = in.beta_3, other.beta_3 = in.beta_1;
  right::dense(other, out);
}

inline void feed_forward_of_x(const In& in, const Out& out) {
  const Matrix x(in.x, in.x.extent(0), in.x.extent(1));
  if (in.kind != Kind::additive)
    return with_join(in, out, [&](int norm, const Matrix& y, const auto& branch) {
      return right::normalised(in, norm, right::added(y, norm == 3 ? right::transformed(in, x) : branch(y)));
    });
  with_join(in, out, [&](int, const Matrix&, const auto&) { return x; });
}

inline void output_projection_missing(const In& in, const Out& out) {
  right::layer(
      in, out,
      [&](const Heads& a) {
        const Matrix heads = right::heads_of(in, a);
        return matrix_of(heads.extent(0), a.w_o.extent(2),
                         [&](Index i, Index e) { return e < heads.extent(1) ? heads(i, e) : Number(0); });
      },
      right::post_norm(in));
}

inline void attention_ignored(const In& in, const Out& out) {
  In other = in;
  other.attention = Attention::softmax;
  right::dense(other, out);
}

inline void activation_ignored(const In& in, const Out& out) {
  In other = in;
  other.activation = Activation::relu;
  right::dense(other, out);
}

inline void eps_default(const In& in, const Out& out) {
  In other = in;
  other.eps = 1e-5;
  right::dense(other, out);
}

}  // namespace attest::faults::attention::transformer_layer
