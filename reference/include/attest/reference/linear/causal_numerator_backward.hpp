// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/tape.hpp"
#include "attest/reference/vocabulary.hpp"
#include "attest/spec/linear/causal_numerator_backward.hpp"

namespace attest::reference::linear::causal_numerator_backward {

using In = attest::spec::linear::causal_numerator_backward::In<Number>;
using Out = attest::spec::linear::causal_numerator_backward::Out<Number>;

/// The stages of S = sum_j phi_k_j v_j^T and R = sum_j phi_q_j G_j^T, of phi_q phi_k^T and G v^T.
inline constexpr std::string_view kState = "state", kGradState = "grad state", kWeights = "weights",
                                  kGradWeights = "grad weights";

/// A <- A + x y^T
inline void add_outer(std::string_view label, Matrix& A, Row x, Row y) {
  for (Index a = 0; a < x.extent(0); ++a)
    for (Index b = 0; b < y.extent(0); ++b) A(a, b) = stage(label, A(a, b) + x(a) * y(b));
}

/// A <- A + x^T y
inline void add_product(std::string_view label, Matrix& A, View<const Number, 2> x, View<const Number, 2> y) {
  for (Index a = 0; a < x.extent(1); ++a)
    for (Index b = 0; b < y.extent(1); ++b) A(a, b) = stage(label, dot(x.column(a), y.column(b), A(a, b)));
}

/// dphi_q_i = (sum_{j <= i} phi_k_j v_j^T) G_i
/// dphi_k_i = (sum_{j >= i} phi_q_j G_j^T) v_i
/// dv_i     = (sum_{j >= i} phi_q_j G_j^T)^T phi_k_i      [Katharopoulos et al. 2020, eq. 13 to 15, corrected]
inline void two_sweeps(const In& in, const Out& out) {
  const auto [n, c] = in.phi_k.extents();
  const Index m = in.v.extent(1);
  Matrix S(c, m), R(c, m);
  for (Index i = 0; i < n; ++i) {
    add_outer(kState, S, in.phi_k[i], in.v[i]);
    for (Index a = 0; a < c; ++a) out.grad_phi_q(i, a) = dot(S[a], in.grad_o[i]);
  }
  for (Index i = n - 1; i >= 0; --i) {
    add_outer(kGradState, R, in.phi_q[i], in.grad_o[i]);
    for (Index a = 0; a < c; ++a) out.grad_phi_k(i, a) = dot(R[a], in.v[i]);
    for (Index b = 0; b < m; ++b) out.grad_v(i, b) = dot(R.column(b), in.phi_k[i]);
  }
}

/// tril(x y^T) z, row i over tokens j <= i
template <class F>
void look_back(std::string_view label, View<const Number, 2> x, View<const Number, 2> y, View<const Number, 2> z,
               F&& row) {
  for (Index i = 0; i < x.extent(0); ++i) {
    const auto w = stage(label, tabulate(i + 1, [&](Index j) { return dot(x[i], y[j]); }));
    for (Index a = 0; a < z.extent(1); ++a) row(i, a, dot(w, z.rows(0, i + 1).column(a)));
  }
}

/// tril(x y^T)^T z, row i over tokens j >= i
template <class F>
void look_ahead(std::string_view label, View<const Number, 2> x, View<const Number, 2> y, View<const Number, 2> z,
                F&& row) {
  for (Index i = 0; i < x.extent(0); ++i) {
    const Index rest = x.extent(0) - i;
    const auto w = stage(label, tabulate(rest, [&](Index t) { return dot(x[i + t], y[i]); }));
    for (Index a = 0; a < z.extent(1); ++a) row(i, a, dot(w, z.rows(i, rest).column(a)));
  }
}

/// W = tril(G v^T):  dphi_q = W phi_k,  dphi_k = W^T phi_q,  dv = tril(phi_q phi_k^T)^T G
inline void masked_matrices(const In& in, const Out& out) {
  look_back(kGradWeights, in.grad_o, in.v, in.phi_k,
            [&](Index i, Index a, Number x) { out.grad_phi_q(i, a) = std::move(x); });
  look_ahead(kGradWeights, in.grad_o, in.v, in.phi_q,
             [&](Index i, Index a, Number x) { out.grad_phi_k(i, a) = std::move(x); });
  look_ahead(kWeights, in.phi_q, in.phi_k, in.grad_o,
             [&](Index i, Index b, Number x) { out.grad_v(i, b) = std::move(x); });
}

/// cp(a, b, c)_i = a_i^T sum_{j <= i} b_j c_j^T
inline void causal_product(std::string_view label, View<const Number, 2> a, View<const Number, 2> b,
                           View<const Number, 2> c, View<Number, 2> result) {
  Matrix state(b.extent(1), c.extent(1));
  for (Index i = 0; i < a.extent(0); ++i) {
    add_outer(label, state, b[i], c[i]);
    for (Index e = 0; e < c.extent(1); ++e) result(i, e) = dot(a[i], state.column(e));
  }
}

/// dphi_q = cp(G, v, phi_k),  dphi_k = rev cp(rev v, rev G, rev phi_q),  dv = rev cp(rev phi_k, rev phi_q, rev G)
inline void causal_products(const In& in, const Out& out) {
  causal_product(kState, in.grad_o, in.v, in.phi_k, out.grad_phi_q);
  causal_product(kGradState, in.v.reversed(), in.grad_o.reversed(), in.phi_q.reversed(), out.grad_phi_k.reversed());
  causal_product(kGradState, in.phi_k.reversed(), in.phi_q.reversed(), in.grad_o.reversed(), out.grad_v.reversed());
}

/// Sums over earlier chunks left to right, over later chunks right to left; masked products inside a chunk.
inline void chunked(const In& in, const Out& out) {
  const auto [n, c] = in.phi_k.extents();
  const Index m = in.v.extent(1), chunks = (n + in.chunk - 1) / in.chunk;  // C1
  Matrix S(c, m), R(c, m);
  const auto joined = [](const Number& carried, const Number& inside) {
    return stage("share of the state", carried) + stage("share of the chunk", inside);
  };
  for (Index t = 0; t < chunks; ++t) {
    const Index first = t * in.chunk, count = std::min(in.chunk, n - first);
    const auto phi_k = in.phi_k.rows(first, count), v = in.v.rows(first, count), G = in.grad_o.rows(first, count);
    look_back(kGradWeights, G, v, phi_k, [&](Index i, Index a, const Number& inside) {
      out.grad_phi_q(first + i, a) = joined(dot(S[a], G[i]), inside);
    });
    add_product(kState, S, phi_k, v);
  }
  for (Index t = chunks - 1; t >= 0; --t) {
    const Index first = t * in.chunk, count = std::min(in.chunk, n - first);
    const auto phi_q = in.phi_q.rows(first, count), G = in.grad_o.rows(first, count);
    const auto phi_k = in.phi_k.rows(first, count), v = in.v.rows(first, count);
    look_ahead(kGradWeights, G, v, phi_q, [&](Index i, Index a, const Number& inside) {
      out.grad_phi_k(first + i, a) = joined(dot(R[a], v[i]), inside);
    });
    look_ahead(kWeights, phi_q, phi_k, G, [&](Index i, Index b, const Number& inside) {
      out.grad_v(first + i, b) = joined(dot(R.column(b), phi_k[i]), inside);
    });
    add_product(kGradState, R, phi_q, G);
  }
}

/// The forward pass recorded: L = sum_i G_i . Vbar_i with Vbar_i = phi_q_i^T S_i, differentiated by every input.
inline void tape(const In& in, const Out& out) {
  const auto [n, c] = in.phi_k.extents();
  const Index m = in.v.extent(1);
  Tape tape;
  const auto phi_q = tape.variables(in.phi_q), phi_k = tape.variables(in.phi_k), v = tape.variables(in.v);
  Matrix S(c, m);
  for (Index i = 0; i < n; ++i) {
    add_outer(kState, S, phi_k[i], v[i]);
    for (Index b = 0; b < m; ++b) tape.seed(dot(phi_q[i], S.column(b)), in.grad_o(i, b));
  }
  tape.differentiate();
  tape.write_adjoints(phi_q, out.grad_phi_q);
  tape.write_adjoints(phi_k, out.grad_phi_k);
  tape.write_adjoints(v, out.grad_v);
}

}  // namespace attest::reference::linear::causal_numerator_backward
