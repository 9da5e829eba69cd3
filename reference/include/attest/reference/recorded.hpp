// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "attest/reference/tape.hpp"

/// Matrices on a tape, for the equations that are gradients.
namespace attest::reference {

/// A variable for every entry of x.
template <class T>
Matrix<Tape<T>> variables(View<const T, 2> x) {
  Matrix<Tape<T>> copy(x.extent(0), x.extent(1));
  for (Index i = 0; i < x.extent(0); ++i)
    for (Index a = 0; a < x.extent(1); ++a) copy(i, a) = Tape<T>::variable(x(i, a));
  return copy;
}

/// The adjoints of a matrix of variables.
template <class T>
void write_adjoints(const std::vector<T>& adjoints, const Matrix<Tape<T>>& of, View<T, 2> gradient) {
  for (Index i = 0; i < gradient.extent(0); ++i)
    for (Index a = 0; a < gradient.extent(1); ++a) gradient(i, a) = adjoints[static_cast<std::size_t>(of(i, a).index())];
}

}  // namespace attest::reference
