// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

namespace attest::cuda {

/// Neighbouring elements that move together: load<Vector<__nv_bfloat16, 8>>(pointer) is one access of 16 bytes.
template <class T, int Count>
struct alignas(sizeof(T) * Count) Vector {
  T values[Count];
  __device__ T& operator[](int i) { return values[i]; }
  __device__ const T& operator[](int i) const { return values[i]; }
};

/// Types that one instruction can move: 2, 4, 8 or 16 bytes, aligned to their size.
template <class V>
inline constexpr bool is_vector = std::is_trivially_copyable_v<V> && alignof(V) == sizeof(V) &&
                                  (sizeof(V) == 2 || sizeof(V) == 4 || sizeof(V) == 8 || sizeof(V) == 16);

}  // namespace attest::cuda
