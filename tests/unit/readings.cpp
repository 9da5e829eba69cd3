// SPDX-License-Identifier: MIT
// Each reading of an equation is shown to be right, and each test is shown to notice when it is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include "attest/golden/case.hpp"
#include "attest/golden/certify.hpp"
#include "attest/golden/store.hpp"
#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/reference/evaluate.hpp"
#include "attest/reference/linear/causal.hpp"

namespace attest::reference {

/// Binary32 whose sums are taken in a random order along a random tree: one correct kernel after another.
class Float32 {
public:
  static inline std::mt19937_64 engine{1};

  Float32() = default;
  Float32(double x) : value_(static_cast<float>(x)) {}
  Float32(float x) : value_(x) {}
  Float32(int x) : value_(static_cast<float>(x)) {}
  Float32(Index x) : value_(static_cast<float>(x)) {}
  float value() const { return value_; }
  friend Float32 operator-(Float32 a) { return -a.value_; }
  friend Float32 operator+(Float32 a, Float32 b) { return a.value_ + b.value_; }
  friend Float32 operator-(Float32 a, Float32 b) { return a.value_ - b.value_; }
  friend Float32 operator*(Float32 a, Float32 b) { return a.value_ * b.value_; }
  friend Float32 operator/(Float32 a, Float32 b) { return a.value_ / b.value_; }
  friend Float32 exp(Float32 a) { return std::exp(a.value_); }
  friend Float32 log(Float32 a) { return std::log(a.value_); }
  friend Float32 sqrt(Float32 a) { return std::sqrt(a.value_); }

private:
  float value_ = 0;
};

inline double approximate(Float32 x) { return x.value(); }
inline bool positive(Float32 x) { return x.value() > 0; }
inline bool less(Float32 x, Float32 y) { return x.value() < y.value(); }
inline bool is_zero(Float32 x) { return x.value() == 0; }
inline Float32 pivot(Float32 x) { return x; }

template <>
class Sum<Float32> {
public:
  void add(Float32 term) { terms_.push_back(term.value()); }
  Float32 result() const {
    std::deque<float> terms(terms_);
    while (terms.size() > 1) {  // join any two: every tree over every order
      const auto i = Float32::engine() % terms.size();
      std::swap(terms[i], terms.back());
      const float last = terms.back();
      terms.pop_back();
      terms[Float32::engine() % terms.size()] += last;
    }
    return terms.empty() ? 0.0f : terms[0];
  }

private:
  std::deque<float> terms_;
};

}  // namespace attest::reference

namespace attest {
namespace {

using namespace reference;

golden::GoldenCase certified(const std::string& query) { return golden::certify_case(golden::parse_query(query).first); }

constexpr const char* kSoftmax = "attest:attention.scaled_dot_product:f32;n=6;s=64;d=16;m=4;flag=random_f32;seed=3";
constexpr const char* kCausal = "attest:attention.scaled_dot_product:f32;n=24;s=24;d=48;m=4;causal=true;flag=random_f32;seed=4";
constexpr const char* kLinear = "attest:linear.causal:f32;n=48;c=16;m=4;chunk=8;flag=random_f32;seed=5";

// --- Ball: every enclosure holds the value ---------------------------------------------------------------------------

/// A random expression of both types, node by node the same.
template <class T>
T random_expression(std::mt19937_64& engine, int depth) {
  if (depth == 0) return T(static_cast<double>(static_cast<std::int64_t>(engine() % 2001) - 1000) / 64.0);
  const auto operation = engine() % 6;
  const T a = random_expression<T>(engine, depth - 1);
  switch (operation) {
    case 0: return a + random_expression<T>(engine, depth - 1);
    case 1: return a - random_expression<T>(engine, depth - 1);
    case 2: return a * random_expression<T>(engine, depth - 1);
    case 3: return a / (T(2) + random_expression<T>(engine, 0) * random_expression<T>(engine, 0));
    case 4: return exp(a / T(1024));
    default: return sin(a) + cos(a);
  }
}

bool contains(const Ball& ball, const Real& real) {
  arf_t x;
  arf_init(x);
  arf_set_mpfr(x, real.backend().data());
  const bool inside = arb_contains_arf(ball.get(), x);
  arf_clear(x);
  return inside;
}

TEST(Ball, EnclosesWhatAnotherLibraryComputesAtFarHigherPrecision) {
  const RealPrecision precise(2000);
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const BallPrecision coarse(30 + static_cast<slong>(seed % 100));
    std::mt19937_64 for_ball(seed), for_real(seed);
    const Ball ball = random_expression<Ball>(for_ball, 5);
    const Real real = random_expression<Real>(for_real, 5);
    if (!arb_is_finite(ball.get())) continue;
    EXPECT_TRUE(contains(ball, real)) << "seed " << seed;
  }
}

TEST(Ball, AnEnclosureMovedByMoreThanItsRadiusIsNoticed) {
  const RealPrecision precise(2000);
  int noticed = 0, moved = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 for_ball(seed), for_real(seed);
    Ball ball = random_expression<Ball>(for_ball, 4);
    const Real real = random_expression<Real>(for_real, 4);
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

TEST(Ball, AnUndecidedBranchThrowsAndHigherPrecisionDecides) {
  Ball third = Ball(1) / Ball(3), nearly;
  {
    const BallPrecision coarse(64);
    nearly = Ball(1) / Ball(3);
    EXPECT_THROW(less(nearly, Ball(1) / Ball(3)), Undecided);
    EXPECT_THROW(positive(nearly - Ball(1) / Ball(3)), Undecided);
  }
  const BallPrecision fine(300);
  EXPECT_TRUE(positive(Ball(1) / Ball(3) - Ball(0.333333)));
  EXPECT_FALSE(less(Ball(1) / Ball(3), Ball(0.333333)));
}

TEST(Ball, PrecisionLimitNamesTheElement) {
  const auto problem = golden::draw(golden::parse_query("attest:attention.softmax:f64;r=2;s=3;flag=random;seed=1").first);
  try {
    golden::certify(problem, {}, {.check_witnesses = false, .precision_limit = 64});
    FAIL() << "certified at no precision at all";
  } catch (const golden::Uncertifiable& error) {
    EXPECT_NE(std::string(error.what()).find("attention.softmax"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("64 bits"), std::string::npos) << error.what();
  }
}

// --- hi + lo -----------------------------------------------------------------------------------------------------------

TEST(Certified, HiAndLoAreTheTrueValueRoundedTwice) {
  const auto c = certified(kSoftmax);
  const BallPrecision fine(600);
  Bundle<Ball> bundle(c.problem);
  evaluate(c.problem, "dense", bundle);
  const auto& o = c.certified.outputs.at("o");
  for (std::size_t i = 0; i < o.hi.size(); ++i) {
    const Ball& truth = bundle.values("o")[i];
    EXPECT_EQ(o.hi[i], approximate(truth));
    EXPECT_EQ(o.lo[i], static_cast<float>(approximate(truth - Ball(o.hi[i]))));
  }
}

// --- Tape: certified finite differences --------------------------------------------------------------------------------

/// <cotangent, f(x + h e) - f(x - h e)> / 2h over enclosures, h = 2^-100.
double finite_difference(const golden::GoldenCase& c, const std::string& form, const std::string& input, std::size_t element) {
  const BallPrecision fine(700);
  Ball h(1);
  arb_mul_2exp_si(h.get(), h.get(), -100);
  const auto loss = [&](int sign) {
    Bundle<Ball> bundle(c.problem, [&](const TensorDeclaration& declared, Index i, double x) {
      return declared.name == input && static_cast<std::size_t>(i) == element ? Ball(x) + Ball(sign) * h : Ball(x);
    });
    evaluate(c.problem, form, bundle);
    Ball total(0);
    for (const auto& [name, cotangent] : c.cotangents)
      for (std::size_t i = 0; i < cotangent.values.size(); ++i) total += Ball(cotangent.values[i]) * bundle.values(name)[i];
    return total;
  };
  return approximate((loss(1) - loss(-1)) / (Ball(2) * h));
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
  expect_gradient_is_right("attest:attention.scaled_dot_product:f64;n=4;s=4;d=3;m=2;causal=true;flag=random;seed=2", "gather");
  expect_gradient_is_right("attest:linear.causal:f64;n=5;c=3;m=2;chunk=4;flag=random;seed=3", "recurrent");
}

TEST(Tape, ALostTermIsNoticed) {
  // d/dx (x * x) recorded with one of its two operands only is half of what a finite difference gives.
  Recording<double> recording;
  const auto x = Tape<double>::variable(3.0);
  const auto whole = x * x, lost = x * Tape<double>(3.0);
  const auto right = recording.adjoints({{whole.index(), 1.0}})[0], wrong = recording.adjoints({{lost.index(), 1.0}})[0];
  const double difference = ((3 + 1e-6) * (3 + 1e-6) - (3 - 1e-6) * (3 - 1e-6)) / 2e-6;
  EXPECT_NEAR(right, difference, 1e-8);
  EXPECT_GT(std::abs(wrong - difference), 1);
}

TEST(Tape, OverTwoFormsGivesOneGradient) {
  const auto problem = golden::draw(golden::parse_query(kCausal).first);
  Arrays cotangents = golden::draw_cotangents(golden::parse_query(kCausal).first);
  const Arrays a = golden::evaluate_in_double(problem, "max_shift", cotangents), b = golden::evaluate_in_double(problem, "split_k", cotangents);
  for (const char* name : {"gradient.q", "gradient.k", "gradient.v"})
    for (std::size_t i = 0; i < a.at(name).values.size(); ++i) EXPECT_NEAR(a.at(name).values[i], b.at(name).values[i], 1e-12);
}

// --- Rounding: no order of summation exceeds the bound -----------------------------------------------------------------

template <class F>
double worst_of_a_thousand_orders(const golden::GoldenCase& c, F&& run, double& rms_ratio) {
  const auto& o = c.certified.outputs.at("o");
  const auto& units = golden::narrow_units();
  double worst = 0, squares = 0, terms = 0;
  for (int order = 0; order < 1000; ++order) {
    Float32::engine.seed(static_cast<std::uint64_t>(order));
    Bundle<Float32> bundle(c.problem);
    run(bundle, order);
    for (std::size_t i = 0; i < o.hi.size(); ++i) {
      const double error = std::abs(static_cast<double>(bundle.values("o")[i].value()) - o.hi[i] - static_cast<double>(o.lo[i]));
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

TEST(Rounding, AThousandRandomOrdersOfSoftmaxAttentionStayWithinTheBound) {
  namespace sdp = reference::attention::scaled_dot_product;
  for (const char* query : {kSoftmax, kCausal}) {
    double rms = 0;
    const double worst = worst_of_a_thousand_orders(certified(query), [](Bundle<Float32>& bundle, int order) {
      const auto in = attest::spec::attention::scaled_dot_product::read<Float32>(bundle);
      const auto out = attest::spec::attention::scaled_dot_product::write<Float32>(bundle);
      order % 3 == 0 ? sdp::max_shift(in, out) : order % 3 == 1 ? sdp::online_blocked(in, out) : sdp::split_k(in, out);
    }, rms);
    RecordProperty("worst", std::to_string(worst));
    EXPECT_LT(worst, 1) << query;
    EXPECT_GT(worst, 1e-4) << "a bound this loose would prove nothing";
    EXPECT_LT(rms, 1) << "the expected size is an upper estimate";
  }
}

TEST(Rounding, AThousandRandomOrdersOfLinearAttentionStayWithinTheBound) {
  namespace causal = reference::linear::causal;
  double rms = 0;
  const double worst = worst_of_a_thousand_orders(certified(kLinear), [](Bundle<Float32>& bundle, int order) {
    const auto in = attest::spec::linear::causal::read<Float32>(bundle);
    const auto out = attest::spec::linear::causal::write<Float32>(bundle);
    order % 3 == 0 ? causal::parallel_masked(in, out) : order % 3 == 1 ? causal::recurrent(in, out) : causal::chunked(in, out);
  }, rms);
  EXPECT_LT(worst, 1);
  EXPECT_GT(worst, 1e-4);
  EXPECT_LT(rms, 1);
}

TEST(Rounding, ABoundAThousandTimesTooSmallIsExceeded) {
  double rms = 0;
  const double worst = worst_of_a_thousand_orders(certified(kSoftmax), [](Bundle<Float32>& bundle, int) {
    reference::attention::scaled_dot_product::max_shift(attest::spec::attention::scaled_dot_product::read<Float32>(bundle),
                                             attest::spec::attention::scaled_dot_product::write<Float32>(bundle));
  }, rms);
  EXPECT_GT(worst * 1000, 1);
}

TEST(Rounding, TheBoundOfASumDoesNotDependOnItsOrder) {
  std::vector<double> terms;
  std::mt19937_64 engine(7);
  for (int i = 0; i < 100; ++i) terms.push_back(static_cast<double>(engine() % 1000) - 500);
  const auto bound = [&] {
    Sum<Rounding> sum;
    for (const double t : terms) sum.add(Rounding::exact(t));
    return sum.result().bound()[kAccumulate];
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

TEST(Rounding, ExactZerosAndSmallConstantsCostNothing) {
  EXPECT_EQ((Rounding(0) + Rounding(0)).error(), 0);
  EXPECT_EQ(Rounding(0.5).error(), 0);
  EXPECT_GT(Rounding(0.1).error(), 0);
  EXPECT_EQ(pivot(Rounding(0.1)).error(), 0);
}

TEST(Rounding, AnAdjointIsAFactorOfAProductByOneAndIsPassedOnByASum) {
  using T = Tape<Rounding>;
  const auto bound = [](auto&& y_of, double weight) {
    Recording<Rounding> recording;
    const std::vector<T> x{T::variable(Rounding::exact(3)), T::variable(Rounding::exact(5))};
    const std::vector<T> w{T(Rounding::exact(weight)), T(Rounding::exact(1))};
    const T y = y_of(x, w);
    return recording.adjoints({{y.index(), Rounding::exact(0.7)}}).at(static_cast<std::size_t>(x[0].index())).bound()[kOperand];
  };
  const auto dot = [](const auto& x, const auto& w) { return Dot<T>::of({x.data(), {2}}, {w.data(), {2}}); };
  const auto product = [](const auto& x, const auto& w) { return x[0] * w[0]; };
  const auto sum = [](const auto& x, const auto&) { return x[0] + x[1]; };
  EXPECT_GT(bound(dot, 1), 0);
  EXPECT_DOUBLE_EQ(2 * bound(dot, 1), bound(dot, 2));
  EXPECT_DOUBLE_EQ(2 * bound(product, 1), bound(product, 2));
  EXPECT_DOUBLE_EQ(bound(product, 1), bound(dot, 1));
  EXPECT_EQ(bound(sum, 1), 0);
}

// --- Counted: the printed costs ----------------------------------------------------------------------------------------

TEST(Counted, EqualsTheFormulaOfEverySpec) {
  int compared = 0;
  for (const auto& [id, spec] : specs())
    for (const auto& cost : spec.costs)
      for (const auto& name : golden::stored_cases(spec)) {
        if (!name.flag.starts_with("random")) continue;  // masks and zero denominators thin the count
        const Problem problem = golden::draw(name);
        if (!holds(cost.when, spec, problem.sizes, problem.parameters)) continue;
        if (!holds(spec.form(cost.form)->when, spec, problem.sizes, problem.parameters)) continue;
        Counted::counts = {};
        Bundle<Counted> bundle(problem);
        evaluate(problem, cost.form, bundle);
        const double expected = cost.count.evaluate([&](std::string_view variable) { return lookup(spec, problem.sizes, problem.parameters, variable); });
        EXPECT_EQ(static_cast<double>(Counted::counts.by_name().at(cost.operation)), expected)
            << golden::query(name, "f64") << " " << cost.form << " " << cost.operation;
        ++compared;
      }
  EXPECT_GT(compared, 20);
}

// --- Influence: the causal set -----------------------------------------------------------------------------------------

void expect_causal_set(const std::string& query, const std::string& form) {
  const auto problem = golden::draw(golden::parse_query(query).first);
  Bundle<Influence> bundle(problem, [](const TensorDeclaration& declared, Index flat, double x) {
    if (declared.state) return Influence(x);
    return Influence::of_token(x, static_cast<std::size_t>(flat / 3));  // every tensor of these queries is 3 wide
  });
  evaluate(problem, form, bundle);
  const auto& o = bundle.values("o");
  for (std::size_t i = 0; i + 1 < o.size(); ++i) {
    const std::size_t token = i / 3;
    EXPECT_EQ(o[i].tokens().count(), token + 1) << form << " o[" << i << "]";
    for (std::size_t j = 0; j <= token; ++j) EXPECT_TRUE(o[i].tokens().test(j));
  }
}

TEST(Influence, EqualsTheCausalSet) {
  for (const char* form : {"dense", "max_shift", "online_blocked", "split_k", "gather", "per_query"})
    expect_causal_set("attest:attention.scaled_dot_product:f64;n=9;s=9;d=3;m=3;causal=true;block=4;flag=random;seed=1", form);
  for (const char* form : {"parallel_masked", "recurrent", "chunked", "scan", "two_level"})
    expect_causal_set("attest:linear.causal:f64;n=9;c=3;m=3;chunk=4;flag=random;seed=1", form);
}

TEST(Influence, SeesATokenTooMany) {
  // Without the mask every token reaches every output: the causal set is exceeded.
  const auto problem = golden::draw(golden::parse_query("attest:attention.scaled_dot_product:f64;n=5;s=5;d=3;m=3;flag=random;seed=1").first);
  Bundle<Influence> bundle(problem, [](const TensorDeclaration&, Index flat, double x) { return Influence::of_token(x, static_cast<std::size_t>(flat / 3)); });
  evaluate(problem, "dense", bundle);
  EXPECT_EQ(bundle.values("o")[0].tokens().count(), 5u);
}

}  // namespace
}  // namespace attest
