// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "attest/cuda/emulated/block.hpp"

namespace attest::cuda::emulation {

/// One lane's operands of a product of its warpgroup.
struct WarpgroupOperands {
  const PackedA* a;  // null where the left operand lies in shared memory
  std::uint64_t left, right;
  Major right_major;
  float* c;
  int fragments;
  float* result = nullptr;
  std::shared_ptr<WarpgroupRead> read{};
};

void warpgroup_multiply_add(WarpgroupOperands& mine, Location where);
void warpgroup_fence(Location where);
void fence_registers(const void* begin, std::size_t bytes);
void commit_products(Location where);
/// The registers that a wait names.
struct WarpgroupRegisters {
  const float* sums;
  std::size_t sum_count;
  const PackedA* a = nullptr;
  std::size_t a_count = 0;
};
void wait_for_products(std::uint32_t groups_in_flight, const WarpgroupRegisters& named, Location where);

}  // namespace attest::cuda::emulation

namespace attest::cuda {

template <class T>
class CoreTile {
public:
  using Value = T;
  CoreTile(DynamicShared& memory, int rows, int columns, emulation::Location where = emulation::Location::current())
      : elements_(memory.take<T>(columns / 8, rows, 8, where)) {}
  int rows() const { return elements_.extent(1); }
  emulation::Element<T> operator()(int i, int j, emulation::Location where = emulation::Location::current()) const {
    return elements_(j / 8, i, j % 8, where);
  }

private:
  SharedView<T, 3> elements_;
};

template <class T>
unsigned shared_address(SharedPointer<T> at, emulation::Location where = emulation::Location::current()) {
  if (at.offset % 16 != 0) emulation::block(where).report_misaligned(16, at.offset % 16, "shared", where);
  return at.offset;
}

inline void fence_proxies(emulation::Location where = emulation::Location::current()) {
  emulation::block(where).fence_proxies();
}

template <int Fragments>
void warpgroup_fence(Accumulator (&sum)[Fragments], emulation::Location where = emulation::Location::current()) {
  emulation::warpgroup_fence(where);
  emulation::fence_registers(sum, sizeof(sum));
}
template <int Fragments, int Steps>
void warpgroup_fence(Accumulator (&sum)[Fragments], PackedA (&a)[Steps],
                     emulation::Location where = emulation::Location::current()) {
  warpgroup_fence(sum, where);
  emulation::fence_registers(a, sizeof(a));
}
inline void warpgroup_commit(emulation::Location where = emulation::Location::current()) {
  emulation::commit_products(where);
}
template <int N = 0, int Fragments>
void warpgroup_wait(Accumulator (&sum)[Fragments], emulation::Location where = emulation::Location::current()) {
  emulation::wait_for_products(N, {sum[0].values, Fragments * Accumulator::size}, where);
}
template <int N = 0, int Fragments, int Steps>
void warpgroup_wait(Accumulator (&sum)[Fragments], PackedA (&a)[Steps],
                    emulation::Location where = emulation::Location::current()) {
  emulation::wait_for_products(N, {sum[0].values, Fragments * Accumulator::size, a, Steps}, where);
}

template <int Fragments, Major major>
void multiply_add(Accumulator (&sum)[Fragments], PackedA& a, const Described<major>& b,
                  emulation::Location where = emulation::Location::current()) {
  emulation::WarpgroupOperands mine{&a, 0, b.bits, major, sum[0].values, Fragments};
  emulation::warpgroup_multiply_add(mine, where);
}
template <int Fragments, Major major>
void multiply_add(Accumulator (&sum)[Fragments], const Described<Major::k>& a, const Described<major>& b,
                  emulation::Location where = emulation::Location::current()) {
  emulation::WarpgroupOperands mine{nullptr, a.bits, b.bits, major, sum[0].values, Fragments};
  emulation::warpgroup_multiply_add(mine, where);
}

}  // namespace attest::cuda
