// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/dtype.hpp"
#include "attest/view.hpp"

/// The one number type of the reference. A form of an equation is written with Number and is compiled once; what
/// running it means is decided by the arithmetic of the evaluation at hand: its value, an enclosure, its error, its
/// cost, ...
namespace attest::reference {

class Number;
class Tape;
struct Decisions;
struct Stopped;

/// Names a value in the store of the current arithmetic. 0 is the number zero in every arithmetic.
using Handle = std::uint32_t;

/// Kinds of partial derivatives.
enum class Partial {
  factor,  // the other factor of a product, whatever its value
  slope,   // of a function or a sum, where 1 and -1 pass the adjoint on
};

}  // namespace attest::reference

namespace attest {
template <int Rank>
class View<const reference::Number, Rank>;
template <int Rank>
class View<reference::Number, Rank>;
}  // namespace attest

namespace attest::reference {

/// Where correct kernels may round a number that the formula leaves as it is.
enum class Held {
  operand,     // as a factor of a product, in the operands' format
  multiplied,  // as the same number was held as a factor elsewhere
  stored,      // in memory, in the storage format
  rescaled,    // as a multiple, x log2 e say, in the arithmetic of the kernel
};

/// A vector of numbers in memory: a row, a column, a list of intermediate results.
using Row = View<const Number, 1>;

/// Stores numbers and computes with them. Values are never changed once they are made; their handles are
/// counted.
class Arithmetic {
public:
  Arithmetic();
  virtual ~Arithmetic();
  Arithmetic(const Arithmetic&) = delete;
  Arithmetic& operator=(const Arithmetic&) = delete;

  // One value from none, one or two.
  virtual Handle input(double x) = 0;     // of an equation: it is what it is
  virtual Handle constant(double x) = 0;  // of a formula
  virtual Handle pi();
  /// Whether constants of a formula that no double is (1/3, pi) are known more precisely than in binary64. Elsewhere
  /// such a constant is the nearest double: a kernel rounds it once.
  virtual bool finer_than_binary64() const { return false; }
  virtual Handle negated(Handle a) = 0;
  virtual Handle sum_of(Handle a, Handle b) = 0;
  virtual Handle difference(Handle a, Handle b) = 0;
  virtual Handle product(Handle a, Handle b) = 0;
  virtual Handle quotient(Handle a, Handle b) = 0;
  virtual Handle exp(Handle a) = 0;
  virtual Handle log(Handle a) = 0;
  virtual Handle log1p(Handle a) = 0;
  virtual Handle sqrt(Handle a) = 0;
  virtual Handle tanh(Handle a) = 0;
  virtual Handle sin(Handle a) = 0;
  virtual Handle cos(Handle a) = 0;
  virtual Handle erfc(Handle a) = 0;
  /// A number near a that carries no error.
  virtual Handle pivot(Handle a) = 0;
  /// The same value under a handle of its own.
  virtual Handle copy(Handle a) = 0;
  /// One product of the chain rule.
  virtual Handle chained(Handle partial, Handle adjoint, Partial) { return product(partial, adjoint); }
  /// The number as it comes back from memory in another format. Real numbers lose nothing.
  virtual Handle kept_in(DType, Handle a) { return shared(a); }
  /// The number as a kernel may hold it. Real numbers lose nothing.
  virtual Handle held(Held, Handle a) { return shared(a); }
  /// The number as a component of a result with that norm, from a method that is stable by norms alone.
  virtual Handle stable_by_norm(Handle a, double /*norm*/, Index /*steps*/) { return shared(a); }
  /// A named intermediate result. Nothing happens to it unless the arithmetic has something to do there.
  virtual Handle stage(std::string_view, Handle a) { return shared(a); }
  /// Whether derivatives take a named intermediate result for a constant. A correct kernel's do not.
  virtual bool detaches(std::string_view) const { return false; }
  /// Whether stage() may do something to a result of that name, or derivatives detach it; where not, neither is asked.
  virtual bool has_stage(std::string_view) const { return false; }

  // Many at once.
  /// terms[0] + ... + terms[n - 1] in no particular order; 0 for n = 0.
  virtual Handle sum(const Number* terms, Index n) = 0;
  /// sum_i a_i b_i
  virtual Handle dot(const Row& a, const Row& b) = 0;
  /// start + sum_i a_i b_i, with `start` as one more term.
  virtual Handle dot_onto(Handle start, const Row& a, const Row& b);
  /// out[c] = sum_i row_i matrix_ic
  virtual void row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out);
  /// out[r] = sum_i matrix_ri column_i
  virtual void matrix_times_column(const View<const Number, 2>& matrix, const Row& column, Number* out);
  /// out, row by row: x with a x = b, where the lower triangle of a and what mirrors it are a positive definite matrix.
  virtual void solve(const View<const Number, 2>& a, const View<const Number, 2>& b, Number* out);

  // Questions.
  virtual double approximate(Handle a) const = 0;
  virtual bool positive(Handle a) = 0;
  virtual bool less(Handle a, Handle b) = 0;
  virtual bool is_zero(Handle a) const = 0;
  /// A lower bound of a gap, certified where the arithmetic certifies.
  virtual double margin_of(Handle gap) const = 0;
  /// By how much the errors of a correct kernel may change a gap; 0 where the arithmetic has no errors.
  virtual double error_of(Handle) const { return 0; }

  /// max(a, b) and its slope along a, where the errors of a correct kernel may make the other one the larger.
  struct Either {
    Handle larger, slope;
  };
  virtual std::optional<Either> either(Handle /*a*/, Handle /*b*/) { return {}; }

  /// Whether inputs stay plain doubles in memory until something is computed from them.
  virtual bool takes_plain_inputs() const { return false; }

  Handle shared(Handle a) { return retain(a), a; }
  void retain(Handle a) {
    if (a) ++counts_[a];
  }
  void release(Handle a) {
    if (a && --counts_[a] == 0) retire(a);
  }

protected:
  /// A handle with one owner, of a value that is made anew or was released.
  Handle take() {
    const Handle free = first_free_;
    if (free == 0) return grow();
    first_free_ = counts_[free];
    counts_[free] = 1;
    return free;
  }
  /// Makes room for the values of handles below `end`.
  virtual void reserve(Handle end) = 0;

private:
  friend class Tape;
  friend class Scope;
  Handle grow();
  void retire(Handle a) {
    if (a < variables_.size()) variables_[a] = 0;
    counts_[a] = first_free_;
    first_free_ = a;
  }
  /// Called when an evaluation in this arithmetic begins and ends, for libraries whose precision is the thread's.
  virtual void enter() {}
  virtual void leave() {}

  std::vector<Handle> counts_;     // of a live value: its owners; of a released one: the next released one
  std::vector<Handle> variables_;  // the variable of the tape that a value is, plus 1; empty without a tape
  Handle first_free_ = 0;
};

/// All that an evaluation depends on beside its inputs.
struct Evaluation {
  Arithmetic* arithmetic = nullptr;
  Tape* tape = nullptr;            // records, when there is one
  Decisions* decisions = nullptr;  // logs discrete decisions, when there is one
  Stopped* stopped = nullptr;      // keeps what stop_gradient() gives, when there is one

  static inline constinit thread_local Evaluation* current = nullptr;
};

/// The evaluation of this thread while it lives; the one before it comes back at its end, whatever happens in between.
/// A number belongs to the scope in which it was made.
class Scope {
public:
  explicit Scope(Arithmetic& arithmetic, Decisions* decisions = nullptr)
      : evaluation_{&arithmetic, nullptr, decisions, nullptr}, before_(Evaluation::current) {
    arithmetic.enter();
    Evaluation::current = &evaluation_;
  }
  ~Scope() {
    Evaluation::current = before_;
    evaluation_.arithmetic->leave();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

private:
  Evaluation evaluation_;
  Evaluation* before_;
};

/// A floating-point literal that is what it looks like: of at most 8 significant bits (0.5, -0.75), an infinity or NaN.
/// A decimal such as 0.1 is no double; as a literal of a formula it does not compile. Write rational(1, 10).
class Literal {
public:
  consteval Literal(double x) : value_(x) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (x != x || x == 0 || x == infinity || x == -infinity) return;
    double size = x < 0 ? -x : x;
    while (size >= 256) size /= 2;
    while (size < 128) size *= 2;
    if (size != static_cast<int>(size)) throw "the literal is not the number that it looks like: write rational(p, q)";
  }
  constexpr double value() const { return value_; }

private:
  double value_;
};

/// A number of the current evaluation.
class Number {
public:
  constexpr Number() = default;
  Number(Literal constant) : Number(Exactly{constant.value()}) {}
  template <std::integral I>
  Number(I constant) : Number(Exactly{static_cast<double>(constant)}) {}
  Number(const Number& other) : handle_(other.handle_) {
    if (handle_) share();
  }
  Number(Number&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  Number& operator=(const Number& other) { return *this = Number(other); }
  Number& operator=(Number&& other) noexcept { return std::swap(handle_, other.handle_), *this; }
  ~Number() {
    if (handle_) release();
  }

  /// An input of the equation.
  static Number input(double x);
  /// Takes over a handle that its arithmetic has handed out.
  static Number owning(Handle handle) {
    Number x;
    x.handle_ = handle;
    return x;
  }
  Handle handle() const { return handle_; }

  Number& operator+=(const Number& b);

private:
  friend Number parameter(const double& x);
  friend Number rational(Index p, Index q);
  friend class Constant;
  struct Exactly {
    double value;
  };
  explicit Number(Exactly constant);

  // Not inline: they would be most of the code of every form.
  void share() const;
  void release() const;

  Handle handle_ = 0;
};

static_assert(sizeof(Number) == sizeof(Handle));

/// What stop_gradient() gave in one evaluation, in order. A second evaluation in the same scope may be given the same
/// numbers: a difference quotient of the two holds constant what derivatives take for constants.
struct Stopped {
  std::vector<Number> numbers;
  bool again = false;  // the numbers are given, not taken
  std::size_t next = 0;
};

Number operator-(const Number& a);
Number operator+(const Number& a, const Number& b);
Number operator-(const Number& a, const Number& b);
Number operator*(const Number& a, const Number& b);
Number operator/(const Number& a, const Number& b);
inline Number& Number::operator+=(const Number& b) { return *this = *this + b; }
Number exp(const Number& a);
Number log(const Number& a);
/// log(1 + a), of a small a as exactly as a is.
Number log1p(const Number& a);
Number sqrt(const Number& a);
Number tanh(const Number& a);
Number sin(const Number& a);
Number cos(const Number& a);
/// 2 / sqrt(pi) times the integral of e^(-t^2) over t > a.
Number erfc(const Number& a);

/// A parameter of the equation, as a kernel is given it: exactly that double. Parameters are variables: a literal does
/// not compile.
Number parameter(const double& x);
Number parameter(double&& literal) = delete;

/// The constant p/q of a formula, |p| and |q| at most 2^53.
Number rational(Index p, Index q);

/// The ratio of a circle's circumference to its diameter.
Number pi();

/// A constant that a formula writes as an expression of constants, and that a kernel holds as one number:
/// `inline const Constant root_of_two([] { return sqrt(Number(2)); });`
class Constant {
public:
  explicit constexpr Constant(Number (*formula)()) : formula_(formula) {}
  operator Number() const;

private:
  double nearest() const;

  Number (*formula_)();
  mutable std::once_flag once_;
  mutable double nearest_ = 0;
};

/// The nearest double, for reports and for branches on what is not data (an input that is -inf, say).
double approximate(const Number& x);

/// Every branch on data goes through these three.
bool positive(const Number& x);
bool less(const Number& x, const Number& y);
bool is_zero(const Number& x);

/// a where a > b, and b elsewhere. Where a kernel's rounding may decide otherwise, the error model has that in the
/// bounds of the result and of its derivatives.
Number larger(const Number& a, const Number& b);
/// The same of numbers of which a is known to be the larger one, or as large as b.
Number larger_of(const Number& a, const Number& b);
/// Whether a kernel's rounding may make b the larger one of these.
bool may_be_larger(const Number& b, const Number& a);

/// A number near x that carries neither error nor derivative: for a quantity that cancels exactly, such as the maximum
/// that a softmax subtracts. Any nearby number would do.
Number pivot(const Number& x);

/// x as derivatives take it: a constant. The value is x in every arithmetic.
Number stop_gradient(const Number& x);

/// x as a named intermediate result of the equation ("weights", "denominator"): where an arithmetic may round, or take
/// note.
Number stage(std::string_view label, Number x);

/// x as it comes back from memory in that format; real numbers lose nothing.
Number kept_in(DType dtype, const Number& x);

/// x as a factor of a product, which kernels may hold in the operands' format. dot, product and times say so of their
/// factors themselves.
Number operand(const Number& x);
/// x as a term of a sum beside products that have it as a factor: kernels may add what they multiply. What is a number
/// of every format stays as it is.
Number as_multiplied(const Number& x);
/// x as an intermediate result that kernels may keep in memory, in the storage format.
Number stored(const Number& x);
/// x as kernels may hold it in another unit: a multiple of x, rounded.
Number rescaled(const Number& x);
/// x as a component of a result that kernels may compute by a method that is stable by norms alone, such as orthogonal
/// transformations: in each of so many steps it may be off by a unit roundoff of that norm, however small x is.
Number stable_by_norm(const Number& x, double norm, Index steps);

}  // namespace attest::reference

namespace attest {

/// Numbers that are read: plain doubles, as inputs lie in memory, or numbers that were computed. An element of plain
/// doubles becomes a number when it is asked for.
template <int Rank>
class View<const reference::Number, Rank> {
public:
  using Number = reference::Number;
  using Extents = std::array<Index, Rank>;

  constexpr View() = default;
  constexpr View(const Number* numbers, Extents extents) : numbers_(numbers), layout_(extents) {}
  constexpr View(const Number* numbers, Extents extents, Extents strides)
      : numbers_(numbers), layout_(extents, strides) {}
  constexpr View(const double* plain, Extents extents) : plain_(plain), layout_(extents) {}

  constexpr explicit operator bool() const { return numbers_ || plain_; }
  /// Where the elements lie: the one that is not null.
  constexpr const Number* numbers() const { return numbers_; }
  constexpr const double* plain() const { return plain_; }
  constexpr Index extent(int axis) const { return layout_.extents[axis]; }
  constexpr Index stride(int axis) const { return layout_.strides[axis]; }
  constexpr Extents extents() const { return layout_.extents; }
  /// Whether both are the same elements.
  constexpr bool is(const View& other) const { return numbers_ == other.numbers_ && plain_ == other.plain_; }

  template <std::integral... I>
    requires(sizeof...(I) == Rank)
  Number operator()(I... index) const {
    const Index at = layout_.offset(index...);
    return plain_ ? Number::input(plain_[at]) : numbers_[at];
  }
  constexpr View<const Number, Rank - 1> operator[](Index i) const
    requires(Rank > 0)
  {
    return part(layout_.slice(i));
  }
  constexpr View<const Number, 1> column(Index j) const
    requires(Rank == 2)
  {
    return part(layout_.transposed().slice(j));
  }
  constexpr View rows(Index first, Index count) const { return part(layout_.range(0, first, count)); }
  constexpr View columns(Index first, Index count) const
    requires(Rank == 2)
  {
    return part(layout_.range(1, first, count));
  }
  constexpr View reversed() const
    requires(Rank > 0)
  {
    return part(layout_.reversed());
  }
  constexpr View transposed() const
    requires(Rank == 2)
  {
    return part(std::pair(layout_.transposed(), Index{0}));
  }

private:
  template <class, int>
  friend class View;

  template <int PartRank>
  constexpr View<const Number, PartRank> part(const std::pair<Layout<PartRank>, Index>& part) const {
    View<const Number, PartRank> x;
    if (numbers_) x.numbers_ = numbers_ + part.second;
    if (plain_) x.plain_ = plain_ + part.second;
    x.layout_ = part.first;
    return x;
  }

  const Number* numbers_ = nullptr;
  const double* plain_ = nullptr;
  Layout<Rank> layout_;
};

/// Numbers that are written: a result. Where only some of its rows are asked for, it knows which.
template <int Rank>
class View<reference::Number, Rank> {
public:
  using Number = reference::Number;
  using Extents = std::array<Index, Rank>;

  constexpr View() = default;
  constexpr View(Number* data, Extents extents) : data_(data), layout_(extents) {}
  constexpr View(Number* data, Extents extents, Extents strides) : data_(data), layout_(extents, strides) {}

  constexpr operator View<const Number, Rank>() const { return {data_, layout_.extents, layout_.strides}; }
  constexpr explicit operator bool() const { return data_ != nullptr; }
  constexpr Number* data() const { return data_; }
  constexpr Index extent(int axis) const { return layout_.extents[axis]; }
  constexpr Index stride(int axis) const { return layout_.strides[axis]; }
  constexpr Extents extents() const { return layout_.extents; }

  template <std::integral... I>
    requires(sizeof...(I) == Rank)
  constexpr Number& operator()(I... index) const {
    return data_[layout_.offset(index...)];
  }
  constexpr View<Number, Rank - 1> operator[](Index i) const
    requires(Rank > 0)
  {
    return part(layout_.slice(i));
  }
  constexpr View<Number, 1> column(Index j) const
    requires(Rank == 2)
  {
    return part(layout_.transposed().slice(j));
  }
  constexpr View rows(Index first, Index count) const { return part(layout_.range(0, first, count)); }
  constexpr View reversed() const
    requires(Rank > 0)
  {
    return part(layout_.reversed());
  }

  /// The same numbers, of which those rows are asked for (in ascending order; they outlive the view). nullptr: all.
  constexpr View asking(const std::vector<Index>* rows) const {
    View x = *this;
    x.asked_ = rows;
    return x;
  }
  constexpr const std::vector<Index>* asked() const { return asked_; }

private:
  template <int PartRank>
  constexpr View<Number, PartRank> part(const std::pair<Layout<PartRank>, Index>& part) const {
    return {data_ ? data_ + part.second : nullptr, part.first.extents, part.first.strides};
  }

  Number* data_ = nullptr;
  Layout<Rank> layout_;
  const std::vector<Index>* asked_ = nullptr;
};

}  // namespace attest
