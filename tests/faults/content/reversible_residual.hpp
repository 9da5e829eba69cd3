// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/content/reversible_residual.hpp"
#include "faults/fault.hpp"

namespace attest::faults::content::reversible_residual {

namespace right = attest::reference::content::reversible_residual;
using right::added;
using right::attended;
using right::Direction;
using right::fed_forward;
using right::In;
using right::Out;
using right::Streams;

/// The equation with other blocks: there(b, streams) and back(b, streams).
template <class F, class B>
void with_blocks(const In& in, const Out& out, F&& there, B&& back) {
  Streams s = right::streams_of(in);
  const Index l = right::blocks_of(in);
  for (Index b = 0; b < l; ++b) s = in.direction == Direction::forward ? there(b, s) : back(l - 1 - b, s);
  right::write(out, s);
}

/// The equation with other functions f(b, u) and g(b, u) added to the streams.
template <class F, class G>
void with_functions(const In& in, const Out& out, F&& f, G&& g) {
  with_blocks(
      in, out,
      [&](Index b, const Streams& x) -> Streams {
        Matrix y_1 = added(x.first, 1, f(b, x.second));
        return {y_1, added(x.second, 1, g(b, y_1))};
      },
      [&](Index b, const Streams& y) -> Streams {
        Matrix x_2 = added(y.second, -1, g(b, y.first));
        return {added(y.first, -1, f(b, x_2)), x_2};
      });
}

inline auto f_of(const In& in) {
  return [&in](Index b, const Matrix& u) { return attended(in, b, u); };
}
inline auto g_of(const In& in) {
  return [&in](Index b, const Matrix& u) { return fed_forward(in, b, u); };
}

/// Forward blocks that are wrong; the inverse is right.
template <class F>
void with_forward(const In& in, const Out& out, F&& there) {
  with_blocks(in, out, there, [&](Index b, const Streams& y) { return right::inverse_block(in, b, y); });
}

/// Inverse blocks that are wrong.
template <class B>
void with_inverse(const In& in, const Out& out, B&& back) {
  with_blocks(in, out, [&](Index b, const Streams& x) { return right::block(in, b, x); }, back);
}

inline void g_of_x1(const In& in, const Out& out) {
  with_forward(in, out, [&](Index b, const Streams& x) -> Streams {
    return {added(x.first, 1, attended(in, b, x.second)), added(x.second, 1, fed_forward(in, b, x.first))};
  });
}

inline void f_of_x1(const In& in, const Out& out) {
  with_forward(in, out, [&](Index b, const Streams& x) -> Streams {
    Matrix y_1 = added(x.first, 1, attended(in, b, x.first));
    return {y_1, added(x.second, 1, fed_forward(in, b, y_1))};
  });
}

inline void same_input(const In& in, const Out& out) {
  with_forward(in, out, [&](Index b, const Streams& x) -> Streams {
    return {added(x.first, 1, attended(in, b, x.second)), added(x.second, 1, fed_forward(in, b, x.second))};
  });
}

inline void residual_missing(const In& in, const Out& out) {
  with_forward(in, out, [&](Index b, const Streams& x) -> Streams {
    Matrix y_1 = attended(in, b, x.second);
    return {y_1, added(x.second, 1, fed_forward(in, b, y_1))};
  });
}

inline void functions_swapped(const In& in, const Out& out) { with_functions(in, out, g_of(in), f_of(in)); }

inline void streams_swapped(const In& in, const Out& out) { right::forward(in, {.t_1 = out.t_2, .t_2 = out.t_1}); }

/// F with other attention.
template <class A>
auto with_attention(const In& in, A&& attend) {
  return [&in, attend](Index b, const Matrix& u) {
    const Matrix q = right::projected(u, in.w_q[b]), k = right::projected(u, in.w_k[b]),
                 v = right::projected(u, in.w_v[b]);
    Matrix o(u.extent(0), u.extent(1));
    right::attention::In all;
    all.q = q.view(), all.k = k.view(), all.v = v.view();
    attend(all);
    right::attention::max_shift(all, right::attention::Out{o.view()});
    return o;
  };
}

inline void scale_missing(const In& in, const Out& out) {
  with_functions(in, out, with_attention(in, [](right::attention::In& all) { all.scale = 1; }), g_of(in));
}

inline void causal(const In& in, const Out& out) {
  with_functions(in, out, with_attention(in, [](right::attention::In& all) { all.causal = true; }), g_of(in));
}

inline void activation_missing(const In& in, const Out& out) {
  with_functions(in, out, f_of(in),
                 [&](Index b, const Matrix& u) { return right::projected(right::projected(u, in.w_1[b]), in.w_2[b]); });
}

inline void direction_ignored(In in, const Out& out) {
  in.direction = Direction::forward;
  right::forward(in, out);
}

inline void inverse_order(const In& in, const Out& out) {
  with_inverse(in, out, [&](Index b, const Streams& y) -> Streams {
    Matrix x_1 = added(y.first, -1, attended(in, b, y.second));
    return {x_1, added(y.second, -1, fed_forward(in, b, x_1))};
  });
}

inline void inverse_of_y1(const In& in, const Out& out) {
  with_inverse(in, out, [&](Index b, const Streams& y) -> Streams {
    return {added(y.first, -1, attended(in, b, y.first)), added(y.second, -1, fed_forward(in, b, y.first))};
  });
}

inline void inverse_sign(const In& in, const Out& out) {
  with_inverse(in, out, [&](Index b, const Streams& y) -> Streams {
    Matrix x_2 = added(y.second, 1, fed_forward(in, b, y.first));
    return {added(y.first, 1, attended(in, b, x_2)), x_2};
  });
}

inline void blocks_not_reversed(const In& in, const Out& out) {
  with_inverse(in, out,
               [&](Index b, const Streams& y) { return right::inverse_block(in, right::blocks_of(in) - 1 - b, y); });
}

inline void first_weights_for_all(const In& in, const Out& out) {
  with_blocks(
      in, out, [&](Index, const Streams& x) { return right::block(in, 0, x); },
      [&](Index, const Streams& y) { return right::inverse_block(in, 0, y); });
}

inline void last_block_dropped(const In& in, const Out& out) {
  const Index last = right::blocks_of(in) - 1;
  const auto keeps = [last](Index b) { return b < last || last == 0; };
  with_blocks(
      in, out, [&](Index b, const Streams& x) { return keeps(b) ? right::block(in, b, x) : x; },
      [&](Index b, const Streams& y) { return keeps(b) ? right::inverse_block(in, b, y) : y; });
}

inline void values_drift(const In& in, const Out& out, const Number& c) {
  with_functions(
      in, out,
      [&](Index b, const Matrix& u) {
        const Matrix f = attended(in, b, u);
        return matrix_of(f.extent(0), f.extent(1), [&](Index i, Index e) { return f(i, e) * (Number(1) + c); });
      },
      g_of(in));
}

}  // namespace attest::faults::content::reversible_residual
