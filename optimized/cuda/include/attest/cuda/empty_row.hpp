// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

#include "attest/cuda/call.hpp"

namespace attest::cuda {

/// Convention for a query, or row of logits, without a visible key: its weights are 0, NaN, or equal over all keys.
enum class EmptyRow { zero, nan, mean };
constexpr std::array<std::string_view, 3> words_of(EmptyRow) { return {"zero", "nan", "mean"}; }

/// The convention that the parameter of this name selects.
inline EmptyRow empty_row_of(const Call& call, const char* parameter) { return call.choice<EmptyRow>(parameter); }

}  // namespace attest::cuda
