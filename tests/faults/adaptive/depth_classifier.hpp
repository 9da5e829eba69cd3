// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/adaptive/depth_classifier.hpp"
#include "faults/fault.hpp"

namespace attest::faults::adaptive::depth_classifier {

namespace right = attest::reference::adaptive::depth_classifier;
using right::In;
using right::Kind;
using right::Out;

/// q from the logits of each token, or of the mean in place of a token.
template <class F>
void with_distribution(const In& in, const Out& out, F&& of_logits) {
  for (Index t = 0; t < in.x.extent(0); ++t)
    assign(out.q[t], of_logits(right::logits(in, in.kind == Kind::sequence ? right::mean_token(in).view() : in.x[t])));
}
inline Vector softmax_of(const Vector& l) { return right::softmax::result(l).first; }

/// Another row in place of the mean.
template <class F>
void with_mean(const In& in, const Out& out, F&& mean) {
  if (in.kind == Kind::token) return right::mean_then_project(in, out);
  right::to_all(out, softmax_of(right::logits(in, tabulate(in.x.extent(1), mean))));
}

inline void sum_not_mean(const In& in, const Out& out) {
  const auto tokens = right::counted(in);
  with_mean(in, out, [&](Index a) {
    return sum(static_cast<Index>(tokens.size()),
               [&](Index i) { return in.x(tokens[static_cast<std::size_t>(i)], a); });
  });
}
inline void divided_by_all(const In& in, const Out& out) {
  const auto tokens = right::counted(in);
  with_mean(in, out, [&](Index a) {
    return sum(static_cast<Index>(tokens.size()),
               [&](Index i) { return in.x(tokens[static_cast<std::size_t>(i)], a); }) /
           Number(in.x.extent(0));
  });
}
inline void feature_mean(const In& in, const Out& out) {
  const auto mean = right::mean_token(in);
  with_mean(in, out, [&](Index) { return sum(mean) / Number(mean.extent()); });
}
inline void first_token_only(const In& in, const Out& out) {
  with_mean(in, out, [&](Index a) { return in.x(0, a); });
}
inline void largest_entries(const In& in, const Out& out) {
  with_mean(in, out, [&](Index a) {
    Number most = in.x(0, a);
    for (const Index t : right::counted(in))
      if (less(most, in.x(t, a))) most = in.x(t, a);
    return most;
  });
}
inline void last_token_dropped(const In& in, const Out& out) {
  auto tokens = right::counted(in);
  if (tokens.size() > 1) tokens.pop_back();
  with_mean(in, out, [&](Index a) { return right::mean(tokens, [&](Index t) { return in.x(t, a); }); });
}

inline void padding_counted(In in, const Out& out) {
  in.counted = {};
  right::mean_then_project(in, out);
}
inline void kind_ignored(In in, const Out& out) {
  in.kind = Kind::sequence;
  right::mean_then_project(in, out);
}
inline void token_for_sequence(In in, const Out& out) {
  in.kind = Kind::token;
  right::mean_then_project(in, out);
}
inline void mean_of_probabilities(const In& in, const Out& out) {
  if (in.kind == Kind::token) return right::mean_then_project(in, out);
  const auto tokens = right::counted(in);
  std::vector<Vector> each;
  for (Index t = 0; t < in.x.extent(0); ++t) each.push_back(softmax_of(right::logits(in, in.x[t])));
  right::to_all(out, tabulate(in.w.extent(0), [&](Index n) {
                  return right::mean(tokens, [&](Index t) { return each[static_cast<std::size_t>(t)](n); });
                }));
}

inline void softmax_over_time(const In& in, const Out& out) {
  if (in.kind == Kind::sequence) return right::mean_then_project(in, out);
  const Index tokens = in.x.extent(0);
  std::vector<Vector> l;
  for (Index t = 0; t < tokens; ++t) l.push_back(right::logits(in, in.x[t]));
  for (Index n = 0; n < in.w.extent(0); ++n)
    assign(out.q.column(n), softmax_of(tabulate(tokens, [&](Index t) { return l[static_cast<std::size_t>(t)](n); })));
}
inline void softmax_of_one(const In& in, const Out& out) {
  right::to_all(out, tabulate(in.w.extent(0), [](Index) { return Number(1); }));
}
inline void bias_missing(const In& in, const Out& out) {
  with_distribution(in, out, [&](const Vector& l) {
    return softmax_of(tabulate(l.extent(), [&](Index n) { return l(n) - in.b(n); }));
  });
}
inline void scaled(const In& in, const Out& out) {
  with_distribution(in, out, [&](const Vector& l) {
    return softmax_of(tabulate(l.extent(), [&](Index n) { return l(n) / sqrt(Number(in.x.extent(1))); }));
  });
}
inline void sigmoids(const In& in, const Out& out) {
  with_distribution(in, out,
                    [](const Vector& l) { return tabulate(l.extent(), [&](Index n) { return sigmoid(l(n)); }); });
}
inline void logits_returned(const In& in, const Out& out) {
  with_distribution(in, out, [](const Vector& l) { return l; });
}
inline void no_shift(const In& in, const Out& out) {
  with_distribution(in, out, [](const Vector& l) {
    const auto e = tabulate(l.extent(), [&](Index n) { return exp(l(n)); });
    const Number z = sum(e);
    return tabulate(l.extent(), [&](Index n) { return e(n) / z; });
  });
}
inline void logits_drift(const In& in, const Out& out, const Number& c) {
  with_distribution(in, out, [&](const Vector& l) {
    return softmax_of(tabulate(l.extent(), [&](Index n) { return (l(n) - in.b(n)) * (1 + c) + in.b(n); }));
  });
}

}  // namespace attest::faults::adaptive::depth_classifier
