// SPDX-License-Identifier: MIT
// The scratch of a task for the target that is being compiled: included once per target, hence no #pragma once.
#if defined(ATTEST_OPENMP_ENGINE_SCRATCH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEST_OPENMP_ENGINE_SCRATCH_INL_HPP
#undef ATTEST_OPENMP_ENGINE_SCRATCH_INL_HPP
#else
#define ATTEST_OPENMP_ENGINE_SCRATCH_INL_HPP
#endif

#include "attest/openmp/simd/vector-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::openmp::engine::HWY_NAMESPACE {

using simd::HWY_NAMESPACE::kLanes;

template <class T>
constexpr Index whole_vectors(Index count) {
  return (count + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

/// Hands out parts of a task's scratch.
template <class T>
class Scratch {
public:
  explicit Scratch(T* data) : data_(data) {}
  T* take(Index count) {
    T* taken = data_;
    data_ += whole_vectors<T>(count);
    return taken;
  }

private:
  T* data_;
};

}  // namespace attest::openmp::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
