// SPDX-License-Identifier: MIT
// The leaves of the engine of rows for the target that is being compiled: included by rows_f32.cpp and rows_f64.cpp
// behind <hwy/foreach_target.h>, once per target, hence no #pragma once.
#if defined(ATTEST_OPENMP_ENGINE_ROWS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEST_OPENMP_ENGINE_ROWS_INL_HPP
#undef ATTEST_OPENMP_ENGINE_ROWS_INL_HPP
#else
#define ATTEST_OPENMP_ENGINE_ROWS_INL_HPP
#endif

#include "attest/openmp/simd/vector-inl.hpp"
#include "openmp/engine/rows_leaves.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::openmp::engine::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using simd::HWY_NAMESPACE::all;
using simd::HWY_NAMESPACE::kLanes;
using simd::HWY_NAMESPACE::Lanes;
using simd::HWY_NAMESPACE::Vector;

/// f of every element, in place; the last ones as a vector that is half empty.
template <class T, class F>
HWY_INLINE void each_element(T* data, Index count, F&& f) {
  const Lanes<T> d;
  Index i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) hn::StoreU(f(hn::LoadU(d, data + i)), d, data + i);
  if (i < count) {
    HWY_ALIGN T rest[kLanes<T>] = {};
    for (Index j = i; j < count; ++j) rest[j - i] = data[j];
    hn::Store(f(hn::Load(d, rest)), d, rest);
    for (Index j = i; j < count; ++j) data[j] = rest[j - i];
  }
}

template <class T>
void map(Feature feature, T* data, Index count) {
  const auto zero = simd::HWY_NAMESPACE::zero<T>();
  switch (feature) {
    case Feature::exp:
      each_element(data, count, [](Vector<T> x) HWY_ATTR { return simd::HWY_NAMESPACE::exp<T>(x); });
      break;
    case Feature::relu:
      each_element(data, count, [&](Vector<T> x) HWY_ATTR { return hn::IfThenZeroElse(hn::Le(x, zero), x); });
      break;
    case Feature::elu_plus_one:
      each_element(data, count, [&](Vector<T> x) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(x, zero), hn::Add(x, all(T(1))), simd::HWY_NAMESPACE::exp<T>(x));
      });
      break;
  }
}

template <class T>
inline const RowLeaves<T> row_leaves{map<T>};

}  // namespace attest::openmp::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
