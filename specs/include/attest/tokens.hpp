// SPDX-License-Identifier: MIT
// Which axes of an equation's tensors count tokens: what the layouts of attest_kernel.h are made by.
#pragma once

#include <cstddef>
#include <string>

#include "attest/spec.hpp"

namespace attest {

inline bool counts_tokens(const Spec& spec, const std::string& size) { return spec.size(size)->tokens; }

/// [tokens, ...]
inline bool begins_with_tokens(const Spec& spec, const TensorDeclaration& tensor) {
  return !tensor.shape.empty() && counts_tokens(spec, tensor.shape[0]);
}

/// [tokens, width]: a matrix whose rows are tokens, and no state.
inline bool has_tokens_as_rows(const Spec& spec, const TensorDeclaration& tensor) {
  return tensor.shape.size() == 2 && begins_with_tokens(spec, tensor) && !counts_tokens(spec, tensor.shape[1]) &&
         !tensor.state;
}

inline bool has_tokens_behind_the_first_axis(const Spec& spec, const TensorDeclaration& tensor) {
  for (std::size_t axis = 1; axis < tensor.shape.size(); ++axis)
    if (counts_tokens(spec, tensor.shape[axis])) return true;
  return false;
}

}  // namespace attest
