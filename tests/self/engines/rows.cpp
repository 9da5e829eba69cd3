// SPDX-License-Identifier: MIT
// The engine of rows beside plain loops in long double.
#include "attest/openmp/engine/rows.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "attest/openmp/simd/targets.hpp"

namespace attest::openmp::engine {
namespace {

template <class T>
class Rows : public testing::Test {
protected:
  void SetUp() override {
    try {
      simd::vector_bits();
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Rows, Elements);

TYPED_TEST(Rows, Maps) {
  using T = TypeParam;
  for (const Index count : {1, 7, 16, 33}) {
    std::vector<T> x(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i) x[static_cast<std::size_t>(i)] = static_cast<T>(i - 9) * T(3.3);
    for (const Feature feature : {Feature::exp, Feature::relu, Feature::elu_plus_one}) {
      auto y = x;
      map(feature, y.data(), count);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const long double e = std::exp(static_cast<long double>(x[i]));
        const long double want = feature == Feature::exp    ? e
                                 : x[i] > 0                 ? x[i] + (feature != Feature::relu)
                                 : feature == Feature::relu ? 0
                                                            : e;
        EXPECT_LE(std::abs(y[i] - want), 4 * std::numeric_limits<T>::epsilon() * want) << x[i];
      }
    }
  }
}

/// Positions that go up by 1, that jump, that are large; rows that pass the caches and others.
TYPED_TEST(Rows, Rotations) {
  using T = TypeParam;
  struct Sizes {
    Index n, d, pairs;
  };
  for (const Sizes sizes : {Sizes{1, 2, 1}, Sizes{600, 20, 9}, Sizes{1100, 64, 32}, Sizes{9000, 32, 16}}) {
    std::vector<T> x(static_cast<std::size_t>(sizes.n * sizes.d)), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(std::sin(static_cast<double>(i)));
    std::vector<Wide<T>> theta(static_cast<std::size_t>(sizes.pairs));
    for (Index m = 0; m < sizes.pairs; ++m)
      theta[static_cast<std::size_t>(m)] = std::pow(Wide<T>(10000), -static_cast<Wide<T>>(m) / 16);
    std::vector<std::int64_t> positions(static_cast<std::size_t>(sizes.n));
    for (Index i = 0; i < sizes.n; ++i)
      positions[static_cast<std::size_t>(i)] = 100000 + i + (i > 100 ? 5 : 0) - (i > 300 ? 99000 : 0);
    for (const bool half : {false, true}) {
      const auto rotated = [&](int threads) {
        omp_set_num_threads(threads);
        rotate(Rotation<T>{.x = {x.data(), {sizes.n, sizes.d}},
                           .positions = {positions.data(), {sizes.n}},
                           .theta = {theta.data(), {sizes.pairs}},
                           .length = 2,
                           .half = half,
                           .y = {y.data(), {sizes.n, sizes.d}}});
        return y;
      };
      const int before = omp_get_max_threads();
      const auto one = rotated(1), three = rotated(3);
      omp_set_num_threads(before);
      EXPECT_EQ(std::memcmp(one.data(), three.data(), one.size() * sizeof(T)), 0);
      for (Index i = 0; i < sizes.n; ++i)
        for (Index at = 0; at < sizes.d; ++at) {
          const Index m = half ? at % sizes.pairs : at / 2, row = i * sizes.d;
          const auto of = [&](Index a) { return static_cast<long double>(x[static_cast<std::size_t>(row + a)]); };
          long double want = of(at), size = 1;
          if (at < 2 * sizes.pairs) {
            const long double angle =
                static_cast<Wide<T>>(positions[static_cast<std::size_t>(i)]) * theta[static_cast<std::size_t>(m)];
            size = std::abs(angle);
            const bool second = half ? at >= sizes.pairs : at % 2 == 1;
            const Index partner = second ? at - (half ? sizes.pairs : 1) : at + (half ? sizes.pairs : 1);
            want = 2 * (of(at) * std::cos(angle) + (second ? 1 : -1) * of(partner) * std::sin(angle));
          }
          ASSERT_LE(std::abs(one[static_cast<std::size_t>(row + at)] - want),
                    8 * std::numeric_limits<T>::epsilon() + 4 * size * std::numeric_limits<Wide<T>>::epsilon())
              << i << ", " << at << (half ? ", halves" : "");
        }
    }
  }
}

}  // namespace
}  // namespace attest::openmp::engine
