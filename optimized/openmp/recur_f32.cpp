// SPDX-License-Identifier: MIT
// The recur engine for float.
#include "attest/openmp/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "openmp/recur_f32.cpp"
#include <hwy/foreach_target.h>

#include "openmp/engine/recur-inl.hpp"

#if HWY_ONCE
#include "openmp/engine/recur_threads.hpp"

namespace attest::openmp::engine {

void causal(const Recurrence<float>& in, Order order, Index chunk) {
  run_causal(ATTEST_CHOSEN(attest::openmp::engine, recur_leaves<float>), in, order, chunk);
}

void step(const Recurrence<float>& in, bool read_first) {
  run_step(ATTEST_CHOSEN(attest::openmp::engine, recur_leaves<float>), in, read_first);
}

void whole(const Recurrence<float>& in, Whole order, Index shard) {
  run_whole(ATTEST_CHOSEN(attest::openmp::engine, recur_leaves<float>), in, order, shard);
}

void causal_backward(const Gradients<float>& in, Order order, Index chunk) {
  run_backward(ATTEST_CHOSEN(attest::openmp::engine, recur_leaves<float>), in, order, chunk);
}

}  // namespace attest::openmp::engine
#endif
