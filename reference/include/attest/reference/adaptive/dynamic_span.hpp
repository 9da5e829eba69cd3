// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/adaptive/dynamic_span.hpp"

namespace attest::reference::adaptive::dynamic_span {

using In = attest::spec::adaptive::dynamic_span::In<Number>;
using Out = attest::spec::adaptive::dynamic_span::Out<Number>;

/// z_t = f(v . x_t + b)
template <class F>
void each_token(const In& in, const Out& out, F&& f) {
  for (const Index t : wanted(out.z)) out.z(t) = f(stage("logits", dot(in.v, in.x[t], in.b())));
}

/// z_t = S sigma(v . x_t + b)      [Sukhbaatar et al. 2019, section 3]
inline void direct(const In& in, const Out& out) {
  each_token(in, out, [&](const Number& l) { return parameter(in.s) * stage("gate", sigmoid(l)); });
}

}  // namespace attest::reference::adaptive::dynamic_span
