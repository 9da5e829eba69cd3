// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "attest/cuda/call.hpp"

namespace attest::cuda {

/// Convention for a query, or row of logits, without a visible key: its weights are 0, NaN, or equal over all keys.
enum class EmptyRow { zero, nan, mean };

/// The convention that the parameter of this name selects.
inline EmptyRow empty_row_of(const Call& call, const char* parameter) {
  const std::string_view convention = call.choice(parameter);
  return convention == "mean" ? EmptyRow::mean : convention == "nan" ? EmptyRow::nan : EmptyRow::zero;
}

}  // namespace attest::cuda
