// SPDX-License-Identifier: MIT
// Problems and what is certified of them, for bytes.hpp. Private to the judge.
#pragma once

#include "attest/array.hpp"
#include "attest/golden/certify.hpp"
#include "bytes.hpp"

namespace attest {

ATTEST_MEMBERS(Array, shape, values)

}  // namespace attest

namespace attest::golden {

ATTEST_MEMBERS(CertifiedTensor, shape, hi, lo, bound, rms)
ATTEST_MEMBERS(Certified, outputs, alternatives, margin, units, precision_bits)

}  // namespace attest::golden
