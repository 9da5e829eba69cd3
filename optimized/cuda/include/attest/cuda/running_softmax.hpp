// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/attention_logits.hpp"

/// Running maximum and sum of the rows of a strip, and the weights that logits become.

namespace attest::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;

/// One number for each of the two rows of a strip in which a lane has elements.
struct TwoRows {
  float top, bottom;

  __device__ float operator[](int row) const { return row < 8 ? top : bottom; }
  /// With `f` applied to both.
  template <class F>
  __device__ __forceinline__ TwoRows map(F&& f) const {
    return {f(top), f(bottom)};
  }
};

/// Over the four lanes that share a row.
__device__ inline float row_maximum(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}
__device__ inline float row_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

/// e^(l - maximum), and 0 where l is -inf: the maximum may be, too.
template <class Factor>
__device__ __forceinline__ float exponential(float l, float maximum) {
  if constexpr (std::is_same_v<Factor, float>) {
    return l == -INFINITY ? 0.0f : expf(l - maximum);
  } else {  // errors of 2^-22 are far below those of the products
    return exp2_flushed((l - (maximum == -INFINITY ? 0.0f : maximum)) * 1.4426950408889634f);
  }
}

/// Online softmax of the two rows of each lane over the keys so far: running maximum, and running sum of e^(l -
/// maximum).
struct RunningSoftmax {
  TwoRows maximum{-INFINITY, -INFINITY}, sum{0, 0};

  /// Logits become e^(l - maximum). Returns the factor by which earlier sums must be rescaled.
  template <class Factor>
  __device__ __forceinline__ TwoRows add(Strip<Factor, kScoreFragments>& logits, int fragments) {
    TwoRows highest = maximum;
    logits.each(fragments, [&](int row, int, float l) {
      if (row < 8)
        highest.top = fmaxf(highest.top, l);
      else
        highest.bottom = fmaxf(highest.bottom, l);
    });
    highest = highest.map(row_maximum);
    TwoRows added{0, 0};
    logits.each(fragments, [&](int row, int, float& l) {
      l = exponential<Factor>(l, highest[row]);
      if (row < 8)
        added.top += l;
      else
        added.bottom += l;
    });
    const TwoRows rescale{exponential<Factor>(maximum.top, highest.top),
                          exponential<Factor>(maximum.bottom, highest.bottom)};
    maximum = highest;
    sum = {__fmaf_rn(sum.top, rescale.top, row_sum(added.top)),
           __fmaf_rn(sum.bottom, rescale.bottom, row_sum(added.bottom))};
    return rescale;
  }
};

/// factor x^n: a weight that is no exponential, from its logit, and its derivative. Called and not inlined: a strip has
/// many elements.
__attribute__((noinline)) __device__ inline float times_power(float factor, float x, int n) {
#pragma unroll 1
  for (int t = 0; t < n; ++t) factor *= x;
  return factor;
}
__device__ inline float power(const Logits& p, float l) {
  return l == -INFINITY ? 0.0f : times_power(l + p.offset, l + p.offset, p.power - 1);
}
__device__ inline float derivative_of_power(const Logits& p, float l) {
  return l == -INFINITY ? 0.0f : times_power(static_cast<float>(p.power), l + p.offset, p.power - 1);
}

/// Logits become weights, which are added to the running sums of their rows. Returns the factor by which earlier sums
/// must be rescaled.
template <Similarity similarity, class Factor>
__device__ __forceinline__ TwoRows to_weights(const Logits& p, RunningSoftmax& running,
                                              Strip<Factor, kScoreFragments>& logits, int fragments) {
  if constexpr (similarity != Similarity::power) {
    return running.add(logits, fragments);
  } else {
    TwoRows added{0, 0};
    logits.each(fragments, [&](int row, int, float& l) {
      l = power(p, l);
      if (row < 8)
        added.top += l;
      else
        added.bottom += l;
    });
    running.sum = {running.sum.top + row_sum(added.top), running.sum.bottom + row_sum(added.bottom)};
    return {1, 1};
  }
}

}  // namespace attest::cuda
