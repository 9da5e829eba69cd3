// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/transformer_layer.hpp"
#include "faults/variant.hpp"

namespace attest::faults::attention::transformer_layer {

namespace right = attest::reference::attention::transformer_layer;
using right::Heads;
using right::In;
using right::Out;

/// The layer with another residual, or another norm.
template <class T, class J>
void with_join(const In<T>& in, const Out<T>& out, J&& join) { right::layer(in, out, right::attention_of(in), join); }

/// The layer with its attentions changed: `change(heads, on_memory)`.
template <class T, class F>
void with_heads(const In<T>& in, const Out<T>& out, F&& change) {
  const auto attend = right::attention_of(in);
  right::layer(in, out, [&](Heads<T> a) { return change(a, a.x_k.data() == in.memory.data()), attend(a); }, right::post_norm(in));
}

template <class T>
void no_residual(const In<T>& in, const Out<T>& out) {
  with_join(in, out, [&](int norm, const Matrix<T>& x, const auto& branch) { return right::normalised(in, norm, branch(x)); });
}

template <class T>
void pre_norm(const In<T>& in, const Out<T>& out) {
  with_join(in, out, [&](int norm, const Matrix<T>& x, const auto& branch) { return right::added(x, branch(right::normalised(in, norm, x))); });
}

template <class T>
void residual_from_norm(const In<T>& in, const Out<T>& out) {
  with_join(in, out, [&](int norm, const Matrix<T>& x, const auto& branch) {
    return right::normalised(in, norm, right::added(right::normalised(in, norm, x), branch(x)));
  });
}

template <class T>
void second_norm_missing(const In<T>& in, const Out<T>& out) {
  with_join(in, out, [&](int norm, const Matrix<T>& x, const auto& branch) {
    return right::normalised(in, norm == 3 ? 0 : norm, right::added(x, branch(x)));
  });
}

template <class T>
void cross_missing(const In<T>& in, const Out<T>& out) {
  with_join(in, out, [&](int norm, const Matrix<T>& x, const auto& branch) { return norm == 2 ? x : right::normalised(in, norm, right::added(x, branch(x))); });
}

template <class T>
void residual_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_join(in, out, [&](int norm, const Matrix<T>& x, const auto& branch) {
    const auto off = matrix_of<T>(x.extent(0), x.extent(1), [&](Index i, Index a) { return T(x(i, a) * (T(1) + c)); });
    return right::normalised(in, norm, right::added(off, branch(x)));
  });
}

template <class T>
void cross_uses_self(const In<T>& in, const Out<T>& out) {
  with_heads(in, out, [](Heads<T>& a, bool on_memory) {
    if (on_memory) a.x_k = a.x_v = a.x_q;
  });
}

template <class T>
void cross_weights_of_self(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.c_q = in.w_q, other.c_k = in.w_k, other.c_v = in.w_v, other.c_o = in.w_o;
  right::dense(other, out);
}

template <class T>
void mask_missing(const In<T>& in, const Out<T>& out) {
  with_heads(in, out, [](Heads<T>& a, bool) { a.causal = false; });
}

template <class T>
void cross_causal(const In<T>& in, const Out<T>& out) {
  with_heads(in, out, [&](Heads<T>& a, bool on_memory) { a.causal = a.causal || (on_memory && in.attention == "softmax"); });
}

template <class T>
void always_causal(const In<T>& in, const Out<T>& out) {
  with_heads(in, out, [](Heads<T>& a, bool on_memory) { a.causal = !on_memory; });
}

template <class T>
void scale_missing(const In<T>& in, const Out<T>& out) {
  with_heads(in, out, [](Heads<T>& a, bool) { a.scale = 1; });
}

template <class T>
void norms_exchanged(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.gamma_1 = in.gamma_3, other.gamma_3 = in.gamma_1, other.beta_1 = in.beta_3, other.beta_3 = in.beta_1;
  right::dense(other, out);
}

template <class T>
void feed_forward_of_x(const In<T>& in, const Out<T>& out) {
  const Matrix<T> x(in.x, in.x.extent(0), in.x.extent(1));
  if (in.kind != "additive")
    return with_join(in, out, [&](int norm, const Matrix<T>& y, const auto& branch) {
      return right::normalised(in, norm, right::added(y, norm == 3 ? right::transformed(in, x) : branch(y)));
    });
  with_join(in, out, [&](int, const Matrix<T>&, const auto&) { return x; });
}

template <class T>
void output_projection_missing(const In<T>& in, const Out<T>& out) {
  right::layer(in, out, [&](const Heads<T>& a) {
    const Matrix<T> heads = right::heads_of(in, a);
    return matrix_of<T>(heads.extent(0), a.w_o.extent(2), [&](Index i, Index e) { return e < heads.extent(1) ? heads(i, e) : T(0); });
  }, right::post_norm(in));
}

template <class T>
void attention_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.attention = "softmax";
  right::dense(other, out);
}

template <class T>
void activation_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.activation = "relu";
  right::dense(other, out);
}

template <class T>
void eps_default(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.eps = 1e-5;
  right::dense(other, out);
}

}  // namespace attest::faults::attention::transformer_layer
