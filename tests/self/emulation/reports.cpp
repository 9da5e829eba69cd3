// SPDX-License-Identifier: MIT
// Every kind of report of the emulation: kind, block, thread and line must be right for every seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels.cuh"

namespace {

using namespace attest::cuda;
using emulation::Device;
using emulation::devices;
using emulation::ErrorKind;
using emulation::Report;
using emulation::settings;

constexpr unsigned all_lanes = 0xffffffffu;

/// The line of this file that ends with "// reported: <name>".
unsigned line_of(const std::string& name) {
  std::ifstream file(ATTEST_THIS_FILE);  // __FILE__ may be relative to where the compiler ran
  std::string line;
  for (unsigned number = 1; std::getline(file, line); ++number) {
    if (line.ends_with("// reported: " + name)) return number;
  }
  ADD_FAILURE() << "no line is marked " << name;
  return 0;
}

/// Either of two unordered threads may run first: then there are two correct reports.
struct Expected {
  std::vector<ErrorKind> kinds;
  std::vector<std::string> markers;
  std::function<bool(uint3)> thread;
  std::string sentence;  // a part of it
};
template <class T>
bool one_of(const std::vector<T>& all, const T& x) {
  return std::find(all.begin(), all.end(), x) != all.end();
}

/// Runs three blocks, of which only block 2 has the defect, with 20 seeds.
template <class... Parameters, class... Arguments>
void expect_report(const Expected& expected, void (*kernel)(Parameters...), dim3 block, std::size_t shared_bytes,
                   Arguments... arguments) {
  const auto before = settings();
  std::vector<unsigned> lines;
  for (const auto& marker : expected.markers) lines.push_back(line_of(marker));
  for (settings().seed = 0; settings().seed < 20; ++settings().seed) {
    try {
      launch(kernel, 3, block, shared_bytes, nullptr, arguments...);
      ADD_FAILURE() << expected.markers[0] << " is not found with seed " << settings().seed;
    } catch (const Report& report) {
      EXPECT_TRUE(one_of(expected.kinds, report.kind)) << report.what();
      EXPECT_TRUE(one_of(lines, report.line)) << report.what();
      EXPECT_EQ(report.block.x, 2u) << report.what();
      EXPECT_TRUE(expected.thread(report.thread)) << report.what();
      EXPECT_NE(std::string(report.what()).find(expected.sentence), std::string::npos) << report.what();
      if (settings().seed == 0) std::printf("%s\n", report.what());
    }
  }
  settings() = before;
}

bool anyone(uint3) { return true; }
auto thread_is(unsigned x) {
  return [x](uint3 thread) { return thread.x == x && thread.y == 0 && thread.z == 0; };
}

bool here() { return blockIdx.x == 2; }
int self() { return static_cast<int>(threadIdx.x); }

// ---- barriers

__global__ void barrier_in_a_branch() {
  if (!here() || self() < 40) __syncthreads();  // reported: barrier_in_a_branch
}
TEST(Reports, BarrierThatOthersNeverReach) {
  expect_report({{ErrorKind::barrier_divergence},
                 {"barrier_in_a_branch"},
                 thread_is(0),
                 "24 of 64 threads never reach: thread (40,0,0) has returned"},
                barrier_in_a_branch, 64, 0);
}

__global__ void two_barriers() {
  if (!here() || self() != 7) {
    __syncthreads();  // reported: two_barriers
  } else {
    __syncthreads();  // reported: the_other_barrier
  }
}
TEST(Reports, TwoBarriers) {
  expect_report({{ErrorKind::barrier_divergence},
                 {"two_barriers", "the_other_barrier"},
                 anyone,
                 "waits at this barrier while other threads wait at the one in line"},
                two_barriers, 64, 0);
}

__global__ void barrier_against_collective() {
  if (here() && self() == 3) {
    __syncthreads();
  } else {
    __syncwarp();  // reported: barrier_against_collective
    __syncthreads();
  }
}
TEST(Reports, LaneAtABarrierInsteadOfACollective) {
  const unsigned barrier = line_of("barrier_against_collective") - 2;
  expect_report({{ErrorKind::collective},
                 {"barrier_against_collective"},
                 anyone,
                 "lane 3 does not come: thread (3,0,0) waits at the barrier in line " + std::to_string(barrier)},
                barrier_against_collective, 32, 0);
}

// ---- shared memory

__global__ void outside_by_one() {
  __shared__ Shared<float, 4, 8> tile;
  const int column = here() && self() == 7 ? 8 : self();
  tile(2, column) = 1;  // reported: outside_by_one
}
TEST(Reports, OutOfBounds) {
  expect_report(
      {{ErrorKind::out_of_bounds}, {"outside_by_one"}, thread_is(7), "shared element (2,8) of an array [4][8]"},
      outside_by_one, 8, 0);
}

__global__ void outside_dynamic() {
  DynamicShared memory;
  auto row = memory.take<float>(8);
  row(self()) = 1;
  if (here()) row(self() - 1) = 1;  // reported: outside_dynamic
}
TEST(Reports, OutOfBoundsOfDynamicMemory) {
  settings().racecheck = false;
  expect_report({{ErrorKind::out_of_bounds}, {"outside_dynamic"}, thread_is(0), "(-1) of an array [8]"},
                outside_dynamic, 8, 32);
  settings().racecheck = true;
}

__global__ void more_than_was_given() {
  DynamicShared memory;
  memory.take<float>(4);
  if (here()) memory.take<float>(5);  // reported: more_than_was_given
}
TEST(Reports, MoreDynamicMemoryThanTheLaunchGave) {
  expect_report({{ErrorKind::shared_memory}, {"more_than_was_given"}, anyone, "up to byte 36 where the launch gave 32"},
                more_than_was_given, 32, 32);
}

__global__ void nobody_wrote(float* out) {
  __shared__ Shared<float, 64> tile;
  if (!here() || self() != 5) tile(self()) = 1;
  __syncthreads();
  out[self()] = tile(63 - self());  // reported: nobody_wrote
}
TEST(Reports, ReadOfUnwrittenMemory) {
  float out[64];
  expect_report({{ErrorKind::unwritten}, {"nobody_wrote"}, thread_is(58), "byte 20, which no thread has written"},
                nobody_wrote, 64, 0, out);
}

__global__ void written_by_the_block_before(float* out) {
  __shared__ Shared<float, 32> tile;
  if (!here()) tile(self()) = 1;
  __syncthreads();
  if (self() == 9) out[blockIdx.x] = tile(9);  // reported: written_by_the_block_before
}
TEST(Reports, SharedMemoryIsUnwrittenInEveryBlock) {
  float out[3];
  expect_report({{ErrorKind::unwritten}, {"written_by_the_block_before"}, thread_is(9), "byte 36"},
                written_by_the_block_before, 32, 0, out);
}

__global__ void not_declared_shared() {
  Shared<float, 32> tile;
  if (here()) tile(self()) = 1;  // reported: not_declared_shared
}
TEST(Reports, SharedWithoutTheWord) {
  expect_report({{ErrorKind::shared_memory}, {"not_declared_shared"}, anyone, "not declared __shared__"},
                not_declared_shared, 32, 0);
}

__global__ void too_much_static() {
  __shared__ Shared<float, 8, 1024> first;
  __shared__ Shared<float, 4, 1025> second;
  first(0, self()) = 1;
  if (here()) second(0, self()) = 1;  // reported: too_much_static
}
TEST(Reports, StaticMemoryBeyond48KiB) {
  expect_report({{ErrorKind::shared_memory}, {"too_much_static"}, anyone, "49168 bytes; 48 KiB is the limit"},
                too_much_static, 32, 0);
}

__global__ void static_beside_dynamic() {
  __shared__ Shared<float, 1024> tile;
  if (here()) tile(self()) = 1;  // reported: static_beside_dynamic
}
__global__ void few_static_bytes() {
  __shared__ Shared<float, 4> tile;
  if (here()) tile(0) = 1;  // reported: few_static_bytes
}
/// Dynamic memory begins at a multiple of 1 KiB: so much is static, however little it is.
TEST(Reports, StaticMemoryInFrontOfDynamicMemory) {
  const unsigned limit = 227 * 1024;
  EXPECT_NO_THROW(launch(few_static_bytes, 3, 1, limit - 1024, nullptr));
  expect_report({{ErrorKind::shared_memory}, {"few_static_bytes"}, anyone, "232464 bytes of shared memory"},
                few_static_bytes, 1, limit - 1024 + 16);
}

/// Each device has its own limit: 4 KiB static and a few bytes too many are reported, those bytes less are not.
TEST(Reports, StaticAndDynamicMemoryBeyondTheDevice) {
  const auto before = settings();
  for (const auto& [capability, limit] :
       std::map<int, unsigned>{{80, 163}, {86, 99}, {89, 99}, {90, 227}, {100, 227}}) {
    settings().capability = capability;
    const std::string sentence =
        std::to_string(limit) + " KiB is the limit of compute capability " + std::to_string(capability);
    expect_report({{ErrorKind::shared_memory}, {"static_beside_dynamic"}, anyone, sentence}, static_beside_dynamic, 32,
                  (limit - 4) * 1024 + 16);
    EXPECT_NO_THROW(launch(static_beside_dynamic, 3, 32, (limit - 4) * 1024, nullptr)) << capability;
    // launch() asks for what is beyond 48 KiB.
    EXPECT_NO_THROW(launch(static_beside_dynamic, 3, 32, 46 * 1024, nullptr)) << capability;
  }
  settings() = before;
}

// ---- races

__global__ void read_after_write(float* out) {
  __shared__ Shared<float, 64> tile;
  tile(self()) = 1;
  if (!here()) __syncthreads();
  out[self()] = tile(self() ^ 32);  // reported: read_after_write
}
TEST(Reports, RaceOfReadAndWrite) {
  // Either the reader finds the other's write, or it comes first and finds the cell unwritten.
  float out[64];
  expect_report({{ErrorKind::race, ErrorKind::unwritten}, {"read_after_write"}, anyone, "reads shared memory at byte"},
                read_after_write, 64, 0, out);
}

__global__ void write_after_read(float* out) {
  __shared__ Shared<float, 64> tile;
  tile(self()) = 1;
  __syncthreads();
  const float left = tile((self() + 1) % 64);  // reported: read_that_comes_late
  if (!here()) __syncthreads();
  if (self() % 2 == 0) tile(self()) = left;  // reported: write_after_read
  __syncthreads();
  out[self()] = tile(self());
}
TEST(Reports, RaceOfWriteAndRead) {
  float out[64];
  expect_report(
      {{ErrorKind::race}, {"write_after_read", "read_that_comes_late"}, anyone, "with no barrier between them"},
      write_after_read, 64, 0, out);
}

__global__ void two_writers() {
  __shared__ Shared<__nv_bfloat16, 16> tile;
  const int at = here() && self() == 11 ? 4 : self();
  tile(at) = from_float<__nv_bfloat16>(1);  // reported: two_writers
}
TEST(Reports, RaceOfTwoWriters) {
  expect_report({{ErrorKind::race},
                 {"two_writers"},
                 [](uint3 t) { return t.x == 4 || t.x == 11; },
                 "with no barrier between them"},
                two_writers, 16, 0);
}

__global__ void atomic_and_read(int* out) {
  __shared__ Shared<int, 1> count;
  if (self() == 0) count(0) = 0;
  __syncthreads();
  atomicAdd(&count(0), 1);  // reported: atomic_after_read
  if (!here()) __syncthreads();
  if (self() == 0) out[blockIdx.x] = count(0);  // reported: atomic_and_read
}
TEST(Reports, RaceOfAtomicAndRead) {
  int out[3];
  expect_report({{ErrorKind::race}, {"atomic_and_read", "atomic_after_read"}, anyone, "with no barrier between them"},
                atomic_and_read, 64, 0, out);
}

/// __syncwarp orders the lanes of its mask, in one warp, and no others.
__global__ void warp_is_not_block(float* out) {
  __shared__ Shared<float, 64> tile;
  tile(self()) = 1;
  __syncthreads();
  tile(self()) = 2;  // reported: write_in_another_warp
  __syncwarp();
  out[self()] = tile(self() ^ (here() ? 32 : 1));  // reported: warp_is_not_block
}
TEST(Reports, SyncwarpOrdersNoOtherWarp) {
  float out[64];
  expect_report(
      {{ErrorKind::race}, {"warp_is_not_block", "write_in_another_warp"}, anyone, "with no barrier between them"},
      warp_is_not_block, 64, 0, out);
}

__global__ void shuffle_is_no_barrier(float* out) {
  __shared__ Shared<float, 32> tile;
  tile(self()) = 1;
  const float x = __shfl_xor_sync(all_lanes, 1.0f, 1);
  if (!here()) __syncwarp();
  out[self()] = x + tile(self() ^ 1);  // reported: shuffle_is_no_barrier
}
TEST(Reports, ShufflesOrderNoMemory) {
  float out[32];
  expect_report({{ErrorKind::race}, {"shuffle_is_no_barrier"}, anyone, "with no barrier between them"},
                shuffle_is_no_barrier, 32, 0, out);
}

__global__ void half_a_warp_is_synchronised(float* out) {
  __shared__ Shared<float, 32> tile;
  tile(self()) = 1;
  const unsigned half = self() < 16 ? 0x0000ffffu : 0xffff0000u;
  __syncwarp(half);
  const float own = tile(self() ^ 1);
  if (!here()) __syncwarp();
  const float x = __shfl_xor_sync(all_lanes, own, 1);
  out[self()] = x + tile(self() ^ 16);  // reported: half_a_warp_is_synchronised
}
TEST(Reports, PartialSyncwarpOrdersItsLanesOnly) {
  float out[32];
  expect_report({{ErrorKind::race}, {"half_a_warp_is_synchronised"}, anyone, "with no barrier between them"},
                half_a_warp_is_synchronised, 32, 0, out);
}

// ---- collectives

__global__ void lane_has_returned(float* out) {
  if (here() && self() == 20) return;
  out[self()] = __shfl_down_sync(all_lanes, 1.0f, 1);  // reported: lane_has_returned
}
TEST(Reports, CollectiveNamesALaneThatHasReturned) {
  float out[32];
  expect_report(
      {{ErrorKind::collective}, {"lane_has_returned"}, anyone, "lane 20 does not come: thread (20,0,0) has returned"},
      lane_has_returned, 32, 0, out);
}

__global__ void warp_of_twenty(unsigned* out) {
  if (here()) out[self()] = __ballot_sync(all_lanes, 1);  // reported: warp_of_twenty
}
TEST(Reports, CollectiveNamesALaneThatTheBlockLacks) {
  unsigned out[32];
  expect_report({{ErrorKind::collective}, {"warp_of_twenty"}, anyone, "the block ends before lane 20"}, warp_of_twenty,
                20, 0, out);
}

__global__ void mask_without_itself(int* out) {
  const unsigned mask = here() && self() == 4 ? all_lanes & ~16u : all_lanes;
  out[self()] = __any_sync(mask, 1);  // reported: mask_without_itself
}
TEST(Reports, MaskThatDoesNotNameTheLaneItself) {
  int out[32];
  expect_report({{ErrorKind::collective}, {"mask_without_itself"}, thread_is(4), "does not name the lane itself, 4"},
                mask_without_itself, 32, 0, out);
}

__global__ void two_masks(int* out) {
  const unsigned mask = here() && self() >= 16 ? 0xffff0000u | 1u : all_lanes;
  out[self()] = __all_sync(mask, 1);  // reported: two_masks
}
TEST(Reports, LanesThatComeWithAnotherMask) {
  int out[32];
  expect_report({{ErrorKind::collective}, {"two_masks"}, thread_is(0), "lane 16 comes with another mask"}, two_masks,
                32, 0, out);
}

__global__ void two_collectives(float* out) {
  if (here() && self() < 16) {
    out[self()] = __any_sync(all_lanes, 1) ? 1.0f : 0.0f;
  } else {
    out[self()] = static_cast<float>(__ballot_sync(all_lanes, 1));
  }
}
TEST(Reports, DifferentCollectives) {
  float out[32];
  try {
    launch(two_collectives, 3, 32, 0, nullptr, out);
    FAIL();
  } catch (const Report& report) {
    EXPECT_EQ(report.kind, ErrorKind::collective);
    EXPECT_NE(std::string(report.what()).find(" meets "), std::string::npos) << report.what();
  }
}

__global__ void source_outside_of_the_mask(float* out) {
  if (!here() || self() < 16)
    out[self()] = __shfl_sync(here() ? 0xffffu : all_lanes, 1.0f, 16);  // reported: source_outside_of_the_mask
}
TEST(Reports, ShuffleFromALaneOutsideOfTheMask) {
  float out[32];
  expect_report({{ErrorKind::collective},
                 {"source_outside_of_the_mask"},
                 anyone,
                 "reads from lane 16, which its mask does not name"},
                source_outside_of_the_mask, 32, 0, out);
}

// ---- vectors and copies

__global__ void misaligned_shared() {
  __shared__ Shared<float, 4, 17> tile;
  const int row = here() && self() == 1 ? 1 : 0;
  store(&tile(row, 4 * self()), make_float4(1, 2, 3, 4));  // reported: misaligned_shared
}
TEST(Reports, MisalignedVectorInSharedMemory) {
  expect_report({{ErrorKind::misaligned},
                 {"misaligned_shared"},
                 thread_is(1),
                 "16 bytes to shared memory, 4 bytes past a multiple of its size"},
                misaligned_shared, 4, 0);
}

__global__ void misaligned_global(const float* in, float* out) {
  const float2 pair = load<float2>(in + 2 * self() + (here() && self() == 3));  // reported: misaligned_global
  out[self()] = pair.x + pair.y;
}
TEST(Reports, MisalignedVectorInGlobalMemory) {
  float* in = allocate<float>(64);
  float out[8];
  expect_report({{ErrorKind::misaligned},
                 {"misaligned_global"},
                 thread_is(3),
                 "8 bytes to global memory, 4 bytes past a multiple of its size"},
                misaligned_global, 8, 0, static_cast<const float*>(in), static_cast<float*>(out));
  release(in);
}

__global__ void vector_over_the_row() {
  __shared__ Shared<float, 4, 10> tile;
  const int last = here() ? 8 : 4;
  store(&tile(0, last), make_float4(1, 2, 3, 4));  // reported: vector_over_the_row
}
TEST(Reports, VectorThatLeavesItsRow) {
  expect_report(
      {{ErrorKind::out_of_bounds}, {"vector_over_the_row"}, thread_is(0), "4 shared elements from 8 on in a row of 10"},
      vector_over_the_row, 1, 0);
}

__global__ void copy_not_waited_for(const float* in, float* out) {
  __shared__ Shared<float, 32> tile;
  copy_async<1>(&tile(self()), in + self());
  copy_async_commit();
  if (!here()) copy_async_wait();
  __syncthreads();
  out[self()] = tile(self());  // reported: copy_not_waited_for
}
__global__ void copy_not_committed(const float* in, float* out) {
  __shared__ Shared<float, 32> tile;
  copy_async<1>(&tile(self()), in + self());
  if (!here()) copy_async_commit();
  copy_async_wait();
  __syncthreads();
  out[self()] = tile(self());  // reported: copy_not_committed
}
__global__ void copy_without_a_barrier(const float* in, float* out) {
  __shared__ Shared<float, 32> tile;
  tile(self()) = 0;
  __syncthreads();
  copy_async<1>(&tile(self()), in + self());  // reported: copy_after_read
  copy_async_commit();
  copy_async_wait();
  if (!here()) __syncthreads();
  out[self()] = tile(self() ^ 1);  // reported: copy_without_a_barrier
}
TEST(Reports, UseOfACopyUnderWay) {
  alignas(16) float in[32] = {}, out[32];
  const float* const from = in;
  float* const to = out;
  expect_report({{ErrorKind::in_flight}, {"copy_not_waited_for"}, anyone, "is in flight"}, copy_not_waited_for, 32, 0,
                from, to);
  expect_report({{ErrorKind::in_flight}, {"copy_not_committed"}, anyone, "is in flight"}, copy_not_committed, 32, 0,
                from, to);
  expect_report(
      {{ErrorKind::race}, {"copy_without_a_barrier", "copy_after_read"}, anyone, "with no barrier between them"},
      copy_without_a_barrier, 32, 0, from, to);
}

__global__ void waits_for_ever(int* flag) {
  if (here() && self() == 5) {
    while (load_acquire(flag) == 0) {  // reported: waits_for_ever
    }
  }
}
TEST(Reports, AFlagThatNobodySets) {
  int flag = 0;
  settings().patience = 0.02;
  expect_report({{ErrorKind::no_progress}, {"waits_for_ever"}, thread_is(5), "has waited for a flag for 0.02 s"},
                waits_for_ever, 32, 0, &flag);
  settings() = {};
}

// ---- lanes that diverge

/// Odd lanes write once more. `Mask`: of a __syncwarp after that.
template <unsigned Mask, bool InProduct>
__global__ void lanes_diverge(float* out) {
  __shared__ Shared<__nv_bfloat16, 16, 32> tile;
  for (int i = 0; i < 16; ++i) tile(i, self()) = from_float<__nv_bfloat16>(1);
  __syncwarp();
  Accumulator sum;
  const auto a = load_a<__nv_bfloat16>(tile, 0, 0);
  const auto b = load_b<__nv_bfloat16>(tile, 0, 0);
  __syncwarp();
  if (self() % 2 == 1) tile(0, self()) = from_float<__nv_bfloat16>(2);
  if (!here())
    __syncwarp();
  else if (Mask != 0)
    __syncwarp(self() < 16 ? Mask : ~Mask);
  if constexpr (InProduct)
    multiply_add(sum, a, b);  // reported: product_of_diverged_lanes
  else
    warpgroup_commit();  // reported: commit_of_diverged_lanes
  out[self()] = sum.values[0];
}
TEST(Reports, DivergedLanesAtAnAlignedInstruction) {
  float out[32];
  expect_report(
      {{ErrorKind::diverged}, {"product_of_diverged_lanes"}, anyone, "thread (0,0,0) last used shared memory in line"},
      lanes_diverge<0, true>, 32, 0, out);
  expect_report({{ErrorKind::diverged}, {"commit_of_diverged_lanes"}, anyone, "have gone different ways"},
                lanes_diverge<0, false>, 32, 0, out);
  // Two halves that are converged, each of its own.
  expect_report({{ErrorKind::diverged}, {"product_of_diverged_lanes"}, anyone, "have gone different ways"},
                lanes_diverge<0x0000ffffu, true>, 32, 0, out);
}

// ---- products of a warpgroup

enum class Defect {
  nothing,
  late_fence,  // which all readers have: no defect
  proxies,
  one_reader,
  registers,
  changed,
  operand,
  operand_reused,
  operand_unnamed,
  read_early,
  unwaited,
  written_early,
  unordered,
  other_tile,
  outside,
  swizzle,
  warp
};

/// A correct product, with one defect in block 2.
template <Defect defect>
__global__ void product_with(float* out) {
  using T = __nv_bfloat16;
  const auto wrong = [](Defect planned) { return here() && defect == planned; };
  DynamicShared memory;
  const CoreTile<T> left(memory, 64, 16), right(memory, 16, 16);
  for (int i = self(); i < 64 * 16; i += static_cast<int>(blockDim.x)) left(i / 16, i % 16) = from_float<T>(1);
  for (int i = self(); i < 16 * 16; i += static_cast<int>(blockDim.x))
    right(i / 16, i % 16) = from_float<T>(1);  // reported: written_for_a_product
  const bool late = defect == Defect::late_fence || defect == Defect::one_reader;
  if (!wrong(Defect::proxies) && !late) fence_proxies();
  __syncthreads();
  if (late && !(wrong(Defect::one_reader) && self() == 77)) fence_proxies();
  if (wrong(Defect::warp) && warp() == 2) return;
  Accumulator sum[2];
  PackedA rows[1] = {packed(load_a<T>(left, 16 * (warp() % 4), 0))};
  auto b = by_rows(right, wrong(Defect::other_tile) && self() == 77 ? 8 : 0, 0);
  if (wrong(Defect::outside)) b = b.from(8);
  if (wrong(Defect::swizzle)) b.bits |= std::uint64_t{1} << 62;
  if (!wrong(Defect::registers)) warpgroup_fence(sum, rows);
  if (wrong(Defect::changed)) sum[1].values[0] = 1;
  if (wrong(Defect::operand)) rows[0].words[1] = 0x40004000;  // two twos
  multiply_add(sum, rows[0], b);                              // reported: product_of_a_warpgroup
  warpgroup_commit();
  if (wrong(Defect::unwaited)) return;
  if (wrong(Defect::read_early)) sum[0].values[0] += 1;
  if (wrong(Defect::written_early)) right(self() % 16, 0) = from_float<T>(2);  // reported: written_early
  if (wrong(Defect::operand_reused)) rows[0].words[1] = 0x40004000;
  if (wrong(Defect::operand_unnamed))
    warpgroup_wait(sum);  // reported: wait_without_the_operand
  else
    warpgroup_wait(sum, rows);  // reported: wait_for_a_product
  if (!wrong(Defect::unordered)) __syncthreads();
  if (self() < 16) right(self(), 3) = from_float<T>(2);  // reported: written_after_the_wait
  out[blockIdx.x * 128 + threadIdx.x % 128] = sum[0].values[0];
}

template <Defect defect>
void expect_product_report(Expected expected, unsigned threads = 128) {
  std::vector<float> out(3 * 128);
  expect_report(expected, product_with<defect>, threads, 2 * 16 * (64 + 16), out.data());
}

TEST(Reports, ProductsOfAWarpgroup) {
  std::vector<float> out(3 * 128);
  launch(product_with<Defect::nothing>, 3, 128, 2 * 16 * (64 + 16), nullptr, out.data());
  EXPECT_EQ(out, std::vector<float>(3 * 128, 16.0f));
  EXPECT_NO_THROW(launch(product_with<Defect::late_fence>, 3, 128, 2 * 16 * (64 + 16), nullptr, out.data()));
  expect_product_report<Defect::proxies>(
      {{ErrorKind::unfenced}, {"product_of_a_warpgroup"}, anyone, "with no fence_proxies after it"});
  expect_product_report<Defect::one_reader>(
      {{ErrorKind::unfenced}, {"product_of_a_warpgroup"}, anyone, "with no fence_proxies after it"});
  expect_product_report<Defect::registers>({{ErrorKind::unfenced},
                                            {"product_of_a_warpgroup"},
                                            anyone,
                                            "since the last warpgroup_fence, or that none has named"});
  expect_product_report<Defect::changed>({{ErrorKind::unfenced},
                                          {"product_of_a_warpgroup"},
                                          anyone,
                                          "an accumulator that changed since the last warpgroup_fence"});
  expect_product_report<Defect::operand>(
      {{ErrorKind::unfenced}, {"product_of_a_warpgroup"}, anyone, "an operand in registers that changed"});
  expect_product_report<Defect::operand_reused>(
      {{ErrorKind::in_flight},
       {"wait_for_a_product"},
       anyone,
       "an operand in registers was changed while its product was in flight"});
  expect_product_report<Defect::operand_unnamed>(
      {{ErrorKind::in_flight}, {"wait_without_the_operand"}, anyone, "a product's operand in registers is not named"});
  expect_product_report<Defect::read_early>({{ErrorKind::in_flight},
                                             {"wait_for_a_product"},
                                             anyone,
                                             "an accumulator was changed while its product was in flight"});
  expect_product_report<Defect::unwaited>({{ErrorKind::in_flight},
                                           {"product_of_a_warpgroup"},
                                           anyone,
                                           "returns while a product of its warpgroup is in flight"});
  expect_product_report<Defect::written_early>(
      {{ErrorKind::in_flight}, {"written_early"}, anyone, "which a product in flight reads"});
  expect_product_report<Defect::unordered>(
      {{ErrorKind::in_flight, ErrorKind::race}, {"written_after_the_wait"}, anyone, "writes shared memory at byte"});
  expect_product_report<Defect::other_tile>(
      {{ErrorKind::collective}, {"product_of_a_warpgroup"}, anyone, "descriptors that are not the same"});
  expect_product_report<Defect::outside>({{ErrorKind::out_of_bounds},
                                          {"product_of_a_warpgroup"},
                                          anyone,
                                          "a product reads shared memory at byte 2560; the block has 2560"});
  expect_product_report<Defect::swizzle>(
      {{ErrorKind::misaligned}, {"product_of_a_warpgroup"}, anyone, "none of these is emulated"});
  expect_product_report<Defect::warp>({{ErrorKind::collective},
                                       {"product_of_a_warpgroup"},
                                       anyone,
                                       "waits for the four warps of its warpgroup, but thread (64,0,0) has returned"});
}

TEST(Reports, ProductsOfAWarpgroupThatTheDeviceOrTheBlockLacks) {
  std::vector<float> out(3 * 128);
  const auto kind = [&](unsigned threads) {
    try {
      launch(product_with<Defect::nothing>, 1, threads, 2 * 16 * (64 + 16), nullptr, out.data());
    } catch (const Report& report) {
      return report.kind;
    }
    return ErrorKind::race;
  };
  EXPECT_EQ(kind(96), ErrorKind::collective);
  for (const int capability : {80, 89, 100}) {
    settings().capability = capability;
    EXPECT_EQ(kind(128), ErrorKind::launch) << capability;
  }
  settings() = {};
}

// ---- launches

__global__ void nothing() {}
TEST(Reports, ImpossibleLaunches) {
  const auto kind = [](dim3 grid, dim3 block, std::size_t bytes) {
    try {
      launch(nothing, grid, block, bytes, nullptr);
    } catch (const Report& report) {
      return report.kind;
    }
    return ErrorKind::race;
  };
  EXPECT_EQ(kind(1, 1025, 0), ErrorKind::launch);
  EXPECT_EQ(kind(1, dim3(32, 33), 0), ErrorKind::launch);
  EXPECT_EQ(kind(1, dim3(1, 1, 65), 0), ErrorKind::launch);
  EXPECT_EQ(kind(0, 32, 0), ErrorKind::launch);
  EXPECT_EQ(kind(dim3(1, 65536), 32, 0), ErrorKind::launch);
  EXPECT_EQ(kind(dim3(1, 1, 65536), 32, 0), ErrorKind::launch);
  EXPECT_NO_THROW(launch(nothing, dim3(1, 1, 65535), 1, 0, nullptr));
  for (const Device& device : devices) {
    settings().capability = device.capability;
    EXPECT_EQ(kind(1, 32, device.shared_limit + 1), ErrorKind::shared_memory) << device.capability;
    EXPECT_NO_THROW(launch(nothing, 1, 1024, device.shared_limit, nullptr)) << device.capability;
  }
  settings().capability = 85;
  EXPECT_THROW(launch(nothing, 1, 1, 0, nullptr), Error);
  settings() = {};
}

TEST(Reports, DeviceCodeOutsideOfALaunch) { EXPECT_THROW(__syncthreads(), Error); }

// ---- the removed barrier

TEST(RemovedBarrier, IsReportedForEverySeed) {
  std::vector<float> x(256, 1), sum(2);
  for (settings().seed = 0; settings().seed < 100; ++settings().seed) {
    try {
      launch(kernels::block_sum<128, false>, 2, 128, 0, nullptr, x.data(), sum.data(), 256);
      ADD_FAILURE() << "seed " << settings().seed;
    } catch (const Report& report) {
      EXPECT_EQ(report.kind, ErrorKind::race) << report.what();
    }
  }
  settings().seed = 0;
}

TEST(RemovedBarrier, GivesWrongSumsWithoutTheRaceCheck) {
  std::vector<float> x(256), sum(2);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  settings().racecheck = false;
  int wrong = 0;
  for (settings().seed = 0; settings().seed < 20; ++settings().seed) {
    launch(kernels::block_sum<128, false>, 2, 128, 0, nullptr, x.data(), sum.data(), 256);
    wrong += sum[0] != 127 * 64 || sum[1] != 127 * 64 + 128 * 128;
  }
  settings() = {};
  EXPECT_EQ(wrong, 20);
}

}  // namespace
