// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/reference/linear/feature_map.hpp"
#include "attest/reference/linear/polynomial_feature_map.hpp"
#include "attest/spec/attention/generalized.hpp"

namespace attest::reference::attention::generalized {

using attest::spec::attention::generalized::In;
using attest::spec::attention::generalized::Out;
using scaled_dot_product::Rows;
using Keys = std::vector<Index>;

/// S_i in ascending order.
template <class T>
Keys visible(const In<T>& in, Index i) {
  const scaled_dot_product::In<T> same{.q = in.q, .k = in.k, .v = in.v, .mask = in.mask, .bias = {}, .scale = {}, .causal = in.causal};
  return scaled_dot_product::visible(same, i);
}

/// Row i of x through a map of linear.feature_map.
template <class T>
Vector<T> mapped(const std::string& kind, View<const T, 2> x, Index i) {
  Matrix<T> phi(1, x.extent(1));
  linear::feature_map::branch<T>({.x = x.rows(i, 1), .kind = kind}, {.phi = phi.view()});
  return tabulate(x.extent(1), [&](Index a) { return phi(0, a); });
}

/// x^p
template <class T>
T power(const T& x, Index p) {
  T y = x;
  for (Index t = 1; t < p; ++t) y = y * x;
  return y;
}

/// |q_i - k_j|^2
template <class T>
T squared_distance(const In<T>& in, Index i, Index j) {
  return sum(in.q.extent(1), [&](Index a) { return power(T(in.q(i, a) - in.k(j, a)), 2); });
}

template <class T>
bool is_exponential(const In<T>& in) { return in.sim == "exp_dot" || in.sim == "rbf"; }

/// ln sim(q_i, k_j) where the similarity is an exponential.
template <class T>
T exponent(const In<T>& in, Index i, Index j) {
  if (in.sim == "rbf") return T(-in.gamma) * squared_distance(in, i, j);
  return scaled_dot_product::scale_of<T>(in) * dot<T>(in.q[i], in.k[j]);
}

/// sim(q_i, k_j)
template <class T>
T similarity(const In<T>& in, Index i, Index j) {
  if (is_exponential(in)) return exp(exponent(in, i, j));
  if (in.sim == "polynomial") return power(T(dot<T>(in.q[i], in.k[j]) + T(in.offset)), in.power);
  return dot<T>(mapped(in.phi, in.q, i), mapped(in.varphi, in.k, j));
}

/// f(key) for each of the keys.
template <class F>
auto over(const Keys& keys, F&& f) {
  return tabulate(static_cast<Index>(keys.size()), [&](Index t) { return f(keys[static_cast<std::size_t>(t)]); });
}

/// C5: x / z, or the convention where z is exactly 0.
template <class T>
T ratio(const In<T>& in, const T& x, const T& z) {
  if (is_zero(z)) return in.zero_denominator == "nan" ? T(std::nan("")) : T(0);
  return x / z;
}

/// Every form: o_i = sum_j w_j v_j / sum_j w_j with w = weights(i, keys).
template <class T, class F>
void each_row(const In<T>& in, const Out<T>& out, F&& weights) {
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const Keys keys = visible(in, i);
    const Vector<T> w = weights(i, keys);
    const Rows<T> v(in.v, keys);
    const T z = sum(w.extent(), [&](Index t) { return w(t); });
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = ratio(in, T(dot<T>(w, v.column(c))), z);
  }
}

/// e^(l_t - m), m the largest of them.
template <class T>
Vector<T> shifted(const Vector<T>& l) {
  if (l.extent() == 0) return l;
  const T m = pivot_max(l.extent(), [&](Index t) { return l(t); });
  return tabulate(l.extent(), [&](Index t) { return exp(l(t) - m); });
}

/// w_ij = sim(q_i, k_j)      [Katharopoulos et al. 2020, eq. 3]
template <class T>
void weights(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [&](Index i, const Keys& keys) { return over(keys, [&](Index j) { return similarity(in, i, j); }); });
}

/// The same where sim is no exponential; else w_ij = e^(l_ij - m), which has the same quotient.
template <class T>
void stable(const In<T>& in, const Out<T>& out) {
  if (!is_exponential(in)) return weights(in, out);
  each_row(in, out, [&](Index i, const Keys& keys) { return shifted(over(keys, [&](Index j) { return exponent(in, i, j); })); });
}

/// w_ij = e^(ln sim - m) over the keys where sim is not 0
template <class T>
void log_domain(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [&](Index i, const Keys& keys) {
    if (is_exponential(in)) return shifted(over(keys, [&](Index j) { return exponent(in, i, j); }));
    const auto sim = over(keys, [&](Index j) { return similarity(in, i, j); });
    std::vector<Index> some;
    for (Index t = 0; t < sim.extent(); ++t)
      if (!is_zero(sim(t))) some.push_back(t);
    const auto w = shifted(over(some, [&](Index t) { return T(log(sim(t))); }));
    Vector<T> all(sim.extent());
    for (Index t = 0; t < w.extent(); ++t) all(some[static_cast<std::size_t>(t)]) = w(t);
    return all;
  });
}

/// w_ij = e^(2 gamma q_i.k_j - gamma |k_j|^2 - m), since e^(-gamma |q_i|^2) cancels
template <class T>
void rbf_as_softmax(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [&](Index i, const Keys& keys) {
    return shifted(over(keys, [&](Index j) { return T(in.gamma) * (T(2) * dot<T>(in.q[i], in.k[j]) - dot<T>(in.k[j], in.k[j])); }));
  });
}

/// w_ij = phi(q_i) . phi(k_j), phi the features of linear.polynomial_feature_map: (q.k + c)^2 = (sum_a y_a(q) y_a(k))^2, y = [x, sqrt(c)]
template <class T>
void polynomial_features(const In<T>& in, const Out<T>& out) {
  const Index width = in.q.extent(1) + (in.offset > 0 ? 1 : 0);
  const auto phi = [&](View<const T, 2> x, Index i) {
    Matrix<T> features(1, width * width);
    linear::polynomial_feature_map::direct<T>({.x = x.rows(i, 1), .layout = "full", .constant = in.offset}, {.phi = features.view()});
    return tabulate(width * width, [&](Index a) { return features(0, a); });
  };
  each_row(in, out, [&](Index i, const Keys& keys) {
    const auto phi_q = phi(in.q, i);
    return over(keys, [&](Index j) { return dot<T>(phi_q, phi(in.k, j)); });
  });
}

}  // namespace attest::reference::attention::generalized
