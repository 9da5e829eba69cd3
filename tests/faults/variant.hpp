// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "attest/reference/emulated.hpp"
#include "attest/reference/vocabulary.hpp"

/// What faults are written with, beside the vocabulary of the reference.
namespace attest::faults {

using namespace attest::reference;

/// The matrix f(i, j), to stand in for an input.
template <class T, class F>
Matrix<T> matrix_of(Index rows, Index columns, F&& f) {
  Matrix<T> x(rows, columns);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < columns; ++j) x(i, j) = f(i, j);
  return x;
}

template <class T>
View<const T, 2> read_only(const Matrix<T>& x) { return x.view(); }

/// The mask f(i, j), true where visible.
class Mask {
public:
  template <class F>
  Mask(Index rows, Index columns, F&& f) : visible_(new bool[static_cast<std::size_t>(rows * columns + 1)]), rows_(rows), columns_(columns) {
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) visible_[static_cast<std::size_t>(i * columns + j)] = f(i, j);
  }
  View<const bool, 2> view() const { return {visible_.get(), {rows_, columns_}}; }

private:
  std::unique_ptr<bool[]> visible_;
  Index rows_, columns_;
};

template <class T>
T not_a_number() { return T(std::nan("")); }

/// The number as it comes back from memory in another format; real numbers lose nothing.
template <class T>
T kept_in(DType dtype, const T& x) {
  if constexpr (std::is_same_v<T, Emulated>) return round_to(dtype, x.value());
  else return (void)dtype, x;
}

/// ln 2
template <class T>
T ln2() { return log(T(2)); }

}  // namespace attest::faults
