// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/content/lsh_hash.hpp"

namespace attest::reference::content::lsh_hash {

using In = attest::spec::content::lsh_hash::In<Number>;
using Out = attest::spec::content::lsh_hash::Out<Number>;

/// x r
inline Vector projected(const Row& x, const View<const Number, 2>& r) { return stage("products", product(x, r)); }

/// [y; -y]
inline Vector both_signs(const Vector& y) {
  const Index c = y.extent();
  return tabulate(2 * c, [&](Index t) { return t < c ? y(t) : -y(t - c); });
}

/// h_i = bucket(y_i)
template <class F>
void each_token(const In& in, const Out& out, F&& bucket) {
  for (const Index i : wanted(out.h)) out.h(i) = Number(bucket(projected(in.x[i], in.r)));
}

/// h = argmax [y; -y]      [Kitaev et al. 2020, section 2]
inline void concat(const In& in, const Out& out) {
  each_token(in, out, [](const Vector& y) { return top_k(1, both_signs(y))[0]; });
}

/// The largest |y|, which stands in the half of its sign and as -|y| in the other one: one decision, as above.
inline void max_abs(const In& in, const Out& out) {
  each_token(in, out, [](const Vector& y) {
    const Index c = y.extent();
    const auto size = stage("magnitudes", tabulate(c, [&](Index t) { return positive(y(t)) ? y(t) : -y(t); }));
    return top_k(1, tabulate(2 * c, [&](Index t) {
                   const Index a = t % c;
                   return positive(y(a)) == (t < c) ? size(a) : -size(a);
                 }))[0];
  });
}

}  // namespace attest::reference::content::lsh_hash
