// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/adaptive/confidence.hpp"
#include "faults/fault.hpp"

namespace attest::faults::adaptive::confidence {

namespace right = attest::reference::adaptive::confidence;
using right::In;
using right::Kind;
using right::Out;
using Order = std::vector<Index>;

/// Another response from the probabilities, and their order.
template <class F>
void with_response(const In& in, const Out& out, F&& response) {
  right::each_row(in, out, [&](const Vector& l, const Order& order) {
    return order.size() < 2 ? Number(1) : response(right::softmax::shifted(l).first, order);
  });
}

inline void max_only(const In& in, const Out& out) {
  with_response(in, out, [](const Vector& p, const Order& order) { return p(order[0]); });
}
inline void top1_minus_top3(const In& in, const Out& out) {
  with_response(in, out, [](const Vector& p, const Order& order) {
    return p(order[0]) - (order.size() > 2 ? p(order[2]) : Number(0));
  });
}
inline void relative_gap(const In& in, const Out& out) {
  with_response(in, out, [](const Vector& p, const Order& order) { return 1 - p(order[1]) / p(order[0]); });
}
inline void among_two(const In& in, const Out& out) {
  with_response(in, out, [](const Vector& p, const Order& order) {
    return (p(order[0]) - p(order[1])) / (p(order[0]) + p(order[1]));
  });
}

inline void logit_gap(const In& in, const Out& out) {
  right::each_row(in, out,
                  [](const Vector& l, const Order& order) { return right::gap(order, [&](Index t) { return l(t); }); });
}
inline void sigmoids(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& l, const Order& order) {
    return right::gap(order, [&](Index t) { return sigmoid(l(t)); });
  });
}
inline void next_smaller_value(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& l, const Order& order) {
    const auto p = right::softmax::shifted(l).first;
    for (const Index t : order)
      if (less(l(t), l(order[0]))) return p(order[0]) - p(t);
    return order.size() < 2 ? Number(1) : p(order[0]);
  });
}
inline void search_from_zero(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& l, const Order& order) {
    const auto found = [&](Index t) { return positive(l(t)) ? l(t) : Number(0); };
    if (order.size() < 2) return Number(1);
    const Number lse = right::softmax::log_sum_exp(l);
    return exp(found(order[0]) - lse) - exp(found(order[1]) - lse);
  });
}
inline void no_shift(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& l, const Order& order) {
    const auto e = tabulate(l.extent(), [&](Index t) { return exp(l(t)); });
    return order.size() < 2 ? Number(1) : (e(order[0]) - e(order[1])) / sum(e);
  });
}
inline void logits_drift(const In& in, const Out& out, const Number& c) {
  right::each_row(in, out, [&](const Vector& l, const Order& order) {
    const auto p = right::softmax::shifted(tabulate(l.extent(), [&](Index t) { return l(t) * (1 + c); })).first;
    return right::gap(order, [&](Index t) { return p(t); });
  });
}

/// The first words alone.
inline void words(In in, const Out& out, Index count) {
  if (count > 0) in.logits = in.logits.columns(0, count);
  right::sort(in, out);
}
inline void last_word_dropped(const In& in, const Out& out) { words(in, out, in.logits.extent(1) - 1); }
inline void tail_dropped(const In& in, const Out& out) { words(in, out, in.logits.extent(1) / 8 * 8); }

inline void kind_ignored(In in, const Out& out) {
  in.kind = Kind::response;
  right::sort(in, out);
}

/// Another comparison of the states.
template <class F>
void with_states(const In& in, const Out& out, F&& compare) {
  if (in.kind == Kind::response) return right::sort(in, out);
  for (Index r = 0; r < in.before.extent(0); ++r) {
    const Number u_v = dot(in.before[r], in.after[r]), u_u = dot(in.before[r], in.before[r]),
                 v_v = dot(in.after[r], in.after[r]);
    out.c(r) = is_zero(u_u) || is_zero(v_v) ? not_a_number() : compare(u_v, u_u, v_v);
  }
}
inline void unnormalised_dot(const In& in, const Out& out) {
  with_states(in, out, [](const Number& u_v, const Number&, const Number&) { return u_v; });
}
inline void cosine_distance(const In& in, const Out& out) {
  with_states(in, out,
              [](const Number& u_v, const Number& u_u, const Number& v_v) { return 1 - u_v / sqrt(u_u * v_v); });
}
inline void one_norm(const In& in, const Out& out) {
  with_states(in, out, [](const Number& u_v, const Number& u_u, const Number&) { return u_v / u_u; });
}
inline void absolute_cosine(const In& in, const Out& out) {
  with_states(in, out, [](const Number& u_v, const Number& u_u, const Number& v_v) {
    return (positive(u_v) ? u_v : -u_v) / sqrt(u_u * v_v);
  });
}
inline void squared_norms(const In& in, const Out& out) {
  with_states(in, out, [](const Number& u_v, const Number& u_u, const Number& v_v) { return u_v / (u_u * v_v); });
}
inline void epsilon_in_norms(const In& in, const Out& out) {
  with_states(in, out, [](const Number& u_v, const Number& u_u, const Number& v_v) {
    return u_v / (sqrt(u_u * v_v) + rational(1, 1000000));
  });
}

}  // namespace attest::faults::adaptive::confidence
