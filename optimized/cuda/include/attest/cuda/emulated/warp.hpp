// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include "attest/cuda/emulated/block.hpp"

/// Barriers, and the operations of the lanes of a warp. __activemask is left out: its result cannot be relied on.

namespace attest::cuda {

inline int lane() { return static_cast<int>(emulation::block(emulation::Location::current()).me().lane); }
inline int warp() { return static_cast<int>(emulation::block(emulation::Location::current()).me().warp); }

}  // namespace attest::cuda

namespace attest::cuda::emulation {

/// One lane's operand of a shuffle, and its result.
template <class T>
struct Shuffled {
  T value;
  unsigned source;
};

template <class T>
T shuffle(const char* name, unsigned mask, T value, unsigned source, Location where) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "a shuffle moves 4 or 8 bytes");
  Block& here = block(where);
  if (!(mask >> source & 1)) {
    here.report(ErrorKind::collective, where,
                std::string(name) + " reads from lane " + std::to_string(source) + ", which its mask does not name");
  }
  Shuffled<T> mine{value, source};
  Collective arrival{name, mask, where, &mine, [](std::uint32_t lanes, const std::array<void*, warp_width>& exchange) {
                       std::array<T, warp_width> values;
                       for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
                         const int i = std::countr_zero(rest);
                         values[i] = static_cast<Shuffled<T>*>(exchange[i])->value;
                       }
                       for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
                         auto* lane = static_cast<Shuffled<T>*>(exchange[std::countr_zero(rest)]);
                         lane->value = values[lane->source];
                       }
                     }};
  here.collective(arrival);
  return mine.value;
}

/// The lanes of the mask whose predicate holds.
inline unsigned ballot(const char* name, unsigned mask, bool predicate, Location where) {
  std::uint32_t mine = predicate;
  Collective arrival{name, mask, where, &mine, [](std::uint32_t lanes, const std::array<void*, warp_width>& exchange) {
                       std::uint32_t votes = 0;
                       for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
                         const int i = std::countr_zero(rest);
                         votes |= *static_cast<std::uint32_t*>(exchange[i]) << i;
                       }
                       for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
                         *static_cast<std::uint32_t*>(exchange[std::countr_zero(rest)]) = votes;
                       }
                     }};
  block(where).collective(arrival);
  return mine;
}

}  // namespace attest::cuda::emulation

#define ATTEST_CUDA_HERE attest::cuda::emulation::Location where = attest::cuda::emulation::Location::current()

inline void __syncthreads(ATTEST_CUDA_HERE) { attest::cuda::emulation::block(where).barrier(0, where); }
inline int __syncthreads_count(int predicate, ATTEST_CUDA_HERE) {
  return attest::cuda::emulation::block(where).barrier(predicate, where);
}
inline int __syncthreads_or(int predicate, ATTEST_CUDA_HERE) { return __syncthreads_count(predicate, where) != 0; }
inline int __syncthreads_and(int predicate, ATTEST_CUDA_HERE) {
  return __syncthreads_count(predicate == 0, where) == 0;
}

inline void __syncwarp(unsigned mask = 0xffffffffu, ATTEST_CUDA_HERE) {
  attest::cuda::emulation::Collective arrival{"__syncwarp", mask, where, nullptr, nullptr, true};
  attest::cuda::emulation::block(where).collective(arrival);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, ATTEST_CUDA_HERE) {
  return attest::cuda::emulation::ballot("__ballot_sync", mask, predicate != 0, where);
}
inline int __any_sync(unsigned mask, int predicate, ATTEST_CUDA_HERE) {
  return attest::cuda::emulation::ballot("__any_sync", mask, predicate != 0, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate, ATTEST_CUDA_HERE) {
  return attest::cuda::emulation::ballot("__all_sync", mask, predicate == 0, where) == 0;
}

// Of groups of `width` lanes, a power of two. A lane whose source lies outside of its group keeps its value.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, ATTEST_CUDA_HERE) {
  const int self = attest::cuda::lane(), first = self & ~(width - 1);
  return attest::cuda::emulation::shuffle("__shfl_sync", mask, value,
                                          static_cast<unsigned>(first + (source & (width - 1))), where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, ATTEST_CUDA_HERE) {
  const int self = attest::cuda::lane(), first = self & ~(width - 1), source = self - static_cast<int>(delta);
  return attest::cuda::emulation::shuffle("__shfl_up_sync", mask, value,
                                          static_cast<unsigned>(source < first ? self : source), where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, ATTEST_CUDA_HERE) {
  const int self = attest::cuda::lane(), last = self | (width - 1), source = self + static_cast<int>(delta);
  return attest::cuda::emulation::shuffle("__shfl_down_sync", mask, value,
                                          static_cast<unsigned>(source > last ? self : source), where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize, ATTEST_CUDA_HERE) {
  const int self = attest::cuda::lane(), last = self | (width - 1), source = self ^ lanes;
  return attest::cuda::emulation::shuffle("__shfl_xor_sync", mask, value,
                                          static_cast<unsigned>(source > last ? self : source), where);
}
#undef ATTEST_CUDA_HERE
