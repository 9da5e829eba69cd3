// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

namespace attest::cli {

/// A wrong command line: exit status 2.
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

}  // namespace attest::cli
