// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "attest/cuda/matrix.hpp"

/// Products by a warpgroup, the four warps of 128 threads: sum (64 x 8 Fragments, float) += a (64 x 16) b (16 x 8
/// Fragments), operands bf16 (wgmma, compute capability 9.0). Each warp has 16 rows of the sum and of an `a` in
/// registers, laid out as in matrix.hpp; b lies in shared memory, and a may. The products run beside the program:
///
///     fence_proxies();               // each thread, when its part of the tiles is written and its copies have landed
///     __syncthreads();               // or __syncwarp(): lanes that diverged since have to converge
///     warpgroup_fence(sum);          // the products read these registers as they are now
///     multiply_add(sum, a, b);       // any number of them
///     warpgroup_commit();
///     warpgroup_wait(sum);           // before the registers are touched, or the tiles are written
///
/// An `a` in registers is named at both: warpgroup_fence(sum, a), warpgroup_wait(sum, a).

namespace attest::cuda {

/// The contiguous dimension of an operand's tile: K, or M or N. The PTX ISA encodes them as 0 and 1.
enum class Major { k, mn };

/// An `a` in registers as the instruction takes it, eight bf16 in four words. It is packed before the fence: what is
/// converted after it may be converted between the fence and the product.
struct PackedA {
  unsigned words[4];
};
__device__ inline PackedA packed(const MatrixA<__nv_bfloat16>& a) { return __builtin_bit_cast(PackedA, a); }

/// An operand in shared memory.
template <Major major>
struct Described {
  std::uint64_t bits;

  /// From another place along M or N, or along K, on: multiples of 8.
  __device__ Described from(int row) const { return {bits + static_cast<unsigned>(row / 8) * (bits >> 32 & 0x3fff)}; }
  __device__ Described deeper(int depth) const {
    return {bits + static_cast<unsigned>(depth / 8) * (bits >> 16 & 0x3fff)};
  }
};

/// A tile of core matrices, 8 rows of 16 bytes in 128 consecutive bytes; core matrices of the same columns are
/// consecutive. Products read it without a swizzle, by rows and by columns. tile(i, j) is element ((j / 8) rows + i) 8
/// + j % 8.
template <class T>
class CoreTile;

}  // namespace attest::cuda

#if defined(ATTEST_CUDA_EMULATION)
#include "attest/cuda/emulated/warpgroup.hpp"
#else
#include "attest/cuda/native/warpgroup.hpp"
#endif

namespace attest::cuda {

namespace detail {

/// The matrix descriptor of the PTX ISA, without swizzle. All in bytes: where it starts, the way to the next core
/// matrix along K (`leading`) and to the next one along M or N (`stride`).
__device__ inline std::uint64_t descriptor(unsigned start, unsigned leading, unsigned stride) {
  const auto field = [](unsigned bytes) -> std::uint64_t { return bytes >> 4 & 0x3fff; };
  return field(start) | field(leading) << 16 | field(stride) << 32;
}

inline constexpr unsigned kCoreMatrix = 128;

}  // namespace detail

/// a(i, k) = tile(row + i, column + k), or b(k, j) = tile(row + j, column + k). Row and column are multiples of 8.
template <class T>
__device__ Described<Major::k> by_rows(const CoreTile<T>& tile, int row, int column) {
  return {detail::descriptor(shared_address(&tile(row, column)), static_cast<unsigned>(tile.rows()) * 16,
                             detail::kCoreMatrix)};
}
/// b(k, j) = tile(row + k, column + j).
template <class T>
__device__ Described<Major::mn> by_columns(const CoreTile<T>& tile, int row, int column) {
  return {detail::descriptor(shared_address(&tile(row, column)), detail::kCoreMatrix,
                             static_cast<unsigned>(tile.rows()) * 16)};
}

}  // namespace attest::cuda
