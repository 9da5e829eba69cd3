// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/lowrank/fourier_features.hpp"
#include "faults/fault.hpp"

namespace attest::faults::lowrank::fourier_features {

namespace right = attest::reference::lowrank::fourier_features;
using right::In;
using right::Out;

/// The equation with angles angle(w_r . x).
template <class F>
void with_angles(const In& in, const Out& out, F&& angle) {
  right::each_row(in, out, [&](const Row& x) {
    return right::row_of(in.w.extent(0), [&](Index r) { return right::wave(angle(dot(in.w[r], x))); });
  });
}

/// The equation with other features of a row: feature(right ones, column).
template <class F>
void with_features(const In& in, const Out& out, F&& feature) {
  right::each_row(in, out, [&](const Row& x) {
    const Vector phi = right::features(in.w, x, in.sigma);
    return tabulate(phi.extent(), [&](Index t) { return feature(phi, t); });
  });
}

inline void variance_sigma_squared(const In& in, const Out& out) {
  with_angles(in, out, [&](const Number& product) { return product * parameter(in.sigma); });
}

inline void sigma_ignored(const In& in, const Out& out) {
  with_angles(in, out, [](const Number& product) { return product; });
}

inline void sigma_squared(const In& in, const Out& out) {
  with_angles(in, out, [&](const Number& product) { return product / (parameter(in.sigma) * parameter(in.sigma)); });
}

inline void normaliser_2d(const In& in, const Out& out) {
  with_features(in, out, [](const Vector& phi, Index t) { return phi(t) / sqrt(Number(2)); });
}

inline void normaliser_missing(const In& in, const Out& out) {
  with_features(in, out, [&](const Vector& phi, Index t) { return phi(t) * sqrt(Number(in.w.extent(0))); });
}

inline void normaliser_not_a_root(const In& in, const Out& out) {
  with_features(in, out, [&](const Vector& phi, Index t) { return phi(t) / sqrt(Number(in.w.extent(0))); });
}

inline void cosine_only(const In& in, const Out& out) {
  with_features(in, out, [&](const Vector& phi, Index t) { return t < in.w.extent(0) ? Number(0) : phi(t); });
}

inline void random_phase(const In& in, const Out& out) {
  const Index c = in.w.extent(0);
  right::each_row(in, out, [&](const Row& x) {
    return tabulate(2 * c, [&](Index t) {
      const Number phase = pi() * Number(5 * t + 1) / Number(2 * c);
      return cos(dot(in.w[t % c], x) / parameter(in.sigma) + phase) / sqrt(Number(c));
    });
  });
}

inline void interleaved_layout(const In& in, const Out& out) {
  with_features(in, out, [&](const Vector& phi, Index t) { return phi(t / 2 + t % 2 * in.w.extent(0)); });
}

inline void cosines_first(const In& in, const Out& out) {
  with_features(in, out, [&](const Vector& phi, Index t) { return phi((t + in.w.extent(0)) % phi.extent()); });
}

inline void last_column_dropped(const In& in, const Out& out) {
  const Index d = in.x.extent(1) / 2 * 2;
  right::each_row(in, out, [&](const Row& x) { return right::features(in.w.columns(0, d), x.rows(0, d), in.sigma); });
}

inline void full_turns(const In& in, const Out& out) {
  with_angles(in, out, [&](const Number& product) { return 2 * pi() * product / parameter(in.sigma); });
}

inline void angle_drift(const In& in, const Out& out, const Number& c) {
  with_angles(in, out, [&](const Number& product) { return product / parameter(in.sigma) * (Number(1) + c); });
}

}  // namespace attest::faults::lowrank::fourier_features
