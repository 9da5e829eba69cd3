// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "attest/spec/adaptive/confidence.hpp"

namespace attest::reference::adaptive::confidence {

namespace softmax = attention::softmax;
using In = attest::spec::adaptive::confidence::In<Number>;
using Out = attest::spec::adaptive::confidence::Out<Number>;
using attest::spec::adaptive::confidence::Kind;

/// Words by their logits, the largest first; equal ones by index.
inline std::vector<Index> descending(const Row& logits) {
  std::vector<Index> order(static_cast<std::size_t>(logits.extent(0)));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return less(logits(b), logits(a)); });
  return order;
}

/// p(largest) - p(second); 1 for a single word. A kernel that sorts probabilities may take any of those that are equal
/// within its error, and its gradient is that one's.
template <class F>
Number gap(const std::vector<Index>& order, F&& p) {
  if (order.size() < 2) return Number(1);
  const Number first = p(order[0]);
  Number second = p(order[1]);
  for (std::size_t t = 2; t < order.size(); ++t) {
    const Number other = p(order[t]);
    if (!may_be_larger(other, second)) break;
    second = larger_of(second, other);
  }
  return larger_of(first, second) + larger_of(-second, -first);
}

/// u . v / (|u| |v|)      C1
inline Number cosine(const Row& u, const Row& v) {
  const Number u_u = stage("squared norms", dot(u, u)), v_v = stage("squared norms", dot(v, v));
  if (is_zero(u_u) || is_zero(v_v)) return not_a_number();
  return stage("products", dot(u, v)) / (stage("norms", sqrt(u_u)) * stage("norms", sqrt(v_v)));
}

/// Every form: c_r = response(logits of the row, their order), or the cosine.
template <class F>
void each_row(const In& in, const Out& out, F&& response) {
  for (const Index r : wanted(out.c)) {
    if (in.kind == Kind::saturation)
      out.c(r) = cosine(in.before[r], in.after[r]);
    else
      out.c(r) =
          response(tabulate(in.logits.extent(1), [&](Index t) { return in.logits(r, t); }), descending(in.logits[r]));
  }
}

/// c = p_(1) - p_(2)      [Schuster et al. 2022, section 3.4]
inline void sort(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& l, const std::vector<Index>& order) {
    const auto p = softmax::shifted(l).first;
    return gap(order, [&](Index t) { return p(t); });
  });
}

/// (e^(l_(1) - m) - e^(l_(2) - m)) / sum_t e^(l_t - m)
inline void top2(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& l, const std::vector<Index>& order) {
    const softmax::Exponentials of(l);
    return order.size() < 2 ? Number(1) : gap(order, [&](Index t) { return of.e(t); }) / of.z;
  });
}

/// e^(l_(1) - lse) - e^(l_(2) - lse)
inline void log_domain(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& l, const std::vector<Index>& order) {
    const Number lse = stage("log-sum-exp", softmax::log_sum_exp(l));
    return gap(order, [&](Index t) { return stage("weights", softmax::exponential(l(t), lse)); });
  });
}

}  // namespace attest::reference::adaptive::confidence
