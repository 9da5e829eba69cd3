// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/infty/ridge_fit.hpp"

namespace attest::reference::infty::ridge_fit {

using In = attest::spec::infty::ridge_fit::In<Number>;
using Out = attest::spec::infty::ridge_fit::Out<Number>;
using Tokens = View<const Number, 2>;

/// psi psi^T + lambda I
inline Matrix gram(const Tokens& psi, const Number& lambda) {
  const Index b = psi.extent(0);
  Matrix a(b, b);
  for (Index k = 0; k < b; ++k)
    for (Index j = 0; j <= k; ++j)
      a(k, j) = a(j, k) = stage("gram matrix", k == j ? dot(psi[k], psi[j], lambda) : dot(psi[k], psi[j]));
  return a;
}

/// a b
inline Matrix product_of(const Tokens& a, const Tokens& b) {
  Matrix c(a.extent(0), b.extent(1));
  for (Index i = 0; i < a.extent(0); ++i) {
    const auto row = product(a[i], b);
    for (Index j = 0; j < b.extent(1); ++j) c(i, j) = row(j);
  }
  return c;
}

/// The norm of those rows.
inline double norm_of(const Tokens& rows) {
  double squares = 0;
  for (Index i = 0; i < rows.extent(0); ++i)
    for (Index j = 0; j < rows.extent(1); ++j) squares += approximate(rows(i, j)) * approximate(rows(i, j));
  return std::sqrt(squares);
}

/// The roundings of a sum over tokens, or of a few reflections or rotations over tokens and functions.
inline Index steps_of_fit(const Tokens& psi) { return psi.extent(0) + psi.extent(1) + 7; }

/// psi x. Reflections and rotations of [psi^T, x] err by the norms of both, where a projection may be small.
inline Matrix projections(const Tokens& psi, const Tokens& x) {
  Matrix p = product_of(psi, x);
  const double norm = norm_of(psi);
  for (Index a = 0; a < x.extent(1); ++a) {
    const double size = norm * norm_of(x.columns(a, 1));
    for (Index k = 0; k < psi.extent(0); ++k) p(k, a) = stable_by_norm(p(k, a), size, steps_of_fit(psi));
  }
  return stage("projections", std::move(p));
}

/// The transposed coefficients, (psi psi^T + lambda I)^-1 psi x.
inline Matrix fitted(const Tokens& psi, const Number& lambda, const Tokens& x) {
  return solve(gram(psi, lambda), projections(psi, x));
}

/// g^T = (psi psi^T + lambda I)^-1 psi, of which the transposed coefficients are a multiple: g^T x
inline Matrix fitting_operator(const Tokens& psi, const Number& lambda) {
  Matrix p(psi, psi.extent(0), psi.extent(1));
  const double norm = norm_of(psi);
  for (Index k = 0; k < p.extent(0); ++k)
    for (Index t = 0; t < p.extent(1); ++t) p(k, t) = stable_by_norm(p(k, t), norm, steps_of_fit(psi));
  return stage("operator", solve(gram(psi, lambda), p));
}

/// Both outputs from the transposed coefficients; x_fit = psi^T coefficients^T, which kernels may also compute as U f
/// U^T x from an orthogonal U, off by norms again.
inline void write(const In& in, const Out& out, const Matrix& transposed) {
  for (Index a = 0; a < transposed.extent(1); ++a)
    for (Index k = 0; k < transposed.extent(0); ++k) out.coefficients(a, k) = transposed(k, a);
  if (!out.x_fit) return;
  std::vector<double> norms;
  for (Index a = 0; a < in.x.extent(1); ++a) norms.push_back(norm_of(in.x.columns(a, 1)));
  for (const Index t : wanted(out.x_fit)) {
    const Vector row = product(in.psi.column(t), transposed);
    for (Index a = 0; a < row.extent(); ++a)
      out.x_fit(t, a) = stable_by_norm(row(a), norms[static_cast<std::size_t>(a)], steps_of_fit(in.psi));
  }
}

/// coefficients = x^T psi^T (psi psi^T + lambda I)^-1      [Martins et al. 2021, section 3.1]
inline void primal_cholesky(const In& in, const Out& out) {
  write(in, out, fitted(in.psi, parameter(in.penalty), in.x));  // C1
}

/// x^T (psi^T psi + lambda I)^-1 psi^T
inline void dual(const In& in, const Out& out) {
  const Matrix residuals = stage("residuals", solve(gram(in.psi.transposed(), parameter(in.penalty)), in.x));
  write(in, out, product_of(in.psi, residuals));
}

inline void fit_operator(const In& in, const Out& out) {
  write(in, out, product_of(fitting_operator(in.psi, parameter(in.penalty)), in.x));
}

/// [psi^T; sqrt(lambda) I], a column per function.
inline Matrix augmented(const In& in) {
  const auto [b, l] = in.psi.extents();
  const Number root = sqrt(parameter(in.penalty));
  Matrix a(l + b, b);
  for (Index k = 0; k < b; ++k) {
    for (Index t = 0; t < l; ++t) a(t, k) = in.psi(k, t);
    a(l + k, k) = root;
  }
  return a;
}

/// Modified Gram-Schmidt orthogonalisation of the columns, of x last: R coefficients^T = Q^T x
inline void augmented_qr(const In& in, const Out& out) {
  const auto [b, l] = in.psi.extents();
  const Index d = in.x.extent(1);
  Matrix q = augmented(in), r(b, b), rest(l + b, d), projections(b, d);
  for (Index t = 0; t < l; ++t)
    for (Index a = 0; a < d; ++a) rest(t, a) = in.x(t, a);
  const auto without = [](Matrix& of, Index column, const Number& factor, const Matrix& from, Index direction) {
    for (Index i = 0; i < of.extent(0); ++i) of(i, column) = of(i, column) - factor * from(i, direction);
  };
  for (Index k = 0; k < b; ++k) {
    r(k, k) = sqrt(dot(q.column(k), q.column(k)));
    for (Index i = 0; i < l + b; ++i) q(i, k) = q(i, k) / r(k, k);
    for (Index j = k + 1; j < b; ++j) r(k, j) = dot(q.column(k), q.column(j)), without(q, j, r(k, j), q, k);
    for (Index a = 0; a < d; ++a)
      projections(k, a) = stage("projections", dot(q.column(k), rest.column(a))),
                     without(rest, a, projections(k, a), q, k);
  }
  Matrix transposed(b, d);
  for (Index a = 0; a < d; ++a)
    for (Index k = b; k-- > 0;)
      transposed(k, a) = (projections(k, a) -
                          sum(b - 1 - k, [&, k = k](Index j) { return r(k, k + 1 + j) * transposed(k + 1 + j, a); })) /
                         r(k, k);
  write(in, out, transposed);
}

/// psi^T V = W with columns that are orthogonal after a few sweeps of rotations (Jacobi's method on one side); then
/// coefficients^T = V diag(1 / (|w|^2 + lambda)) W^T x. Twelve sweeps of b <= 6 columns leave products far below every
/// precision that is asked for: each sweep squares them.
inline void svd(const In& in, const Out& out) {
  constexpr int sweeps = 12;
  const auto [b, l] = in.psi.extents();
  Matrix w(l, b), v(b, b);
  for (Index k = 0; k < b; ++k) {
    for (Index t = 0; t < l; ++t) w(t, k) = in.psi(k, t);
    v(k, k) = 1;
  }
  const auto rotate = [](Matrix& x, Index p, Index q, const Number& c, const Number& s) {
    for (Index i = 0; i < x.extent(0); ++i) {
      const Number left = x(i, p), right = x(i, q);
      x(i, p) = c * left - s * right;
      x(i, q) = s * left + c * right;
    }
  };
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (Index p = 0; p < b; ++p)
      for (Index q = p + 1; q < b; ++q) {
        const Number apart = dot(w.column(q), w.column(q)) - dot(w.column(p), w.column(p)),
                     twice = 2 * dot(w.column(p), w.column(q)), length = sqrt(apart * apart + twice * twice);
        if (approximate(length) == 0) continue;  // no columns, or one that is 0
        const Number tangent = approximate(apart) < 0 ? twice / (apart - length) : twice / (apart + length),
                     c = 1 / sqrt(1 + tangent * tangent);
        rotate(w, p, q, c, c * tangent);
        rotate(v, p, q, c, c * tangent);
      }
  const Number lambda = parameter(in.penalty);
  Matrix filtered(b, in.x.extent(1));
  for (Index k = 0; k < b; ++k) {
    const Number factor = dot(w.column(k), w.column(k)) + lambda;
    for (Index a = 0; a < in.x.extent(1); ++a)
      filtered(k, a) = stage("projections", dot(w.column(k), in.x.column(a))) / factor;
  }
  write(in, out, product_of(v, filtered));
}

}  // namespace attest::reference::infty::ridge_fit
