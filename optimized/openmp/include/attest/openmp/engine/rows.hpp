// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>

#include "attest/view.hpp"

/// One pass over memory, for what is done to rows or elements on their own.
namespace attest::openmp::engine {

/// Elements in place.
template <class T>
using Map = std::function<void(T* data, Index count)>;

/// e^x; max(x, 0); x + 1 above 0 and e^x below, where expm1(x) + 1 would lose the small ones.
enum class Feature { exp, relu, elu_plus_one };

void map(Feature feature, float* data, Index count);
void map(Feature feature, double* data, Index count);

/// The map that an equation's parameter names; none of any other name: identity, given.
template <class T, class Name>
Map<T> map_of(Name name) {
  const auto of = [](Feature feature) -> Map<T> {
    return [feature](T* data, Index count) { map(feature, data, count); };
  };
  if (name == Name::exp) return of(Feature::exp);
  if (name == Name::relu) return of(Feature::relu);
  if (name == Name::elu_plus_one) return of(Feature::elu_plus_one);
  return {};
}

/// Angles reach 10^6 radians: formed in the kernel's own type they would lose every digit behind the point that
/// matters.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// Pair m of row i is turned by positions_i theta_m and gets `length` times as long: (m, m + pairs) if `half`,
/// (2 m, 2 m + 1) otherwise. What lies behind the pairs passes.
template <class T>
struct Rotation {
  View<const T, 2> x = {};                     ///< [n, d]
  View<const std::int64_t, 1> positions = {};  ///< [n]
  View<const Wide<T>, 1> theta = {};           ///< [pairs], side by side
  Wide<T> length = 1;
  bool half = false;
  View<T, 2> y = {};  ///< [n, d]
};

/// Cosines and sines are taken anew every 512 rows and wherever positions do not go up by 1; between them the row
/// before is turned by theta, in the wide type.
void rotate(const Rotation<float>& in);
void rotate(const Rotation<double>& in);

}  // namespace attest::openmp::engine
