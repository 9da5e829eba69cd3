// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/objective/depth_loss.hpp"

namespace attest::reference::objective::depth_loss {

using In = attest::spec::objective::depth_loss::In<Number>;
using Out = attest::spec::objective::depth_loss::Out<Number>;

/// -(1 / sum_n omega_n) sum_n omega_n likelihood(n)
template <class F>
Number decoder_loss(const In& in, F&& likelihood) {
  const auto of_layers = stage("likelihoods of layers", tabulate(in.omega.extent(0), likelihood));
  return -(dot(in.omega, of_layers) / stage("sum of weights", sum(in.omega)));
}

/// L = L_dec + alpha L_exit
inline void write(const In& in, const Out& out, const Number& decoder, const Number& exit) {
  out.l_dec() = decoder, out.l_exit() = exit;
  out.loss() = decoder + parameter(in.alpha) * exit;
}

/// sum_t l_nt
inline Number log_likelihood(const In& in, Index n) { return sum(in.log_p[n]); }

/// -sum_t sum_n f(t, n)
template <class F>
Number exit_loss(const In& in, F&& f) {
  const auto [tokens, layers] = in.q.extents();
  return -sum(tokens * layers, [&, layers = layers](Index i) { return f(i / layers, i % layers); });
}

/// q*_tn ln q_tn
inline Number term(const In& in, Index t, Index n) {
  return in.q_star(t, n) * stage("log-probabilities", log(in.q(t, n)));
}

/// L_dec = -(1 / sum_n omega_n) sum_n omega_n sum_t l_nt,  L_exit = -sum_t sum_n q*_tn ln q_tn      [Elbayad et al.
/// 2020, eq. 2 to 5]
inline void log_domain(const In& in, const Out& out) {
  write(in, out, decoder_loss(in, [&](Index n) { return log_likelihood(in, n); }),
        exit_loss(in, [&](Index t, Index n) { return term(in, t, n); }));
}

/// ln prod_t e^l_nt and -ln prod_n q_tn^q*_tn
inline void probabilities(const In& in, const Out& out) {
  const auto likelihood = [&](Index n) {
    Number p(1);
    for (Index t = 0; t < in.log_p.extent(1); ++t) p = stage("likelihood", p * exp(in.log_p(n, t)));
    return log(p);
  };
  const Number exits = sum(in.q.extent(0), [&](Index t) {
    Number p(1);
    for (Index n = 0; n < in.q.extent(1); ++n) p = stage("likelihood", p * exp(term(in, t, n)));
    return -log(p);
  });
  write(in, out, decoder_loss(in, likelihood), exits);
}

}  // namespace attest::reference::objective::depth_loss
