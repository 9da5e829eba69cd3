// SPDX-License-Identifier: MIT
// One number type, many arithmetics: what a scope sets, what rows and bulk operations may not change, and what stages
// are for.
#include <gtest/gtest.h>

#include <bit>
#include <concepts>
#include <cstring>
#include <numbers>
#include <random>

#include "attest/golden/case.hpp"
#include "attest/golden/certify.hpp"
#include "attest/golden/rows.hpp"
#include "attest/judge/faults.hpp"
#include "attest/reference/binary64.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/cost.hpp"
#include "attest/reference/emulation.hpp"
#include "attest/reference/error_model.hpp"
#include "attest/reference/evaluate.hpp"
#include "attest/reference/tape.hpp"
#include "attest/reference/witness.hpp"
#include "each_equation.hpp"

namespace attest {
namespace {

using namespace reference;

bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}
bool same(const Real& a, const Real& b) { return a == b || (isnan(a) && isnan(b)); }
bool same(const Ball& a, const Ball& b) {
  return arb_equal(a.get(), b.get()) || (!arb_is_finite(a.get()) && !arb_is_finite(b.get()));
}
bool same(const Rounding& a, const Rounding& b) {
  bool equal = same(a.value, b.value);
  for (std::size_t c = 0; c < kChannels; ++c)
    equal = equal && same(a.bound[c], b.bound[c]) && same(a.variance[c], b.variance[c]);
  return equal;
}

/// An arithmetic that is handed every input as a number and every product of a row with a matrix as one dot per column.
template <class Base>
class ByElement : public Base {
public:
  using Base::Base;
  bool takes_plain_inputs() const override { return false; }
  void row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) override {
    Arithmetic::row_times_matrix(row, matrix, out);  // NOLINT(bugprone-parent-virtual-call): not that of Base
  }
};

/// Calls visit(name, make, make_by_element) for the arithmetics, where each makes a new one.
template <class F>
void each_arithmetic(const Problem& problem, F&& visit) {
  visit("binary64", [] { return Binary64(); }, [] { return ByElement<Binary64>(); });
  visit("cost", [] { return reference::Cost(); }, [] { return ByElement<reference::Cost>(); });
  visit("certificate", [] { return Certificate(128); }, [] { return ByElement<Certificate>(128); });
  visit("witness", [] { return Witness(128); }, [] { return ByElement<Witness>(128); });
  for (const auto* units : {&golden::narrow_units(), &golden::wide_units()})
    visit("error model", [&] { return ErrorModel(*units); }, [&] { return ByElement<ErrorModel>(*units); });
  std::uint64_t turn = problem.inputs.empty()
                           ? 0
                           : std::bit_cast<std::uint64_t>(problem.inputs.begin()->second.values.empty()
                                                              ? 0.0
                                                              : problem.inputs.begin()->second.values[0]);
  for (const char* profile : {"f64", "f32", "tf32", "bf16", "f16"}) {
    // One stream of random numbers serves all rows of a shuffled order: it cannot be told apart by rows.
    if (kOrders[turn % kOrders.size()].order == Order::shuffled) ++turn;
    const auto kernel = judge::kernel_of(golden::profile(profile), kOrders[turn++ % kOrders.size()].order, 7);
    visit(profile, [&] { return Emulation(kernel); }, [&] { return ByElement<Emulation>(kernel); });
    const auto plain = judge::kernel_of(golden::profile(profile));
    visit(profile, [&] { return Emulation(plain); }, [&] { return ByElement<Emulation>(plain); });
  }
}

/// Some of an equation's golden cases, every one in turn by its place, small ones only.
std::vector<golden::Case> some_cases(const Spec& spec, std::size_t step) {
  std::vector<golden::Case> some;
  std::size_t place = 0;
  for (const auto& c : golden::stored_cases(spec)) {
    double work = 1;
    for (const auto& [_, size] : c.sizes) work *= static_cast<double>(std::max<Index>(size, 1));
    if (work <= 1e5 && place++ % step == 0) some.push_back(c);
  }
  return some;
}

/// Rows drawn for every size that leads the shape of an output.
WantedRows drawn_rows(const Problem& problem, std::mt19937_64& engine) {
  WantedRows rows;
  for (const auto& output : problem.spec->outputs) {
    if (output.shape.empty() || rows.count(output.shape[0])) continue;
    auto& wanted = rows[output.shape[0]];
    for (Index r = 0; r < problem.sizes.at(output.shape[0]); ++r)
      if (engine() % 3 == 0) wanted.push_back(r);
  }
  return rows;
}

/// The elements of those rows of whole outputs.
template <class Value>
Values<Value> rows_of(const Problem& problem, const Values<Value>& whole, const WantedRows& rows) {
  Values<Value> part;
  for (const auto& output : problem.spec->outputs) {
    const auto& values = whole.at(output.name);
    auto& kept = part[output.name];
    const auto wanted = output.shape.empty() ? rows.end() : rows.find(output.shape[0]);
    if (wanted == rows.end()) {
      kept = values;
      continue;
    }
    const Index height = problem.sizes.at(output.shape[0]),
                width = height > 0 ? static_cast<Index>(values.size()) / height : 0;
    for (const Index r : wanted->second)
      kept.insert(kept.end(), values.begin() + r * width, values.begin() + (r + 1) * width);
  }
  return part;
}

template <class Value>
std::string first_difference(const Values<Value>& a, const Values<Value>& b) {
  for (const auto& [name, values] : a) {
    if (values.size() != b.at(name).size()) return name + " has another number of elements";
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!same(values[i], b.at(name)[i])) return name + "[" + std::to_string(i) + "]";
  }
  return "";
}

class EveryForm : public testing::TestWithParam<std::string> {};

/// Whatever the arithmetic: wanted rows are those of the whole evaluation, and bulk operations give what elements one
/// by one give.
TEST_P(EveryForm, RowsAndBulkOperationsChangeNoBit) {
  const Spec& spec = find_spec(GetParam());
  std::mt19937_64 engine(11);
  int compared = 0;
  for (const auto& c : some_cases(spec, 5)) {
    const Problem problem = golden::draw(c);
    const auto rows = drawn_rows(problem, engine);
    for (const auto& form : spec.forms) {
      if (!golden::applies(form, problem)) continue;
      each_arithmetic(problem, [&](const char* name, auto&& make, auto&& make_by_element) {
        try {
          auto whole_arithmetic = make();
          const auto whole = outputs_of(whole_arithmetic, problem, form.name);
          auto by_element = make_by_element();
          auto of_rows = make();
          EXPECT_EQ(first_difference(whole, outputs_of(by_element, problem, form.name)), "")
              << golden::query(c, "f64") << " " << form.name << ", " << name << ": bulk operations change it";
          EXPECT_EQ(
              first_difference(rows_of(problem, whole, rows), outputs_of(of_rows, problem, form.name, nullptr, rows)),
              "")
              << golden::query(c, "f64") << " " << form.name << ", " << name
              << ": it is another one when only some rows are wanted";
          ++compared;
        } catch (const Undecided&) {
        }
      });
    }
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Specs, EveryForm, testing::ValuesIn(equation_ids()), name_of_equation);

TEST(Scope, LeavesTheThreadAsItWasWhateverIsThrown) {
  Evaluation* const before = Evaluation::current;
  const unsigned digits = Real::thread_default_precision();
  const auto in_scope = [](auto&& arithmetic, auto&& what) {
    const Scope scope(arithmetic);
    what();
  };
  struct Strange {};
  EXPECT_THROW(in_scope(Certificate(64), [] { (void)positive(1 / Number(3) - 1 / Number(3)); }), Undecided);
  EXPECT_THROW(in_scope(Witness(4000), [] { throw Strange(); }), Strange);
  EXPECT_THROW(in_scope(Binary64(),
                        [] {
                          Tape tape;
                          const Number x = tape.variable(1);
                          throw Strange();
                        }),
               Strange);
  EXPECT_EQ(Evaluation::current, before);
  EXPECT_EQ(Real::thread_default_precision(), digits);
}

TEST(Scope, AnInnerEvaluationReturnsToTheOuterOne) {
  Certificate outer(128);
  const Scope scope(outer);
  const Number third = 1 / Number(3);
  {
    Binary64 inner;
    const Scope nested(inner);
    EXPECT_EQ(approximate(Number(2) * 3), 6);
  }
  EXPECT_LT(std::abs(approximate(third) - 1.0 / 3), 1e-16);
  EXPECT_TRUE(positive(third));
}

TEST(Tape, OneAtATime) {
  Binary64 arithmetic;
  const Scope scope(arithmetic);
  Tape tape;
  EXPECT_THROW(Tape(), std::logic_error);
}

TEST(Number, ReleasedValuesAreUsedAgain) {
  Binary64 arithmetic;
  const Scope scope(arithmetic);
  Handle highest = 0;
  Number total;
  for (int i = 0; i < 100000; ++i) {
    total += Number(i) * 2;
    highest = std::max(highest, total.handle());
  }
  EXPECT_LT(highest, 16u);
  EXPECT_EQ(approximate(total), 99999.0 * 100000.0);
}

// --- constants of formulas
// --------------------------------------------------------------------------------------------------------------

// A decimal is no double: `Number(0.044715)`, `0.044715 * x` and `parameter(0.044715)` do not compile. Neither does
// `Number(x)` of a double that is no literal.
template <int p, int q>
concept MayBeALiteral = requires { typename std::bool_constant<(Literal(static_cast<double>(p) / q), true)>; };
static_assert(MayBeALiteral<1, 2> && MayBeALiteral<-3, 4> && MayBeALiteral<255, 1> && MayBeALiteral<0, 1>);
static_assert(!MayBeALiteral<44715, 1000000> && !MayBeALiteral<1, 10> && !MayBeALiteral<257, 1>);
static_assert(!std::convertible_to<double, Number> && !std::convertible_to<float, Number>);
template <class T>
concept AParameter = requires(T x) { parameter(static_cast<T>(x)); };
static_assert(AParameter<double&> && AParameter<const double&> && !AParameter<double>);
template <class T>
concept AFactor = requires(T x, Number y) { operator*(x, y); };
static_assert(AFactor<int> && AFactor<Index> && !AFactor<double>);

TEST(Constants, AFractionIsExactlyThatWhereNumbersAreReal) {
  const Index p = 44715, q = 1000000;
  {
    Certificate certificate(256);
    const Scope scope(certificate);
    const Ball left = certificate.value(q * rational(p, q) - p), near = certificate.value(rational(p, q));
    EXPECT_TRUE(arb_contains_zero(left.get()));
    EXPECT_LT(arb_rel_accuracy_bits(near.get()), 300);
    EXPECT_GT(arb_rel_accuracy_bits(near.get()), 250);
    EXPECT_FALSE(arb_contains(near.get(), Ball(0.044715).get()));
  }
  {
    Witness witness(256);
    const Scope scope(witness);
    EXPECT_LT(abs(witness.value(rational(p, q)) * q - p), Real("1e-70"));
  }
}

TEST(Constants, AFractionIsRoundedOnceWhereNumbersAreBinary64) {
  {
    Binary64 arithmetic;
    const Scope scope(arithmetic);
    EXPECT_EQ(approximate(rational(44715, 1000000)), 0.044715);
    EXPECT_EQ(approximate(pi()), std::numbers::pi);
  }
  {
    reference::Cost arithmetic;
    const Scope scope(arithmetic);
    rational(44715, 1000000);
    EXPECT_EQ(arithmetic.counts().by_name(), reference::Counts().by_name());
  }
  ErrorModel model(golden::narrow_units());
  const Scope scope(model);
  EXPECT_TRUE(
      same(model.value(rational(44715, 1000000)),
           {.value = 0.044715, .bound = {0.044715}, .variance = {0.044715 * 0.044715 * reference::kUniformVariance}}));
  EXPECT_TRUE(same(model.value(rational(3, 8)), {.value = 0.375}));
}

const Constant two_roots([] { return 2 * sqrt(2 / pi()); });

/// 2 sqrt(2 / pi), to 60 digits by mpmath.
constexpr const char* kTwoRoots = "1.5957691216057307117597842397375274739034345246597386306637";

TEST(Constants, AnExpressionOfConstantsIsComputedWhereNumbersAreRealAndRoundedOnceElsewhere) {
  {
    Witness witness(256);
    const Scope scope(witness);
    EXPECT_LT(abs(witness.value(two_roots) - Real(kTwoRoots)), Real("1e-55"));
    Certificate certificate(128);
    const Scope inner(certificate);
    const Ball ball = certificate.value(two_roots);
    arb_t digits;
    arb_init(digits);
    arb_set_str(digits, kTwoRoots, 256);
    EXPECT_TRUE(arb_overlaps(ball.get(), digits));
    EXPECT_GT(arb_rel_accuracy_bits(ball.get()), 120);
    arb_clear(digits);
  }
  ErrorModel model(golden::narrow_units());
  const Scope scope(model);
  const double nearest = 1.5957691216057308;
  EXPECT_TRUE(
      same(model.value(two_roots), {.value = nearest, .bound = {nearest}, .variance = {nearest * nearest / 3}}));
}

/// gelu(1) = 1/2 (1 + tanh(sqrt(2/pi) 1.044715)), to 60 digits by mpmath; binary64's 0.044715 gives another 18th digit.
TEST(Constants, TheGeluOfThePageIsThatOfItsDecimals) {
  const Problem problem{&find_spec("attention.feed_forward"),
                        {{"n", 1}, {"d", 1}, {"f", 1}},
                        {{"activation", "gelu_tanh"}},
                        {{"x", {{1, 1}, {1}}}, {"w_1", {{1, 1}, {1}}}, {"w_2", {{1, 1}, {1}}}}};
  Certificate certificate(128);
  const auto y = outputs_of(certificate, problem, "dense").at("y").at(0);
  arb_t digits;
  arb_init(digits);
  arb_set_str(digits, "0.841191990608276704781995777045183860825761470114009437650164", 256);
  EXPECT_TRUE(arb_overlaps(y.get(), digits));
  EXPECT_GT(arb_rel_accuracy_bits(y.get()), 110);
  arb_clear(digits);
}

// --- stages
// --------------------------------------------------------------------------------------------------------------

/// A stage in another format changes results, and only those of forms that have it.
TEST(Stages, AFormatOfAStageIsSeenInTheOutputsOfFormsThatHaveIt) {
  std::map<std::string, std::map<std::string, bool>> effects;
  for (const auto& [id, spec] : specs())
    for (const auto& form : spec.forms) {
      auto& effect = effects[id + " " + form.name];
      for (const auto& c : some_cases(spec, 1)) {
        const Problem problem = golden::draw(c);
        if (!golden::applies(form, problem)) continue;
        const auto plain = judge::emulated(problem, form.name, judge::kernel_of(golden::profile("f32")));
        for (const auto& label : stages_of(problem, form.name)) {
          auto kernel = judge::kernel_of(golden::profile("f32"));
          kernel.stages[label] = [](double x) { return round_to(DType::bf16, x); };
          const auto held = judge::emulated(problem, form.name, kernel);
          for (const auto& [name, array] : plain) effect[label] = effect[label] || array.values != held.at(name).values;
        }
      }
    }
  std::map<std::string, bool> anywhere;
  int pairs = 0, without = 0;
  for (const auto& [form, effect] : effects)
    for (const auto& [label, any] : effect) {
      anywhere[label] = anywhere[label] || any;
      ++pairs;
      // Positions that are small integers are exact in any format; more than a few such stages would mean that labels
      // are dead.
      if (!any)
        ++without, std::cout << form << ": stage '" << label << "' in bfloat16 changes no output of these cases\n";
    }
  for (const auto& [label, any] : anywhere)
    EXPECT_TRUE(any) << "stage '" << label << "' in bfloat16 changes no output of any form";
  EXPECT_GT(pairs, 100);
  EXPECT_LE(without, pairs / 20);
}

TEST(Stages, EveryFormThatHasAnIntermediateResultNamesOne) {
  for (const auto& [id, spec] : specs())
    for (const auto& form : spec.forms)
      EXPECT_EQ(golden::stages_of(spec, form).empty(), !form.one_step.empty())
          << id << " " << form.name
          << (form.one_step.empty() ? " has no stage, nor one_step = \"reason\"" : " has a stage and one_step");
}

TEST(Stages, AVectorAndAMatrixAreHeldElementByElement) {
  auto kernel = judge::kernel_of(golden::profile("f32"));
  kernel.stages["weights"] = [](double x) { return round_to(DType::bf16, x); };
  Emulation emulation(kernel);
  const Scope scope(emulation);
  const auto third = [](Index i) { return Number(i) / 3; };
  const Vector x = tabulate(4, third), held = stage("weights", x), other = stage("logits", x);
  Matrix y(2, 2);
  for (Index i = 0; i < 4; ++i) y(i / 2, i % 2) = third(i);
  const Matrix held_y = stage("weights", y);
  for (Index i = 0; i < 4; ++i) {
    const double rounded = round_to(DType::bf16, approximate(x(i)));
    EXPECT_EQ(approximate(held(i)), rounded);
    EXPECT_EQ(approximate(held_y(i / 2, i % 2)), rounded);
    EXPECT_EQ(other(i).handle(), x(i).handle());
  }
  EXPECT_NE(approximate(held(1)), approximate(x(1)));
}

/// A mistake on the way, as a deviation of 0, makes NaN of a score; a sort by > alone has no order then, and throws.
TEST(Decisions, ScoresThatAreNaNComeLast) {
  Binary64 arithmetic;
  const Scope scope(arithmetic);
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double scores[] = {-infinity, infinity, nan, nan, nan, infinity};
  const auto x = tabulate(6, [&](Index t) { return Number::input(scores[t]); });
  EXPECT_EQ(top_k(2, x), (std::vector<Index>{1, 5}));
  EXPECT_EQ(top_k(3, x), (std::vector<Index>{0, 1, 5}));
}

TEST(Stages, ALabelThatAFormDoesNotHaveChangesNothing) {
  const auto problem = golden::draw(
      golden::parse_query("attest:attention.scaled_dot_product:f32;n=6;s=9;d=4;m=3;flag=random;seed=1").first);
  auto kernel = judge::kernel_of(golden::profile("f32"));
  const auto plain = judge::emulated(problem, "max_shift", kernel);
  kernel.stages["state"] = [](double x) { return round_to(DType::bf16, x); };
  EXPECT_EQ(judge::emulated(problem, "max_shift", kernel).at("o").values, plain.at("o").values);
}

}  // namespace
}  // namespace attest
