// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/feed_forward.hpp"
#include "faults/fault.hpp"

namespace attest::faults::attention::feed_forward {

namespace right = attest::reference::attention::feed_forward;
using attest::spec::attention::feed_forward::Activation;
using right::In;
using right::Out;

/// The equation with hidden units h(t, u) from u = x_i w_1 + b_1.
template <class F>
void with_hidden(const In& in, const Out& out, F&& h) {
  for (Index i = 0; i < in.x.extent(0); ++i) {
    const auto units = tabulate(in.w_1.extent(1), [&](Index t) {
      return Number(h(t, right::biased(in.b_1, t, dot(in.x[i], in.w_1.column(t)))));
    });
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = right::biased(in.b_2, a, dot(units, in.w_2.column(a)));
  }
}

/// y_ia = f(i, a)
template <class F>
void changed(const In& in, const Out& out, F&& f) {
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = f(i, a);
}

inline void with_activation(In in, const Out& out, Activation activation) {
  in.activation = activation;
  right::dense(in, out);
}

inline void activation_missing(const In& in, const Out& out) { with_activation(in, out, Activation::identity); }

inline void activation_ignored(const In& in, const Out& out) { with_activation(in, out, Activation::relu); }

inline void activation_after_second(const In& in, const Out& out) {
  with_activation(in, out, Activation::identity);
  changed(in, out, [&](Index i, Index a) { return right::activated(in, Number(out.y(i, a))); });
}

inline void activation_before_first(const In& in, const Out& out) {
  const auto x =
      matrix_of(in.x.extent(0), in.x.extent(1), [&](Index i, Index a) { return right::activated(in, in.x(i, a)); });
  In other = in;
  other.x = read_only(x);
  with_activation(other, out, Activation::identity);
}

inline void gelu_by_sigmoid(const In& in, const Out& out) {
  with_hidden(in, out, [&](Index, const Number& u) {
    return in.activation == Activation::gelu_tanh ? u * sigmoid(rational(1702, 1000) * u) : right::activated(in, u);
  });
}

inline void leaky(const In& in, const Out& out) {
  with_hidden(in, out, [&](Index, const Number& u) {
    return in.activation == Activation::relu && !positive(u) ? rational(1, 100) * u : right::activated(in, u);
  });
}

inline void bias1_missing(const In& in, const Out& out) {
  In other = in;
  other.b_1 = {};
  right::dense(other, out);
}

inline void bias2_missing(const In& in, const Out& out) {
  In other = in;
  other.b_2 = {};
  right::dense(other, out);
}

inline void bias1_after_activation(const In& in, const Out& out) {
  In other = in;
  other.b_1 = {};
  with_hidden(other, out, [&](Index t, const Number& u) { return right::biased(in.b_1, t, right::activated(in, u)); });
}

inline void residual_inside(const In& in, const Out& out) {
  right::dense(in, out);
  changed(in, out, [&](Index i, Index a) { return out.y(i, a) + in.x(i, a); });
}

inline void weights_shared_wrongly(const In& in, const Out& out) {
  const auto w_2 = matrix_of(in.w_2.extent(0), in.w_2.extent(1), [&](Index t, Index a) { return in.w_1(a, t); });
  In other = in;
  other.w_2 = read_only(w_2);
  right::dense(other, out);
}

inline void w_1_transposed(const In& in, const Out& out) {
  const auto [d, f] = in.w_1.extents();
  const auto w_1 = matrix_of(d, f, [&, rows = d, columns = f](Index a, Index t) {
    const Index flat = t * rows + a;
    return in.w_1(flat / columns, flat % columns);
  });
  In other = in;
  other.w_1 = read_only(w_1);
  right::dense(other, out);
}

inline void remainder_dropped(const In& in, const Out& out) {
  right::dense(in, out);
  const Index whole = in.x.extent(0) / in.chunk * in.chunk;
  changed(in, out,
          [&](Index i, Index a) { return i < whole ? Number(out.y(i, a)) : right::biased(in.b_2, a, Number(0)); });
}

inline void last_hidden_dropped(const In& in, const Out& out) {
  const Index even = in.w_1.extent(1) - in.w_1.extent(1) % 2;
  with_hidden(in, out, [&](Index t, const Number& u) { return t < even ? right::activated(in, u) : Number(0); });
}

inline void hidden_drift(const In& in, const Out& out, const Number& c) {
  with_hidden(in, out, [&](Index, const Number& u) { return right::activated(in, u) * (Number(1) + c); });
}

}  // namespace attest::faults::attention::feed_forward
