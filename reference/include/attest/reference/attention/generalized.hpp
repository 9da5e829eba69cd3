// SPDX-License-Identifier: MIT
#pragma once

#include "attest/choice.hpp"
#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/reference/linear/feature_map.hpp"
#include "attest/reference/linear/polynomial_feature_map.hpp"
#include "attest/spec/attention/generalized.hpp"

namespace attest::reference::attention::generalized {

using In = attest::spec::attention::generalized::In<Number>;
using Out = attest::spec::attention::generalized::Out<Number>;
using attest::spec::attention::generalized::Sim;
using attest::spec::attention::generalized::ZeroDenominator;
using scaled_dot_product::Rows;
using Keys = std::vector<Index>;

/// S_i in ascending order.
inline Keys visible(const In& in, Index i) {
  const scaled_dot_product::In same{
      .q = in.q, .k = in.k, .v = in.v, .mask = in.mask, .bias = {}, .sink = {}, .scale = {}, .causal = in.causal};
  return scaled_dot_product::visible(same, i);
}

/// Row i of x through a map of linear.feature_map.
template <Choice Map>
Vector mapped(Map map, View<const Number, 2> x, Index i) {
  Matrix phi(1, x.extent(1));
  linear::feature_map::branch({.x = x.rows(i, 1), .kind = same_choice<linear::feature_map::Kind>(map)},
                              {.phi = phi.view()});
  return stage("features", tabulate(x.extent(1), [&](Index a) { return phi(0, a); }));
}

/// x^p
inline Number power(const Number& x, Index p) {
  Number y = x;
  for (Index t = 1; t < p; ++t) y = y * x;
  return y;
}

/// |q_i - k_j|^2
inline Number squared_distance(const In& in, Index i, Index j) {
  return stage("squared distances",
               sum(in.q.extent(1), [&](Index a) { return power(stage("differences", in.q(i, a) - in.k(j, a)), 2); }));
}

inline bool is_exponential(const In& in) { return in.sim == Sim::exp_dot || in.sim == Sim::rbf; }

/// ln sim(q_i, k_j) where the similarity is an exponential.
inline Number exponent(const In& in, Index i, Index j) {
  if (in.sim == Sim::rbf) return stage("logits", -parameter(in.gamma) * squared_distance(in, i, j));
  return stage("logits", scaled_dot_product::scale_of(in) * stage("products", dot(in.q[i], in.k[j])));
}

/// sim(q_i, k_j)
inline Number similarity(const In& in, Index i, Index j) {
  if (is_exponential(in)) return exp(exponent(in, i, j));
  if (in.sim == Sim::polynomial)
    return power(stage("base of the power", stage("products", dot(in.q[i], in.k[j])) + parameter(in.offset)), in.power);
  return dot(mapped(in.phi, in.q, i), mapped(in.varphi, in.k, j));
}

/// f(key) for each of the keys.
template <class F>
auto over(const Keys& keys, F&& f) {
  return tabulate(static_cast<Index>(keys.size()), [&](Index t) { return f(keys[static_cast<std::size_t>(t)]); });
}

/// C5: x / z, or the convention where z is exactly 0.
inline Number ratio(const In& in, const Number& x, const Number& z) {
  if (is_zero(z)) return in.zero_denominator == ZeroDenominator::nan ? not_a_number() : Number(0);
  return x / z;
}

/// Every form: o_i = sum_j w_j v_j / sum_j w_j with w = weights(i, keys).
template <class F>
void each_row(const In& in, const Out& out, F&& weights) {
  for (const Index i : wanted(out.o)) {
    const Keys keys = visible(in, i);
    const Vector w = stage("weights", weights(i, keys));
    const Rows v(in.v, keys);
    const Number z = stage("denominator", sum(w));
    const Vector o = stage("accumulator", product(stage("weight factors", w), v));
    for (Index c = 0; c < o.extent(); ++c) out.o(i, c) = ratio(in, o(c), z);
  }
}

/// e^(l_t - m), m the largest of them.
inline Vector shifted(const Vector& l) {
  if (l.extent() == 0) return l;
  const Number m = pivot_max(l.extent(), [&](Index t) { return l(t); });
  return tabulate(l.extent(), [&](Index t) { return softmax::exponential(l(t), m); });
}

/// w_ij = sim(q_i, k_j)      [Katharopoulos et al. 2020, eq. 3]
inline void weights(const In& in, const Out& out) {
  each_row(in, out,
           [&](Index i, const Keys& keys) { return over(keys, [&](Index j) { return similarity(in, i, j); }); });
}

/// The same where sim is no exponential; else w_ij = e^(l_ij - m), which has the same quotient.
inline void stable(const In& in, const Out& out) {
  if (!is_exponential(in)) return weights(in, out);
  each_row(in, out,
           [&](Index i, const Keys& keys) { return shifted(over(keys, [&](Index j) { return exponent(in, i, j); })); });
}

/// w_ij = e^(ln sim - m) over the keys where sim is not 0
inline void log_domain(const In& in, const Out& out) {
  each_row(in, out, [&](Index i, const Keys& keys) {
    if (is_exponential(in)) return shifted(over(keys, [&](Index j) { return exponent(in, i, j); }));
    const auto sim = stage("similarities", over(keys, [&](Index j) { return similarity(in, i, j); }));
    std::vector<Index> some;
    for (Index t = 0; t < sim.extent(); ++t)
      if (!is_zero(sim(t))) some.push_back(t);
    const auto w = shifted(stage("logits", over(some, [&](Index t) { return log(sim(t)); })));
    Vector all(sim.extent());
    for (Index t = 0; t < w.extent(); ++t) all(some[static_cast<std::size_t>(t)]) = w(t);
    return all;
  });
}

/// w_ij = e^(2 gamma q_i.k_j - gamma |k_j|^2 - m), since e^(-gamma |q_i|^2) cancels
inline void rbf_as_softmax(const In& in, const Out& out) {
  each_row(in, out, [&](Index i, const Keys& keys) {
    return shifted(over(keys, [&](Index j) {
      const Number q_k = stage("products", dot(in.q[i], in.k[j])), k_k = stage("squared norms", dot(in.k[j], in.k[j]));
      return stage("logits", parameter(in.gamma) * (2 * q_k - k_k));
    }));
  });
}

/// w_ij = phi(q_i) . phi(k_j), phi the features of linear.polynomial_feature_map: (q.k + c)^2 = (sum_a y_a(q)
/// y_a(k))^2, y = [x, sqrt(c)]
inline void polynomial_features(const In& in, const Out& out) {
  const Index width = in.q.extent(1) + (in.offset > 0 ? 1 : 0);
  const auto phi = [&](View<const Number, 2> x, Index i) {
    Matrix features(1, width * width);
    linear::polynomial_feature_map::direct(
        {.x = x.rows(i, 1), .layout = linear::polynomial_feature_map::Layout::full, .constant = in.offset},
        {.phi = features.view()});
    return stage("features", tabulate(width * width, [&](Index a) { return features(0, a); }));
  };
  each_row(in, out, [&](Index i, const Keys& keys) {
    const auto phi_q = phi(in.q, i);
    return over(keys, [&](Index j) { return dot(phi_q, phi(in.k, j)); });
  });
}

}  // namespace attest::reference::attention::generalized
