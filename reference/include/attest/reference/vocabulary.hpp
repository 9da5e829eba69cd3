// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attest/reference/number.hpp"

/// The whole vocabulary of the reference. An equation is written with these words and + - * / only, so that every
/// arithmetic can give its own meaning to them.
namespace attest::reference {

/// A branch on data that an enclosure cannot decide at its precision. Whoever runs the equation raises the precision.
struct Undecided : std::runtime_error {
  explicit Undecided(const std::string& what) : std::runtime_error(what) {}
};

/// Accumulates terms, in an order that the arithmetic chooses.
class Sum {
public:
  void reserve(Index terms) { terms_.reserve(static_cast<std::size_t>(terms)); }
  void add(Number term) { terms_.push_back(std::move(term)); }
  Number result() const;

private:
  std::vector<Number> terms_;
};

/// Values that a formula names on the way: w_1 .. w_n.
class Vector {
public:
  explicit Vector(Index n) : values_(static_cast<std::size_t>(n)) {}
  Number& operator()(Index i) { return values_[static_cast<std::size_t>(i)]; }
  const Number& operator()(Index i) const { return values_[static_cast<std::size_t>(i)]; }
  Index extent(int = 0) const { return static_cast<Index>(values_.size()); }
  Row view() const { return {values_.data(), {extent()}}; }
  operator Row() const { return view(); }

private:
  std::vector<Number> values_;
};

class Matrix {
public:
  Matrix(Index rows, Index columns)
      : values_(static_cast<std::size_t>(rows * columns)), rows_(rows), columns_(columns) {}
  /// A copy of a matrix, or zeros where it is absent.
  Matrix(View<const Number, 2> source, Index rows, Index columns) : Matrix(rows, columns) {
    if (!source) return;
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) (*this)(i, j) = source(i, j);
  }
  Number& operator()(Index i, Index j) { return values_[static_cast<std::size_t>(i * columns_ + j)]; }
  const Number& operator()(Index i, Index j) const { return values_[static_cast<std::size_t>(i * columns_ + j)]; }
  Index extent(int axis) const { return axis == 0 ? rows_ : columns_; }
  View<const Number, 2> view() const { return {values_.data(), {rows_, columns_}}; }
  View<Number, 2> view() { return {values_.data(), {rows_, columns_}}; }
  operator View<const Number, 2>() const { return view(); }
  Row operator[](Index i) const { return view()[i]; }
  Row column(Index j) const { return view().column(j); }

private:
  std::vector<Number> values_;
  Index rows_, columns_;
};

/// f(0) + ... + f(n-1), in no particular order; 0 for n = 0.
template <class F>
Number sum(Index n, F&& f) {
  Sum sum;
  sum.reserve(n);
  for (Index i = 0; i < n; ++i) sum.add(f(i));
  return sum.result();
}

/// The sum of all elements.
Number sum(const Row& x);

/// sum_i a_i b_i over rows, columns or vectors of one length.
Number dot(const Row& a, const Row& b);

/// a b, where kernels may hold either factor in the operands' format, as in a product of matrices.
Number times(const Number& a, const Number& b);

/// start + sum_i a_i b_i, in no particular order of all these terms: what a sum of products is added to. Kernels may
/// begin with it, end with it, or add some of the products at a time.
Number dot(const Row& a, const Row& b, const Number& start);

/// The row x m: element c is dot(x, column c of m).
Vector product(const Row& x, const View<const Number, 2>& m);
/// The column m x: element r is dot(row r of m, x).
Vector product(const View<const Number, 2>& m, const Row& x);

/// x with a x = b: column by column, a symmetric and positive definite; its lower triangle is read. Kernels may solve
/// by Cholesky, QR, singular values: by any method that is as stable.
Matrix solve(const View<const Number, 2>& a, const View<const Number, 2>& b);

/// The vector f(0) .. f(n-1).
template <class F>
Vector tabulate(Index n, F&& f) {
  Vector vector(n);
  for (Index i = 0; i < n; ++i) vector(i) = f(i);
  return vector;
}

/// stop_gradient() of every element of a matrix. Plain doubles are constants as they are, and are not copied.
class StoppedMatrix {
public:
  explicit StoppedMatrix(const View<const Number, 2>& x);
  StoppedMatrix(const StoppedMatrix&) = delete;
  StoppedMatrix& operator=(const StoppedMatrix&) = delete;

  operator View<const Number, 2>() const { return view_; }

private:
  Matrix copy_;
  View<const Number, 2> view_;
};

/// Writes a vector into a row of a result.
inline void assign(const View<Number, 1>& to, const Vector& x) {
  for (Index i = 0; i < x.extent(); ++i) to(i) = x(i);
}

/// The rows of a result that are asked for, in ascending order: all of them unless the evaluation wants some only.
template <int Rank>
std::vector<Index> wanted(const View<Number, Rank>& result) {
  if (result.asked()) return *result.asked();
  std::vector<Index> all(static_cast<std::size_t>(result.extent(0)));
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

template <int Rank>
bool is_wanted(const View<Number, Rank>& result, Index row) {
  return !result.asked() || std::binary_search(result.asked()->begin(), result.asked()->end(), row);
}

/// The pivot of the largest of f(0) .. f(n-1); n >= 1.
template <class F>
Number pivot_max(Index n, F&& f) {
  Number best = pivot(f(Index{0}));
  for (Index i = 1; i < n; ++i) {
    Number next = pivot(f(i));
    if (approximate(next) > approximate(best)) best = std::move(next);
  }
  return best;
}

/// x - m, to be the exponent of e. In base 2 that is x log2 e - m log2 e, where each product may be rounded.
inline Number exponent_of(const Number& x, const Number& m) { return rescaled(x) - rescaled(m); }

/// x + bias. x is a sum of so many products, which kernels may add to the bias one by one.
inline Number biased(const Number& x, const Number& bias, Index products) {
  return stable_by_norm(stage("products before the bias", x) + bias, std::abs(approximate(bias)), products);
}

/// -inf in an additive bias hides a key.
inline bool hides(const Number& bias) { return std::isinf(approximate(bias)) && approximate(bias) < 0; }

/// Each element as a named intermediate result.
Vector stage(std::string_view label, Vector x);
Matrix stage(std::string_view label, Matrix x);

/// Each element as an intermediate result that kernels may keep in memory, in the storage format.
Matrix stored(Matrix x);

/// The result where a convention of the equation says NaN.
inline Number not_a_number() { return Number(std::numeric_limits<double>::quiet_NaN()); }

/// sigma(x) = 1 / (1 + e^-x), for negative x as e^x / (1 + e^x), so that no exponential overflows in any arithmetic.
/// Its derivative is sigma (1 - sigma) of the computed sigma, as automatic differentiation has it: where sigma is close
/// to 1, the difference is right beside 1, not beside itself.
Number sigmoid(const Number& x);

/// Discrete decisions met during one evaluation: their margins, and the choices to make instead where a margin is too
/// small for any kernel to be blamed for another one.
struct Decisions {
  using Choice = std::vector<Index>;  // ascending
  std::vector<double> margin;         // certified lower bound of the gap, for enclosures; the gap itself otherwise
  std::vector<double> error;          // what a correct kernel's error may make of the gap, for the error model; else 0
  /// The choices that a correct kernel's error may make in place of the right one, for the error model; the nearest one
  /// at least. Nothing where they are more than anybody would list.
  std::vector<std::vector<Choice>> others;
  std::vector<Choice> instead;  // set before the run; empty: the right one
};

/// The k indices of the largest scores, ties to the lowest index, in order of index. k >= n gives all.
std::vector<Index> top_k(Index k, const Vector& scores);

/// The first index whose element of an ascending vector exceeds x; the last index where none does.
Index first_above(const Number& x, const Vector& ascending);

}  // namespace attest::reference
