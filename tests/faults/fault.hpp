// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "attest/reference/vocabulary.hpp"

/// Helpers of the faults, beside the vocabulary of the reference.
namespace attest::faults {

using namespace attest::reference;

/// The matrix f(i, j), to stand in for an input.
template <class F>
Matrix matrix_of(Index rows, Index columns, F&& f) {
  Matrix x(rows, columns);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < columns; ++j) x(i, j) = f(i, j);
  return x;
}

inline View<const Number, 2> read_only(const Matrix& x) { return x.view(); }

/// The mask f(i, j), true where visible.
class Mask {
public:
  /// Fills only those rows; the others are never read.
  template <class F>
  Mask(Index rows, Index columns, F&& f, const std::vector<Index>& of_rows)
      : visible_(new bool[static_cast<std::size_t>(rows * columns + 1)]), rows_(rows), columns_(columns) {
    for (const Index i : of_rows)
      for (Index j = 0; j < columns; ++j) visible_[static_cast<std::size_t>(i * columns + j)] = f(i, j);
  }
  template <class F>
  Mask(Index rows, Index columns, F&& f)
      : visible_(new bool[static_cast<std::size_t>(rows * columns + 1)]), rows_(rows), columns_(columns) {
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) visible_[static_cast<std::size_t>(i * columns + j)] = f(i, j);
  }
  View<const bool, 2> view() const { return {visible_.get(), {rows_, columns_}}; }

private:
  std::unique_ptr<bool[]> visible_;
  Index rows_, columns_;
};

/// ln 2
inline Number ln2() { return log(Number(2)); }

}  // namespace attest::faults
