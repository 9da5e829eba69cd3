// SPDX-License-Identifier: MIT
// The vectors of the OpenMP engines against the standard library in long double and plain loops, for every target that
// this processor has.
#include "attest/openmp/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd.cpp"
#include <hwy/foreach_target.h>

#include "attest/openmp/simd/vector-inl.hpp"

#ifndef ATTEST_TEST_OF_SIMD
#define ATTEST_TEST_OF_SIMD
#include "attest/view.hpp"

namespace attest::openmp::simd {

/// What a target offers, behind plain functions. Arrays are aligned and whole vectors long.
template <class T>
struct Functions {
  Index lanes;
  void (*exp)(T* x, Index count);
  void (*tanh)(T* x, Index count);
  void (*product)(Index rows, Index vectors, Index depth, const T* a, Index a_row, Index a_step, const T* b,
                  Index b_step, T* c, Index c_row, const T* scale);
};

}  // namespace attest::openmp::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace attest::openmp::simd::HWY_NAMESPACE {

template <class T>
void exp_all(T* x, Index count) {
  for (Index i = 0; i < count; i += kLanes<T>) hn::Store(exp<T>(hn::Load(Lanes<T>(), x + i)), Lanes<T>(), x + i);
}
template <class T>
void tanh_all(T* x, Index count) {
  for (Index i = 0; i < count; i += kLanes<T>) hn::Store(tanh<T>(hn::Load(Lanes<T>(), x + i)), Lanes<T>(), x + i);
}
template <class T>
void scaled_product(Index rows, Index vectors, Index depth, const T* a, Index a_row, Index a_step, const T* b,
                    Index b_step, T* c, Index c_row, const T* scale) {
  product<T, Onto::scaled_sum>(rows, vectors, depth, a, a_row, a_step, b, b_step, c, c_row, scale);
}
template <class T>
const Functions<T> functions = {kLanes<T>, exp_all<T>, tanh_all<T>, scaled_product<T>};
template const Functions<float> functions<float>;
template const Functions<double> functions<double>;

}  // namespace attest::openmp::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <random>
#include <vector>

namespace attest::openmp::simd {
namespace {

template <class T>
std::vector<const Functions<T>*> targets() {
#if defined(__x86_64__)
  std::vector<const Functions<T>*> all = {&N_SSE4::functions<T>};
  if (vector_bits() >= 256) all.push_back(&N_AVX2::functions<T>);
  if (vector_bits() >= 512) all.push_back(&N_AVX3::functions<T>);
  return all;
#else
  return {&HWY_NAMESPACE::functions<T>};
#endif
}

template <class T>
struct Aligned {
  explicit Aligned(std::size_t count) : size(count), data(new(std::align_val_t(64)) T[count]()) {}
  Aligned(const Aligned&) = delete;
  ~Aligned() { ::operator delete[](data, std::align_val_t(64)); }
  std::size_t size;
  T* data;
};

/// |got - want| in units of the last place of `want`, those of the smallest normal number below it.
template <class T>
long double ulps(T got, long double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : std::numeric_limits<long double>::infinity();
  if (got == static_cast<T>(want)) return 0;
  int exponent = 0;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return std::abs(got - want) / std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
}

template <class T, class F, class G>
void compare(F&& function, G&& exact, T from, T to, long double bound) {
  constexpr std::size_t kCount = 1 << 16;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<T> draw(from, to);
  Aligned<T> x(kCount), y(kCount);
  const T infinity = std::numeric_limits<T>::infinity(), tiny = std::numeric_limits<T>::denorm_min();
  const T special[] = {0,
                       -T(0),
                       infinity,
                       -infinity,
                       std::numeric_limits<T>::quiet_NaN(),
                       tiny,
                       -tiny,
                       std::numeric_limits<T>::max(),
                       std::numeric_limits<T>::lowest()};
  for (std::size_t i = 0; i < kCount; ++i) x.data[i] = y.data[i] = i < std::size(special) ? special[i] : draw(random);
  function(y.data, static_cast<Index>(kCount));
  for (std::size_t i = 0; i < kCount; ++i)
    ASSERT_LE(ulps(y.data[i], exact(static_cast<long double>(x.data[i]))), bound) << "at " << x.data[i];
}

template <class T>
class Simd : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Simd, Elements);

TYPED_TEST(Simd, ExpIsWithinAnUlpWhereItUnderflowsAndOverflowsToo) {
  using T = TypeParam;
  const auto exact = [](long double x) { return std::exp(x); };
  const T least = sizeof(T) == 4 ? -110 : -760, most = sizeof(T) == 4 ? 95 : 720;
  for (const auto* target : targets<T>()) {
    SCOPED_TRACE(target->lanes);
    compare<T>(target->exp, exact, least, most, 1.1L);
    compare<T>(target->exp, exact, -2, 2, 1.0L);
  }
}

TYPED_TEST(Simd, TanhIsWithinTwoUlps) {
  using T = TypeParam;
  const auto exact = [](long double x) { return std::tanh(x); };
  for (const auto* target : targets<T>()) {
    SCOPED_TRACE(target->lanes);
    compare<T>(target->tanh, exact, -1, 1, 1.5L);
    compare<T>(target->tanh, exact, -30, 30, 1.5L);
  }
}

TYPED_TEST(Simd, ProductOfEveryNumberOfRowsAndVectors) {
  using T = TypeParam;
  for (const auto* target : targets<T>())
    for (Index rows = 0; rows <= 27; ++rows)
      for (Index vectors = 1; vectors <= 9; ++vectors)
        for (const bool transposed : {false, true}) {
          SCOPED_TRACE(testing::Message() << target->lanes << " lanes, " << rows << " x " << vectors);
          const Index depth = rows % 5, width = vectors * target->lanes, c_row = width + target->lanes;
          const Index a_row = transposed ? 1 : depth, a_step = transposed ? rows : 1;
          Aligned<T> a(static_cast<std::size_t>(rows * depth)), b(static_cast<std::size_t>(depth * width)),
              c(static_cast<std::size_t>(rows * c_row)), scale(static_cast<std::size_t>(width));
          std::mt19937 random(2);
          for (const auto* x : {&a, &b, &c, &scale})  // whole numbers: sums are exact
            for (std::size_t i = 0; i < x->size; ++i) x->data[i] = static_cast<T>(static_cast<int>(random() % 15) - 7);
          std::vector<T> want(c.data, c.data + c.size);
          for (Index r = 0; r < rows; ++r)
            for (Index j = 0; j < width; ++j) {
              T& sum = want[static_cast<std::size_t>(r * c_row + j)];
              sum *= scale.data[j];
              for (Index t = 0; t < depth; ++t) sum += a.data[r * a_row + t * a_step] * b.data[t * width + j];
            }
          target->product(rows, vectors, depth, a.data, a_row, a_step, b.data, width, c.data, c_row, scale.data);
          ASSERT_TRUE(std::equal(want.begin(), want.end(), c.data));
        }
}

}  // namespace
}  // namespace attest::openmp::simd
#endif
