// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "attest/reference/attention/feed_forward.hpp"
#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/spec/content/reversible_residual.hpp"

namespace attest::reference::content::reversible_residual {

namespace attention = reference::attention::scaled_dot_product;
namespace network = reference::attention::feed_forward;
using In = attest::spec::content::reversible_residual::In<Number>;
using Out = attest::spec::content::reversible_residual::Out<Number>;
using attest::spec::content::reversible_residual::Direction;

inline Index blocks_of(const In& in) { return in.w_q.extent(0); }

/// u w for every token.
inline Matrix projected(const Matrix& u, const View<const Number, 2>& w) {
  Matrix y(u.extent(0), w.extent(1));
  for (Index i = 0; i < y.extent(0); ++i) assign(y.view()[i], product(u[i], w));
  return y;
}

/// F(u) = softmax(u w_q (u w_k)^T / sqrt(d)) u w_v of one block
inline Matrix attended(const In& in, Index block, const Matrix& u) {
  const Matrix q = stage("queries", projected(u, in.w_q[block])), k = stage("keys", projected(u, in.w_k[block])),
               v = stage("values", projected(u, in.w_v[block]));
  Matrix o(u.extent(0), u.extent(1));
  attention::In all;
  all.q = q.view(), all.k = k.view(), all.v = v.view();
  attention::max_shift(all, attention::Out{o.view()});
  return stage("attention outputs", stored(std::move(o)));
}

/// G(u) = max(0, u w_1) w_2 of one block
inline Matrix fed_forward(const In& in, Index block, const Matrix& u) {
  Matrix y(u.extent(0), u.extent(1));
  network::dense({.x = u.view(),
                  .w_1 = in.w_1[block],
                  .b_1 = {},
                  .w_2 = in.w_2[block],
                  .b_2 = {},
                  .activation = network::Activation::relu},
                 {.y = y.view()});
  return stage("network outputs", stored(std::move(y)));
}

/// a + b, or a - b for the sign -1
inline Matrix added(const Matrix& a, int sign, const Matrix& b) {
  Matrix c(a.extent(0), a.extent(1));
  for (Index i = 0; i < c.extent(0); ++i)
    for (Index e = 0; e < c.extent(1); ++e) c(i, e) = sign > 0 ? a(i, e) + b(i, e) : a(i, e) - b(i, e);
  return stage("streams", stored(std::move(c)));
}

struct Streams {
  Matrix first, second;
};

/// y_1 = x_1 + F(x_2), y_2 = x_2 + G(y_1)      [Gomez et al. 2017, eq. 6]
inline Streams block(const In& in, Index b, const Streams& x) {
  Matrix y_1 = added(x.first, 1, attended(in, b, x.second));
  Matrix y_2 = added(x.second, 1, fed_forward(in, b, y_1));
  return {std::move(y_1), std::move(y_2)};
}

/// x_2 = y_2 - G(y_1), x_1 = y_1 - F(x_2)      [Gomez et al. 2017, eq. 7]
inline Streams inverse_block(const In& in, Index b, const Streams& y) {
  Matrix x_2 = added(y.second, -1, fed_forward(in, b, y.first));
  Matrix x_1 = added(y.first, -1, attended(in, b, x_2));
  return {std::move(x_1), std::move(x_2)};
}

inline Streams streams_of(const In& in) {
  const auto [n, d] = in.s_1.extents();
  return {Matrix(in.s_1, n, d), Matrix(in.s_2, n, d)};
}

inline void write(const Out& out, const Streams& s) {
  for (const Index i : wanted(out.t_1))
    for (Index c = 0; c < s.first.extent(1); ++c) out.t_1(i, c) = s.first(i, c);
  for (const Index i : wanted(out.t_2))
    for (Index c = 0; c < s.second.extent(1); ++c) out.t_2(i, c) = s.second(i, c);
}

inline void forward(const In& in, const Out& out) {
  Streams s = streams_of(in);
  const Index l = blocks_of(in);
  for (Index b = 0; b < l; ++b)
    s = in.direction == Direction::forward ? block(in, b, s) : inverse_block(in, l - 1 - b, s);
  write(out, s);
}

/// u_(t+2) = u_t + f_t(u_(t+1)); backwards u_t = u_(t+2) - f_t(u_(t+1))
inline void stack(const In& in, const Out& out) {
  const Index steps = 2 * blocks_of(in);
  const auto f = [&](Index t, const Matrix& u) {
    return t % 2 == 0 ? attended(in, t / 2, u) : fed_forward(in, t / 2, u);
  };
  Streams s = streams_of(in);
  std::array<Matrix, 2> u{s.first, s.second};  // u_t at t % 2
  for (Index step = 0; step < steps; ++step) {
    const bool back = in.direction == Direction::inverse;
    const Index t = back ? steps - 1 - step : step;
    Matrix& changed = u[static_cast<std::size_t>(t % 2)];
    changed = added(changed, back ? -1 : 1, f(t, u[static_cast<std::size_t>((t + 1) % 2)]));
  }
  write(out, {u[0], u[1]});
}

}  // namespace attest::reference::content::reversible_residual
