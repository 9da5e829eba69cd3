// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/adaptive/universal_step.hpp"
#include "faults/fault.hpp"

namespace attest::faults::adaptive::universal_step {

namespace right = attest::reference::adaptive::universal_step;
using right::added;
using right::In;
using right::Out;

/// Another step: next(layer, tokens, number of the step).
template <class F>
void with_step(const In& in, const Out& out, F&& next) {
  const right::layer::In l = right::layer_of(in);
  right::each_step(in, out, [&](const Matrix& h, Index t) { return next(l, h, t); });
}
inline Matrix scaled(const Matrix& x, const Number& factor) {
  return matrix_of(x.extent(0), x.extent(1), [&](Index i, Index a) { return x(i, a) * factor; });
}
inline Matrix residual(const In& in, const Matrix& h, Index t) {
  return in.residual_position ? right::with_signal(in, h, t) : h;
}

inline void previous_a(const In& in, const Out& out) {
  Matrix before(in.x, in.x.extent(0), in.x.extent(1));
  with_step(in, out, [&](const right::layer::In& l, const Matrix& h, Index t) {
    const Matrix a = right::first_half(in, l, h, t);
    const Matrix next = right::normalised_sum(l, 3, before, right::transformed(l, a));
    before = a;
    return next;
  });
}
inline void first_norm_missing(const In& in, const Out& out) {
  with_step(in, out, [&](const right::layer::In& l, const Matrix& h, Index t) {
    return right::second_half(l, added(residual(in, h, t), right::attended(l, right::with_signal(in, h, t))));
  });
}
inline void second_norm_missing(const In& in, const Out& out) {
  with_step(in, out, [&](const right::layer::In& l, const Matrix& h, Index t) {
    const Matrix a = right::first_half(in, l, h, t);
    return added(a, right::transformed(l, a));
  });
}
inline void transition_of_h(const In& in, const Out& out) {
  with_step(in, out, [&](const right::layer::In& l, const Matrix& h, Index t) {
    return right::normalised_sum(l, 3, right::first_half(in, l, h, t), right::transformed(l, h));
  });
}
inline void position_after_attention(const In& in, const Out& out) {
  with_step(in, out, [&](const right::layer::In& l, const Matrix& h, Index t) {
    return right::second_half(l, right::normalised_sum(l, 1, right::with_signal(in, h, t), right::attended(l, h)));
  });
}
inline void no_residual(const In& in, const Out& out) {
  with_step(in, out, [&](const right::layer::In& l, const Matrix& h, Index t) {
    const Matrix a = right::layer::normalised(l, 1, right::attended(l, right::with_signal(in, h, t)));
    return right::layer::normalised(l, 3, right::transformed(l, a));
  });
}
inline void residual_drift(const In& in, const Out& out, const Number& c) {
  with_step(in, out, [&](const right::layer::In& l, const Matrix& h, Index t) {
    return right::second_half(l, right::normalised_sum(l, 1, scaled(residual(in, h, t), 1 + c),
                                                       right::attended(l, right::with_signal(in, h, t))));
  });
}
inline void untied_weights(const In& in, const Out& out) {
  with_step(in, out, [&](right::layer::In l, const Matrix& h, Index t) {
    const Matrix w =
        matrix_of(in.w_1.extent(0), in.w_1.extent(1), [&](Index a, Index u) { return in.w_1(a, u) / Number(t + 1); });
    l.w_1 = w.view();
    return right::second_half(l, right::first_half(in, l, h, t));
  });
}
inline void causal(const In& in, const Out& out) {
  with_step(in, out, [&](const right::layer::In& l, const Matrix& h, Index t) {
    const Matrix x = right::with_signal(in, h, t);
    auto heads = right::layer::on_tokens(l, x.view());
    heads.causal = true;
    return right::second_half(l, right::normalised_sum(l, 1, residual(in, h, t), right::layer::attention_of(l)(heads)));
  });
}
inline void scale_missing(const In& in, const Out& out) {
  with_step(in, out, [&](const right::layer::In& l, const Matrix& h, Index t) {
    const Matrix x = right::with_signal(in, h, t);
    auto heads = right::layer::on_tokens(l, x.view());
    heads.scale = 1;
    return right::second_half(l, right::normalised_sum(l, 1, residual(in, h, t), right::layer::attention_of(l)(heads)));
  });
}

/// The equation with another signal at each step: factor(t) times that of step of(t).
template <class S, class F>
void with_signals(In in, const Out& out, S&& of, F&& factor) {
  const auto [steps, tokens, width] = in.p.extents();
  std::vector<Number> p;
  for (Index t = 0; t < steps; ++t)
    for (Index i = 0; i < tokens; ++i)
      for (Index a = 0; a < width; ++a) p.push_back(in.p(of(t), i, a) * Number(factor(t)));
  in.p = View<const Number, 3>(p.data(), {steps, tokens, width});
  right::step(in, out);
}
inline void position_first_step_only(const In& in, const Out& out) {
  with_signals(in, out, [](Index t) { return t; }, [](Index t) { return t == 0 ? 1 : 0; });
}
inline void position_missing(const In& in, const Out& out) {
  with_signals(in, out, [](Index t) { return t; }, [](Index) { return 0; });
}
inline void first_signal_for_all(const In& in, const Out& out) {
  with_signals(in, out, [](Index) { return Index{0}; }, [](Index) { return 1; });
}
inline void signals_reversed(const In& in, const Out& out) {
  with_signals(in, out, [&](Index t) { return in.p.extent(0) - 1 - t; }, [](Index) { return 1; });
}

/// The equation with other parameters or inputs.
inline void residual_position_ignored(In in, const Out& out) {
  in.residual_position = true;
  right::step(in, out);
}
inline void residual_without_position(In in, const Out& out) {
  in.residual_position = false;
  right::step(in, out);
}
inline void last_step_dropped(In in, const Out& out) {
  in.p = in.p.rows(0, std::max<Index>(in.p.extent(0) - 1, 1));
  right::step(in, out);
}
inline void norms_exchanged(In in, const Out& out) {
  std::swap(in.gamma_1, in.gamma_2), std::swap(in.beta_1, in.beta_2);
  right::step(in, out);
}
inline void eps_default(In in, const Out& out) {
  in.eps = 1e-5;
  right::step(in, out);
}

}  // namespace attest::faults::adaptive::universal_step
