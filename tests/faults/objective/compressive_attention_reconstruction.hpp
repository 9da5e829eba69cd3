// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/objective/compressive_attention_reconstruction.hpp"
#include "faults/fault.hpp"

namespace attest::faults::objective::compressive_attention_reconstruction {

namespace right = attest::reference::objective::compressive_attention_reconstruction;
using right::In;
using right::Norm;
using right::Out;

/// The loss of other matrices than what tokens fetch.
inline void compared(const In& in, const Out& out, const Matrix& a, const Matrix& b) {
  out.loss() = right::loss(in, right::differences(a, b));
}

inline Matrix of_old(const In& in) { return right::from_old(in, in.h); }
inline Matrix of_compressed(const In& in) { return right::fetched(in, in.h, in.compressed); }

/// Attention of the tokens under `sees(i, j)`, with values of that memory by keys of another.
template <class F>
Matrix attended(const In& in, View<const Number, 2> keys, const Matrix& values, F&& sees) {
  const StoppedMatrix h(in.h), w_q(in.w_q), w_k(in.w_k);
  const Matrix q = right::multi_head::queries(h, w_q), k = right::multi_head::keys(keys, w_k);
  const Mask mask(in.h.extent(0), keys.extent(0), sees);
  Matrix o(q.extent(0), values.extent(1));
  attest::reference::attention::scaled_dot_product::max_shift({.q = q.view(),
                                                               .k = k.view(),
                                                               .v = values.view(),
                                                               .mask = mask.view(),
                                                               .bias = {},
                                                               .sink = {},
                                                               .scale = in.scale},
                                                              {.o = o.view()});
  return o;
}

/// M W_V
inline Matrix values_of(const In& in, View<const Number, 2> memory) {
  const StoppedMatrix w_v(in.w_v);
  return right::multi_head::values(memory, w_v);
}

inline bool everything(Index, Index) { return true; }

inline void mask_applied(const In& in, const Out& out) {
  const auto causal = [&](View<const Number, 2> memory) {
    return attended(in, memory, values_of(in, memory), [](Index i, Index j) { return j <= i; });
  };
  const StoppedMatrix old(in.old);
  compared(in, out, causal(old), causal(in.compressed));
}

inline void mean_squared_as_norm(const In& in, const Out& out) {
  In other = in;
  other.norm = Norm::mean_squared;
  right::direct(other, out);
}

inline void norm_ignored(const In& in, const Out& out) {
  In other = in;
  other.norm = Norm::frobenius;
  right::direct(other, out);
}

/// Values that are the memories' numbers: what is fetched are the weights.
inline Matrix one_hot(Index rows, Index columns) {
  return matrix_of(rows, columns, [](Index i, Index j) { return Number(i == j ? 1 : 0); });
}

inline void attention_weights_compared(const In& in, const Out& out) {
  const StoppedMatrix old(in.old);
  const Index all = in.old.extent(0), few = in.compressed.extent(0), both = std::min(all, few);
  compared(in, out, attended(in, old, one_hot(all, both), everything),
           attended(in, in.compressed, one_hot(few, both), everything));
}

inline void current_memory(const In& in, const Out& out) {
  const StoppedMatrix tokens(in.h);
  compared(in, out, right::fetched(in, in.h, tokens), of_compressed(in));
}

inline void scale_missing(const In& in, const Out& out) {
  In other = in;
  if (!other.scale) other.scale = 1;
  right::direct(other, out);
}

inline void scale_ignored(const In& in, const Out& out) {
  In other = in;
  other.scale = {};
  right::direct(other, out);
}

inline Number magnitude(const Number& x) { return positive(x) ? x : -x; }

inline void absolute(const In& in, const Out& out) {
  const Vector off = right::differences(of_old(in), of_compressed(in));
  out.loss() = sum(off.extent(), [&](Index i) { return magnitude(off(i)); });
}

inline void norms_of_tokens(const In& in, const Out& out) {
  const Vector off = right::differences(of_old(in), of_compressed(in));
  const Index width = in.w_v.extent(1);
  out.loss() = sum(in.h.extent(0), [&](Index i) {
    const Row row = off.view().rows(i * width, width);
    return sqrt(dot(row, row));
  });
}

inline void values_not_projected(const In& in, const Out& out) {
  const auto as_they_are = [&](View<const Number, 2> memory) {
    const Matrix values = matrix_of(memory.extent(0), in.w_v.extent(1),
                                    [&](Index j, Index c) { return c < memory.extent(1) ? memory(j, c) : Number(0); });
    return attended(in, memory, values, everything);
  };
  const StoppedMatrix old(in.old);
  compared(in, out, as_they_are(old), as_they_are(in.compressed));
}

inline void keys_of_old(const In& in, const Out& out) {
  const Index both = std::min(in.old.extent(0), in.compressed.extent(0));
  const StoppedMatrix keys(in.old.rows(0, both));
  compared(in, out, of_old(in), attended(in, keys, values_of(in, in.compressed.rows(0, both)), everything));
}

inline void gradient_to_weights(const In& in, const Out& out) {
  right::multi_head::In attention;
  attention.scale = in.scale;
  const auto fetched = [&](View<const Number, 2> memory) {
    return right::multi_head::attended(attention, right::multi_head::queries(in.h, in.w_q),
                                       right::multi_head::keys(memory, in.w_k),
                                       right::multi_head::values(memory, in.w_v));
  };
  compared(in, out, fetched(in.old), fetched(in.compressed));
}

inline void values_drift(const In& in, const Out& out, const Number& c) {
  const Matrix a = of_old(in);
  compared(in, out, matrix_of(a.extent(0), a.extent(1), [&](Index i, Index e) { return a(i, e) * (Number(1) + c); }),
           of_compressed(in));
}

}  // namespace attest::faults::objective::compressive_attention_reconstruction
