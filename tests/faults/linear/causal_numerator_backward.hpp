// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/causal_numerator_backward.hpp"
#include "faults/fault.hpp"

namespace attest::faults::linear::causal_numerator_backward {

namespace right = attest::reference::linear::causal_numerator_backward;
using right::In;
using right::Out;

/// sum over the tokens from..end-1 of x_j y_j^T
inline Matrix outer_sum(std::string_view label, View<const Number, 2> x, View<const Number, 2> y, Index from,
                        Index end) {
  Matrix A(x.extent(1), y.extent(1));
  right::add_product(label, A, x.rows(from, std::max<Index>(end - from, 0)),
                     y.rows(from, std::max<Index>(end - from, 0)));
  return A;
}

/// The gradients with S_i = past(i) and R_i = future(i).
template <class P, class F>
void with_states(const In& in, const Out& out, P&& past, F&& future) {
  for (Index i = 0; i < in.v.extent(0); ++i) {
    const Matrix S = past(i), R = future(i);
    for (Index a = 0; a < in.phi_k.extent(1); ++a) {
      out.grad_phi_q(i, a) = dot(S[a], in.grad_o[i]);
      out.grad_phi_k(i, a) = dot(R[a], in.v[i]);
    }
    for (Index b = 0; b < in.v.extent(1); ++b) out.grad_v(i, b) = dot(R.column(b), in.phi_k[i]);
  }
}

struct States {
  const In& in;
  Index n = in.v.extent(0);

  Matrix past(Index first, Index end) const { return outer_sum(right::kState, in.phi_k, in.v, first, end); }
  Matrix future(Index first, Index end) const { return outer_sum(right::kGradState, in.phi_q, in.grad_o, first, end); }
};

inline void full_range(const In& in, const Out& out) {
  const States s{in};
  with_states(in, out, [&](Index i) { return s.past(0, i + 1); }, [&](Index) { return s.future(0, s.n); });
}

inline void gradient_index_i(const In& in, const Out& out) {
  const States s{in};
  with_states(
      in, out, [&](Index i) { return s.past(0, i + 1); },
      [&](Index i) {
        Matrix R(in.phi_q.extent(1), in.v.extent(1));
        for (Index a = 0; a < R.extent(0); ++a)
          for (Index b = 0; b < R.extent(1); ++b)
            R(a, b) = sum(s.n - i, [&](Index t) { return in.phi_q(i + t, a); }) * in.grad_o(i, b);
        return R;
      });
}

inline void prefix_for_keys(const In& in, const Out& out) {
  const States s{in};
  with_states(in, out, [&](Index i) { return s.past(0, i + 1); }, [&](Index i) { return s.future(0, i + 1); });
}

inline void strict_suffix(const In& in, const Out& out) {
  const States s{in};
  with_states(in, out, [&](Index i) { return s.past(0, i + 1); }, [&](Index i) { return s.future(i + 1, s.n); });
}

inline void strict_prefix(const In& in, const Out& out) {
  const States s{in};
  with_states(in, out, [&](Index i) { return s.past(0, i); }, [&](Index i) { return s.future(i, s.n); });
}

inline void suffix_not_carried(const In& in, const Out& out) {
  const States s{in};
  with_states(
      in, out, [&](Index i) { return s.past(0, i + 1); },
      [&](Index i) { return s.future(i, std::min(s.n, (i / in.chunk + 1) * in.chunk)); });
}

inline void prefix_not_carried(const In& in, const Out& out) {
  const States s{in};
  with_states(
      in, out, [&](Index i) { return s.past(i / in.chunk * in.chunk, i + 1); },
      [&](Index i) { return s.future(i, s.n); });
}

inline void remainder_dropped(const In& in, const Out& out) {
  const States s{in};
  const Index whole = s.n / in.chunk * in.chunk;
  with_states(
      in, out, [&](Index i) { return s.past(0, i + 1); },
      [&](Index i) { return s.future(i, i < whole ? whole : s.n); });
}

inline void transposes_swapped(const In& in, const Out& out) {
  right::two_sweeps(in, out);
  const States s{in};
  const Index c = in.phi_k.extent(1), m = in.v.extent(1);
  for (Index i = 0; i < s.n; ++i) {
    const auto R = s.future(i, s.n);
    for (Index b = 0; b < m; ++b) out.grad_v(i, b) = sum(m, [&](Index e) { return R(b % c, e) * in.phi_k(i, e % c); });
  }
}

inline void subtract_from_total(const In& in, const Out& out) {
  const States s{in};
  const auto all = s.future(0, s.n);
  with_states(
      in, out, [&](Index i) { return s.past(0, i + 1); },
      [&](Index i) {
        const auto before = s.future(0, i);
        return matrix_of(all.extent(0), all.extent(1), [&](Index a, Index b) { return all(a, b) - before(a, b); });
      });
}

inline void values_from_gradient(const In& in, const Out& out) {
  In other = in;
  other.v = in.grad_o;
  right::two_sweeps(other, out);
}

inline void state_decay(const In& in, const Out& out, const Number& c) {
  const Index n = in.v.extent(0), width = in.phi_k.extent(1), m = in.v.extent(1);
  const auto fade = [&](Matrix& A) {
    for (Index a = 0; a < width; ++a)
      for (Index b = 0; b < m; ++b) A(a, b) = A(a, b) * (Number(1) - c);
  };
  Matrix S(width, m), R(width, m);
  for (Index i = 0; i < n; ++i) {
    fade(S);
    right::add_outer(right::kState, S, in.phi_k[i], in.v[i]);
    for (Index a = 0; a < width; ++a) out.grad_phi_q(i, a) = dot(S[a], in.grad_o[i]);
  }
  for (Index i = n - 1; i >= 0; --i) {
    fade(R);
    right::add_outer(right::kGradState, R, in.phi_q[i], in.grad_o[i]);
    for (Index a = 0; a < width; ++a) out.grad_phi_k(i, a) = dot(R[a], in.v[i]);
    for (Index b = 0; b < m; ++b) out.grad_v(i, b) = dot(R.column(b), in.phi_k[i]);
  }
}

}  // namespace attest::faults::linear::causal_numerator_backward
