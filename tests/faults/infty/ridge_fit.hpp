// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infty/ridge_fit.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infty::ridge_fit {

namespace right = attest::reference::infty::ridge_fit;
using right::In;
using right::Out;

/// The equation with another penalty.
inline void with_penalty(const In& in, const Out& out, const Number& penalty) {
  right::write(in, out, right::fitted(in.psi, penalty, in.x));
}
/// The penalty times a factor.
inline void with_factor(const In& in, const Out& out, const Number& factor) {
  with_penalty(in, out, parameter(in.penalty) * factor);
}

inline void lambda_missing(const In& in, const Out& out) {
  const auto [b, l] = in.psi.extents();
  if (b <= l) return with_penalty(in, out, Number(0));
  right::write(in, out, matrix_of(b, in.x.extent(1), [](Index, Index) { return not_a_number(); }));
}
inline void pseudo_inverse(const In& in, const Out& out) {
  const auto [b, l] = in.psi.extents();
  if (b <= l) return with_penalty(in, out, Number(0));
  right::write(in, out, right::product_of(in.psi, solve(right::gram(in.psi.transposed(), Number(0)), in.x)));
}
inline void lambda_squared(const In& in, const Out& out) { with_factor(in, out, parameter(in.penalty)); }
inline void lambda_times_l(const In& in, const Out& out) { with_factor(in, out, Number(in.x.extent(0))); }
inline void mean_squared_loss(const In& in, const Out& out) {
  with_factor(in, out, Number(in.x.extent(0) * in.x.extent(1)));
}
inline void lambda_doubled(const In& in, const Out& out) { with_factor(in, out, Number(2)); }
inline void lambda_over_trace(const In& in, const Out& out) {
  const Index b = in.psi.extent(0);
  with_factor(in, out, sum(b, [&](Index k) { return dot(in.psi[k], in.psi[k]); }) / b);
}
inline void penalty_drift(const In& in, const Out& out, const Number& c) { with_factor(in, out, 1 + c); }

inline void transposed_coefficients(const In& in, const Out& out) {
  const Matrix transposed = right::fitted(in.psi, parameter(in.penalty), in.x);
  right::write(in, out, transposed);
  const auto [b, d] = std::pair(transposed.extent(0), transposed.extent(1));
  for (Index flat = 0; flat < b * d; ++flat) out.coefficients(flat / b, flat % b) = transposed(flat / d, flat % d);
}
inline void gram_missing(const In& in, const Out& out) {
  const Number penalty = parameter(in.penalty);
  right::write(in, out, matrix_of(in.psi.extent(0), in.x.extent(1), [&](Index k, Index a) {
                 return dot(in.psi[k], in.x.column(a)) / penalty;
               }));
}
inline void diagonal_gram(const In& in, const Out& out) {
  const Number penalty = parameter(in.penalty);
  right::write(in, out, matrix_of(in.psi.extent(0), in.x.extent(1), [&](Index k, Index a) {
                 return dot(in.psi[k], in.x.column(a)) / dot(in.psi[k], in.psi[k], penalty);
               }));
}
inline void last_token_dropped(const In& in, const Out& out) {
  const Index fewer = in.x.extent(0) - 1;
  right::write(in, out, right::fitted(in.psi.columns(0, fewer), parameter(in.penalty), in.x.rows(0, fewer)));
}
inline void signal_is_input(const In& in, const Out& out) {
  right::primal_cholesky(in, out);
  for (Index t = 0; t < out.x_fit.extent(0); ++t)
    for (Index a = 0; a < in.x.extent(1); ++a) out.x_fit(t, a) = in.x(t, a);
}
inline void tokens_centred(In in, const Out& out) {
  const auto [l, d] = in.x.extents();
  const auto means = tabulate(d, [&, rows = l](Index a) { return sum(in.x.column(a)) / rows; });
  const auto x = matrix_of(l, d, [&](Index t, Index a) { return in.x(t, a) - means(a); });
  in.x = read_only(x);
  right::primal_cholesky(in, out);
}

}  // namespace attest::faults::infty::ridge_fit
