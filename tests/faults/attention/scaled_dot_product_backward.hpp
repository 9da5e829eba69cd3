// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product_backward.hpp"
#include "faults/variant.hpp"

namespace attest::faults::attention::scaled_dot_product_backward {

namespace right = attest::reference::attention::scaled_dot_product_backward;
using reference::attention::softmax::shifted;
using right::In;
using right::Out;

/// grad_l_ij = a_ij (grad_a_ij - delta_i) with another delta.
template <class T, class D>
void with_delta(const In<T>& in, const Out<T>& out, D&& delta) {
  right::each_row(
      in, out, [](const Vector<T>& l) { return shifted(l).first; },
      [&](Index i, const auto&, const Vector<T>& a, const Vector<T>& grad_a) { return T(delta(i, a, grad_a)); });
}

/// Gradients as they are but for grad_q and grad_k, which are taken from the gradients of the logits with these factors.
template <class T>
void with_factors(const In<T>& in, const Out<T>& out, const T& of_q, const T& of_k) {
  right::materialised(in, out);
  const Index n = in.q.extent(0), s = in.k.extent(0);
  for (Index a = 0; a < in.q.extent(1); ++a) {
    for (Index i = 0; i < n; ++i) out.grad_q(i, a) = of_q * sum(s, [&](Index j) { return out.grad_bias(i, j) * in.k(j, a); });
    for (Index j = 0; j < s; ++j) out.grad_k(j, a) = of_k * sum(n, [&](Index i) { return out.grad_bias(i, j) * in.q(i, a); });
  }
}

template <class T>
void delta_missing(const In<T>& in, const Out<T>& out) {
  with_delta(in, out, [](Index, const auto&, const auto&) { return 0; });
}

template <class T>
void delta_unweighted(const In<T>& in, const Out<T>& out) {
  with_delta(in, out, [](Index, const auto&, const Vector<T>& grad_a) {
    return sum(grad_a.extent(), [&](Index t) { return grad_a(t); }) / T(grad_a.extent());
  });
}

template <class T>
void delta_of_first_block(const In<T>& in, const Out<T>& out) {
  std::vector<T> known;
  with_delta(in, out, [&](Index i, const Vector<T>& a, const Vector<T>& grad_a) {
    const T delta = dot<T>(a, grad_a);
    known.resize(static_cast<std::size_t>(i), delta);
    known.push_back(delta);
    return known[static_cast<std::size_t>(i % in.block)];
  });
}

template <class T>
void scale_missing_dk(const In<T>& in, const Out<T>& out) { with_factors(in, out, right::scale_of<T>(in), T(1)); }

template <class T>
void scale_missing_dq(const In<T>& in, const Out<T>& out) { with_factors(in, out, T(1), right::scale_of<T>(in)); }

template <class T>
void scale_squared(const In<T>& in, const Out<T>& out) {
  const T scale = right::scale_of<T>(in);
  with_factors(in, out, T(scale * scale), T(scale * scale));
}

template <class T>
void scale_drift(const In<T>& in, const Out<T>& out, const T& c) {
  const T scale = right::scale_of<T>(in) * (T(1) + c);
  with_factors(in, out, scale, scale);
}

template <class T>
void mask_dropped_in_backward(const In<T>& in, const Out<T>& out) {
  In<T> more = in;
  more.mask = {};
  right::materialised(more, out);
}

template <class T>
void causal_dropped_in_backward(const In<T>& in, const Out<T>& out) {
  In<T> more = in;
  more.causal = false;
  right::materialised(more, out);
}

template <class T>
void always_causal_in_backward(const In<T>& in, const Out<T>& out) {
  const Index past = in.k.extent(0) - in.q.extent(0);
  const Mask mask(in.q.extent(0), in.k.extent(0), [&](Index i, Index j) { return (!in.mask || in.mask(i, j)) && j <= i + past; });
  In<T> less = in;
  less.mask = mask.view();
  right::materialised(less, out);
}

template <class T>
void causal_top_left(const In<T>& in, const Out<T>& out) {
  const Mask mask(in.q.extent(0), in.k.extent(0), [&](Index i, Index j) { return (!in.mask || in.mask(i, j)) && (!in.causal || j <= i); });
  In<T> less = in;
  less.mask = mask.view();
  right::materialised(less, out);
}

/// The weights, from the gradient of v's own formula: a_ij is zero where invisible.
template <class T>
Matrix<T> weights(const In<T>& in) {
  Matrix<T> A(in.q.extent(0), in.k.extent(0));
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const auto keys = right::visible(in, i);
    if (keys.empty()) continue;
    const auto a = shifted(right::logits(in, right::scale_of<T>(in), i, keys)).first;
    for (Index t = 0; t < a.extent(); ++t) A(i, keys[static_cast<std::size_t>(t)]) = a(t);
  }
  return A;
}

template <class T>
void dv_uses_a_not_transposed(const In<T>& in, const Out<T>& out) {
  right::materialised(in, out);
  const Index n = in.q.extent(0), s = in.k.extent(0);
  const auto A = weights(in);
  for (Index j = 0; j < s; ++j)
    for (Index c = 0; c < in.v.extent(1); ++c) out.grad_v(j, c) = sum(n, [&](Index i) { return A(j % n, i % s) * in.grad_o(i, c); });
}

template <class T>
void last_query_dropped(const In<T>& in, const Out<T>& out) {
  right::materialised(in, out);
  const Index last = in.q.extent(0) - 1;
  const auto A = weights(in);
  const T scale = right::scale_of<T>(in);
  for (Index j = 0; j < in.k.extent(0); ++j) {
    for (Index a = 0; a < in.q.extent(1); ++a) out.grad_k(j, a) = out.grad_k(j, a) - scale * (out.grad_bias(last, j) * in.q(last, a));
    for (Index c = 0; c < in.v.extent(1); ++c) out.grad_v(j, c) = out.grad_v(j, c) - A(last, j) * in.grad_o(last, c);
  }
}

template <class T>
void empty_row_nan(const In<T>& in, const Out<T>& out) {
  right::materialised(in, out);
  for (Index i = 0; i < in.q.extent(0); ++i)
    for (Index a = 0; a < in.q.extent(1) && right::visible(in, i).empty(); ++a) out.grad_q(i, a) = not_a_number<T>();
}

template <class T>
void bias_ignored(const In<T>& in, const Out<T>& out) {
  const auto none = matrix_of<T>(in.q.extent(0), in.k.extent(0), [&](Index i, Index j) { return in.bias && hides(in.bias(i, j)) ? T(in.bias(i, j)) : T(0); });
  In<T> other = in;
  other.bias = none.view();
  right::materialised(other, out);
}

template <class T>
void grad_bias_scaled(const In<T>& in, const Out<T>& out) {
  right::materialised(in, out);
  const T scale = right::scale_of<T>(in);
  for (Index i = 0; i < in.q.extent(0); ++i)
    for (Index j = 0; j < in.k.extent(0); ++j) out.grad_bias(i, j) = scale * out.grad_bias(i, j);
}

}  // namespace attest::faults::attention::scaled_dot_product_backward
