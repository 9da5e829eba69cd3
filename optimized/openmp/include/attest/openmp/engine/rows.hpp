// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

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

}  // namespace attest::openmp::engine
