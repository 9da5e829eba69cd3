// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attest/view.hpp"

namespace attest {

/// Format of a tensor's elements in its own memory.
enum class DType { f64, f32, bf16, f16, i64, boolean };

/// A dense row-major array whose elements are all held as binary64, whatever dtype they are stored in elsewhere:
/// every dtype above but i64 beyond 2^53 embeds exactly. Booleans are 0 and 1.
struct Array {
  std::vector<Index> shape;
  std::vector<double> values;

  Index size() const { return static_cast<Index>(values.size()); }
};

/// Tensors by name.
using Arrays = std::map<std::string, Array>;

/// Number of elements of a shape; 1 for rank 0.
inline Index count(const std::vector<Index>& shape) {
  Index product = 1;
  for (const Index extent : shape) product *= extent;
  return product;
}

}  // namespace attest
