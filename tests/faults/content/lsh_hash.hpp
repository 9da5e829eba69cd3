// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/content/lsh_hash.hpp"
#include "faults/fault.hpp"

namespace attest::faults::content::lsh_hash {

namespace right = attest::reference::content::lsh_hash;
using right::In;
using right::Out;

/// The place of the largest score.
inline Index largest(const Vector& scores) { return top_k(1, scores)[0]; }

inline void abs_only(const In& in, const Out& out) {
  right::each_token(in, out, [](const Vector& y) { return largest(right::both_signs(y)) % y.extent(); });
}

inline void negatives_first(const In& in, const Out& out) {
  right::each_token(in, out,
                    [](const Vector& y) { return (largest(right::both_signs(y)) + y.extent()) % (2 * y.extent()); });
}

inline void argmin(const In& in, const Out& out) {
  right::each_token(in, out, [](const Vector& y) {
    const Vector scores = right::both_signs(y);
    return largest(tabulate(scores.extent(), [&](Index t) { return -scores(t); }));
  });
}

inline void sign_bits(const In& in, const Out& out) {
  right::each_token(in, out, [](const Vector& y) {
    Index code = 0;
    for (Index t = 0; t < y.extent() && t < 16; ++t) code = 2 * code + (approximate(y(t)) < 0 ? 1 : 0);
    return code;
  });
}

inline void normalised_r(const In& in, const Out& out) {
  right::each_token(in, out, [&](const Vector& y) {
    return largest(right::both_signs(tabulate(y.extent(), [&](Index t) {
      const Number square = dot(in.r.column(t), in.r.column(t));
      return is_zero(square) ? y(t) : y(t) / sqrt(square);
    })));
  });
}

inline void concatenated_along_tokens(const In& in, const Out& out) {
  right::each_token(in, out, [](const Vector& y) { return largest(y); });
}

inline void interleaved(const In& in, const Out& out) {
  right::each_token(in, out, [](const Vector& y) {
    const Index h = largest(right::both_signs(y)), c = y.extent();
    return 2 * (h % c) + h / c;
  });
}

inline void last_direction_dropped(const In& in, const Out& out) {
  right::each_token(in, out, [](const Vector& y) {
    const Index c = y.extent(), kept = c > 1 ? c - 1 : 1,
                h = largest(right::both_signs(tabulate(kept, [&](Index t) { return y(t); })));
    return h < kept ? h : h - kept + c;
  });
}

inline void last_feature_dropped(const In& in, const Out& out) {
  const Index d = in.x.extent(1);
  const Matrix x =
      matrix_of(in.x.extent(0), d, [&](Index i, Index a) { return a == d - 1 && d > 1 ? Number(0) : in.x(i, a); });
  In other = in;
  other.x = read_only(x);
  right::concat(other, out);
}

inline void next_bucket(const In& in, const Out& out) {
  right::each_token(in, out, [](const Vector& y) { return largest(right::both_signs(y)) + 1; });
}

inline void largest_of_first(const In& in, const Out& out) {
  const Index h = largest(right::both_signs(right::projected(in.x[0], in.r)));
  for (Index i = 0; i < in.x.extent(0); ++i) out.h(i) = Number(h);
}

inline void ties_to_last(const In& in, const Out& out) {
  right::each_token(in, out, [](const Vector& y) {
    const Vector scores = right::both_signs(y);
    const Index b = scores.extent();
    return b - 1 - largest(tabulate(b, [&](Index t) { return scores(b - 1 - t); }));
  });
}

}  // namespace attest::faults::content::lsh_hash
