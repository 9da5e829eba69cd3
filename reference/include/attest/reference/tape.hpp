// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <vector>

#include "attest/reference/vocabulary.hpp"

namespace attest::reference {

/// What a partial derivative is.
enum class Partial {
  factor,  // the other factor of a product, whatever its value
  slope,   // of a function or a sum, where 1 and -1 pass the adjoint on
};

/// One product of the chain rule. A reading in which factors are rounded to a format of their own has its own.
template <class T>
T chained(const T& partial, const T& adjoint, Partial) {
  return partial * adjoint;
}

/// What this thread's Tape<T> numbers have recorded: for each result, its operands and the partial derivatives.
template <class T>
class Recording {
public:
  Recording() : before_(current_) { current_ = this; }
  ~Recording() { current_ = before_; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  static Recording& current() { return *current_; }
  static bool active() { return current_ != nullptr; }

  Index variable() {
    first_edge_.push_back(static_cast<Index>(edges_.size()));
    return static_cast<Index>(first_edge_.size()) - 1;
  }
  /// An operand of the variable that is declared next.
  void operand(Index parent, T partial, Partial kind = Partial::slope) {
    if (parent >= 0) edges_.push_back({parent, std::move(partial), kind});
  }
  Index edge_count() const { return static_cast<Index>(edges_.size()); }
  /// Declares the variable whose operands are the edges from `first` on; a constant when there are none.
  Index result(Index first) {
    if (first == edge_count()) return -1;
    first_edge_.push_back(first);
    return static_cast<Index>(first_edge_.size()) - 1;
  }

  /// Adjoints of all variables, given those of some of them: sum of seed times derivative. Each adjoint is one sum over
  /// the uses of its variable, so the error model stays independent of the order of accumulation.
  std::vector<T> adjoints(const std::vector<std::pair<Index, T>>& seeds) const {
    const auto variables = first_edge_.size();
    std::vector<std::vector<std::pair<Index, Index>>> uses(variables);  // parent -> (child, edge)
    for (std::size_t child = 0; child < variables; ++child) {
      const Index last = child + 1 < variables ? first_edge_[child + 1] : edge_count();
      for (Index edge = first_edge_[child]; edge < last; ++edge)
        uses[static_cast<std::size_t>(edges_[static_cast<std::size_t>(edge)].parent)].emplace_back(static_cast<Index>(child), edge);
    }
    std::vector<std::vector<const T*>> seeded(variables);
    for (const auto& [variable, seed] : seeds)
      if (variable >= 0) seeded[static_cast<std::size_t>(variable)].push_back(&seed);
    std::vector<T> adjoint(variables, T(0));
    std::vector<bool> reached(variables, false);
    for (std::size_t variable = variables; variable-- > 0;) {
      Sum<T> total;
      bool any = false;
      for (const T* seed : seeded[variable]) total.add(*seed), any = true;
      for (const auto& [child, edge] : uses[variable]) {
        if (!reached[static_cast<std::size_t>(child)]) continue;
        const Edge& used = edges_[static_cast<std::size_t>(edge)];
        total.add(chained(used.partial, adjoint[static_cast<std::size_t>(child)], used.kind)), any = true;
      }
      if (any) adjoint[variable] = total.result();
      reached[variable] = any;
    }
    return adjoint;
  }

private:
  struct Edge {
    Index parent;
    T partial;
    Partial kind;
  };
  std::vector<Edge> edges_;
  std::vector<Index> first_edge_;
  Recording* before_;
  static inline thread_local Recording* current_ = nullptr;
};

/// The gradient reading: reverse-mode differentiation over any other reading. Constants are not recorded.
template <class T>
class Tape {
public:
  Tape() = default;
  Tape(T value) : value_(std::move(value)) {}
  Tape(double value)
    requires(!std::is_same_v<T, double>)
      : value_(value) {}
  Tape(int value) : value_(value) {}
  Tape(Index value) : value_(static_cast<T>(value)) {}

  /// A variable that gradients are taken for.
  static Tape variable(T value) {
    Tape x(std::move(value));
    x.index_ = Recording<T>::current().variable();
    return x;
  }

  const T& value() const { return value_; }
  Index index() const { return index_; }

  friend Tape operator-(const Tape& a) { return unary(-a.value_, a, [] { return T(-1); }); }
  friend Tape operator+(const Tape& a, const Tape& b) {
    return binary(a.value_ + b.value_, a, [] { return T(1); }, b, [] { return T(1); });
  }
  friend Tape operator-(const Tape& a, const Tape& b) {
    return binary(a.value_ - b.value_, a, [] { return T(1); }, b, [] { return T(-1); });
  }
  friend Tape operator*(const Tape& a, const Tape& b) {
    return binary(a.value_ * b.value_, a, [&] { return b.value_; }, b, [&] { return a.value_; }, Partial::factor);
  }
  friend Tape operator/(const Tape& a, const Tape& b) {
    const T quotient = a.value_ / b.value_;
    return binary(quotient, a, [&] { return T(1) / b.value_; }, b, [&] { return -(quotient / b.value_); });
  }
  friend Tape exp(const Tape& a) {
    const T y = exp_of(a.value_);
    return unary(y, a, [&] { return y; });
  }
  friend Tape log(const Tape& a) { return unary(log_of(a.value_), a, [&] { return T(1) / a.value_; }); }
  friend Tape sqrt(const Tape& a) {
    const T y = sqrt_of(a.value_);
    return unary(y, a, [&] { return T(1) / (y + y); });
  }
  friend Tape sin(const Tape& a) { return unary(sin_of(a.value_), a, [&] { return cos_of(a.value_); }); }
  friend Tape cos(const Tape& a) { return unary(cos_of(a.value_), a, [&] { return -sin_of(a.value_); }); }

private:
  friend class Sum<Tape>;
  friend struct Dot<Tape>;

  // Inside a class that has friends of these names, plain calls would find the friends only.
  static T exp_of(const T& x) { using reference::exp; return exp(x); }
  static T log_of(const T& x) { using reference::log; return log(x); }
  static T sqrt_of(const T& x) { using reference::sqrt; return sqrt(x); }
  static T sin_of(const T& x) { using reference::sin; return sin(x); }
  static T cos_of(const T& x) { using reference::cos; return cos(x); }

  template <class F>
  static Tape unary(T value, const Tape& a, F&& partial) {
    Tape x(std::move(value));
    if (a.index_ >= 0) {
      auto& recording = Recording<T>::current();
      const Index first = recording.edge_count();
      recording.operand(a.index_, partial());
      x.index_ = recording.result(first);
    }
    return x;
  }
  template <class F, class G>
  static Tape binary(T value, const Tape& a, F&& to_a, const Tape& b, G&& to_b, Partial kind = Partial::slope) {
    Tape x(std::move(value));
    if (a.index_ >= 0 || b.index_ >= 0) {
      auto& recording = Recording<T>::current();
      const Index first = recording.edge_count();
      if (a.index_ >= 0) recording.operand(a.index_, to_a(), kind);
      if (b.index_ >= 0) recording.operand(b.index_, to_b(), kind);
      x.index_ = recording.result(first);
    }
    return x;
  }

  T value_ = T(0);
  Index index_ = -1;
};

template <class T>
double approximate(const Tape<T>& x) { return approximate(x.value()); }
template <class T>
bool positive(const Tape<T>& x) { return positive(x.value()); }
template <class T>
bool less(const Tape<T>& x, const Tape<T>& y) { return less(x.value(), y.value()); }
template <class T>
bool is_zero(const Tape<T>& x) { return is_zero(x.value()); }
template <class T>
Tape<T> pivot(const Tape<T>& x) { return Tape<T>(pivot(x.value())); }
template <class T>
double margin_of(const Tape<T>& gap) { return margin_of(gap.value()); }
template <class T>
double error_of(const Tape<T>& gap) { return error_of(gap.value()); }

/// One node for the whole sum. Terms are variables of their own, so nothing but their indices is kept.
template <class T>
class Sum<Tape<T>> {
public:
  void add(const Tape<T>& term) {
    value_.add(term.value());
    if (term.index() >= 0) terms_.push_back(term.index());
  }
  Tape<T> result() const {
    Tape<T> x(value_.result());
    if (terms_.empty()) return x;
    auto& recording = Recording<T>::current();
    const Index first = recording.edge_count();
    for (const Index term : terms_) recording.operand(term, T(1));
    x.index_ = recording.result(first);
    return x;
  }

private:
  Sum<T> value_;
  std::vector<Index> terms_;
};

template <class T>
struct Dot<Tape<T>> {
  static Tape<T> of(View<const Tape<T>, 1> a, View<const Tape<T>, 1> b) {
    std::vector<T> left, right;
    left.reserve(static_cast<std::size_t>(a.extent(0)));
    right.reserve(static_cast<std::size_t>(a.extent(0)));
    for (Index i = 0; i < a.extent(0); ++i) left.push_back(a(i).value()), right.push_back(b(i).value());
    Tape<T> x(Dot<T>::of({left.data(), {a.extent(0)}}, {right.data(), {a.extent(0)}}));
    if (!Recording<T>::active()) return x;
    auto& recording = Recording<T>::current();
    const Index first = recording.edge_count();
    for (Index i = 0; i < a.extent(0); ++i) {
      if (a(i).index() >= 0) recording.operand(a(i).index(), right[static_cast<std::size_t>(i)], Partial::factor);
      if (b(i).index() >= 0) recording.operand(b(i).index(), left[static_cast<std::size_t>(i)], Partial::factor);
    }
    x.index_ = recording.result(first);
    return x;
  }
};

}  // namespace attest::reference
