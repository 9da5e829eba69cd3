// SPDX-License-Identifier: MIT
// The precision of a kernel, for bytes.hpp. Private to the judge.
#pragma once

#include "attest/judge/precision.hpp"
#include "bytes.hpp"

namespace attest::judge {

ATTEST_MEMBERS(StagePrecision, place, format, alike)
ATTEST_MEMBERS(Precision, form, held, finer, untold)

}  // namespace attest::judge
