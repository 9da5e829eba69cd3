// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <vector>

#include "attest/reference/vocabulary.hpp"

namespace attest::reference {

/// Reverse-mode differentiation in any arithmetic. While a tape lives, it records what this thread's evaluation
/// computes from its variables: for each result its operands and the partial derivatives, which are numbers of the same
/// arithmetic. Constants are not recorded. One tape at a time: a second one throws std::logic_error.
class Tape {
public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// A new variable with that value.
  Number variable(const Number& value);

  /// Names a result that the loss depends on, and the loss's derivative with respect to it.
  void seed(const Number& result, Number adjoint);

  /// The adjoint of a variable is the sum over its uses, so that no order of accumulation is preferred. Called once,
  /// after the last seed and before the first adjoint(): from then on nothing is recorded.
  void differentiate();
  const Number& adjoint(const Number& variable) const;

  /// A matrix of variables, and their adjoints.
  Matrix variables(const View<const Number, 2>& x);
  void write_adjoints(const Matrix& of, const View<Number, 2>& gradient) const;

private:
  friend struct Recorder;
  struct Edge {
    std::uint32_t operand;  // a variable
    Partial kind;
    Number partial;
  };
  std::uint32_t variable_of(const Number& x) const;  // plus 1; 0 for a constant
  void operand(const Number& x, Number partial, Partial kind);
  void become(Number& result);  // the variable whose operands were just declared

  Arithmetic& arithmetic_;
  std::vector<Edge> edges_;
  std::vector<std::size_t> first_edge_;  // of each variable
  std::size_t declared_ = 0;             // edges that belong to variables
  std::vector<std::pair<std::uint32_t, Number>> seeds_;
  std::vector<Number> adjoints_;
};

}  // namespace attest::reference
