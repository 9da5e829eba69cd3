// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attest/reference/real.hpp"
#include "attest/view.hpp"

/// The whole vocabulary of the reference. An equation is written with these words and + - * / only, so that every
/// number type can give its own meaning to them.
namespace attest::reference {

/// A branch on data that an enclosure cannot decide at its precision. Whoever runs the equation raises the precision.
struct Undecided : std::runtime_error {
  explicit Undecided(const std::string& what) : std::runtime_error(what) {}
};

/// Accumulates terms in any order; number types that must not depend on the order specialise it.
template <class T>
class Sum {
public:
  void add(const T& term) { total_ = empty_ ? term : T(total_ + term), empty_ = false; }
  T result() const { return empty_ ? T(0) : total_; }

private:
  T total_ = T(0);
  bool empty_ = true;
};

/// Sum of products; specialised where a number type has something better than a loop.
template <class T>
struct Dot {
  static T of(View<const T, 1> a, View<const T, 1> b) {
    Sum<T> sum;
    for (Index i = 0; i < a.extent(0); ++i) sum.add(T(a(i) * b(i)));
    return sum.result();
  }
};

/// Values that a formula names on the way: w_1 .. w_n.
template <class T>
class Vector {
public:
  explicit Vector(Index n) : values_(static_cast<std::size_t>(n), T(0)) {}
  T& operator()(Index i) { return values_[static_cast<std::size_t>(i)]; }
  const T& operator()(Index i) const { return values_[static_cast<std::size_t>(i)]; }
  Index extent(int = 0) const { return static_cast<Index>(values_.size()); }
  View<const T, 1> view() const { return {values_.data(), {extent()}}; }

private:
  std::vector<T> values_;
};

template <class T>
class Matrix {
public:
  Matrix(Index rows, Index columns)
      : values_(static_cast<std::size_t>(rows * columns), T(0)), rows_(rows), columns_(columns) {}
  /// A copy of a matrix, or zeros where it is absent.
  Matrix(View<const T, 2> source, Index rows, Index columns) : Matrix(rows, columns) {
    if (!source) return;
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) (*this)(i, j) = source(i, j);
  }
  T& operator()(Index i, Index j) { return values_[static_cast<std::size_t>(i * columns_ + j)]; }
  const T& operator()(Index i, Index j) const { return values_[static_cast<std::size_t>(i * columns_ + j)]; }
  Index extent(int axis) const { return axis == 0 ? rows_ : columns_; }
  View<const T, 2> view() const { return {values_.data(), {rows_, columns_}}; }
  View<T, 2> view() { return {values_.data(), {rows_, columns_}}; }
  View<const T, 1> operator[](Index i) const { return view()[i]; }
  View<const T, 1> column(Index j) const { return view().column(j); }

private:
  std::vector<T> values_;
  Index rows_, columns_;
};

/// sum(n, f) = f(0) + ... + f(n-1), in no particular order; 0 for n = 0.
template <class F>
auto sum(Index n, F&& f) {
  using T = std::decay_t<decltype(f(Index{0}))>;
  Sum<T> sum;
  for (Index i = 0; i < n; ++i) sum.add(f(i));
  return sum.result();
}

template <class T>
View<const T, 1> as_view(View<T, 1> x) { return x; }
template <class T>
View<const T, 1> as_view(View<const T, 1> x) { return x; }
template <class T>
View<const T, 1> as_view(const Vector<T>& x) { return x.view(); }

/// sum_i a_i b_i over rows, columns or vectors of one length.
template <class T, class A, class B>
T dot(const A& a, const B& b) {
  const View<const T, 1> left = as_view(a), right = as_view(b);
  return Dot<T>::of(left, right);
}

/// The vector f(0) .. f(n-1).
template <class F>
auto tabulate(Index n, F&& f) {
  using T = std::decay_t<decltype(f(Index{0}))>;
  Vector<T> vector(n);
  for (Index i = 0; i < n; ++i) vector(i) = f(i);
  return vector;
}

// Elementary functions of double; other number types bring their own, found by argument-dependent look-up.
inline double exp(double x) { return std::exp(x); }
inline double log(double x) { return std::log(x); }
inline double sqrt(double x) { return std::sqrt(x); }
inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }

/// The nearest double, for reports and for branches on what is not data (an input that is -inf, say).
inline double approximate(double x) { return x; }

/// Every branch on data goes through these three.
inline bool positive(double x) { return x > 0; }
inline bool less(double x, double y) { return x < y; }
inline bool is_zero(double x) { return x == 0; }

/// A number near x that carries neither error nor derivative: for a quantity that cancels exactly, such as the maximum
/// that a softmax subtracts. Any nearby number would do.
inline double pivot(double x) { return x; }

/// The pivot of the largest of f(0) .. f(n-1); n >= 1.
template <class F>
auto pivot_max(Index n, F&& f) {
  using T = std::decay_t<decltype(f(Index{0}))>;
  T best = pivot(f(Index{0}));
  for (Index i = 1; i < n; ++i) {
    T next = pivot(f(i));
    if (approximate(next) > approximate(best)) best = std::move(next);
  }
  return best;
}

/// -inf in an additive bias hides a key.
template <class T>
bool hides(const T& bias) {
  return std::isinf(approximate(bias)) && approximate(bias) < 0;
}

/// sigma(x) = 1 / (1 + e^-x), for negative x as e^x / (1 + e^x), so that no exponential overflows in any number type.
template <class T>
T sigmoid(const T& x) {
  if (positive(x)) return T(1) / (T(1) + exp(-x));
  const T e = exp(x);
  return e / (T(1) + e);
}

/// Discrete decisions met during one evaluation: their margins, and the choice to take the other branch where a margin
/// is too small for any kernel to be blamed for either.
struct Decisions {
  std::vector<double> margin;     // certified lower bound of the gap, for enclosures; the gap itself otherwise
  std::vector<double> error;      // what a correct kernel's error may make of the gap, for the error model; else 0
  std::vector<bool> take_other;   // set before the run
};

/// The log of the evaluation that this thread runs; may be null.
inline thread_local Decisions* decisions = nullptr;

inline double margin_of(double gap) { return gap; }
inline double error_of(double) { return 0; }

/// The k indices of the largest scores, ties to the lowest index, in order of index. k >= n gives all.
template <class T>
std::vector<Index> top_k(Index k, const Vector<T>& scores) {
  const Index n = scores.extent();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  if (k >= n) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return approximate(scores(a)) > approximate(scores(b)); });
  const auto split = static_cast<std::size_t>(k);
  bool other = false;
  if (decisions && k > 0) {
    const T gap = scores(order[split - 1]) - scores(order[split]);
    const std::size_t ordinal = decisions->margin.size();
    decisions->margin.push_back(margin_of(gap));
    decisions->error.push_back(error_of(gap));
    other = ordinal < decisions->take_other.size() && decisions->take_other[ordinal];
  }
  if (other) {
    std::swap(order[split - 1], order[split]);
  } else {
    for (std::size_t in = 0; in < split; ++in)
      for (std::size_t out = split; out < order.size(); ++out)
        if (less(scores(order[in]), scores(order[out]))) throw Undecided("top_k");
  }
  order.resize(split);
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace attest::reference
