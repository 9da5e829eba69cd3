// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/multi_head.hpp"
#include "attest/reference/sparse/attend.hpp"
#include "attest/spec/sparse/factorized_attention.hpp"

namespace attest::reference::sparse::factorized_attention {

namespace plain = attention::scaled_dot_product;
namespace heads = attention::multi_head;
using In = attest::spec::sparse::factorized_attention::In<Number>;
using Out = attest::spec::sparse::factorized_attention::Out<Number>;
using attest::spec::sparse::factorized_attention::Mode;

/// j in A^(1 + m)_i
inline bool in_factor(const In& in, Index m, Index i, Index j) { return j <= i && in.patterns(m, i, j); }

/// How many factors hold key j.
inline Index factors_with(const In& in, Index i, Index j) {
  Index count = 0;
  for (Index m = 0; m < in.patterns.extent(0); ++m) count += in_factor(in, m, i, j) ? 1 : 0;
  return count;
}

/// j in S_h,i
inline bool sees(const In& in, Index h, Index i, Index j) {
  if (in.mode == Mode::merged) return factors_with(in, i, j) > 0;
  return in_factor(in, (in.mode == Mode::interleaved ? in.layer : h) % in.patterns.extent(0), i, j);
}

/// The tokens that ask are those that are asked, and no mask is shared by the heads.
inline heads::In heads_of(const In& in) {
  heads::In all;
  all.x_q = all.x_k = all.x_v = in.x;
  all.w_q = in.w_q, all.w_k = in.w_k, all.w_v = in.w_v, all.w_o = in.w_o;
  all.scale = in.scale;
  return all;
}

/// attend(h, {q, k, v, scale}, {o}) for each head, [head_0 | head_1 | ..].
template <class F>
Matrix concatenated(const In& in, F&& attend) {
  const heads::In all = heads_of(in);
  return heads::concatenated(all, [&](Index h) {
    const Matrix q = heads::queries(in.x, in.w_q[h]), k = heads::keys(in.x, in.w_k[h]),
                 v = heads::values(in.x, in.w_v[h]);
    Matrix head(q.extent(0), v.extent(1));
    plain::In one;
    one.q = q.view(), one.k = k.view(), one.v = v.view(), one.scale = in.scale;
    attend(h, one, plain::Out{head.view()});
    return stage("head outputs", std::move(head));
  });
}

/// o = [head_0 | head_1 | ..] W_O
template <class F>
void each_head(const In& in, const Out& out, F&& attend) {
  heads::output(heads_of(in), concatenated(in, attend), heads::Out{out.o});
}

/// Attention over the sets {j : sees(h, i, j)}      [Child et al. 2019, eq. 4 to 6]
template <class F>
void over_sets(const In& in, const Out& out, F&& sees) {
  each_head(in, out, [&](Index h, const plain::In& one, const plain::Out& head) {
    attend::over_sets(
        one, head, [&](Index i) { return attend::keys_below(in.x.extent(0), [&](Index j) { return sees(h, i, j); }); });
  });
}

inline void sets(const In& in, const Out& out) {
  over_sets(in, out, [&](Index h, Index i, Index j) { return sees(in, h, i, j); });
}

inline void mask(const In& in, const Out& out) {
  each_head(in, out, [&](Index h, const plain::In& one, const plain::Out& head) {
    attend::over_mask(one, head, [&](Index i, Index j) { return sees(in, h, i, j); });
  });
}

}  // namespace attest::reference::sparse::factorized_attention
