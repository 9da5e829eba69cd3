// SPDX-License-Identifier: MIT
#pragma once

#include <limits>

#include "attest/openmp/engine/recur.hpp"

namespace attest::openmp::linear {

template <class T>
View<T, 2> in_rows(View<T, 2> x) {
  return x;
}
/// One row.
template <class T>
View<T, 2> in_rows(View<T, 1> x) {
  return {x.data(), {1, x.extent(0)}, {x.extent(0), x.stride(0)}};
}

/// What a contract says of queries, keys, values, features and denominators, and of a state that it carries.
template <class T, class I, class O>
engine::Recurrence<T> recurrence_of(const I& in, const O& out) {
  engine::Recurrence<T> recurrence{
      .q = in_rows(in.phi_q), .k = in_rows(in.phi_k), .v = in_rows(in.v), .map = engine::map_of<T>(in.features)};
  recurrence.eps = static_cast<T>(in.eps);
  using ZeroDenominator = decltype(in.zero_denominator);
  recurrence.undefined = in.zero_denominator == ZeroDenominator::nan ? std::numeric_limits<T>::quiet_NaN() : T(0);
  if constexpr (requires { in.mask; }) recurrence.mask = in.mask;
  if constexpr (requires { in.S; }) {
    recurrence.S = in.S, recurrence.z = in.Z;
    recurrence.S_after = out.S, recurrence.z_after = out.Z;
  }
  recurrence.o = in_rows(out.o);
  return recurrence;
}

}  // namespace attest::openmp::linear
