// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/feed_forward.hpp"
#include "faults/variant.hpp"

namespace attest::faults::attention::feed_forward {

namespace right = attest::reference::attention::feed_forward;
using right::In;
using right::Out;

/// The equation with hidden units h(t, u) from u = x_i w_1 + b_1.
template <class T, class F>
void with_hidden(const In<T>& in, const Out<T>& out, F&& h) {
  for (Index i = 0; i < in.x.extent(0); ++i) {
    const auto units = tabulate(in.w_1.extent(1), [&](Index t) {
      return T(h(t, right::biased(in.b_1, t, dot<T>(in.x[i], in.w_1.column(t)))));
    });
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = right::biased(in.b_2, a, dot<T>(units, in.w_2.column(a)));
  }
}

/// y_ia = f(i, a)
template <class T, class F>
void changed(const In<T>& in, const Out<T>& out, F&& f) {
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = f(i, a);
}

template <class T>
void with_activation(In<T> in, const Out<T>& out, const char* activation) {
  in.activation = activation;
  right::dense(in, out);
}

template <class T>
void activation_missing(const In<T>& in, const Out<T>& out) { with_activation(in, out, "identity"); }

template <class T>
void activation_ignored(const In<T>& in, const Out<T>& out) { with_activation(in, out, "relu"); }

template <class T>
void activation_after_second(const In<T>& in, const Out<T>& out) {
  with_activation(in, out, "identity");
  changed(in, out, [&](Index i, Index a) { return right::activated(in, T(out.y(i, a))); });
}

template <class T>
void activation_before_first(const In<T>& in, const Out<T>& out) {
  const auto x = matrix_of<T>(in.x.extent(0), in.x.extent(1), [&](Index i, Index a) { return right::activated(in, T(in.x(i, a))); });
  In<T> other = in;
  other.x = read_only(x);
  with_activation(other, out, "identity");
}

template <class T>
void gelu_by_sigmoid(const In<T>& in, const Out<T>& out) {
  with_hidden(in, out, [&](Index, const T& u) {
    return in.activation == "gelu_tanh" ? T(u * sigmoid(T(T(1.702) * u))) : right::activated(in, u);
  });
}

template <class T>
void leaky(const In<T>& in, const Out<T>& out) {
  with_hidden(in, out, [&](Index, const T& u) {
    return in.activation == "relu" && !positive(u) ? T(T(0.01) * u) : right::activated(in, u);
  });
}

template <class T>
void bias1_missing(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.b_1 = {};
  right::dense(other, out);
}

template <class T>
void bias2_missing(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.b_2 = {};
  right::dense(other, out);
}

template <class T>
void bias1_after_activation(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.b_1 = {};
  with_hidden(other, out, [&](Index t, const T& u) { return right::biased(in.b_1, t, right::activated(in, u)); });
}

template <class T>
void residual_inside(const In<T>& in, const Out<T>& out) {
  right::dense(in, out);
  changed(in, out, [&](Index i, Index a) { return T(out.y(i, a) + in.x(i, a)); });
}

template <class T>
void weights_shared_wrongly(const In<T>& in, const Out<T>& out) {
  const auto w_2 = matrix_of<T>(in.w_2.extent(0), in.w_2.extent(1), [&](Index t, Index a) { return T(in.w_1(a, t)); });
  In<T> other = in;
  other.w_2 = read_only(w_2);
  right::dense(other, out);
}

template <class T>
void w_1_transposed(const In<T>& in, const Out<T>& out) {
  const auto [d, f] = in.w_1.extents();
  const auto w_1 = matrix_of<T>(d, f, [&, rows = d, columns = f](Index a, Index t) {
    const Index flat = t * rows + a;
    return T(in.w_1(flat / columns, flat % columns));
  });
  In<T> other = in;
  other.w_1 = read_only(w_1);
  right::dense(other, out);
}

template <class T>
void remainder_dropped(const In<T>& in, const Out<T>& out) {
  right::dense(in, out);
  const Index whole = in.x.extent(0) / in.chunk * in.chunk;
  changed(in, out, [&](Index i, Index a) { return i < whole ? T(out.y(i, a)) : right::biased(in.b_2, a, T(0)); });
}

template <class T>
void last_hidden_dropped(const In<T>& in, const Out<T>& out) {
  const Index even = in.w_1.extent(1) - in.w_1.extent(1) % 2;
  with_hidden(in, out, [&](Index t, const T& u) { return t < even ? right::activated(in, u) : T(0); });
}

template <class T>
void hidden_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_hidden(in, out, [&](Index, const T& u) { return right::activated(in, u) * (T(1) + c); });
}

}  // namespace attest::faults::attention::feed_forward
