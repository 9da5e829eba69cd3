// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <bit>

#include "attest/cuda/emulated/shared.hpp"
#include "attest/cuda/vector.hpp"

namespace attest::cuda {

namespace emulation {

/// A vector of `bytes` from `to` on: inside its row, and aligned.
template <class T>
void check_vector(SharedPointer<T> at, std::size_t bytes, Location where) {
  Block& here = block(where);
  const int count = static_cast<int>(bytes / sizeof(T));
  if (at.column + count > at.columns) here.report_out_of_bounds(&at.column, &at.columns, 1, count, where);
  if (at.offset % bytes != 0) here.report_misaligned(bytes, at.offset % bytes, "shared", where);
}
inline void check_vector(const void* at, std::size_t bytes, Location where) {
  const std::size_t remainder = std::bit_cast<std::uintptr_t>(at) % bytes;
  if (remainder != 0) block(where).report_misaligned(bytes, remainder, "global", where);
}

}  // namespace emulation

/// sizeof(V) bytes in one access.
template <class V, class T>
V load(SharedPointer<T> from, emulation::Location where = emulation::Location::current()) {
  static_assert(is_vector<V> && sizeof(V) % sizeof(T) == 0);
  emulation::check_vector(from, sizeof(V), where);
  return emulation::running->read<V>(from.offset, where);
}
template <class V, class T>
void store(SharedPointer<T> to, const V& value, emulation::Location where = emulation::Location::current()) {
  static_assert(is_vector<V> && sizeof(V) % sizeof(T) == 0);
  emulation::check_vector(to, sizeof(V), where);
  emulation::running->write(to.offset, value, where);
}
template <class V, class T>
V load(const T* from, emulation::Location where = emulation::Location::current()) {
  static_assert(is_vector<V> && sizeof(V) % sizeof(T) == 0);
  emulation::check_vector(from, sizeof(V), where);
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}
template <class V, class T>
void store(T* to, const V& value, emulation::Location where = emulation::Location::current()) {
  static_assert(is_vector<V> && sizeof(V) % sizeof(T) == 0);
  emulation::check_vector(to, sizeof(V), where);
  std::memcpy(to, &value, sizeof(V));
}

/// Starts a copy of `Count` elements (4, 8 or 16 bytes) to shared memory; it lands when its group is waited for, here
/// not before. Only the first `valid` are read, the others become zero.
template <int Count, class T>
void copy_async(SharedPointer<T> to, const T* from, int valid = Count,
                emulation::Location where = emulation::Location::current()) {
  constexpr std::uint32_t bytes = Count * sizeof(T);
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async moves 4, 8 or 16 bytes");
  emulation::check_vector(to, bytes, where);
  emulation::check_vector(from, bytes, where);
  emulation::running->copy_async({to.offset, bytes, static_cast<std::uint32_t>(valid * sizeof(T)), from, 0}, where);
}
/// Copies issued since the last commit become a group.
inline void copy_async_commit(emulation::Location where = emulation::Location::current()) {
  emulation::block(where).commit_copies();
}
/// Waits until at most N of this thread's groups are in flight. Other threads see the data after the next barrier.
template <int N = 0>
void copy_async_wait(emulation::Location where = emulation::Location::current()) {
  emulation::block(where).wait_for_copies(N, where);
}

/// Flags in global memory, between blocks: what was written before store_release is seen after load_acquire has seen
/// the flag. A loop that waits uses load_acquire, which lets others run.
template <class T>
T load_acquire(const T* from, emulation::Location where = emulation::Location::current()) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  emulation::block(where).poll(where);
  return std::atomic_ref<T>(const_cast<T&>(*from)).load(std::memory_order_acquire);
}
template <class T>
void store_release(T* to, std::type_identity_t<T> value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  std::atomic_ref<T>(*to).store(value, std::memory_order_release);
}

}  // namespace attest::cuda

template <class T>
T __ldg(const T* from) {
  return *from;
}
