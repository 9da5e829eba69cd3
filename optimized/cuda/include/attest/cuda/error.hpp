// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

namespace attest::cuda {

/// What every host function here throws: the call that failed, and why.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace attest::cuda
