// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "attest/cuda/emulated/block.hpp"

namespace attest::cuda::emulation {

/// One lane's operands of a product of its warpgroup.
struct WarpgroupOperands {
  const __nv_bfloat16* a;  // null where the left operand lies in shared memory
  std::uint64_t left, right;
  Major right_major;
  float* c;
  int eights;
  float* result = nullptr;
  std::shared_ptr<WarpgroupRead> read{};
};

void warpgroup_multiply_add(WarpgroupOperands& mine, Location where);
void fence_registers(const void* begin, std::size_t bytes);
void commit_products(Location where);
void wait_for_products(std::uint32_t groups_in_flight, const float* begin, std::size_t count, Location where);

}  // namespace attest::cuda::emulation

namespace attest::cuda {

template <class T>
class CoreTile {
public:
  using Value = T;
  CoreTile(DynamicShared& memory, int rows, int columns, emulation::Location where = emulation::Location::current())
      : eights_(memory.take<T>(columns / 8, rows, 8, where)) {}
  int rows() const { return eights_.extent(1); }
  emulation::Element<T> operator()(int i, int j, emulation::Location where = emulation::Location::current()) const {
    return eights_(j / 8, i, j % 8, where);
  }

private:
  SharedView<T, 3> eights_;
};

template <class T>
unsigned shared_address(SharedPointer<T> at, emulation::Location where = emulation::Location::current()) {
  if (at.offset % 16 != 0) emulation::block(where).misaligned(16, at.offset % 16, "shared", where);
  return at.offset;
}

inline void fence_proxies(emulation::Location where = emulation::Location::current()) {
  emulation::block(where).fence_proxies();
}

template <int Eights>
void warpgroup_fence(Accumulator (&sum)[Eights]) {
  emulation::fence_registers(sum, sizeof(sum));
}
template <int Eights, int Steps>
void warpgroup_fence(Accumulator (&sum)[Eights], MatrixA<__nv_bfloat16> (&a)[Steps]) {
  emulation::fence_registers(sum, sizeof(sum));
  emulation::fence_registers(a, sizeof(a));
}
inline void warpgroup_commit(emulation::Location where = emulation::Location::current()) {
  emulation::commit_products(where);
}
template <int N = 0, int Eights>
void warpgroup_wait(Accumulator (&sum)[Eights], emulation::Location where = emulation::Location::current()) {
  emulation::wait_for_products(N, sum[0].values, Eights * Accumulator::size, where);
}

template <int Eights, Major major>
void multiply_add(Accumulator (&sum)[Eights], const MatrixA<__nv_bfloat16>& a, const Described<major>& b,
                  emulation::Location where = emulation::Location::current()) {
  emulation::WarpgroupOperands mine{a.values, 0, b.bits, major, sum[0].values, Eights};
  emulation::warpgroup_multiply_add(mine, where);
}
template <int Eights, Major major>
void multiply_add(Accumulator (&sum)[Eights], const Described<Major::k>& a, const Described<major>& b,
                  emulation::Location where = emulation::Location::current()) {
  emulation::WarpgroupOperands mine{nullptr, a.bits, b.bits, major, sum[0].values, Eights};
  emulation::warpgroup_multiply_add(mine, where);
}

}  // namespace attest::cuda
