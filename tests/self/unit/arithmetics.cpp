// SPDX-License-Identifier: MIT
// Each arithmetic is shown to be right, and each test is shown to notice when it is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "attest/golden/case.hpp"
#include "attest/golden/certify.hpp"
#include "attest/golden/rows.hpp"
#include "attest/golden/store.hpp"
#include "attest/judge/evidence.hpp"
#include "attest/reference/binary64.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/cost.hpp"
#include "attest/reference/error_model.hpp"
#include "attest/reference/evaluate.hpp"
#include "attest/reference/influence.hpp"
#include "attest/reference/tape.hpp"
#include "attest/reference/witness.hpp"

namespace attest::reference {

/// Binary32 whose sums are taken in a random order along a random tree: one correct kernel after another.
class Float32 : public Pooled<Float32, float> {
public:
  explicit Float32(std::uint64_t seed) : engine_(seed) {}

  void from_input(float& r, double x) { r = static_cast<float>(x); }
  void from_constant(float& r, double x) { r = static_cast<float>(x); }
  void negate(float& r, float a) { r = -a; }
  void add(float& r, float a, float b) { r = a + b; }
  void subtract(float& r, float a, float b) { r = a - b; }
  void multiply(float& r, float a, float b) { r = a * b; }
  void divide(float& r, float a, float b) { r = a / b; }
  void exponential(float& r, float a) { r = std::exp(a); }
  void logarithm(float& r, float a) { r = std::log(a); }
  void logarithm_of_one_plus(float& r, float a) { r = std::log1p(a); }
  void square_root(float& r, float a) { r = std::sqrt(a); }
  void hyperbolic_tangent(float& r, float a) { r = std::tanh(a); }
  void sine(float& r, float a) { r = std::sin(a); }
  void cosine(float& r, float a) { r = std::cos(a); }
  void error_complement(float& r, float a) { r = std::erfc(a); }

  Handle pivot(Handle a) override { return shared(a); }
  double approximate(Handle a) const override { return at(a); }
  bool positive(Handle a) override { return at(a) > 0; }
  bool less(Handle a, Handle b) override { return at(a) < at(b); }
  bool is_zero(Handle a) const override { return at(a) == 0; }
  double margin_of(Handle gap) const override { return at(gap); }

  Handle sum(const Number* numbers, Index n) override {
    std::vector<float> terms;
    for (Index i = 0; i < n; ++i) terms.push_back(at(numbers[i].handle()));
    return joined(std::move(terms));
  }
  Handle dot(const Row& a, const Row& b) override {
    std::vector<float> terms;
    for (Index i = 0; i < a.extent(0); ++i) terms.push_back(value(a(i)) * value(b(i)));
    return joined(std::move(terms));
  }

private:
  /// Any two are added until one is left: every tree over every order.
  Handle joined(std::vector<float> terms) {
    while (terms.size() > 1) {
      const auto i = engine_() % terms.size();
      std::swap(terms[i], terms.back());
      const float last = terms.back();
      terms.pop_back();
      terms[engine_() % terms.size()] += last;
    }
    return made([&](float& r) { r = terms.empty() ? 0.0f : terms[0]; });
  }

  std::mt19937_64 engine_;
};

}  // namespace attest::reference

namespace attest {
namespace {

using namespace reference;

golden::GoldenCase certified(const std::string& query) {
  return golden::certify_case(golden::parse_query(query).first);
}

constexpr const char* kSoftmax = "attest:attention.scaled_dot_product:f32;n=6;s=64;d=16;m=4;flag=random_f32;seed=3";
constexpr const char* kCausal =
    "attest:attention.scaled_dot_product:f32;n=24;s=24;d=48;m=4;causal=true;flag=random_f32;seed=4";
constexpr const char* kLinear = "attest:linear.causal:f32;n=48;c=16;m=4;chunk=8;flag=random_f32;seed=5";

// --- Certificate: every enclosure holds the value --------------------------------------------------------------------

/// A random expression, the same in every arithmetic.
Number random_expression(std::mt19937_64& engine, int depth) {
  if (depth == 0) return rational(static_cast<Index>(engine() % 2001) - 1000, 64);
  const auto operation = engine() % 6;
  const Number a = random_expression(engine, depth - 1);
  switch (operation) {
    case 0: return a + random_expression(engine, depth - 1);
    case 1: return a - random_expression(engine, depth - 1);
    case 2: return a * random_expression(engine, depth - 1);
    case 3: return a / (2 + random_expression(engine, 0) * random_expression(engine, 0));
    case 4: return exp(a / 1024);
    default: return sin(a) + cos(a);
  }
}

template <class Arithmetic>
typename Arithmetic::Value value_of_expression(Arithmetic&& arithmetic, std::uint64_t seed, int depth) {
  const Scope scope(arithmetic);
  std::mt19937_64 engine(seed);
  return arithmetic.value(random_expression(engine, depth));
}

bool contains(const Ball& ball, const Real& real) {
  arf_t x;
  arf_init(x);
  arf_set_mpfr(x, real.backend().data());
  const bool inside = arb_contains_arf(ball.get(), x);
  arf_clear(x);
  return inside;
}

TEST(Certificate, EnclosesWhatAnotherLibraryComputesAtFarHigherPrecision) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Ball ball = value_of_expression(Certificate(30 + static_cast<long>(seed % 100)), seed, 5);
    if (!arb_is_finite(ball.get())) continue;
    EXPECT_TRUE(contains(ball, value_of_expression(Witness(2000), seed, 5))) << "seed " << seed;
  }
}

TEST(Certificate, AnEnclosureMovedByMoreThanItsRadiusIsNoticed) {
  int noticed = 0, moved = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Ball ball = value_of_expression(Certificate(128), seed, 4);
    const Real real = value_of_expression(Witness(2000), seed, 4);
    if (!arb_is_finite(ball.get()) || arb_is_exact(ball.get())) continue;
    arf_t shift;
    arf_init(shift);
    arf_set_mag(shift, arb_radref(ball.get()));
    arf_mul_2exp_si(shift, shift, 2);
    arf_add(arb_midref(ball.get()), arb_midref(ball.get()), shift, ARF_PREC_EXACT, ARF_RND_DOWN);
    arf_clear(shift);
    ++moved;
    noticed += !contains(ball, real);
  }
  EXPECT_GT(moved, 20);
  EXPECT_EQ(noticed, moved);
}

TEST(Certificate, AnUndecidedBranchThrowsAndHigherPrecisionDecides) {
  {
    Certificate coarse(64);
    const Scope scope(coarse);
    EXPECT_THROW(less(1 / Number(3), 1 / Number(3)), Undecided);
    const Number nothing = 1 / Number(3) - 1 / Number(3);
    EXPECT_THROW(positive(nothing), Undecided);
    EXPECT_THROW(1 / nothing, Undecided);
    EXPECT_THROW(log(nothing), Undecided);
    EXPECT_THROW(sqrt(nothing), Undecided);
    EXPECT_TRUE(std::isnan(approximate(Number(0) / Number(0))));  // decided: there is none
    EXPECT_EQ(approximate(sqrt(Number(0))), 0);
  }
  Certificate fine(300);
  const Scope scope(fine);
  EXPECT_TRUE(positive(1 / Number(3) - rational(333333, 1000000)));
  EXPECT_FALSE(less(1 / Number(3), rational(333333, 1000000)));
}

TEST(Certificate, PrecisionLimitNamesTheElement) {
  const auto problem =
      golden::draw(golden::parse_query("attest:attention.softmax:f64;r=2;s=3;flag=random;seed=1").first);
  try {
    golden::certify(problem, {}, {.check_witnesses = false, .precision_limit = 64});
    FAIL() << "certified at no precision at all";
  } catch (const golden::Uncertifiable& error) {
    EXPECT_NE(std::string(error.what()).find("attention.softmax"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("64 bits"), std::string::npos) << error.what();
  }
}

TEST(Certificate, GradientsHaveTheSameWitnessesAsOutputs) {
  const auto c = golden::certify_case(golden::parse_query(kCausal).first, {.check_witnesses = true});
  EXPECT_TRUE(c.certified.outputs.count("gradient.q"));  // MPFR and the other forms agree, or it had thrown
}

// --- hi + lo
// -----------------------------------------------------------------------------------------------------------

TEST(Certified, HiAndLoAreTheTrueValueRoundedTwice) {
  const auto c = certified(kSoftmax);
  Certificate fine(600);
  const auto truths = outputs_of(fine, c.problem, "dense").at("o");
  const auto& o = c.certified.outputs.at("o");
  for (std::size_t i = 0; i < o.hi.size(); ++i) {
    EXPECT_EQ(o.hi[i], approximate(truths[i]));
    Ball rest;
    arb_sub(rest.get(), truths[i].get(), Ball(o.hi[i]).get(), 600);
    EXPECT_EQ(o.lo[i], static_cast<float>(approximate(rest)));
  }
}

// --- Tape: certified finite differences
// --------------------------------------------------------------------------------

/// <cotangent, f(x + h e) - f(x - h e)> / 2h over enclosures, h = 2^-100.
double finite_difference(const golden::GoldenCase& c, const std::string& form, const std::string& input,
                         std::size_t element) {
  Certificate fine(700);
  const Scope scope(fine);
  Ball tiny(1.0);
  arb_mul_2exp_si(tiny.get(), tiny.get(), -100);
  const Number h = fine.number(tiny);
  const auto loss = [&](int sign) {
    Bundle bundle(c.problem, [&](const TensorDeclaration& declared, Index i, double x) {
      const Number here = Number::input(x);
      return declared.name == input && static_cast<std::size_t>(i) == element ? here + sign * h : here;
    });
    evaluate(form, bundle);
    Sum total;
    for (const auto& [name, cotangent] : c.cotangents) {
      auto weight = cotangent.values.begin();
      bundle.each_element(name, [&](const Number& y) { total.add(Number::input(*weight++) * y); });
    }
    return total.result();
  };
  return approximate((loss(1) - loss(-1)) / (2 * h));
}

void expect_gradient_is_right(const std::string& query, const std::string& form) {
  const auto c = certified(query);
  for (const auto& input : c.problem.spec->gradient) {
    if (!c.problem.inputs.count(input)) continue;
    const auto& gradient = c.certified.outputs.at("gradient." + input);
    for (std::size_t i = 0; i < gradient.hi.size(); i += 7) {
      const double difference = finite_difference(c, form, input, i);
      EXPECT_NEAR(gradient.hi[i], difference, 1e-15 * (1 + std::abs(difference))) << input << "[" << i << "]";
    }
  }
}

TEST(Tape, EqualsCertifiedFiniteDifferences) {
  expect_gradient_is_right("attest:attention.softmax:f64;r=2;s=7;flag=random;seed=1", "direct");
  expect_gradient_is_right("attest:attention.scaled_dot_product:f64;n=4;s=4;d=3;m=2;causal=true;flag=random;seed=2",
                           "gather");
  expect_gradient_is_right("attest:linear.causal:f64;n=5;c=3;m=2;chunk=4;flag=random;seed=3", "recurrent");
}

TEST(Tape, ALostTermIsNoticed) {
  // d/dx (x * x) recorded with one of its two operands only is half of what a finite difference gives.
  const auto derivative = [](auto&& f) {
    Binary64 arithmetic;
    const Scope scope(arithmetic);
    Tape tape;
    const Number x = tape.variable(3);
    tape.seed(f(x), 1);
    tape.differentiate();
    return approximate(tape.adjoint(x));
  };
  const double right = derivative([](const Number& x) { return x * x; }),
               wrong = derivative([](const Number& x) { return x * 3; });
  const double difference = ((3 + 1e-6) * (3 + 1e-6) - (3 - 1e-6) * (3 - 1e-6)) / 2e-6;
  EXPECT_NEAR(right, difference, 1e-8);
  EXPECT_GT(std::abs(wrong - difference), 1);
}

TEST(Tape, OverTwoFormsGivesOneGradient) {
  const auto problem = golden::draw(golden::parse_query(kCausal).first);
  Arrays cotangents = golden::draw_cotangents(golden::parse_query(kCausal).first);
  const Arrays a = golden::evaluate_in_double(problem, "max_shift", cotangents),
               b = golden::evaluate_in_double(problem, "split_k", cotangents);
  for (const char* name : {"gradient.q", "gradient.k", "gradient.v"})
    for (std::size_t i = 0; i < a.at(name).values.size(); ++i)
      EXPECT_NEAR(a.at(name).values[i], b.at(name).values[i], 1e-12);
}

// --- ErrorModel: no order of summation exceeds the bound
// -----------------------------------------------------------------

double worst_of_a_thousand_orders(const golden::GoldenCase& c, const std::vector<std::string>& forms,
                                  double& rms_ratio) {
  const auto& o = c.certified.outputs.at("o");
  const auto& units = golden::narrow_units();
  double worst = 0, squares = 0, terms = 0;
  for (std::size_t order = 0; order < 1000; ++order) {
    Float32 arithmetic(order);
    const auto got = outputs_of(arithmetic, c.problem, forms[order % forms.size()]).at("o");
    for (std::size_t i = 0; i < o.hi.size(); ++i) {
      const double error = std::abs(static_cast<double>(got[i]) - o.hi[i] - static_cast<double>(o.lo[i]));
      double bound = 0, variance = 0;
      for (std::size_t ch = 0; ch < units.size(); ++ch) {
        bound += units[ch] * static_cast<double>(o.bound[ch][i]);
        variance += std::pow(units[ch] * static_cast<double>(o.rms[ch][i]), 2);
      }
      worst = std::max(worst, error / bound);
      squares += error * error / variance;
      ++terms;
    }
  }
  rms_ratio = std::sqrt(squares / terms);
  return worst;
}

TEST(ErrorModel, AThousandRandomOrdersOfSoftmaxAttentionStayWithinTheBound) {
  for (const char* query : {kSoftmax, kCausal}) {
    double rms = 0;
    const double worst = worst_of_a_thousand_orders(certified(query), {"max_shift", "online_blocked", "split_k"}, rms);
    RecordProperty("worst", std::to_string(worst));
    EXPECT_LT(worst, 1) << query;
    EXPECT_GT(worst, 1e-4) << "a bound this loose would prove nothing";
    EXPECT_LT(rms, 1) << "the expected size is an upper estimate";
  }
}

TEST(ErrorModel, AThousandRandomOrdersOfLinearAttentionStayWithinTheBound) {
  double rms = 0;
  const double worst = worst_of_a_thousand_orders(certified(kLinear), {"parallel_masked", "recurrent", "chunked"}, rms);
  EXPECT_LT(worst, 1);
  EXPECT_GT(worst, 1e-4);
  EXPECT_LT(rms, 1);
}

TEST(ErrorModel, ABoundAThousandTimesTooSmallIsExceeded) {
  double rms = 0;
  const double worst = worst_of_a_thousand_orders(certified(kSoftmax), {"max_shift"}, rms);
  EXPECT_GT(worst * 1000, 1);
}

TEST(ErrorModel, TheBoundOfASumDoesNotDependOnItsOrder) {
  std::vector<double> terms;
  std::mt19937_64 engine(7);
  for (int i = 0; i < 100; ++i) terms.push_back(static_cast<double>(engine() % 1000) - 500);
  const auto bound = [&] {
    ErrorModel model(golden::narrow_units());
    const Scope scope(model);
    Sum sum;
    for (const double t : terms) sum.add(Number::input(t));
    return model.value(sum.result()).bound[kAccumulate];
  };
  const double first = bound();
  for (int shuffle = 0; shuffle < 20; ++shuffle) {
    std::shuffle(terms.begin(), terms.end(), engine);
    EXPECT_DOUBLE_EQ(bound(), first);
  }
  double magnitudes = 0;
  for (const double t : terms) magnitudes += std::abs(t);
  EXPECT_NEAR(first, 99 * magnitudes, 99 * magnitudes * 1e-3);
}

TEST(ErrorModel, ExactZerosAndSmallConstantsCostNothing) {
  ErrorModel model(golden::narrow_units());
  const Scope scope(model);
  const auto error = [&](const Number& x) { return model.error(model.value(x)); };
  EXPECT_EQ(error(Number(0) + Number(0)), 0);
  EXPECT_EQ(error(Number(0.5)), 0);
  EXPECT_GT(error(rational(1, 10)), 0);
  EXPECT_EQ(error(pivot(rational(1, 10))), 0);
}

TEST(ErrorModel, AnAdjointIsAFactorOfAProductByOneAndIsPassedOnByASum) {
  const auto bound = [](auto&& y_of, double weight) {
    ErrorModel model(golden::narrow_units());
    const Scope scope(model);
    Tape tape;
    const std::vector<Number> x{tape.variable(Number::input(3)), tape.variable(Number::input(5))};
    const std::vector<Number> w{Number::input(weight), Number::input(1)};
    tape.seed(y_of(x, w), Number::input(0.7));
    tape.differentiate();
    return model.value(tape.adjoint(x[0])).bound[kOperand];
  };
  const auto dot = [](const auto& x, const auto& w) { return reference::dot(Row(x.data(), {2}), Row(w.data(), {2})); };
  const auto product = [](const auto& x, const auto& w) { return x[0] * w[0]; };
  const auto sum = [](const auto& x, const auto&) { return x[0] + x[1]; };
  EXPECT_GT(bound(dot, 1), 0);
  EXPECT_DOUBLE_EQ(2 * bound(dot, 1), bound(dot, 2));
  EXPECT_DOUBLE_EQ(2 * bound(product, 1), bound(product, 2));
  EXPECT_DOUBLE_EQ(bound(product, 1), bound(dot, 1));
  EXPECT_EQ(bound(sum, 1), 0);
}

TEST(ErrorModel, AMaximumHasTheBoundsOfBothWhereRoundingMayDecide) {
  const auto& units = golden::narrow_units();
  // max(x - 1, 0) for x = 1 + gap, whose difference is rounded, and its derivative.
  const auto at = [&](double gap) {
    ErrorModel model(units);
    const Scope scope(model);
    Tape tape;
    const Number x = tape.variable(Number::input(1 + gap));
    const Number u = (x + Number::input(2)) - Number::input(3);
    const double error = model.error(model.value(u));
    const Number most = larger(u, 0);
    const Rounding value = model.value(most);
    tape.seed(most, Number::input(0.5));
    tape.differentiate();
    const Rounding slope = model.value(tape.adjoint(x));
    return std::array{error, value.value, model.error(value), slope.value, model.error(slope)};
  };
  const auto far = at(0x1p-4), above = at(0x1p-30), below = at(-0x1p-30), negative = at(-0x1p-4);
  EXPECT_EQ(far[1], 0x1p-4);
  EXPECT_EQ(far[2], far[0]);
  EXPECT_EQ(far[3], 0.5);
  EXPECT_LT(far[4], 1e-5);
  EXPECT_EQ(negative[1], 0);
  EXPECT_EQ(negative[2] + std::abs(negative[3]) + negative[4], 0);
  ASSERT_GT(above[0], 0x1p-30);
  EXPECT_EQ(above[1], 0x1p-30);
  EXPECT_EQ(above[2], above[0]);
  EXPECT_EQ(above[3], 0.5);
  EXPECT_GE(above[4], 0.5);  // so that 0 is right
  EXPECT_EQ(below[1], 0);
  EXPECT_GE(below[2], below[0] - 0x1p-30);
  EXPECT_EQ(below[3], 0);
  EXPECT_GE(below[4], 0.5);
  // At units at which the error is just the gap either is right still, and below them no more.
  EXPECT_NEAR(above[4] * (0x1p-30 / above[0]), 0.5, 1e-5);
}

// --- rungs: as close as a verdict needs
// --------------------------------------------------------------------------------

TEST(EnclosedRows, AreAsCloseAsAVerdictNeedsAndSayByWhatArithmetic) {
  std::mt19937_64 engine(3);
  for (const char* profile : {"f32", "bf16", "f16", "f64"}) {
    int judged = 0;
    for (const auto& [id, spec] : specs()) {
      std::size_t place = 0;
      for (const auto& name : golden::stored_cases(spec)) {
        if (place++ % 9 != 0) continue;
        const auto problem = golden::draw(name);
        double work = 1;
        for (const auto& [_, size] : problem.sizes) work *= static_cast<double>(std::max<Index>(size, 1));
        if (work > 1e5) continue;
        const auto& output = spec.outputs[0];
        WantedRows rows;
        if (!output.shape.empty())
          for (Index r = 0; r < problem.sizes.at(output.shape[0]); ++r)
            if (engine() % 2) rows[output.shape[0]].push_back(r);
        golden::EnclosedRows some;
        try {
          some = golden::enclose_rows(problem, golden::profile(profile), rows);
        } catch (const golden::Uncertifiable&) {
          continue;
        }
        const auto truth = golden::certify(problem, {}, {.check_witnesses = false}).outputs.at(output.name);
        const auto& got = some.outputs.at(output.name);
        const auto units = golden::profile(profile).units_of(output);
        const Index height = output.shape.empty() ? 1 : problem.sizes.at(output.shape[0]);
        const Index width = height > 0 ? static_cast<Index>(truth.hi.size()) / height : 0;
        std::size_t at = 0;
        for (Index r = 0; r < height; ++r) {
          if (!rows.empty() && !std::count(rows.begin()->second.begin(), rows.begin()->second.end(), r)) continue;
          for (Index c = 0; c < width; ++c, ++at) {
            const auto i = static_cast<std::size_t>(r * width + c);
            if (!std::isfinite(truth.hi[i])) {
              EXPECT_TRUE(std::isnan(truth.hi[i]) ? std::isnan(got.hi[at]) : got.hi[at] == truth.hi[i])
                  << golden::query(name, profile) << " " << output.name << "[" << i << "]";
              continue;
            }
            double bound = 0;
            for (std::size_t ch = 0; ch < units.size(); ++ch)
              if (got.bound[ch][at] != 0) bound += units[ch] * static_cast<double>(got.bound[ch][at]);
            const double off =
                (got.hi[at] - truth.hi[i]) + (static_cast<double>(got.lo[at]) - static_cast<double>(truth.lo[i]));
            EXPECT_LE(std::abs(off), 0x1p-20 * bound + std::abs(truth.hi[i]) * 0x1p-75)
                << golden::query(name, profile) << " " << output.name << "[" << i << "]";
          }
        }
        EXPECT_EQ(at, got.hi.size());
        judged += at > 0;
      }
    }
    EXPECT_GT(judged, 50) << profile;
  }
}

TEST(EnclosedRows, Binary64ServesBinary32AndArbServesBinary64) {
  const auto problem = golden::draw(golden::parse_query(kCausal).first);
  const WantedRows last{{"n", {23}}};
  EXPECT_EQ(golden::enclose_rows(problem, golden::profile("f32"), last).rung, "binary64");
  EXPECT_EQ(
      golden::enclose_rows(problem, golden::profile("bf16"), last, {.forms = {"max_shift", "online_blocked"}}).rung,
      "binary64");
  EXPECT_EQ(golden::enclose_rows(problem, golden::profile("f64"), last).rung, "Arb, 128 bits");
  EXPECT_EQ(golden::enclose_rows(problem, golden::profile("f32"), last).outputs.at("o").shape,
            (std::vector<Index>{1, 4}));
}

// --- Cost: the printed costs ----------------------------------------------------------------------------------------

TEST(Cost, EqualsTheFormulaOfEverySpec) {
  std::size_t compared = 0;
  for (const auto& [id, spec] : specs()) {
    EXPECT_EQ(judge::try_costs(spec).why, "") << id;  // each cost on one case or more
    compared += spec.costs.size();
  }
  EXPECT_GT(compared, 20u);
}

// --- Influence: the causal set
// -----------------------------------------------------------------------------------------

void expect_causal_set(const std::string& query, const std::string& form) {
  const auto problem = golden::draw(golden::parse_query(query).first);
  Influence arithmetic;
  const Scope scope(arithmetic);
  Bundle bundle(problem, [&](const TensorDeclaration& declared, Index flat, double x) {
    if (declared.state) return Number::input(x);
    return arithmetic.of_token(x, static_cast<std::size_t>(flat / 3));  // every tensor of these queries is 3 wide
  });
  evaluate(form, bundle);
  const auto o = values_of(arithmetic, bundle, "o");
  for (std::size_t i = 0; i < o.size(); ++i) {
    const std::size_t token = i / 3;
    EXPECT_EQ(o[i].tokens.count(), token + 1) << form << " o[" << i << "]";
    for (std::size_t j = 0; j <= token; ++j) EXPECT_TRUE(o[i].tokens.test(j));
  }
}

TEST(Influence, EqualsTheCausalSet) {
  for (const char* form : {"dense", "max_shift", "online_blocked", "split_k", "gather", "per_query"})
    expect_causal_set("attest:attention.scaled_dot_product:f64;n=9;s=9;d=3;m=3;causal=true;block=4;flag=random;seed=1",
                      form);
  for (const char* form : {"parallel_masked", "recurrent", "chunked", "scan", "two_level"})
    expect_causal_set("attest:linear.causal:f64;n=9;c=3;m=3;chunk=4;flag=random;seed=1", form);
}

TEST(Influence, SeesATokenTooMany) {
  // Without the mask every token reaches every output: the causal set is exceeded.
  const auto problem = golden::draw(
      golden::parse_query("attest:attention.scaled_dot_product:f64;n=5;s=5;d=3;m=3;flag=random;seed=1").first);
  Influence arithmetic;
  const Scope scope(arithmetic);
  Bundle bundle(problem, [&](const TensorDeclaration&, Index flat, double x) {
    return arithmetic.of_token(x, static_cast<std::size_t>(flat / 3));
  });
  evaluate("dense", bundle);
  EXPECT_EQ(values_of(arithmetic, bundle, "o")[0].tokens.count(), 5u);
}

}  // namespace
}  // namespace attest
