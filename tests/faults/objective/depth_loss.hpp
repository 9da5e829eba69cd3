// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/objective/depth_loss.hpp"
#include "faults/fault.hpp"

namespace attest::faults::objective::depth_loss {

namespace right = attest::reference::objective::depth_loss;
using right::In;
using right::Out;

inline Number decoder_loss(const In& in) {
  return right::decoder_loss(in, [&](Index n) { return right::log_likelihood(in, n); });
}

inline Number exit_loss(const In& in) {
  return right::exit_loss(in, [&](Index t, Index n) { return right::term(in, t, n); });
}

/// The equation with another L_dec.
inline void with_decoder(const In& in, const Out& out, const Number& decoder) {
  right::write(in, out, decoder, exit_loss(in));
}

/// The equation with another L_exit.
inline void with_exit(const In& in, const Out& out, const Number& exit) {
  right::write(in, out, decoder_loss(in), exit);
}

inline void reverse_kl_arguments(const In& in, const Out& out) {
  with_exit(in, out, right::exit_loss(in, [&](Index t, Index n) { return in.q(t, n) * log(in.q_star(t, n)); }));
}

inline void weights_unnormalised(const In& in, const Out& out) {
  with_decoder(in, out, decoder_loss(in) * sum(in.omega));
}

inline void divided_by_layers(const In& in, const Out& out) {
  with_decoder(in, out, decoder_loss(in) * sum(in.omega) / Number(in.omega.extent(0)));
}

inline void weights_ignored(const In& in, const Out& out) {
  const Index layers = in.omega.extent(0);
  with_decoder(in, out, -sum(layers, [&](Index n) { return right::log_likelihood(in, n); }) / Number(layers));
}

inline void mean_over_layers_of_exp(const In& in, const Out& out) {
  with_decoder(
      in, out, -sum(in.log_p.extent(1), [&](Index t) {
        return log(sum(in.omega.extent(0), [&](Index n) { return in.omega(n) * exp(in.log_p(n, t)); }) / sum(in.omega));
      }));
}

inline void sign(const In& in, const Out& out) { with_decoder(in, out, -decoder_loss(in)); }

inline void exit_sign(const In& in, const Out& out) {
  right::log_domain(in, out);
  out.loss() = out.l_dec() - parameter(in.alpha) * out.l_exit();
}

inline void target_shift(const In& in, const Out& out) {
  with_decoder(in, out, right::decoder_loss(in, [&](Index n) {
                 return sum(in.log_p.extent(1) - 1, [&](Index t) { return in.log_p(n, t + 1); });
               }));
}

inline void alpha_ignored(const In& in, const Out& out) {
  In other = in;
  other.alpha = 1;
  right::log_domain(other, out);
}

inline void mean_over_tokens(const In& in, const Out& out) {
  with_exit(in, out, exit_loss(in) / Number(in.q.extent(0)));
}

inline void divergence(const In& in, const Out& out) {
  with_exit(in, out, right::exit_loss(in, [&](Index t, Index n) {
              if (is_zero(in.q_star(t, n))) return Number(0);
              return in.q_star(t, n) * (log(in.q(t, n)) - log(in.q_star(t, n)));
            }));
}

inline void base2(const In& in, const Out& out) { with_exit(in, out, exit_loss(in) / ln2()); }

inline void hardest_exit_only(const In& in, const Out& out) {
  with_exit(in, out, -sum(in.q.extent(0), [&](Index t) {
              Index best = 0;
              for (Index n = 1; n < in.q.extent(1); ++n)
                if (approximate(in.q_star(t, n)) > approximate(in.q_star(t, best))) best = n;
              return log(in.q(t, best));
            }));
}

inline void last_layer_dropped(const In& in, const Out& out) {
  In other = in;
  const Index layers = std::max<Index>(1, in.omega.extent(0) - 1);
  other.omega = in.omega.rows(0, layers), other.log_p = in.log_p.rows(0, layers);
  with_decoder(in, out, decoder_loss(other));
}

inline void likelihood_drift(const In& in, const Out& out, const Number& c) {
  with_decoder(in, out, decoder_loss(in) * (Number(1) + c));
}

}  // namespace attest::faults::objective::depth_loss
