// SPDX-License-Identifier: MIT
// The attend engine for double.
#include "attest/openmp/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "openmp/attend_f64.cpp"
#include <hwy/foreach_target.h>

#include "openmp/engine/attend-inl.hpp"

#if HWY_ONCE
#include "openmp/engine/attend_threads.hpp"

namespace attest::openmp::engine {

void attend(const Problem<double>& problem, const Forward<double>& forward) {
  run_forward(ATTEST_CHOSEN(attest::openmp::engine, leaves<double>), problem, forward);
}

void attend_backward(const Problem<double>& problem, const Backward<double>& backward) {
  run_backward(ATTEST_CHOSEN(attest::openmp::engine, leaves<double>), problem, backward);
}

}  // namespace attest::openmp::engine
#endif
