// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product_backward.hpp"
#include "faults/fault.hpp"

namespace attest::faults::attention::scaled_dot_product_backward {

namespace right = attest::reference::attention::scaled_dot_product_backward;
using reference::attention::softmax::shifted;
using right::In;
using right::Out;

/// grad_l_ij = a_ij (grad_a_ij - delta_i) with another delta.
template <class D>
void with_delta(const In& in, const Out& out, D&& delta) {
  right::each_row(
      in, out, [](const Vector& l) { return shifted(l).first; },
      [&](Index i, const auto&, const Vector& a, const Vector& grad_a) { return delta(i, a, grad_a); });
}

/// Gradients as they are but for grad_q and grad_k, which are taken from the gradients of the logits with these
/// factors.
inline void with_factors(const In& in, const Out& out, const Number& of_q, const Number& of_k) {
  right::materialised(in, out);
  const Index n = in.q.extent(0), s = in.k.extent(0);
  for (Index a = 0; a < in.q.extent(1); ++a) {
    for (Index i = 0; i < n; ++i)
      out.grad_q(i, a) = of_q * sum(s, [&](Index j) { return out.grad_bias(i, j) * in.k(j, a); });
    for (Index j = 0; j < s; ++j)
      out.grad_k(j, a) = of_k * sum(n, [&](Index i) { return out.grad_bias(i, j) * in.q(i, a); });
  }
}

inline void delta_missing(const In& in, const Out& out) {
  with_delta(in, out, [](Index, const auto&, const auto&) { return 0; });
}

inline void delta_unweighted(const In& in, const Out& out) {
  with_delta(in, out, [](Index, const auto&, const Vector& grad_a) {
    return sum(grad_a.extent(), [&](Index t) { return grad_a(t); }) / Number(grad_a.extent());
  });
}

inline void delta_of_first_block(const In& in, const Out& out) {
  std::vector<Number> known;
  with_delta(in, out, [&](Index i, const Vector& a, const Vector& grad_a) {
    const Number delta = dot(a, grad_a);
    known.resize(static_cast<std::size_t>(i), delta);
    known.push_back(delta);
    return known[static_cast<std::size_t>(i % in.block)];
  });
}

inline void scale_missing_dk(const In& in, const Out& out) { with_factors(in, out, right::scale_of(in), Number(1)); }

inline void scale_missing_dq(const In& in, const Out& out) { with_factors(in, out, Number(1), right::scale_of(in)); }

inline void scale_squared(const In& in, const Out& out) {
  const Number scale = right::scale_of(in);
  with_factors(in, out, scale * scale, scale * scale);
}

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  const Number scale = right::scale_of(in) * (Number(1) + c);
  with_factors(in, out, scale, scale);
}

inline void mask_dropped_in_backward(const In& in, const Out& out) {
  In more = in;
  more.mask = {};
  right::materialised(more, out);
}

inline void causal_dropped_in_backward(const In& in, const Out& out) {
  In more = in;
  more.causal = false;
  right::materialised(more, out);
}

inline void always_causal_in_backward(const In& in, const Out& out) {
  const Index past = in.k.extent(0) - in.q.extent(0);
  const Mask mask(in.q.extent(0), in.k.extent(0),
                  [&](Index i, Index j) { return (!in.mask || in.mask(i, j)) && j <= i + past; });
  In less = in;
  less.mask = mask.view();
  right::materialised(less, out);
}

inline void causal_top_left(const In& in, const Out& out) {
  const Mask mask(in.q.extent(0), in.k.extent(0),
                  [&](Index i, Index j) { return (!in.mask || in.mask(i, j)) && (!in.causal || j <= i); });
  In less = in;
  less.mask = mask.view();
  right::materialised(less, out);
}

/// The weights, from the gradient of v's own formula: a_ij is zero where invisible.
inline Matrix weights(const In& in) {
  Matrix A(in.q.extent(0), in.k.extent(0));
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const auto keys = right::visible(in, i);
    if (keys.empty()) continue;
    const auto a = shifted(right::logits(in, right::scale_of(in), i, keys)).first;
    for (Index t = 0; t < a.extent(); ++t) A(i, keys[static_cast<std::size_t>(t)]) = a(t);
  }
  return A;
}

inline void dv_uses_a_not_transposed(const In& in, const Out& out) {
  right::materialised(in, out);
  const Index n = in.q.extent(0), s = in.k.extent(0);
  const auto A = weights(in);
  for (Index j = 0; j < s; ++j)
    for (Index c = 0; c < in.v.extent(1); ++c)
      out.grad_v(j, c) = sum(n, [&](Index i) { return A(j % n, i % s) * in.grad_o(i, c); });
}

inline void last_query_dropped(const In& in, const Out& out) {
  right::materialised(in, out);
  const Index last = in.q.extent(0) - 1;
  const auto A = weights(in);
  const Number scale = right::scale_of(in);
  for (Index j = 0; j < in.k.extent(0); ++j) {
    for (Index a = 0; a < in.q.extent(1); ++a)
      out.grad_k(j, a) = out.grad_k(j, a) - scale * (out.grad_bias(last, j) * in.q(last, a));
    for (Index c = 0; c < in.v.extent(1); ++c) out.grad_v(j, c) = out.grad_v(j, c) - A(last, j) * in.grad_o(last, c);
  }
}

inline void empty_row_nan(const In& in, const Out& out) {
  right::materialised(in, out);
  for (Index i = 0; i < in.q.extent(0); ++i)
    for (Index a = 0; a < in.q.extent(1) && right::visible(in, i).empty(); ++a) out.grad_q(i, a) = not_a_number();
}

/// The weights of a row with a hidden key are NaN.
inline void hidden_before_scale(const In& in, const Out& out) {
  right::materialised(in, out);
  if (approximate(right::scale_of(in)) > 0) return;
  const Index n = in.q.extent(0), s = in.k.extent(0);
  bool any = false;
  for (Index i = 0; i < n; ++i) {
    if (right::visible(in, i).size() == static_cast<std::size_t>(s)) continue;
    any = true;
    for (Index a = 0; a < in.q.extent(1); ++a) out.grad_q(i, a) = not_a_number();
    for (Index j = 0; j < s; ++j) out.grad_bias(i, j) = not_a_number();
  }
  for (Index j = 0; any && j < s; ++j) {
    for (Index a = 0; a < in.k.extent(1); ++a) out.grad_k(j, a) = not_a_number();
    for (Index c = 0; c < in.v.extent(1); ++c) out.grad_v(j, c) = not_a_number();
  }
}

inline void bias_ignored(const In& in, const Out& out) {
  const auto none = matrix_of(in.q.extent(0), in.k.extent(0), [&](Index i, Index j) {
    return in.bias && hides(in.bias(i, j)) ? in.bias(i, j) : Number(0);
  });
  In other = in;
  other.bias = none.view();
  right::materialised(other, out);
}

inline void grad_bias_scaled(const In& in, const Out& out) {
  right::materialised(in, out);
  const Number scale = right::scale_of(in);
  for (Index i = 0; i < in.q.extent(0); ++i)
    for (Index j = 0; j < in.k.extent(0); ++j) out.grad_bias(i, j) = scale * out.grad_bias(i, j);
}

}  // namespace attest::faults::attention::scaled_dot_product_backward
