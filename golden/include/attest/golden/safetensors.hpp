// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attest/dtype.hpp"

namespace attest::golden {

/// A tensor as it lies in a safetensors file. float32 named F32, binary64 F64, bfloat16 BF16, half F16, int64 I64,
/// bool BOOL.
struct StoredTensor {
  DType dtype = DType::f64;
  std::vector<Index> shape;
  std::vector<std::byte> bytes;  // row-major, little-endian
};

/// Values rounded to nearest into the dtype.
StoredTensor store(DType dtype, const Array& array);
Array load(const StoredTensor& tensor);

/// A safetensors file: named tensors and string metadata. https format: 8-byte little-endian header length, JSON
/// header padded with spaces to a multiple of 8, data without gaps.
struct Safetensors {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Canonical bytes: tensors in name order, no gaps, JSON without spaces and with sorted keys.
std::string serialize(const Safetensors& file);

/// Throws std::runtime_error naming `origin`, the tensor and what is wrong (truncated, overlapping or leaving gaps,
/// header not JSON, unknown dtype, shape that does not match its bytes, trailing bytes).
Safetensors parse_safetensors(const std::string& bytes, const std::string& origin);

}  // namespace attest::golden
