// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/causal_numerator_backward.hpp"
#include "faults/variant.hpp"

namespace attest::faults::linear::causal_numerator_backward {

namespace right = attest::reference::linear::causal_numerator_backward;
using right::In;
using right::Out;

/// sum over the tokens from..end-1 of x_j y_j^T
template <class T>
Matrix<T> outer_sum(View<const T, 2> x, View<const T, 2> y, Index from, Index end) {
  Matrix<T> A(x.extent(1), y.extent(1));
  right::add_product(A, x.rows(from, std::max<Index>(end - from, 0)), y.rows(from, std::max<Index>(end - from, 0)));
  return A;
}

/// The gradients with S_i = past(i) and R_i = future(i).
template <class T, class P, class F>
void with_states(const In<T>& in, const Out<T>& out, P&& past, F&& future) {
  for (Index i = 0; i < in.v.extent(0); ++i) {
    const Matrix<T> S = past(i), R = future(i);
    for (Index a = 0; a < in.phi_k.extent(1); ++a) {
      out.grad_phi_q(i, a) = dot<T>(S[a], in.grad_o[i]);
      out.grad_phi_k(i, a) = dot<T>(R[a], in.v[i]);
    }
    for (Index b = 0; b < in.v.extent(1); ++b) out.grad_v(i, b) = dot<T>(R.column(b), in.phi_k[i]);
  }
}

template <class T>
struct States {
  const In<T>& in;
  Index n = in.v.extent(0);

  Matrix<T> past(Index first, Index end) const { return outer_sum(in.phi_k, in.v, first, end); }
  Matrix<T> future(Index first, Index end) const { return outer_sum(in.phi_q, in.grad_o, first, end); }
};

template <class T>
void full_range(const In<T>& in, const Out<T>& out) {
  const States<T> s{in};
  with_states(in, out, [&](Index i) { return s.past(0, i + 1); }, [&](Index) { return s.future(0, s.n); });
}

template <class T>
void gradient_index_i(const In<T>& in, const Out<T>& out) {
  const States<T> s{in};
  with_states(in, out, [&](Index i) { return s.past(0, i + 1); }, [&](Index i) {
    Matrix<T> R(in.phi_q.extent(1), in.v.extent(1));
    for (Index a = 0; a < R.extent(0); ++a)
      for (Index b = 0; b < R.extent(1); ++b) R(a, b) = sum(s.n - i, [&](Index t) { return T(in.phi_q(i + t, a)); }) * in.grad_o(i, b);
    return R;
  });
}

template <class T>
void prefix_for_keys(const In<T>& in, const Out<T>& out) {
  const States<T> s{in};
  with_states(in, out, [&](Index i) { return s.past(0, i + 1); }, [&](Index i) { return s.future(0, i + 1); });
}

template <class T>
void strict_suffix(const In<T>& in, const Out<T>& out) {
  const States<T> s{in};
  with_states(in, out, [&](Index i) { return s.past(0, i + 1); }, [&](Index i) { return s.future(i + 1, s.n); });
}

template <class T>
void strict_prefix(const In<T>& in, const Out<T>& out) {
  const States<T> s{in};
  with_states(in, out, [&](Index i) { return s.past(0, i); }, [&](Index i) { return s.future(i, s.n); });
}

template <class T>
void suffix_not_carried(const In<T>& in, const Out<T>& out) {
  const States<T> s{in};
  with_states(in, out, [&](Index i) { return s.past(0, i + 1); },
              [&](Index i) { return s.future(i, std::min(s.n, (i / in.chunk + 1) * in.chunk)); });
}

template <class T>
void prefix_not_carried(const In<T>& in, const Out<T>& out) {
  const States<T> s{in};
  with_states(in, out, [&](Index i) { return s.past(i / in.chunk * in.chunk, i + 1); }, [&](Index i) { return s.future(i, s.n); });
}

template <class T>
void remainder_dropped(const In<T>& in, const Out<T>& out) {
  const States<T> s{in};
  const Index whole = s.n / in.chunk * in.chunk;
  with_states(in, out, [&](Index i) { return s.past(0, i + 1); }, [&](Index i) { return s.future(i, i < whole ? whole : s.n); });
}

template <class T>
void transposes_swapped(const In<T>& in, const Out<T>& out) {
  right::two_sweeps(in, out);
  const States<T> s{in};
  const Index c = in.phi_k.extent(1), m = in.v.extent(1);
  for (Index i = 0; i < s.n; ++i) {
    const auto R = s.future(i, s.n);
    for (Index b = 0; b < m; ++b) out.grad_v(i, b) = sum(m, [&](Index e) { return R(b % c, e) * in.phi_k(i, e % c); });
  }
}

template <class T>
void subtract_from_total(const In<T>& in, const Out<T>& out) {
  const States<T> s{in};
  const auto all = s.future(0, s.n);
  with_states(in, out, [&](Index i) { return s.past(0, i + 1); }, [&](Index i) {
    const auto before = s.future(0, i);
    return matrix_of<T>(all.extent(0), all.extent(1), [&](Index a, Index b) { return all(a, b) - before(a, b); });
  });
}

template <class T>
void values_from_gradient(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.v = in.grad_o;
  right::two_sweeps(other, out);
}

template <class T>
void state_decay(const In<T>& in, const Out<T>& out, const T& c) {
  const Index n = in.v.extent(0), width = in.phi_k.extent(1), m = in.v.extent(1);
  const auto fade = [&](Matrix<T>& A) {
    for (Index a = 0; a < width; ++a)
      for (Index b = 0; b < m; ++b) A(a, b) = A(a, b) * (T(1) - c);
  };
  Matrix<T> S(width, m), R(width, m);
  for (Index i = 0; i < n; ++i) {
    fade(S);
    right::add_outer(S, in.phi_k[i], in.v[i]);
    for (Index a = 0; a < width; ++a) out.grad_phi_q(i, a) = dot<T>(S[a], in.grad_o[i]);
  }
  for (Index i = n - 1; i >= 0; --i) {
    fade(R);
    right::add_outer(R, in.phi_q[i], in.grad_o[i]);
    for (Index a = 0; a < width; ++a) out.grad_phi_k(i, a) = dot<T>(R[a], in.v[i]);
    for (Index b = 0; b < m; ++b) out.grad_v(i, b) = dot<T>(R.column(b), in.phi_k[i]);
  }
}

}  // namespace attest::faults::linear::causal_numerator_backward
