// SPDX-License-Identifier: MIT
#include "attest/reference/number.hpp"

#include <limits>
#include <new>
#include <numbers>

#include "attest/reference/certificate.hpp"
#include "attest/reference/tape.hpp"
#include "attest/reference/vocabulary.hpp"

namespace attest::reference {

Arithmetic::Arithmetic() : counts_{1} {}  // zero, which nobody owns and which is never released
Arithmetic::~Arithmetic() = default;

Handle Arithmetic::grow() {
  const std::size_t next = counts_.size();
  if (next == std::numeric_limits<Handle>::max()) throw std::bad_alloc();
  reserve(static_cast<Handle>(next + 1));
  counts_.push_back(1);
  return static_cast<Handle>(next);
}

Handle Arithmetic::pi() { return constant(std::numbers::pi); }

Handle Arithmetic::dot_onto(Handle start, const Row& a, const Row& b) {
  const Number products = Number::owning(dot(a, b));
  return sum_of(start, products.handle());
}
void Arithmetic::row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) {
  for (Index c = 0; c < matrix.extent(1); ++c) out[c] = Number::owning(dot(row, matrix.column(c)));
}
void Arithmetic::matrix_times_column(const View<const Number, 2>& matrix, const Row& column, Number* out) {
  for (Index r = 0; r < matrix.extent(0); ++r) out[r] = Number::owning(dot(matrix[r], column));
}

/// By Cholesky's method: a = L L^T. Its products are no products of matrices, whose factors might be held in the
/// operands' format.
void Arithmetic::solve(const View<const Number, 2>& a, const View<const Number, 2>& b, Number* out) {
  const Index n = a.extent(0), columns = b.extent(1);
  Matrix l(n, n);
  const auto less_products = [&](const Number& start, Index count, auto&& term) {
    return count == 0 ? start : start - attest::reference::sum(count, term);
  };
  for (Index j = 0; j < n; ++j)
    for (Index i = j; i < n; ++i) {
      const Number rest = less_products(a(i, j), j, [&](Index k) { return l(i, k) * l(j, k); });
      l(i, j) = i == j ? attest::reference::sqrt(rest) : rest / l(j, j);
    }
  for (Index c = 0; c < columns; ++c) {
    Vector x(n);
    for (Index i = 0; i < n; ++i) x(i) = less_products(b(i, c), i, [&](Index k) { return l(i, k) * x(k); }) / l(i, i);
    for (Index i = n; i-- > 0;)
      x(i) = less_products(x(i), n - 1 - i, [&](Index k) { return l(i + 1 + k, i) * x(i + 1 + k); }) / l(i, i);
    for (Index i = 0; i < n; ++i) out[i * columns + c] = x(i);
  }
}

namespace {

Arithmetic& arithmetic() { return *Evaluation::current->arithmetic; }

}  // namespace

void Number::share() const { arithmetic().retain(handle_); }
void Number::release() const { arithmetic().release(handle_); }

/// Hands what was computed to the tape, which is set aside meanwhile: partial derivatives are computed, not recorded.
struct Recorder {
  explicit Recorder(Tape& recording) : tape(recording) { Evaluation::current->tape = nullptr; }
  ~Recorder() { Evaluation::current->tape = &tape; }

  bool knows(const Number& x) const { return tape.variable_of(x) != 0; }
  template <class F>
  Recorder& operand(const Number& x, F&& partial, Partial kind = Partial::slope) {
    if (knows(x)) tape.operand(x, partial(), kind);
    return *this;
  }
  void become(Number& result) { tape.become(result); }

  Tape& tape;
};

namespace {

Number one() { return Number(1); }

}  // namespace

Number::Number(Exactly constant) {
  if (constant.value == 0 && !std::signbit(constant.value)) return;
  handle_ = arithmetic().constant(constant.value);
}

Number parameter(const double& x) { return Number(Number::Exactly{x}); }

Number rational(Index p, Index q) {
  if (arithmetic().finer_than_binary64()) return Number(p) / Number(q);
  return Number(Number::Exactly{static_cast<double>(p) / static_cast<double>(q)});
}

Number pi() { return Number::owning(arithmetic().pi()); }

Constant::operator Number() const {
  return arithmetic().finer_than_binary64() ? formula_() : Number(Number::Exactly{nearest()});
}

/// The double that both ends of a narrow enclosure round to.
double Constant::nearest() const {
  std::call_once(once_, [this] {
    Certificate certificate(128);
    const Scope scope(certificate);
    const Number x = formula_();
    nearest_ = certificate.nearest(x);
  });
  return nearest_;
}

Number Number::input(double x) {
  if (x == 0 && !std::signbit(x)) return {};
  return owning(arithmetic().input(x));
}

Number operator-(const Number& a) {
  Number x = Number::owning(arithmetic().negated(a.handle()));
  if (Tape* tape = Evaluation::current->tape) Recorder(*tape).operand(a, [] { return Number(-1); }).become(x);
  return x;
}
Number operator+(const Number& a, const Number& b) {
  Number x = Number::owning(arithmetic().sum_of(a.handle(), b.handle()));
  if (Tape* tape = Evaluation::current->tape) Recorder(*tape).operand(a, one).operand(b, one).become(x);
  return x;
}
Number operator-(const Number& a, const Number& b) {
  Number x = Number::owning(arithmetic().difference(a.handle(), b.handle()));
  if (Tape* tape = Evaluation::current->tape)
    Recorder(*tape).operand(a, one).operand(b, [] { return Number(-1); }).become(x);
  return x;
}

namespace {

/// The value of that handle as a product of a and b.
Number product_of(Handle value, const Number& a, const Number& b) {
  Number x = Number::owning(value);
  if (Tape* tape = Evaluation::current->tape)
    Recorder(*tape)
        .operand(
            a, [&] { return b; }, Partial::factor)
        .operand(
            b, [&] { return a; }, Partial::factor)
        .become(x);
  return x;
}

}  // namespace

Number operator*(const Number& a, const Number& b) {
  return product_of(arithmetic().product(a.handle(), b.handle()), a, b);
}
Number times(const Number& a, const Number& b) {
  const Number left = Number::owning(arithmetic().held(Held::operand, a.handle())),
               right = Number::owning(arithmetic().held(Held::operand, b.handle()));
  return product_of(arithmetic().product(left.handle(), right.handle()), a, b);
}
Number operator/(const Number& a, const Number& b) {
  Number x = Number::owning(arithmetic().quotient(a.handle(), b.handle()));
  if (Tape* tape = Evaluation::current->tape)
    Recorder(*tape).operand(a, [&] { return 1 / b; }).operand(b, [&] { return -(x / b); }).become(x);
  return x;
}
Number exp(const Number& a) {
  Number x = Number::owning(arithmetic().exp(a.handle()));
  if (Tape* tape = Evaluation::current->tape) Recorder(*tape).operand(a, [&] { return x; }).become(x);
  return x;
}
Number log(const Number& a) {
  Number x = Number::owning(arithmetic().log(a.handle()));
  if (Tape* tape = Evaluation::current->tape) Recorder(*tape).operand(a, [&] { return 1 / a; }).become(x);
  return x;
}
Number log1p(const Number& a) {
  Number x = Number::owning(arithmetic().log1p(a.handle()));
  if (Tape* tape = Evaluation::current->tape) Recorder(*tape).operand(a, [&] { return 1 / (1 + a); }).become(x);
  return x;
}
Number sqrt(const Number& a) {
  Number x = Number::owning(arithmetic().sqrt(a.handle()));
  if (Tape* tape = Evaluation::current->tape) Recorder(*tape).operand(a, [&] { return 1 / (x + x); }).become(x);
  return x;
}
Number tanh(const Number& a) {
  Number x = Number::owning(arithmetic().tanh(a.handle()));
  if (Tape* tape = Evaluation::current->tape) Recorder(*tape).operand(a, [&] { return 1 - x * x; }).become(x);
  return x;
}
Number sin(const Number& a) {
  Number x = Number::owning(arithmetic().sin(a.handle()));
  if (Tape* tape = Evaluation::current->tape) Recorder(*tape).operand(a, [&] { return cos(a); }).become(x);
  return x;
}
Number cos(const Number& a) {
  Number x = Number::owning(arithmetic().cos(a.handle()));
  if (Tape* tape = Evaluation::current->tape) Recorder(*tape).operand(a, [&] { return -sin(a); }).become(x);
  return x;
}
Number sigmoid(const Number& a) {
  const auto value = [&] {
    if (positive(a)) return 1 / (1 + exp(-a));
    const Number e = exp(a);
    return e / (1 + e);
  };
  Tape* tape = Evaluation::current->tape;
  if (!tape) return value();
  Recorder recorder(*tape);
  Number x = value();
  recorder.operand(a, [&] { return x * (1 - x); }).become(x);
  return x;
}
namespace {

const Constant two_by_root_pi([] { return 2 / sqrt(pi()); });

}  // namespace

Number erfc(const Number& a) {
  Number x = Number::owning(arithmetic().erfc(a.handle()));
  if (Tape* tape = Evaluation::current->tape)
    Recorder(*tape).operand(a, [&] { return -(two_by_root_pi * exp(-(a * a))); }).become(x);
  return x;
}
Number stop_gradient(const Number& x) {
  Stopped* stopped = Evaluation::current->stopped;
  if (stopped && stopped->again) return stopped->numbers.at(stopped->next++);
  Number constant = Number::owning(arithmetic().copy(x.handle()));
  if (stopped) stopped->numbers.push_back(constant);
  return constant;
}
Number pivot(const Number& x) { return Number::owning(arithmetic().pivot(x.handle())); }

namespace {

/// The number a after it was rounded, perhaps.
Number rounded(const Number& a, Handle handle) {
  Number x = Number::owning(handle);
  if (Tape* tape = Evaluation::current->tape; tape && x.handle() != a.handle())
    Recorder(*tape).operand(a, one).become(x);
  return x;
}

}  // namespace

Number kept_in(DType dtype, const Number& a) { return rounded(a, arithmetic().kept_in(dtype, a.handle())); }
Number stage(std::string_view label, Number a) {
  if (!arithmetic().has_stage(label)) return a;
  const Number x = rounded(a, arithmetic().stage(label, a.handle()));
  return arithmetic().detaches(label) ? Number::owning(arithmetic().copy(x.handle())) : x;
}
Number operand(const Number& a) { return rounded(a, arithmetic().held(Held::operand, a.handle())); }
Number as_multiplied(const Number& a) { return rounded(a, arithmetic().held(Held::multiplied, a.handle())); }
Number stored(const Number& a) { return rounded(a, arithmetic().held(Held::stored, a.handle())); }
Number rescaled(const Number& a) { return rounded(a, arithmetic().held(Held::rescaled, a.handle())); }
Number stable_by_norm(const Number& a, double norm, Index steps) {
  return rounded(a, arithmetic().stable_by_norm(a.handle(), norm, steps));
}

double approximate(const Number& x) { return arithmetic().approximate(x.handle()); }
bool positive(const Number& x) { return arithmetic().positive(x.handle()); }
bool less(const Number& x, const Number& y) { return arithmetic().less(x.handle(), y.handle()); }
bool is_zero(const Number& x) { return arithmetic().is_zero(x.handle()); }

namespace {
/// The operands keep their order: bounds of sums depend on it in the last bit.
Number larger(const Number& a, const Number& b, bool first) {
  const auto either = arithmetic().either(a.handle(), b.handle());
  if (!either) return first ? a : b;
  Number x = Number::owning(either->larger);
  const Number slope = Number::owning(either->slope);
  if (Tape* tape = Evaluation::current->tape)
    Recorder(*tape).operand(a, [&] { return slope; }).operand(b, [&] { return 1 - slope; }).become(x);
  return x;
}
}  // namespace

Number larger(const Number& a, const Number& b) { return larger(a, b, less(b, a)); }
Number larger_of(const Number& a, const Number& b) { return larger(a, b, true); }
bool may_be_larger(const Number& b, const Number& a) {
  const auto either = arithmetic().either(a.handle(), b.handle());
  if (!either) return false;
  const Number larger = Number::owning(either->larger), slope = Number::owning(either->slope);
  return true;
}

Number Sum::result() const {
  Number x = Number::owning(arithmetic().sum(terms_.data(), static_cast<Index>(terms_.size())));
  if (Tape* tape = Evaluation::current->tape) {
    Recorder recorder(*tape);
    for (const Number& term : terms_) recorder.operand(term, one);
    recorder.become(x);
  }
  return x;
}
Number sum(const Row& x) {
  return sum(x.extent(0), [&](Index i) { return x(i); });
}

namespace {

/// `result` is dot(a, b), or that and `start`.
void record_dot(Tape& tape, Number& result, const Row& a, const Row& b, const Number* start = nullptr) {
  Recorder recorder(tape);
  if (start) recorder.operand(*start, one);
  for (Index i = 0; i < a.extent(0); ++i) {
    if (!a.plain()) recorder.operand(a.numbers()[i * a.stride(0)], [&] { return b(i); }, Partial::factor);
    if (!b.plain()) recorder.operand(b.numbers()[i * b.stride(0)], [&] { return a(i); }, Partial::factor);
  }
  recorder.become(result);
}

}  // namespace

Number dot(const Row& a, const Row& b) {
  Number x = Number::owning(arithmetic().dot(a, b));
  if (Tape* tape = Evaluation::current->tape) record_dot(*tape, x, a, b);
  return x;
}
Number dot(const Row& a, const Row& b, const Number& start) {
  Number x = Number::owning(arithmetic().dot_onto(start.handle(), a, b));
  if (Tape* tape = Evaluation::current->tape) record_dot(*tape, x, a, b, &start);
  return x;
}
Vector product(const Row& x, const View<const Number, 2>& m) {
  Vector y(m.extent(1));
  if (y.extent() == 0) return y;
  arithmetic().row_times_matrix(x, m, &y(0));
  if (Tape* tape = Evaluation::current->tape)
    for (Index c = 0; c < y.extent(); ++c) record_dot(*tape, y(c), x, m.column(c));
  return y;
}
Vector product(const View<const Number, 2>& m, const Row& x) {
  Vector y(m.extent(0));
  if (y.extent() == 0) return y;
  arithmetic().matrix_times_column(m, x, &y(0));
  if (Tape* tape = Evaluation::current->tape)
    for (Index r = 0; r < y.extent(); ++r) record_dot(*tape, y(r), m[r], x);
  return y;
}

Matrix solve(const View<const Number, 2>& a, const View<const Number, 2>& b) {
  const Index n = a.extent(0), columns = b.extent(1);
  Matrix x(n, columns);
  if (n == 0 || columns == 0) return x;
  Tape* const tape = Evaluation::current->tape;
  if (!tape) return arithmetic().solve(a, b, &x(0, 0)), x;
  Recorder recorder(*tape);
  arithmetic().solve(a, b, &x(0, 0));
  Matrix inverse(n, n), unit(n, n);
  for (Index i = 0; i < n; ++i) unit(i, i) = 1;
  arithmetic().solve(a, unit, &inverse(0, 0));
  // dx = a^-1 (db - da x): the residual b - a x is 0 and has the derivative in brackets
  for (Index c = 0; c < columns; ++c) {
    Vector residual(n);
    for (Index i = 0; i < n; ++i) {
      recorder.operand(b(i, c), one);
      for (Index k = 0; k < n; ++k) recorder.operand(a(i, k), [&] { return -x(k, c); }, Partial::factor);
      recorder.become(residual(i));
    }
    for (Index i = 0; i < n; ++i) {
      for (Index k = 0; k < n; ++k) recorder.operand(residual(k), [&] { return inverse(i, k); }, Partial::factor);
      recorder.become(x(i, c));
    }
  }
  return x;
}

StoppedMatrix::StoppedMatrix(const View<const Number, 2>& x)
    : copy_(x.plain() ? Matrix(0, 0) : Matrix(x.extent(0), x.extent(1))),
      view_(x.plain() ? x : std::as_const(copy_).view()) {
  for (Index i = 0; i < copy_.extent(0); ++i)
    for (Index j = 0; j < copy_.extent(1); ++j) copy_(i, j) = stop_gradient(x(i, j));
}

Vector stage(std::string_view label, Vector x) {
  if (arithmetic().has_stage(label))
    for (Index i = 0; i < x.extent(); ++i) x(i) = stage(label, x(i));
  return x;
}
Matrix stage(std::string_view label, Matrix x) {
  if (arithmetic().has_stage(label))
    for (Index i = 0; i < x.extent(0); ++i)
      for (Index j = 0; j < x.extent(1); ++j) x(i, j) = stage(label, x(i, j));
  return x;
}

Matrix stored(Matrix x) {
  for (Index i = 0; i < x.extent(0); ++i)
    for (Index j = 0; j < x.extent(1); ++j) x(i, j) = stored(x(i, j));
  return x;
}

namespace {

constexpr std::size_t kMostOthers = 20;

/// Every choice of k among those that are certain and those at the edge, without the one that takes the first `taken`
/// of the edge; nothing where there are too many.
std::vector<Decisions::Choice> other_choices(const Decisions::Choice& certain, const Decisions::Choice& edge,
                                             std::size_t taken) {
  std::vector<Decisions::Choice> others;
  std::vector<bool> in(edge.size());
  std::fill(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(taken), true);
  while (std::prev_permutation(in.begin(), in.end())) {
    if (others.size() == kMostOthers) return {};
    Decisions::Choice choice = certain;
    for (std::size_t i = 0; i < edge.size(); ++i)
      if (in[i]) choice.push_back(edge[i]);
    std::sort(choice.begin(), choice.end());
    others.push_back(std::move(choice));
  }
  return others;
}

/// Records a decision that goes by this gap. The choice to make instead of the right one, or nullptr.
const Decisions::Choice* recorded(Decisions& decisions, const Number& gap) {
  const std::size_t ordinal = decisions.margin.size();
  decisions.margin.push_back(arithmetic().margin_of(gap.handle()));
  decisions.error.push_back(arithmetic().error_of(gap.handle()));
  return ordinal < decisions.instead.size() && !decisions.instead[ordinal].empty() ? &decisions.instead[ordinal]
                                                                                   : nullptr;
}

}  // namespace

std::vector<Index> top_k(Index k, const Vector& scores) {
  const Index n = scores.extent();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  if (k >= n) return order;
  // NaN, which a mistake on the way makes of a score, comes last: a sort needs an order.
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    const double x = approximate(scores(a)), y = approximate(scores(b));
    return x > y || (std::isnan(y) && !std::isnan(x));
  });
  const auto split = static_cast<std::size_t>(k);
  if (Decisions* decisions = Evaluation::current->decisions; decisions && k > 0) {
    const Index last_in = order[split - 1], first_out = order[split];
    if (const auto* other = recorded(*decisions, scores(last_in) - scores(first_out))) return *other;
    const auto close = [&](Index in, Index out) {
      const Number x = scores(in) - scores(out);
      return approximate(x) <= arithmetic().error_of(x.handle());
    };
    Decisions::Choice certain, edge;
    for (std::size_t i = 0; i < split; ++i)
      (order[i] == last_in || close(order[i], first_out) ? edge : certain).push_back(order[i]);
    const std::size_t taken = edge.size();
    for (std::size_t i = split; i < order.size(); ++i)
      if (order[i] == first_out || close(last_in, order[i])) edge.push_back(order[i]);
    decisions->others.push_back(other_choices(certain, edge, taken));
  }
  for (std::size_t in = 0; in < split; ++in)
    for (std::size_t out = split; out < order.size(); ++out)
      if (less(scores(order[in]), scores(order[out]))) throw Undecided("top_k");
  order.resize(split);
  std::sort(order.begin(), order.end());
  return order;
}

Index first_above(const Number& x, const Vector& ascending) {
  const Index last = ascending.extent() - 1;
  Index at = 0;
  while (at < last && !(approximate(ascending(at)) > approximate(x))) ++at;
  const Number above = ascending(at) - x, below = at > 0 ? x - ascending(at - 1) : Number(0);
  // The nearer of the two ends; the last element stands for all that is left.
  const bool forward = at < last && (at == 0 || !(approximate(below) < approximate(above)));
  if (Decisions* decisions = Evaluation::current->decisions; decisions && last > 0) {
    if (const auto* other = recorded(*decisions, forward ? above : below)) return other->front();
    decisions->others.push_back({{forward ? at + 1 : at - 1}});
  }
  if ((at < last && !less(x, ascending(at))) || (at > 0 && less(x, ascending(at - 1)))) throw Undecided("first_above");
  return at;
}

// --- the tape
// ------------------------------------------------------------------------------------------------------------

Tape::Tape() : arithmetic_(arithmetic()) {
  if (!arithmetic_.variables_.empty())
    throw std::logic_error("a tape is recording already: derivatives of derivatives are not taken");
  arithmetic_.variables_.resize(arithmetic_.counts_.size(), 0);
  Evaluation::current->tape = this;
}
Tape::~Tape() {
  if (Evaluation::current->tape == this) Evaluation::current->tape = nullptr;
  arithmetic_.variables_.clear();
}

std::uint32_t Tape::variable_of(const Number& x) const {
  return x.handle() < arithmetic_.variables_.size() ? arithmetic_.variables_[x.handle()] : 0;
}

void Tape::operand(const Number& x, Number partial, Partial kind) {
  edges_.push_back({variable_of(x) - 1, kind, std::move(partial)});
}

void Tape::become(Number& result) {
  if (declared_ == edges_.size()) return;  // a constant
  auto& variables = arithmetic_.variables_;
  // A value may have several names; a variable has one, which no other value shares.
  if (result.handle() == 0 || variable_of(result) != 0) result = Number::owning(arithmetic_.copy(result.handle()));
  if (result.handle() >= variables.size()) variables.resize(arithmetic_.counts_.size(), 0);
  first_edge_.push_back(declared_);
  declared_ = edges_.size();
  variables[result.handle()] = static_cast<std::uint32_t>(first_edge_.size());
}

Number Tape::variable(const Number& value) {
  Number x = Number::owning(arithmetic_.copy(value.handle()));
  auto& variables = arithmetic_.variables_;
  if (x.handle() >= variables.size()) variables.resize(arithmetic_.counts_.size(), 0);
  first_edge_.push_back(declared_);
  variables[x.handle()] = static_cast<std::uint32_t>(first_edge_.size());
  return x;
}

void Tape::seed(const Number& result, Number adjoint) {
  if (const auto variable = variable_of(result)) seeds_.emplace_back(variable - 1, std::move(adjoint));
}

void Tape::differentiate() {
  Evaluation::current->tape = nullptr;
  const std::size_t variables = first_edge_.size();
  // The uses of each variable: (child, edge) in ascending order, gathered by counting.
  std::vector<std::size_t> first_use(variables + 1, 0);
  for (const Edge& edge : edges_) ++first_use[edge.operand + 1];
  for (std::size_t v = 0; v < variables; ++v) first_use[v + 1] += first_use[v];
  std::vector<std::pair<std::uint32_t, std::uint32_t>> uses(edges_.size());
  {
    auto next = first_use;
    for (std::size_t child = 0; child < variables; ++child) {
      const std::size_t end = child + 1 < variables ? first_edge_[child + 1] : declared_;
      for (std::size_t edge = first_edge_[child]; edge < end; ++edge)
        uses[next[edges_[edge].operand]++] = {static_cast<std::uint32_t>(child), static_cast<std::uint32_t>(edge)};
    }
  }
  std::vector<std::vector<const Number*>> seeded(variables);
  for (const auto& [variable, adjoint] : seeds_) seeded[variable].push_back(&adjoint);
  adjoints_.assign(variables, Number());
  std::vector<bool> reached(variables, false);
  for (std::size_t variable = variables; variable-- > 0;) {
    Sum total;
    bool any = false;
    for (const Number* seed : seeded[variable]) total.add(*seed), any = true;
    for (std::size_t use = first_use[variable]; use < first_use[variable + 1]; ++use) {
      const auto [child, edge] = uses[use];
      if (!reached[child]) continue;
      const Edge& used = edges_[edge];
      total.add(Number::owning(arithmetic_.chained(used.partial.handle(), adjoints_[child].handle(), used.kind))),
          any = true;
    }
    if (any) adjoints_[variable] = total.result();
    reached[variable] = any;
  }
}

const Number& Tape::adjoint(const Number& variable) const { return adjoints_.at(variable_of(variable) - 1); }

Matrix Tape::variables(const View<const Number, 2>& x) {
  Matrix copy(x.extent(0), x.extent(1));
  for (Index i = 0; i < x.extent(0); ++i)
    for (Index a = 0; a < x.extent(1); ++a) copy(i, a) = variable(x(i, a));
  return copy;
}

void Tape::write_adjoints(const Matrix& of, const View<Number, 2>& gradient) const {
  for (Index i = 0; i < gradient.extent(0); ++i)
    for (Index a = 0; a < gradient.extent(1); ++a) gradient(i, a) = adjoint(of(i, a));
}

}  // namespace attest::reference
