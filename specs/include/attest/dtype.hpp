// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "attest/array.hpp"

namespace attest {

/// "f64", "f32", "bf16", "f16", "i64", "bool".
std::string_view name(DType dtype);

/// The dtype of that name; throws std::invalid_argument that lists the names otherwise.
DType dtype_from(std::string_view name);

/// Bytes per element.
std::size_t size_of(DType dtype);

/// Rounds x to the nearest number of the dtype, ties to even; overflow gives an infinity, NaN stays NaN.
double round_to(DType dtype, double x);

/// True when x is a number of the dtype (so that storing it loses nothing).
bool exact_in(DType dtype, double x);

/// Stores values into memory as dtype (rounding to nearest), and back. `bytes` holds values.size() elements.
void encode(DType dtype, std::span<const double> values, std::byte* bytes);
void decode(DType dtype, const std::byte* bytes, std::span<double> values);

}  // namespace attest
