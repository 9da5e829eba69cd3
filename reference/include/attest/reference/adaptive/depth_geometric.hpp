// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/adaptive/depth_geometric.hpp"

namespace attest::reference::adaptive::depth_geometric {

using In = attest::spec::adaptive::depth_geometric::In<Number>;
using Out = attest::spec::adaptive::depth_geometric::Out<Number>;
using attest::spec::adaptive::depth_geometric::Given;

/// X_tn and 1 - X_tn.
struct Exit {
  Number leaves, stays;
};

inline Exit exit(const In& in, Index t, Index n) {
  const Number x = in.x(t, n);
  const bool logits = in.given == Given::logits;
  return {logits ? stage("probabilities", sigmoid(x)) : x, stage("complements", logits ? sigmoid(-x) : 1 - x)};
}

/// prod_{m < n} stays(m)
template <class F>
Number left(Index n, F&& stays) {
  Number product(1);
  for (Index m = 0; m < n; ++m) product = stage("mass that is left", m == 0 ? stays(m) : product * stays(m));
  return product;
}

/// Every form: q_t(n) = of(exits of the token, n) for the layers of each token; n is the last layer when it is N - 1.
template <class F>
void each_token(const In& in, const Out& out, F&& of) {
  const Index layers = in.x.extent(1);
  for (const Index t : wanted(out.q)) {
    std::vector<Exit> exits;
    for (Index n = 0; n + 1 < layers; ++n) exits.push_back(exit(in, t, n));
    for (Index n = 0; n < layers; ++n) out.q(t, n) = of(exits, n);
  }
}

using Exits = std::vector<Exit>;
inline const Exit& at(const Exits& exits, Index n) { return exits[static_cast<std::size_t>(n)]; }
inline bool last(const Exits& exits, Index n) { return n == static_cast<Index>(exits.size()); }

/// prod_{m < n} (1 - X_m)
inline Number left(const Exits& exits, Index n) {
  return left(n, [&](Index m) { return at(exits, m).stays; });
}

/// q(n) = X_n prod_{m < n} (1 - X_m), q(N) = prod_{m < N} (1 - X_m)      [Elbayad et al. 2020, section 3]
inline void product(const In& in, const Out& out) {
  each_token(in, out, [](const Exits& exits, Index n) {
    const Number rest = left(exits, n);
    return last(exits, n) ? rest : n == 0 ? at(exits, n).leaves : at(exits, n).leaves * rest;
  });
}

/// r <- r (1 - X_n), q(n) = r X_n
inline void running(const In& in, const Out& out) {
  const Index layers = in.x.extent(1);
  for (const Index t : wanted(out.q)) {
    Number rest(1);
    for (Index n = 0; n + 1 < layers; ++n) {
      const Exit e = exit(in, t, n);
      out.q(t, n) = rest * e.leaves;
      rest = stage("mass that is left", rest * e.stays);
    }
    out.q(t, layers - 1) = rest;
  }
}

/// ln(1 + e^x)
inline Number softplus(const Number& x) { return positive(x) ? x + log1p(exp(-x)) : log1p(exp(x)); }

/// e^(ln X_n + sum_m ln(1 - X_m)), ln sigma(x) = -ln(1 + e^-x). What is a probability stays a factor, and so does a
/// complement that is 0.
inline void log(const In& in, const Out& out) {
  const Index layers = in.x.extent(1);
  const bool logits = in.given == Given::logits;
  for (const Index t : wanted(out.q)) {
    Number logs(0), factors(1);
    for (Index n = 0; n < layers; ++n) {
      const bool final = n + 1 == layers;
      const Number x = in.x(t, n);
      const Number sum = logits && !final ? logs - softplus(-x) : logs;
      const Number mass = factors * exp(stage("log-probabilities", sum));
      out.q(t, n) = logits || final ? mass : x * mass;
      if (logits)
        logs = logs - softplus(x);
      else if (is_zero(1 - x))
        factors = factors * (1 - x);
      else
        logs = logs + log1p(-x);
    }
  }
}

}  // namespace attest::reference::adaptive::depth_geometric
