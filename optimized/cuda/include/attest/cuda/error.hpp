// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

namespace attest::cuda {

/// Thrown by every host function here; what() names the call that failed and the reason.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace attest::cuda
