// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infty/attention.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infty::attention {

namespace right = attest::reference::infty::attention;
using right::Domain;
using right::In;
using right::Normal;
using right::Out;

/// The equation with other expectations r = f(density).
template <class F>
void with_expectations(const In& in, const Out& out, F&& f) {
  const Matrix values = right::of_functions(in, in.w_v);
  right::each_query(in, out, [&](const Normal& t) { return product(f(t), values); });
}

inline void nearest_basis(const In& in, const Out& out) {
  with_expectations(in, out, [&](const Normal& t) {
    auto r = right::expectations(in, t);
    const Index nearest = top_k(1, r).at(0);
    return tabulate(r.extent(), [&](Index k) { return k == nearest ? r(k) : Number(0); });
  });
}
inline void r_normalised(const In& in, const Out& out) {
  with_expectations(in, out, [&](const Normal& t) {
    const auto r = right::expectations(in, t);
    const Number total = sum(r);
    return tabulate(r.extent(), [&](Index k) { return r(k) / total; });
  });
}
inline void mean_only(const In& in, const Out& out) {
  with_expectations(in, out, [&](const Normal& t) {
    return tabulate(in.c.extent(0), [&](Index k) {
      return reference::infty::expectation::expected(t.mean, Number(0), in.c(k), in.s(k), in.domain, in.normalised);
    });
  });
}
inline void basis_variance_missing(const In& in, const Out& out) {
  with_expectations(in, out, [&](const Normal& t) {
    return tabulate(in.c.extent(0),
                    [&](Index k) { return reference::infty::expectation::density(t.mean, {in.c(k), t.variance}); });
  });
}
/// The equation with other densities.
template <class F>
void with_density(const In& in, const Out& out, F&& f) {
  const auto all = right::densities(in, out);
  const Matrix values = right::of_functions(in, in.w_v);
  for (Index i = 0; i < in.q.extent(0); ++i) assign(out.z[i], product(right::expectations(in, f(all, i)), values));
}
inline void first_query_for_all(const In& in, const Out& out) {
  with_density(in, out, [](const std::vector<Normal>& all, Index) { return all[0]; });
}
/// The sigmoid of x is 1 - e^-softplus(x).
inline void sigma_is_sigmoid(const In& in, const Out& out) {
  with_density(in, out, [](const std::vector<Normal>& all, Index i) {
    const auto& t = all[static_cast<std::size_t>(i)];
    return Normal{t.mean, 1 - exp(-t.variance)};
  });
}

inline void value_projection_missing(In in, const Out& out) {
  const auto w = matrix_of(in.w_v.extent(0), in.w_v.extent(1), [](Index a, Index c) { return Number(a == c ? 1 : 0); });
  in.w_v = read_only(w);
  right::fused(in, out);
}
inline void keys_as_values(In in, const Out& out) {
  const Index d = in.w_k.extent(1);
  const auto w = matrix_of(in.w_v.extent(0), in.w_v.extent(1), [&](Index a, Index c) { return in.w_k(a, c % d); });
  in.w_v = read_only(w);
  right::fused(in, out);
}
inline void values_as_keys(In in, const Out& out) {
  const Index m = in.w_v.extent(1);
  const auto w = matrix_of(in.w_k.extent(0), in.w_k.extent(1), [&](Index a, Index c) { return in.w_v(a, c % m); });
  in.w_k = read_only(w);
  right::fused(in, out);
}
inline void coefficients_transposed(In in, const Out& out) {
  const auto [e, b] = in.coefficients.extents();
  const auto x = matrix_of(e, b, [&, rows = e, columns = b](Index a, Index k) {
    const Index flat = k * rows + a;
    return in.coefficients(flat / columns, flat % columns);
  });
  in.coefficients = read_only(x);
  right::fused(in, out);
}

inline void weights_swapped(In in, const Out& out) {
  std::swap(in.w_mu, in.w_sigma);
  right::fused(in, out);
}
inline void biases_missing(In in, const Out& out) {
  in.b_mu = {}, in.b_sigma = {};
  right::fused(in, out);
}
inline void kappa_missing(In in, const Out& out) {
  in.kappa = 1;
  right::fused(in, out);
}
inline void min_sigma2_ignored(In in, const Out& out) {
  in.min_sigma2 = 0;
  right::fused(in, out);
}
inline void truncated_silently(In in, const Out& out) {
  in.domain = Domain::unit_interval;
  right::fused(in, out);
}
inline void not_truncated(In in, const Out& out) {
  in.domain = Domain::real_line;
  right::fused(in, out);
}
inline void unnormalised_basis(In in, const Out& out) {
  in.normalised = false;
  right::fused(in, out);
}

inline void last_function_dropped(const In& in, const Out& out) {
  with_expectations(in, out, [&](const Normal& t) {
    const auto r = right::expectations(in, t);
    return tabulate(r.extent(), [&](Index k) { return r.extent() % 2 == 1 && k + 1 == r.extent() ? Number(0) : r(k); });
  });
}
inline void signal_drift(const In& in, const Out& out, const Number& c) {
  with_expectations(in, out, [&](const Normal& t) {
    const auto r = right::expectations(in, t);
    return tabulate(r.extent(), [&](Index k) { return r(k) * (1 + c); });
  });
}

}  // namespace attest::faults::infty::attention
