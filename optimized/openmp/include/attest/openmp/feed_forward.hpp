// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/openmp/eigen.hpp"

/// Shared by the kernels that have a feed-forward network in them.
namespace attest::openmp {

/// act(x w_1 + b_1) w_2 + b_2 for the rows of x.
template <class T, class I, class M>
RowMajor<T> feed_forward(const I& in, const M& x) {
  using Activation = decltype(in.activation);
  RowMajor<T> hidden = x * matrix(in.w_1);
  if (in.b_1) hidden.rowwise() += vector(in.b_1).transpose();
  if (in.activation == Activation::relu) hidden = hidden.cwiseMax(T(0)).eval();
  if (in.activation == Activation::gelu_tanh)
    hidden =
        hidden
            .unaryExpr([](T t) {
              return t /
                     (1 + std::exp(static_cast<T>(-1.5957691216057308) * (t + static_cast<T>(0.044715) * t * t * t)));
            })
            .eval();
  RowMajor<T> y = hidden * matrix(in.w_2);
  if (in.b_2) y.rowwise() += vector(in.b_2).transpose();
  return y;
}

}  // namespace attest::openmp
