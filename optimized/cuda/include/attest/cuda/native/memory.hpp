// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include "attest/cuda/vector.hpp"

namespace attest::cuda {

namespace detail {

/// The type of `Bytes` bytes that the compiler moves in one instruction.
template <int Bytes>
struct WordOf;
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<16> {
  using Type = uint4;
};
template <class V>
using Word = typename WordOf<static_cast<int>(sizeof(V))>::Type;

}  // namespace detail

/// sizeof(V) bytes in one access, from global or shared memory.
template <class V, class T>
__device__ __forceinline__ V load(const T* from) {
  static_assert(is_vector<V> && sizeof(V) % sizeof(T) == 0);
  return __builtin_bit_cast(V, *reinterpret_cast<const detail::Word<V>*>(from));
}
template <class V, class T>
__device__ __forceinline__ void store(T* to, const V& value) {
  static_assert(is_vector<V> && sizeof(V) % sizeof(T) == 0);
  *reinterpret_cast<detail::Word<V>*>(to) = __builtin_bit_cast(detail::Word<V>, value);
}

/// Starts a copy of `Count` elements (4, 8 or 16 bytes) to shared memory; it lands when its group is waited for. Only
/// the first `valid` are read, the others become zero.
template <int Count, class T>
__device__ __forceinline__ void copy_async(T* to, const T* from, int valid = Count) {
  constexpr int bytes = Count * static_cast<int>(sizeof(T));
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async moves 4, 8 or 16 bytes");
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int read = valid * static_cast<int>(sizeof(T));
  if constexpr (bytes == 16) {  // past the first cache, which would keep a copy that nobody reads again
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(__cvta_generic_to_global(from)),
                 "r"(read)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared), "l"(__cvta_generic_to_global(from)),
                 "r"(read), "n"(bytes)
                 : "memory");
  }
}
/// Copies issued since the last commit become a group.
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most N of this thread's groups are in flight. Other threads see the data after the next barrier.
template <int N = 0>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/// Flags in global memory, between blocks: what was written before store_release is seen after load_acquire has seen
/// the flag.
template <class T>
__device__ __forceinline__ T load_acquire(const T* from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  detail::Word<T> word;
  if constexpr (sizeof(T) == 4) {
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(word) : "l"(__cvta_generic_to_global(from)) : "memory");
    return __builtin_bit_cast(T, word);
  } else {
    unsigned long long wide;
    asm volatile("ld.acquire.gpu.global.b64 %0, [%1];" : "=l"(wide) : "l"(__cvta_generic_to_global(from)) : "memory");
    return __builtin_bit_cast(T, wide);
  }
}
template <class T>
__device__ __forceinline__ void store_release(T* to, std::type_identity_t<T> value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)),
                 "r"(__builtin_bit_cast(unsigned, value))
                 : "memory");
  } else {
    asm volatile("st.release.gpu.global.b64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)),
                 "l"(__builtin_bit_cast(unsigned long long, value))
                 : "memory");
  }
}

}  // namespace attest::cuda
