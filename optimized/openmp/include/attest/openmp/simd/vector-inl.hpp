// SPDX-License-Identifier: MIT
// Vectors of float and double, e^x and tanh, and the product of a tile, for the target that is being compiled: included
// by a unit behind <hwy/foreach_target.h>, once per target, hence no #pragma once.
#if defined(ATTEST_OPENMP_SIMD_VECTOR_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEST_OPENMP_SIMD_VECTOR_INL_HPP
#undef ATTEST_OPENMP_SIMD_VECTOR_INL_HPP
#else
#define ATTEST_OPENMP_SIMD_VECTOR_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "attest/view.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::openmp::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Lanes = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Lanes<T>>;
template <class T>
constexpr Index kLanes = static_cast<Index>(HWY_MAX_BYTES / sizeof(T));
/// Vectors that fit the registers: accumulators of a product leave room for its operands.
constexpr Index kAccumulators = HWY_TARGET == HWY_AVX3 ? 24 : 12;

template <class T>
HWY_INLINE Vector<T> all(T x) {
  return hn::Set(Lanes<T>(), x);
}
template <class T>
HWY_INLINE Vector<T> zero() {
  return hn::Zero(Lanes<T>());
}

/// A polynomial by Horner's rule: `so_far` is the highest coefficient, the others follow in order.
template <class T, class... More>
HWY_INLINE Vector<T> horner(Vector<T> so_far, Vector<T> x, T next, More... more) {
  so_far = hn::MulAdd(so_far, x, all(next));
  if constexpr (sizeof...(more) == 0)
    return so_far;
  else
    return horner<T>(so_far, x, more...);
}

/// Constants of e^x = 2^n e^r, n = round(x / ln 2), |r| <= ln 2 / 2. e^r = 1 + r + r^2 P(r), P by Remez for the
/// relative error: 3.1e-9 in float, 3.6e-18 in double. Below `least` e^x rounds to 0, above `most` it overflows. ln 2
/// is split so that n times its high part is exact.
template <class T>
struct Exponential;
template <>
struct Exponential<float> {
  using Integer = std::int32_t;
  static constexpr float kLeast = -104, kMost = 89, kLog2E = 0x1.715476p+0f, kHigh = 0x1.62e4p-1f,
                         kLow = 0x1.7f7d1cp-20f, kRounder = 0x1.8p+23f;
  static constexpr int kMantissa = 23, kBias = 127;
  static HWY_INLINE Vector<float> tail(Vector<float> r) {
    return horner<float>(all(0x1.6a2434p-10f), r, 0x1.1239e2p-7f, 0x1.5558f2p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f);
  }
};
template <>
struct Exponential<double> {
  using Integer = std::int64_t;
  static constexpr double kLeast = -746, kMost = 710, kLog2E = 0x1.71547652b82fep+0, kHigh = 0x1.62e42feep-1,
                          kLow = 0x1.a39ef35793c76p-33, kRounder = 0x1.8p+52;
  static constexpr int kMantissa = 52, kBias = 1023;
  static HWY_INLINE Vector<double> tail(Vector<double> r) {
    return horner<double>(all(0x1.ad7f6c6c7fa5ep-26), r, 0x1.28ad72d279198p-22, 0x1.71df2553cc5bdp-19,
                          0x1.a0199a0c60f6fp-16, 0x1.a01a012a5709fp-13, 0x1.6c16c1842a13fp-10, 0x1.1111111127be7p-7,
                          0x1.555555555087cp-5, 0x1.55555555554fap-3, 0x1.000000000000ap-1);
  }
};

/// e^x to 1 ulp, subnormal results too; 0 from e^-inf, infinity beyond the range, NaN from NaN.
template <class T>
HWY_INLINE Vector<T> exp(Vector<T> x) {
  using E = Exponential<T>;
  // The second operand of Min and Max is what x86 gives where one is NaN.
  x = hn::Min(all(E::kMost), hn::Max(all(E::kLeast), x));
  const auto shifted = hn::MulAdd(x, all(E::kLog2E), all(E::kRounder));
  const auto n = hn::Sub(shifted, all(E::kRounder));
  const auto r = hn::NegMulAdd(n, all(E::kLow), hn::NegMulAdd(n, all(E::kHigh), x));
  const auto y = hn::Add(hn::MulAdd(E::tail(r), hn::Mul(r, r), r), all(T(1)));
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == 4)
    return Vector<T>{_mm512_scalef_ps(y.raw, n.raw)};
  else
    return Vector<T>{_mm512_scalef_pd(y.raw, n.raw)};
#else
  // 2^n = 2^half 2^(n - half): the first product is exact, the second rounds once, where the result is subnormal too.
  const hn::RebindToSigned<Lanes<T>> integers;
  const auto whole = hn::Sub(hn::BitCast(integers, shifted), hn::BitCast(integers, all(E::kRounder)));
  const auto to_power = [&](auto power) HWY_ATTR {
    return hn::BitCast(Lanes<T>(), hn::ShiftLeft<E::kMantissa>(
                                       hn::Add(power, hn::Set(integers, static_cast<typename E::Integer>(E::kBias)))));
  };
  // n / 2 by the rounder again: there is no arithmetic shift of 64-bit integers before AVX-512.
  const auto half_shifted = hn::MulAdd(n, all(T(0.5)), all(E::kRounder));
  const auto half = hn::Sub(hn::BitCast(integers, half_shifted), hn::BitCast(integers, all(E::kRounder)));
  return hn::Mul(hn::Mul(y, to_power(half)), to_power(hn::Sub(whole, half)));
#endif
}

/// tanh x to 2 ulp: x + x^3 R(x^2) up to 0.625, and 1 - 2 / (e^(2|x|) + 1) beyond (R: Cephes).
template <class T>
HWY_INLINE Vector<T> tanh(Vector<T> x) {
  const auto size = hn::Abs(x), square = hn::Mul(x, x);
  Vector<T> small;
  if constexpr (sizeof(T) == 4) {
    small = horner<T>(all(-5.70498872745e-3f), square, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f,
                      -3.33332819422e-1f);
  } else {
    const auto above =
        horner<T>(all(-9.64399179425052238628e-1), square, -9.92877231001918586564e1, -1.61468768441708447952e3);
    const auto below = horner<T>(hn::Add(square, all(1.12811678491632931402e2)), square, 2.23548839060100448583e3,
                                 4.84406305325125486048e3);
    small = hn::Div(above, below);
  }
  small = hn::MulAdd(hn::Mul(square, small), x, x);
  const auto large = hn::Sub(all(T(1)), hn::Div(all(T(2)), hn::Add(exp<T>(hn::Add(size, size)), all(T(1)))));
  return hn::IfThenElse(hn::Gt(size, all(T(0.625))), hn::CopySign(large, x), small);
}

/// Elements of a block of 128 bits: what shuffles work within.
template <class T>
constexpr Index kBlock = static_cast<Index>(16 / sizeof(T));

/// Rows row(0), row(1), ... of `kBlock` elements each, one per block of a vector.
template <class T, class Row>
HWY_INLINE Vector<T> load_blocks(Row&& row) {
  const hn::FixedTag<T, 16 / sizeof(T)> block;
#if HWY_MAX_BYTES == 16
  return hn::LoadU(block, row(0));
#else
  const auto two = [&](Index first) HWY_ATTR {
    return hn::Combine(hn::FixedTag<T, 32 / sizeof(T)>(), hn::LoadU(block, row(first + 1)),
                       hn::LoadU(block, row(first)));
  };
#if HWY_MAX_BYTES == 32
  return two(0);
#else
  return hn::Combine(Lanes<T>(), two(2), two(0));
#endif
#endif
}

/// column(j, first, x): x has x[first + lane][j] in its lanes, for j < columns and every `first` that is a multiple of
/// the lanes. Row i lies at x + i * stride; lanes behind the last row repeat it.
template <class T, class F>
HWY_INLINE void each_column(const T* x, Index stride, Index rows, Index columns, F&& column) {
  const Lanes<T> d;
  for (Index first = 0; first < rows; first += kLanes<T>) {
    const auto at = [&](Index row, Index j) HWY_ATTR { return x + std::min(first + row, rows - 1) * stride + j; };
    Index j = 0;
    for (; j + kBlock<T> <= columns; j += kBlock<T>) {
      const auto row = [&](Index r) HWY_ATTR {
        return load_blocks<T>([&](Index block) HWY_ATTR { return at(block * kBlock<T> + r, j); });
      };
      if constexpr (sizeof(T) == 4) {
        const hn::Repartition<std::uint64_t, Lanes<T>> pairs;
        const auto x0 = row(0), x1 = row(1), x2 = row(2), x3 = row(3);
        const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, x0, x1)),
                   low23 = hn::BitCast(pairs, hn::InterleaveLower(d, x2, x3)),
                   high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, x0, x1)),
                   high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, x2, x3));
        column(j, first, hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)));
        column(j + 1, first, hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)));
        column(j + 2, first, hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)));
        column(j + 3, first, hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)));
      } else {
        const auto x0 = row(0), x1 = row(1);
        column(j, first, hn::InterleaveLower(d, x0, x1));
        column(j + 1, first, hn::InterleaveUpper(d, x0, x1));
      }
    }
    for (; j < columns; ++j) {
      HWY_ALIGN T lanes[kLanes<T>];
      for (Index row = 0; row < kLanes<T>; ++row) lanes[row] = *at(row, j);
      column(j, first, hn::Load(d, lanes));
    }
  }
}

/// What a product does with what stands in C.
enum class Onto { nothing, sum, scaled_sum };

/// C (rows x vectors of lanes) = A B, C + A B, or C diag(scale) + A B. A(r, t) = a[r * a_row + t * a_step] for t <
/// depth is read as it lies; row t of B is at b + t * b_step, row r of C at c + r * c_row, `scale` has a factor per
/// lane. Sums go in order of t.
template <class T, int Rows, int Width, Onto onto>
HWY_INLINE void product_block(Index depth, const T* HWY_RESTRICT a, Index a_row, Index a_step, const T* HWY_RESTRICT b,
                              Index b_step, const T* scale, T* HWY_RESTRICT c, Index c_row) {
  const Lanes<T> d;
  Vector<T> sum[Rows][Width];
#pragma GCC unroll 32
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
    for (int w = 0; w < Width; ++w) {
      if constexpr (onto == Onto::nothing) sum[r][w] = hn::Zero(d);
      if constexpr (onto == Onto::sum) sum[r][w] = hn::LoadU(d, c + r * c_row + w * kLanes<T>);
      if constexpr (onto == Onto::scaled_sum)
        sum[r][w] = hn::Mul(hn::LoadU(d, c + r * c_row + w * kLanes<T>), hn::LoadU(d, scale + w * kLanes<T>));
    }
  for (Index t = 0; t < depth; ++t) {
    Vector<T> row[Width];
    for (int w = 0; w < Width; ++w) row[w] = hn::LoadU(d, b + t * b_step + w * kLanes<T>);
    for (int r = 0; r < Rows; ++r) {
      const auto factor = hn::Set(d, a[r * a_row + t * a_step]);
      for (int w = 0; w < Width; ++w) sum[r][w] = hn::MulAdd(factor, row[w], sum[r][w]);
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
    for (int w = 0; w < Width; ++w) hn::StoreU(sum[r][w], d, c + r * c_row + w * kLanes<T>);
}

/// The same for any number of rows and `Width` vectors; `depth` is a number, or depth(end) that of the rows before
/// `end` that are not done yet, some of which a triangle gives more than they need.
template <class T, int Width, Onto onto, class Depth>
void product_columns(Index rows, const Depth& depth, const T* a, Index a_row, Index a_step, const T* b, Index b_step,
                     const T* scale, T* c, Index c_row) {
  constexpr int kRows = Width == 1 ? 8 : static_cast<int>(kAccumulators) / Width;
  Index r = 0;
  const auto next = [&](auto count) HWY_ATTR {
    Index steps;
    if constexpr (std::is_invocable_v<Depth, Index>)
      steps = depth(r + count);
    else
      steps = depth;
    product_block<T, decltype(count)::value, Width, onto>(steps, a + r * a_row, a_row, a_step, b, b_step, scale,
                                                          c + r * c_row, c_row);
    r += count;
  };
  // NOLINTBEGIN(bugprone-infinite-loop): `next` counts the rows up
  while (r + kRows <= rows) next(std::integral_constant<int, kRows>());
  while (r + 2 <= rows) next(std::integral_constant<int, 2>());
  while (r < rows) next(std::integral_constant<int, 1>());
  // NOLINTEND(bugprone-infinite-loop)
}

/// The same for any number of rows and vectors.
template <class T, Onto onto, class Depth>
void product(Index rows, Index vectors, const Depth& depth, const T* a, Index a_row, Index a_step, const T* b,
             Index b_step, T* c, Index c_row, const T* scale = nullptr) {
  const auto columns = [&](auto width) HWY_ATTR {
    product_columns<T, decltype(width)::value, onto>(rows, depth, a, a_row, a_step, b, b_step, scale, c, c_row);
    b += width * kLanes<T>;
    c += width * kLanes<T>;
    if constexpr (onto == Onto::scaled_sum) scale += width * kLanes<T>;
    vectors -= width;
  };
  // 24 and 12 accumulators are 8 and 4 rows of 3 vectors; 4 vectors are as fast where there are 32 registers.
  // NOLINTBEGIN(bugprone-infinite-loop): `columns` counts the vectors down
  while (vectors >= 6 || vectors == 3) columns(std::integral_constant<int, 3>());
  while (vectors >= 4 && kAccumulators == 24) columns(std::integral_constant<int, 4>());
  while (vectors >= 2) columns(std::integral_constant<int, 2>());
  while (vectors >= 1) columns(std::integral_constant<int, 1>());
  // NOLINTEND(bugprone-infinite-loop)
}

}  // namespace attest::openmp::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
