// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "attest/golden/safetensors.hpp"

namespace attest::golden {

/// NumPy's .npy, version 1.0, little-endian, C order. bfloat16 is written as raw 16-bit words with descr '<V2'
/// (as ml_dtypes writes it), booleans as '|b1'.
std::string serialize_npy(const StoredTensor& tensor);

/// Reads versions 1.0 to 3.0, C or Fortran order. Throws std::runtime_error naming `origin` and what is wrong and
/// allowed: not an .npy file, truncated, trailing bytes, big-endian, object or structured dtype.
/// Descr 'V2' ('|V2', '<V2') is bfloat16.
StoredTensor parse_npy(const std::string& bytes, const std::string& origin);

}  // namespace attest::golden
