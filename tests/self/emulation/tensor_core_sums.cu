// SPDX-License-Identifier: MIT
// tensor_core_sums [PROBLEMS]: the sums of a GPU's tensor cores beside the emulation's model of them, bit by bit, in so
// many products of 64 x K by K x 64 (2000): mma.sync with bf16, f16 and tf32, and on Hopper wgmma with bf16. Status 1
// where they differ. Compiled for the emulation, where both are the same, the program tests itself.
#include "attest/cuda/device.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "attest/cuda/tensor_core.hpp"

namespace {

using namespace attest::cuda;
using emulation::TensorCore;

constexpr int kRows = 64, kColumns = 64;
int problems = 2000;

template <class T>
__device__ T exact(float x) {  // drawn values are those of the type
  if constexpr (std::is_same_v<T, Tf32>) {
    return {x};
  } else {
    return from_float<T>(x);
  }
}

/// c (64 x 64) += a (64 x K) b (K x 64), of each block one problem, by a warp.
template <class T>
__global__ void by_warps(const float* a, const float* b, float* c) {
  constexpr int K = matrix_depth<T>;
  a += blockIdx.x * (kRows * K);
  b += blockIdx.x * (K * kColumns);
  c += blockIdx.x * (kRows * kColumns);
  for (int row = 0; row < kRows; row += 16) {
    for (int column = 0; column < kColumns; column += 8) {
      Accumulator sum;
      for (int i = 0; i < sum.size; ++i) sum.values[i] = c[(row + sum.row(i)) * kColumns + column + sum.column(i)];
      const auto left = matrix_a<T>([&](int i, int k) { return exact<T>(a[(row + i) * K + k]); });
      const auto right = matrix_b<T>([&](int k, int j) { return exact<T>(b[k * kColumns + column + j]); });
      __syncwarp();
      multiply_add(sum, left, right);
      for (int i = 0; i < sum.size; ++i) c[(row + sum.row(i)) * kColumns + column + sum.column(i)] = sum.values[i];
    }
  }
}

/// The same by a warpgroup, `a` in shared memory or in registers.
template <bool in_registers>
__global__ void by_warpgroup(const float* a, const float* b, float* c) {
  using T = __nv_bfloat16;
  constexpr int K = 16, fragments = kColumns / 8;
  a += blockIdx.x * (kRows * K);
  b += blockIdx.x * (K * kColumns);
  c += blockIdx.x * (kRows * kColumns);
  DynamicShared memory;
  const CoreTile<T> left(memory, kRows, K), right(memory, K, kColumns);
  for (int i = static_cast<int>(threadIdx.x); i < kRows * K; i += 128) left(i / K, i % K) = from_float<T>(a[i]);
  for (int i = static_cast<int>(threadIdx.x); i < K * kColumns; i += 128)
    right(i / kColumns, i % kColumns) = from_float<T>(b[i]);
  const int first = static_cast<int>(threadIdx.x) / 32 * 16;
  Accumulator sum[fragments];
  for (int e = 0; e < fragments; ++e)
    for (int i = 0; i < Accumulator::size; ++i)
      sum[e].values[i] = c[(first + Accumulator::row(i)) * kColumns + 8 * e + Accumulator::column(i)];
  PackedA mine[1] = {packed(matrix_a<T>([&](int i, int k) { return from_float<T>(a[(first + i) * K + k]); }))};
  fence_proxies();
  __syncthreads();
  if constexpr (in_registers) {
    warpgroup_fence(sum, mine);
    multiply_add(sum, mine[0], by_columns(right, 0, 0));
    warpgroup_commit();
    warpgroup_wait(sum, mine);
  } else {
    warpgroup_fence(sum);
    multiply_add(sum, by_rows(left, 0, 0), by_columns(right, 0, 0));
    warpgroup_commit();
    warpgroup_wait(sum);
  }
  for (int e = 0; e < fragments; ++e)
    for (int i = 0; i < Accumulator::size; ++i)
      c[(first + Accumulator::row(i)) * kColumns + 8 * e + Accumulator::column(i)] = sum[e].values[i];
}

/// `bits` of significand, exponents within +-range, some zeros and subnormals; one in a thousand infinite or NaN.
struct Drawn {
  std::mt19937 engine{1};
  float operator()(int bits, int range, int least, bool special) {
    const auto draw = engine();
    if (special && draw / 16 % 1000 == 0)
      return draw & 0x40000000u
                 ? std::numeric_limits<float>::quiet_NaN()
                 : std::copysign(std::numeric_limits<float>::infinity(), draw & 0x80000000u ? -1.f : 1.f);
    if (draw % 16 == 0) return draw & 0x80000000u ? -0.0f : 0.0f;
    const int exponent = std::max(static_cast<int>(engine() % static_cast<unsigned>(2 * range + 1)) - range, least);
    const double significand =
        std::ldexp(static_cast<double>(1u << (bits - 1) | (engine() & ((1u << (bits - 1)) - 1))), 1 - bits);
    const double value = draw % 16 == 1 ? std::ldexp(significand - 1, least) : std::ldexp(significand, exponent);
    return static_cast<float>(draw & 0x80000000u ? -value : value);
  }
};

struct Operand {
  const char* name;
  int depth, bits, least, range;
};

unsigned bits_of(float x) {
  unsigned bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// Sums that differ from the model's.
template <class Launch>
long differing(const char* instruction, const Operand& operand, TensorCore core, const Launch& run) {
  const int K = operand.depth;
  Drawn draw;
  std::vector<float> a(problems * kRows * K), b(problems * K * kColumns), c(problems * kRows * kColumns);
  for (int p = 0; p < problems; ++p) {  // in turn near 1, of all exponents, and with infinities and NaN
    const int range = p % 3 == 0 ? 2 : operand.range;
    for (int i = 0; i < kRows * K; ++i) a[p * kRows * K + i] = draw(operand.bits, range, operand.least, p % 3 == 2);
    for (int i = 0; i < K * kColumns; ++i)
      b[p * K * kColumns + i] = draw(operand.bits, range, operand.least, p % 3 == 2);
    for (int i = 0; i < kRows * kColumns; ++i)
      c[p * kRows * kColumns + i] = draw(24, p % 3 == 0 ? 4 : std::min(2 * range, 126), -126, p % 3 == 2);
  }
  std::vector<float> got(c.size());
  float* there[3] = {allocate<float>(a.size()), allocate<float>(b.size()), allocate<float>(c.size())};
  const Stream stream = create_stream();
  copy(there[0], a.data(), a.size(), stream);
  copy(there[1], b.data(), b.size(), stream);
  copy(there[2], c.data(), c.size(), stream);
  run(there[0], there[1], there[2], stream);
  copy(got.data(), there[2], got.size(), stream);
  synchronize(stream);
  for (float* memory : there) release(memory);
  destroy(stream);

  long differ = 0, changed = 0;
  std::vector<float> column(K);
  for (int p = 0; p < problems; ++p) {
    for (int j = 0; j < kColumns; ++j) {
      for (int k = 0; k < K; ++k) column[k] = b[(p * K + k) * kColumns + j];
      for (int i = 0; i < kRows; ++i) {
        const float* row = &a[(p * kRows + i) * K];
        const float start = c[(p * kRows + i) * kColumns + j], found = got[(p * kRows + i) * kColumns + j];
        const float stated = emulation::tensor_core_sum(row, column.data(), K, operand.least, start, core);
        changed += bits_of(found) != bits_of(start);
        if (bits_of(found) == bits_of(stated)) continue;
        if (++differ > 4) continue;
        std::printf("  %s %s: %a (%08x), the model has %a (%08x): %a", instruction, operand.name, found, bits_of(found),
                    stated, bits_of(stated), start);
        for (int k = 0; k < K; ++k) std::printf(" + %a * %a", row[k], column[k]);
        std::printf("\n");
      }
    }
  }
  std::printf("%s %s: %ld of %zu sums differ from the model; %ld are not what they began with\n", instruction,
              operand.name, differ, got.size(), changed);
  return differ + (changed < static_cast<long>(got.size()) / 2);
}

template <class T>
long of_warps(const Operand& operand, TensorCore core) {
  return differing("mma.sync", operand, core, [](const float* a, const float* b, float* c, Stream stream) {
    launch(by_warps<T>, problems, 32, 0, stream, a, b, c);
  });
}
template <bool in_registers>
long of_warpgroup(const Operand& operand) {
  return differing(in_registers ? "wgmma, a in registers," : "wgmma, a in shared memory,", operand, TensorCore::sm_90,
                   [](const float* a, const float* b, float* c, Stream stream) {
                     launch(by_warpgroup<in_registers>, problems, 128, 2 * 16 * (kRows + kColumns), stream, a, b, c);
                   });
}

}  // namespace

int main(int count, char** words) {
  if (count > 1) problems = std::atoi(words[1]);
  if (count > 2 || problems < 1 || problems > 20000) {
    std::fprintf(stderr, "usage: tensor_core_sums [PROBLEMS, 1 to 20000]\n");
    return 2;
  }
  try {
    const int capability = compute_capability();
    const TensorCore core = capability < 90 ? TensorCore::sm_80 : TensorCore::sm_90;
    std::printf("compute capability %d.%d\n", capability / 10, capability % 10);
    const Operand bf16{"bf16", 16, 8, -126, 60}, f16{"f16", 16, 11, -14, 14}, tf32{"tf32", 8, 11, -126, 60};
    long differ = of_warps<__nv_bfloat16>(bf16, core) + of_warps<__half>(f16, core) + of_warps<Tf32>(tf32, core);
    if (capability == 90) differ += of_warpgroup<false>(bf16) + of_warpgroup<true>(bf16);
    return differ > 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tensor_core_sums: %s\n", error.what());
    return 2;
  }
}
