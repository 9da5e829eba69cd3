// SPDX-License-Identifier: MIT
// The leaves of the engine of rows for the target that is being compiled: included by rows_f32.cpp and rows_f64.cpp
// behind <hwy/foreach_target.h>, once per target, hence no #pragma once.
#if defined(ATTEST_OPENMP_ENGINE_ROWS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEST_OPENMP_ENGINE_ROWS_INL_HPP
#undef ATTEST_OPENMP_ENGINE_ROWS_INL_HPP
#else
#define ATTEST_OPENMP_ENGINE_ROWS_INL_HPP
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attest/openmp/engine/sine_cosine.hpp"
#include "openmp/engine/rows_leaves.hpp"
#include "openmp/engine/scratch-inl.hpp"

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

/// Cosines and sines of a row, and those of theta, in the wide type; rounded ones behind them.
template <class T>
class Turn {
public:
  using Real = Wide<T>;
  static Index size(Index pairs) { return 6 * padded(pairs); }

  Turn(const Rotation<T>& in, Real* data) : in_(in), pairs_(in.theta.extent(0)), data_(data) {
    for (Index m = 0; m < padded(pairs_); ++m) {
      const Real theta = m < pairs_ ? in.theta(m) : Real(0);
      step_cosine()[m] = std::cos(theta), step_sine()[m] = std::sin(theta);
    }
  }
  T* cosines() const { return reinterpret_cast<T*>(data_ + 4 * padded(pairs_)); }
  T* sines() const { return reinterpret_cast<T*>(data_ + 5 * padded(pairs_)); }

  void to(Real position) {
    for (Index m = 0; m < padded(pairs_); ++m) {
      const auto turned = sine_cosine(m < pairs_ ? position * in_.theta(m) : Real(0));
      cosine()[m] = in_.length * turned.cosine, sine()[m] = in_.length * turned.sine;
      cosines()[m] = static_cast<T>(cosine()[m]), sines()[m] = static_cast<T>(sine()[m]);
    }
  }
  void on() {
    if constexpr (sizeof(T) == 4) {
      const Lanes<double> d;
      const hn::Rebind<float, Lanes<double>> narrow;
      // Rounded ones in whole vectors: what is loaded next must not be stored in halves.
      for (Index m = 0; m < pairs_; m += kLanes<float>) {
        const auto turned = [&](Index at, auto& rounded_c, auto& rounded_s) HWY_ATTR {
          const auto c = hn::LoadU(d, cosine() + at), s = hn::LoadU(d, sine() + at),
                     by_c = hn::LoadU(d, step_cosine() + at), by_s = hn::LoadU(d, step_sine() + at);
          const auto next_c = hn::NegMulAdd(s, by_s, hn::Mul(c, by_c)), next_s = hn::MulAdd(c, by_s, hn::Mul(s, by_c));
          hn::StoreU(next_c, d, cosine() + at);
          hn::StoreU(next_s, d, sine() + at);
          rounded_c = hn::DemoteTo(narrow, next_c), rounded_s = hn::DemoteTo(narrow, next_s);
        };
        hn::Vec<decltype(narrow)> low_c, low_s, high_c, high_s;
        turned(m, low_c, low_s);
        turned(m + kLanes<double>, high_c, high_s);
        hn::StoreU(hn::Combine(Lanes<float>(), high_c, low_c), Lanes<float>(), cosines() + m);
        hn::StoreU(hn::Combine(Lanes<float>(), high_s, low_s), Lanes<float>(), sines() + m);
      }
    } else {
      for (Index m = 0; m < pairs_; ++m) {
        const Real c = cosine()[m], s = sine()[m];
        cosine()[m] = c * step_cosine()[m] - s * step_sine()[m];
        sine()[m] = s * step_cosine()[m] + c * step_sine()[m];
        cosines()[m] = static_cast<T>(cosine()[m]), sines()[m] = static_cast<T>(sine()[m]);
      }
    }
  }

private:
  static Index padded(Index pairs) { return whole_vectors<float>(pairs); }
  Real* cosine() const { return data_; }
  Real* sine() const { return data_ + padded(pairs_); }
  Real* step_cosine() const { return data_ + 2 * padded(pairs_); }
  Real* step_sine() const { return data_ + 3 * padded(pairs_); }

  const Rotation<T>& in_;
  Index pairs_;
  Real* data_;
};

/// Whether rows of y are whole aligned vectors of more memory than caches keep: they are written past the caches, which
/// would otherwise read them first.
template <class T>
bool passes_caches(View<T, 2> y) {
  constexpr Index kLarge = Index(1) << 20, kBytes = HWY_MAX_BYTES;
  const auto address = reinterpret_cast<std::uintptr_t>(y.data());
  return y.stride(1) == 1 && y.extent(1) % kLanes<T> == 0 && y.stride(0) % kLanes<T> == 0 && address % kBytes == 0 &&
         y.extent(0) * y.extent(1) * static_cast<Index>(sizeof(T)) >= kLarge;
}

template <class T>
void rotate(const Rotation<T>& in, Index first, Index count, Wide<T>* wide, T* row) {
  const Lanes<T> d;
  constexpr Index kAhead = 12;  // rows that are asked for before they are turned
  const bool passing = passes_caches(in.y);
  const Index pairs = in.theta.extent(0), step_x = in.x.stride(1), step_y = in.y.stride(1);
  Turn<T> turn(in, wide);
  const T *cosines = turn.cosines(), *sines = turn.sines();
  for (Index i = first; i < first + count; ++i) {
    if (i == first || in.positions(i) != in.positions(i - 1) + 1)
      turn.to(static_cast<Wide<T>>(in.positions(i)));
    else
      turn.on();
    const T* x = in.x.data() + i * in.x.stride(0);
    if (passing && i + kAhead < first + count)
      for (Index at = 0; at < in.x.extent(1); at += 64 / static_cast<Index>(sizeof(T)))
        hwy::Prefetch(x + kAhead * in.x.stride(0) + at * step_x);
    T *out = in.y.data() + i * in.y.stride(0), *y = passing ? row : out;
    const auto turned = [&](Index m, auto a, auto b, auto& to_a, auto& to_b) HWY_ATTR {
      const auto c = hn::LoadU(d, cosines + m), s = hn::LoadU(d, sines + m);
      to_a = hn::Sub(hn::Mul(a, c), hn::Mul(b, s));
      to_b = hn::Add(hn::Mul(a, s), hn::Mul(b, c));
    };
    Index m = 0;
    if (step_x == 1 && step_y == 1)
      for (; m + kLanes<T> <= pairs; m += kLanes<T>) {
        Vector<T> a, b;
        if (in.half) {
          turned(m, hn::LoadU(d, x + m), hn::LoadU(d, x + pairs + m), a, b);
          hn::StoreU(a, d, y + m);
          hn::StoreU(b, d, y + pairs + m);
        } else {
          hn::LoadInterleaved2(d, x + 2 * m, a, b);
          turned(m, a, b, a, b);
          hn::StoreInterleaved2(a, b, d, y + 2 * m);
        }
      }
    for (; m < pairs; ++m) {
      const Index at_a = in.half ? m : 2 * m, at_b = in.half ? m + pairs : 2 * m + 1;
      const T a = x[at_a * step_x], b = x[at_b * step_x];
      y[at_a * step_y] = a * cosines[m] - b * sines[m];
      y[at_b * step_y] = a * sines[m] + b * cosines[m];
    }
    for (Index at = 2 * pairs; at < in.x.extent(1); ++at) y[at * step_y] = x[at * step_x];
    if (passing)
      for (Index at = 0; at < in.x.extent(1); at += kLanes<T>) hn::Stream(hn::Load(d, row + at), d, out + at);
  }
  if (passing) hwy::FlushStream();
}

template <class T>
inline const RowLeaves<T> row_leaves{map<T>, Turn<T>::size, rotate<T>};

}  // namespace attest::openmp::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
