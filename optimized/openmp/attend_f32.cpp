// SPDX-License-Identifier: MIT
// The attend engine for float.
#include "attest/openmp/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "openmp/attend_f32.cpp"
#include <hwy/foreach_target.h>

#include "openmp/engine/attend-inl.hpp"

#if HWY_ONCE
#include "openmp/engine/attend_threads.hpp"

namespace attest::openmp::engine {

void attend(const Problem<float>& problem, const Forward<float>& forward) {
  run_forward(ATTEST_CHOSEN(attest::openmp::engine, leaves<float>), problem, forward);
}

void attend_backward(const Problem<float>& problem, const Backward<float>& backward) {
  run_backward(ATTEST_CHOSEN(attest::openmp::engine, leaves<float>), problem, backward);
}

}  // namespace attest::openmp::engine
#endif
