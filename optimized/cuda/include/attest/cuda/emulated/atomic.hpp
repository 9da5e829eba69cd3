// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <concepts>

#include "attest/cuda/emulated/shared.hpp"

/// Atomics on global memory (T*) and on shared memory (&tile(i)), for the types that CUDA has them for. All return the
/// value before.

namespace attest::cuda::emulation {

template <class T>
concept Integer = std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, unsigned long long>;
template <class T>
concept Addable = Integer<T> || std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept Exchangeable = Integer<T> || std::same_as<T, float>;

template <class T, class Change>
T update(T* at, Change change) {
  std::atomic_ref<T> cell(*at);
  T before = cell.load();
  while (!cell.compare_exchange_weak(before, change(before))) {
  }
  return before;
}

}  // namespace attest::cuda::emulation

// Both memories of one operation.
#define ATTEST_CUDA_ATOMIC(name, Types, expression)                                                                  \
  template <attest::cuda::emulation::Types T>                                                                        \
  T name(T* at, std::type_identity_t<T> value) {                                                                     \
    return attest::cuda::emulation::update(at, [&](T before) -> T { return expression; });                           \
  }                                                                                                                  \
  template <attest::cuda::emulation::Types T>                                                                        \
  T name(attest::cuda::SharedPointer<T> at, std::type_identity_t<T> value,                                           \
         attest::cuda::emulation::Location where = attest::cuda::emulation::Location::current()) {                   \
    return attest::cuda::emulation::running->update<T>(at.offset, where, [&](T before) -> T { return expression; }); \
  }
ATTEST_CUDA_ATOMIC(atomicAdd, Addable, before + value)
ATTEST_CUDA_ATOMIC(atomicMax, Integer, before < value ? value : before)
ATTEST_CUDA_ATOMIC(atomicMin, Integer, value < before ? value : before)
ATTEST_CUDA_ATOMIC(atomicExch, Exchangeable, ((void)before, value))
#undef ATTEST_CUDA_ATOMIC

template <attest::cuda::emulation::Integer T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  return attest::cuda::emulation::update(at, [&](T before) { return before == expected ? desired : before; });
}
template <attest::cuda::emulation::Integer T>
T atomicCAS(attest::cuda::SharedPointer<T> at, std::type_identity_t<T> expected, std::type_identity_t<T> desired,
            attest::cuda::emulation::Location where = attest::cuda::emulation::Location::current()) {
  return attest::cuda::emulation::running->update<T>(at.offset, where,
                                                     [&](T before) { return before == expected ? desired : before; });
}

inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { std::atomic_thread_fence(std::memory_order_seq_cst); }
