// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "attest/spec/adaptive/depth_classifier.hpp"

namespace attest::reference::adaptive::depth_classifier {

namespace softmax = attention::softmax;
using In = attest::spec::adaptive::depth_classifier::In<Number>;
using Out = attest::spec::adaptive::depth_classifier::Out<Number>;
using attest::spec::adaptive::depth_classifier::Kind;

/// C, the tokens that enter the mean.
inline std::vector<Index> counted(const In& in) {
  std::vector<Index> tokens;
  for (Index t = 0; t < in.x.extent(0); ++t)
    if (!in.counted || in.counted(t)) tokens.push_back(t);
  return tokens;
}

/// (1 / |C|) sum_{t in C} f(t)      C1
template <class F>
Number mean(const std::vector<Index>& tokens, F&& f) {
  const auto count = static_cast<Index>(tokens.size());
  if (count == 0) return Number(0);
  return sum(count, [&](Index i) { return f(tokens[static_cast<std::size_t>(i)]); }) / Number(count);
}

/// xbar
inline Vector mean_token(const In& in) {
  const auto tokens = counted(in);
  return stage("mean token",
               tabulate(in.x.extent(1), [&](Index a) { return mean(tokens, [&](Index t) { return in.x(t, a); }); }));
}

/// W x + b
inline Vector logits(const In& in, const Row& x) {
  return stage("logits", tabulate(in.w.extent(0), [&](Index n) { return dot(in.w[n], x, in.b(n)); }));
}

/// The same distribution for every token.
inline void to_all(const Out& out, const Vector& q) {
  for (const Index t : wanted(out.q)) assign(out.q[t], q);
}

/// q = softmax(W xbar + b), or softmax(W x_t + b)      [Elbayad et al. 2020, section 3]
inline void mean_then_project(const In& in, const Out& out) {
  if (in.kind == Kind::sequence) return to_all(out, softmax::result(logits(in, mean_token(in))).first);
  for (const Index t : wanted(out.q)) assign(out.q[t], softmax::result(logits(in, in.x[t])).first);
}

/// The mean of W x_t over the tokens, and b
inline void project_then_mean(const In& in, const Out& out) {
  const auto tokens = counted(in);
  const auto mean_logits = tabulate(in.w.extent(0), [&](Index n) {
    return biased(mean(tokens, [&](Index t) { return stage("products", dot(in.w[n], in.x[t])); }), in.b(n),
                  in.x.extent(1) + static_cast<Index>(tokens.size()));
  });
  to_all(out, softmax::result(stage("logits", mean_logits)).first);
}

}  // namespace attest::reference::adaptive::depth_classifier
