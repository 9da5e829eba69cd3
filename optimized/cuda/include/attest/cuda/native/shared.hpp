// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "attest/cuda/swizzle.hpp"

namespace attest::cuda {

template <class T>
using SharedPointer = T*;

/// An array in shared memory with extents of run time: a part of the dynamic shared memory, or a Shared handed to a
/// function.
template <class T, int Rank>
class SharedView {
public:
  using Value = T;
  __device__ SharedView(T* begin, const int (&extents)[Rank]) : begin_(begin) {
    for (int axis = 0; axis < Rank; ++axis) extents_[axis] = extents[axis];
  }
  __device__ int extent(int axis) const { return extents_[axis]; }
  __device__ T& operator()(int i) const
    requires(Rank == 1)
  {
    return begin_[i];
  }
  __device__ T& operator()(int i, int j) const
    requires(Rank == 2)
  {
    return begin_[i * extents_[1] + j];
  }
  __device__ T& operator()(int i, int j, int k) const
    requires(Rank == 3)
  {
    return begin_[(i * extents_[1] + j) * extents_[2] + k];
  }

private:
  T* begin_;
  int extents_[Rank];
};

/// `__shared__ Shared<float, 16, 17> tile;` in a kernel: an array of the block's. It has no constructor, as __shared__
/// demands, and indexing is const, so that a Shared and a SharedView are used alike.
template <class T, int... Extents>
struct Shared {
  using Value = T;
  static constexpr int rank = sizeof...(Extents);
  alignas(16) mutable T elements[(std::size_t{1} * ... * Extents)];

  __device__ static constexpr int extent(int axis) {
    constexpr int extents[] = {Extents...};
    return extents[axis];
  }
  __device__ T& operator()(int i) const
    requires(rank == 1)
  {
    return elements[i];
  }
  __device__ T& operator()(int i, int j) const
    requires(rank == 2)
  {
    return elements[i * extent(1) + j];
  }
  __device__ T& operator()(int i, int j, int k) const
    requires(rank == 3)
  {
    return elements[(i * extent(1) + j) * extent(2) + k];
  }
  __device__ SharedView<T, rank> view() const { return {elements, {Extents...}}; }
  __device__ operator SharedView<T, rank>() const { return view(); }
};

/// The shared memory whose size the launch states, handed out from its start in 16-byte steps; every thread takes the
/// same. It begins at a multiple of kSharedAlignment, so that what is static counts in steps of that, too. All kernels
/// declare it by one name: arrays of different alignment do not begin at the same place.
class DynamicShared {
public:
  template <class T>
  __device__ SharedView<T, 1> take(int i) {
    return {reserve<T>(i), {i}};
  }
  template <class T>
  __device__ SharedView<T, 2> take(int i, int j) {
    return {reserve<T>(i * j), {i, j}};
  }
  template <class T>
  __device__ SharedView<T, 3> take(int i, int j, int k) {
    return {reserve<T>(i * j * k), {i, j, k}};
  }

  /// What is taken next begins at a multiple of kSharedAlignment.
  __device__ void align() { used_ = (used_ + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment; }

private:
  template <class T>
  __device__ T* reserve(int count) {
    extern __shared__ __align__(kSharedAlignment) uint4 attest_cuda_dynamic_shared[];
    T* begin = reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(attest_cuda_dynamic_shared) + used_);
    used_ += (static_cast<unsigned>(sizeof(T)) * static_cast<unsigned>(count) + 15) / 16 * 16;
    return begin;
  }
  unsigned used_ = 0;
};

}  // namespace attest::cuda
