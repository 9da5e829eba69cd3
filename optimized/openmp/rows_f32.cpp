// SPDX-License-Identifier: MIT
// The engine of rows for float.
#include "attest/openmp/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "openmp/rows_f32.cpp"
#include <hwy/foreach_target.h>

#include "openmp/engine/rows-inl.hpp"

#if HWY_ONCE
#include "openmp/engine/rows_threads.hpp"

namespace attest::openmp::engine {

void map(Feature feature, float* data, Index count) {
  ATTEST_CHOSEN(attest::openmp::engine, row_leaves<float>).map(feature, data, count);
}

void rotate(const Rotation<float>& in) { run_rotate(ATTEST_CHOSEN(attest::openmp::engine, row_leaves<float>), in); }

}  // namespace attest::openmp::engine
#endif
