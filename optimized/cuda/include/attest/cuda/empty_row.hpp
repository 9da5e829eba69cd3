// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

#include "attest/cuda/call.hpp"

namespace attest::cuda {

/// The weights of a query, or of a row of logits, that sees nothing: 0, NaN, or equal over all keys.
enum class EmptyRow { zero, nan, mean };
constexpr std::array<std::string_view, 3> words_of(EmptyRow) { return {"zero", "nan", "mean"}; }

/// What a call asks for by the parameter of this name.
inline EmptyRow empty_row_of(const Call& call, const char* parameter) { return call.choice<EmptyRow>(parameter); }

}  // namespace attest::cuda
