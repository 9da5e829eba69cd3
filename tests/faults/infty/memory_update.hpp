// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infty/memory_update.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infty::memory_update {

namespace right = attest::reference::infty::memory_update;
using reference::infty::ridge_fit::fitted;
using right::Grid;
using right::In;
using right::Out;
using right::PastPoints;
using right::Refit;

/// The equation with the past sampled at point(j), where there is a past.
template <class F>
void with_points(const In& in, const Out& out, F&& point) {
  const auto psi = right::basis(in, right::samples(in), point);
  right::write_transposed(out, fitted(right::fitted_basis(in), parameter(in.penalty), right::joined(in, psi)));
}
/// With row r fitted at position(r).
template <class F>
void with_positions(const In& in, const Out& out, F&& position) {
  if (!in.coefficients) return right::direct(in, out);
  const Index rows = right::samples(in) + in.x_new.extent(0);
  right::write_transposed(out, fitted(right::basis(in, rows, position), parameter(in.penalty),
                                      right::joined(in, right::sampled_basis(in))));
}

inline void multiply_tau(const In& in, const Out& out) {
  const Number tau = parameter(in.tau);
  with_points(in, out, [&](Index j) { return tau * tau * right::past_point(in, j); });
}
inline void sampled_where_fitted(const In& in, const Out& out) {
  const Number tau = parameter(in.tau);
  with_points(in, out, [&](Index j) { return tau * right::past_point(in, j); });
}
inline void sample_whole_line(const In& in, const Out& out) {
  const Number tau = parameter(in.tau);
  with_points(in, out, [&](Index j) { return right::past_point(in, j) / tau; });
}
inline void points_ignored(In in, const Out& out) {
  in.past_points = PastPoints::left;
  right::direct(in, out);
}

inline void no_contraction(const In& in, const Out& out) {
  const Index m = right::samples(in), l = in.x_new.extent(0);
  with_positions(in, out, [&](Index r) {
    return r < m ? right::grid_point(in.grid, r, m) : right::grid_point(in.grid, r - m, l);
  });
}
inline void new_first(const In& in, const Out& out) {
  const Index m = right::samples(in), l = in.x_new.extent(0);
  with_positions(in, out, [&](Index r) { return right::position(in, r < m ? r + l : r - m); });
}
inline void midpoints(const In& in, const Out& out) {
  const Index m = right::samples(in), l = in.x_new.extent(0);
  const Number tau = parameter(in.tau);
  with_positions(in, out, [&](Index r) {
    return r < m || in.refit == Refit::uniform ? right::position(in, r)
                                               : tau + (1 - tau) * rational(2 * (r - m) + 1, 2 * l);
  });
}
inline void tau_complement(In in, const Out& out) {
  in.tau = 1 - in.tau;
  right::direct(in, out);
}
inline void tau_ignored(In in, const Out& out) {
  in.tau = 0.5;
  right::direct(in, out);
}
inline void refit_ignored(In in, const Out& out) {
  in.refit = Refit::contracted;
  right::direct(in, out);
}
inline void uniform_unasked(In in, const Out& out) {
  in.refit = Refit::uniform;
  right::direct(in, out);
}
inline void grid_ignored(In in, const Out& out) {
  in.grid = Grid::left;
  right::direct(in, out);
}

/// The equation without its past.
inline Matrix fit_of_new_tokens(In in) {
  in.coefficients = {};
  return fitted(right::fitted_basis(in), parameter(in.penalty), in.x_new);
}
inline void past_dropped(const In& in, const Out& out) { right::write_transposed(out, fit_of_new_tokens(in)); }
inline void old_coefficients_kept(const In& in, const Out& out) {
  auto sum = fit_of_new_tokens(in);
  if (in.coefficients)
    for (Index k = 0; k < sum.extent(0); ++k)
      for (Index a = 0; a < sum.extent(1); ++a) sum(k, a) = sum(k, a) + in.coefficients(a, k);
  right::write_transposed(out, sum);
}

inline void zeros_beyond(const In& in, const Out& out) {
  const Index rows = right::samples(in) + in.x_new.extent(0), l = in.x_new.extent(0);
  const auto psi = right::basis(
      in, rows + l, [&](Index r) { return r < rows ? right::position(in, r) : 1 + rational(r - rows + 1, l); });
  const auto x = right::joined(in, right::sampled_basis(in));
  right::write_transposed(
      out, fitted(psi, parameter(in.penalty),
                  matrix_of(rows + l, x.extent(1), [&](Index r, Index a) { return r < rows ? x(r, a) : Number(0); })));
}

inline void with_penalty(const In& in, const Out& out, const Number& penalty) {
  right::write_transposed(out, fitted(right::fitted_basis(in), penalty, right::joined(in, right::sampled_basis(in))));
}
inline void penalty_missing(const In& in, const Out& out) {
  const Index rows = right::samples(in) + in.x_new.extent(0);
  with_penalty(in, out, in.c.extent(0) <= rows ? Number(0) : parameter(in.penalty));
}
inline void penalty_times_rows(const In& in, const Out& out) {
  with_penalty(in, out, parameter(in.penalty) * (right::samples(in) + in.x_new.extent(0)));
}

inline void last_token_dropped(const In& in, const Out& out) {
  const Index rows = right::samples(in) + in.x_new.extent(0) - 1;
  const auto psi = right::fitted_basis(in), x = right::joined(in, right::sampled_basis(in));
  right::write_transposed(out, fitted(View<const Number, 2>(psi).columns(0, rows), parameter(in.penalty),
                                      View<const Number, 2>(x).rows(0, rows)));
}

inline void sample_drift(In in, const Out& out, const Number& c) {
  if (!in.coefficients) return right::direct(in, out);
  const auto coefficients = matrix_of(in.coefficients.extent(0), in.coefficients.extent(1),
                                      [&](Index a, Index k) { return in.coefficients(a, k) * (1 + c); });
  in.coefficients = read_only(coefficients);
  right::direct(in, out);
}

}  // namespace attest::faults::infty::memory_update
