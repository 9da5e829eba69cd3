// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "attest/attest_kernel.h"

namespace attest::cuda {

/// Every kernel of this backend; generated from specs/.
std::vector<attest_kernel> all_kernels();

}  // namespace attest::cuda
