// SPDX-License-Identifier: MIT
// What random features estimate, and how well: means and variances over many directions against closed forms.
// Directions come from fixed seeds; a limit of 5 standard errors would be broken by chance once in 1.7 million draws.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "attest/golden/certify.hpp"

namespace attest {
namespace {

using golden::evaluate_in_double;
using Values = std::vector<double>;

constexpr double kStandardErrors = 5;
constexpr Index kDirections = 1 << 16;

/// Standard normal numbers, by Box and Muller.
Values normals(std::uint64_t seed, Index count) {
  std::mt19937_64 engine(seed);
  const auto uniform = [&] { return (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53; };
  Values x;
  while (static_cast<Index>(x.size()) < count) {
    const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
    x.push_back(radius * std::cos(angle));
    x.push_back(radius * std::sin(angle));
  }
  x.resize(static_cast<std::size_t>(count));
  return x;
}

double dot(const Values& a, const Values& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
double squared_distance(const Values& a, const Values& b) { return dot(a, a) + dot(b, b) - 2 * dot(a, b); }
double squared_sum(const Values& a, const Values& b) { return dot(a, a) + dot(b, b) + 2 * dot(a, b); }

/// phi(x) and phi(y) of that equation, a row each.
Values features(const char* id, const Values& x, const Values& y, Index directions, Index per_direction,
                const Parameters& parameters, const Values& w) {
  const auto d = static_cast<Index>(x.size());
  Problem problem{
      &find_spec(id), {{"n", 2}, {"d", d}, {"c", directions}, {"p", per_direction * directions}}, parameters, {}};
  Array& both = problem.inputs["x"] = {{2, d}, x};
  both.values.insert(both.values.end(), y.begin(), y.end());
  problem.inputs["w"] = {{directions, d}, w};
  return evaluate_in_double(problem, "direct", {}).at("phi").values;
}

/// What each direction contributes to the inner product, times the number of directions.
Values contributions(const char* id, const Values& x, const Values& y, Index per_direction,
                     const Parameters& parameters, const Values& w) {
  const Index c = static_cast<Index>(w.size() / x.size()), p = per_direction * c;
  const Values phi = features(id, x, y, c, per_direction, parameters, w);
  Values products(static_cast<std::size_t>(c));
  for (Index t = 0; t < p; ++t)
    products[static_cast<std::size_t>(t % c)] +=
        static_cast<double>(c) * phi[static_cast<std::size_t>(t)] * phi[static_cast<std::size_t>(p + t)];
  return products;
}

double mean(const Values& x) { return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()); }
double central_moment(const Values& x, double about, int power) {
  Values powers;
  for (const double value : x) powers.push_back(std::pow(value - about, power));
  return mean(powers);
}

/// The sample agrees with these moments of one direction.
void expect_moments(const Values& x, double expected, double variance) {
  const auto count = static_cast<double>(x.size());
  EXPECT_NEAR(mean(x), expected, kStandardErrors * std::sqrt(variance / count));
  const double fourth = central_moment(x, expected, 4);
  EXPECT_NEAR(central_moment(x, expected, 2), variance,
              kStandardErrors * std::sqrt((fourth - variance * variance) / count));
}

double gaussian(const Values& x, const Values& y, double sigma) {
  return std::exp(-squared_distance(x, y) / (2 * sigma * sigma));
}
/// The variance of one direction of trigonometric features.
double trigonometric_variance(const Values& x, const Values& y, double sigma) {
  return std::pow(1 - std::exp(-squared_distance(x, y) / (sigma * sigma)), 2) / 2;
}
/// The same of positive features.
double positive_variance(const Values& x, const Values& y) {
  return std::exp(2 * dot(x, y)) * (std::exp(squared_sum(x, y)) - 1);
}

TEST(RandomFeatures, TrigonometricOnesEstimateTheGaussian) {
  const Values x{0.5, -0.25, 1}, y{0.25, 0.5, 0.25};
  std::uint64_t seed = 1;
  for (const double sigma : {0.5, 1.0, 2.0}) {
    const auto products =
        contributions("lowrank.fourier_features", x, y, 2, {{"sigma", sigma}}, normals(seed++, 3 * kDirections));
    expect_moments(products, gaussian(x, y, sigma), trigonometric_variance(x, y, sigma));
  }
}

TEST(RandomFeatures, ThePrintedVarianceIsThatOfAnotherGaussian) {
  const Values x{0.5, -0.25, 1}, y{0.25, 0.5, 0.25};
  const double sigma = 2;
  Values w = normals(4, 3 * kDirections);
  for (double& entry : w) entry *= sigma;  // w ~ N(0, sigma^2 I), as printed, and no sigma beside it
  const auto products = contributions("lowrank.fourier_features", x, y, 2, {}, w);
  expect_moments(products, gaussian(x, y, 1 / sigma), trigonometric_variance(x, y, 1 / sigma));
  EXPECT_GT(std::abs(mean(products) - gaussian(x, y, sigma)), 0.5);
}

TEST(RandomFeatures, TheEstimateOfTheExponentialIsUnbiased) {
  const Values x{0.5, -0.25, 0.75}, y{0.25, 0.5, 0.25};
  const Index d = 3;
  std::uint64_t seed = 10;
  for (const double sigma : {0.75, 1.0, 2.0}) {
    const Problem problem{
        &find_spec("lowrank.rfa_exp_estimator"),
        {{"n", 1}, {"d", d}, {"c", kDirections}},
        {{"sigma", sigma}},
        {{"x", {{1, d}, x}}, {"y", {{1, d}, y}}, {"w", {{kDirections, d}, normals(seed++, d * kDirections)}}}};
    const double factor = std::exp((dot(x, x) + dot(y, y)) / (2 * sigma * sigma)),
                 error = factor * std::sqrt(trigonometric_variance(x, y, sigma) / static_cast<double>(kDirections));
    EXPECT_NEAR(evaluate_in_double(problem, "direct", {}).at("est").values[0], std::exp(dot(x, y) / (sigma * sigma)),
                kStandardErrors * error);
  }
}

TEST(RandomFeatures, PositiveOnesEstimateTheExponential) {
  const std::vector<std::pair<Values, Values>> pairs{{{0.5, -0.25, 0.25}, {-0.25, 0.5, 0.125}},
                                                     {{0.25, 0.25, 0.25}, {0.125, 0.25, -0.25}}};
  std::uint64_t seed = 20;
  for (const auto& [x, y] : pairs)
    expect_moments(contributions("lowrank.positive_features", x, y, 1, {}, normals(seed++, 3 * kDirections)),
                   std::exp(dot(x, y)), positive_variance(x, y));
}

TEST(RandomFeatures, PositiveOnesVaryLessWhereXIsNearMinusY) {
  const Values x{0.75, -0.5, 0.5}, near_minus_x{-0.75, 0.375, -0.5};
  const Values w = normals(30, 3 * kDirections);
  const double squares = dot(x, x) + dot(near_minus_x, near_minus_x), target = std::exp(dot(x, near_minus_x));
  const auto positive = contributions("lowrank.positive_features", x, near_minus_x, 1, {}, w);
  auto trigonometric = contributions("lowrank.fourier_features", x, near_minus_x, 2, {}, w);
  for (double& product : trigonometric) product *= std::exp(squares / 2);
  expect_moments(positive, target, positive_variance(x, near_minus_x));
  expect_moments(trigonometric, target, std::exp(squares) * trigonometric_variance(x, near_minus_x, 1));
  EXPECT_LT(100 * central_moment(positive, target, 2), central_moment(trigonometric, target, 2));
}

/// The rows of lowrank.orthogonal_projection from one block of d Gaussian vectors each.
Values orthogonal(std::uint64_t seed, Index blocks, Index d, const char* lengths) {
  const Index c = blocks * d;
  const Problem problem{&find_spec("lowrank.orthogonal_projection"),
                        {{"b", blocks}, {"d", d}, {"c", c}},
                        {{"lengths", std::string(lengths)}},
                        {{"g", {{blocks, d, d}, normals(seed, c * d)}}, {"h", {{c, d}, normals(seed + 1, c * d)}}}};
  return evaluate_in_double(problem, "gram_schmidt", {}).at("w").values;
}

/// The estimate of e^(x . y) by positive features from each block of d directions.
Values estimates(const Values& x, const Values& y, const Values& w) {
  const auto products = contributions("lowrank.positive_features", x, y, 1, {}, w);
  const std::size_t d = x.size();
  Values blocks;
  for (std::size_t first = 0; first < products.size(); first += d)
    blocks.push_back(mean({products.begin() + static_cast<std::ptrdiff_t>(first),
                           products.begin() + static_cast<std::ptrdiff_t>(first + d)}));
  return blocks;
}

double standard_error(const Values& x) {
  return std::sqrt(central_moment(x, mean(x), 2) / static_cast<double>(x.size()));
}

constexpr Index kBlocks = 1 << 14;
const Values kX{0.5, -0.25, 0.75}, kY{0.25, 0.25, 0.5};

TEST(RandomFeatures, OrthogonalDirectionsAreStandardNormal) {
  const Values w = orthogonal(60, kBlocks, 3, "chi");
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t a = 0; a < 3; ++a) {
      Values coordinate;
      for (std::size_t first = 3 * row; first < w.size(); first += 9) coordinate.push_back(w[first + a]);
      expect_moments(coordinate, 0, 1);
    }
}

TEST(RandomFeatures, OrthogonalDirectionsAreUnbiasedWithLengthsOfChi) {
  const auto chi = estimates(kX, kY, orthogonal(70, kBlocks, 3, "chi"));
  EXPECT_NEAR(mean(chi), std::exp(dot(kX, kY)), kStandardErrors * standard_error(chi));
  // With equal lengths e^(w . z) has the mean sinh(t) / t in three dimensions, t = sqrt(3) |z|.
  const auto equal = estimates(kX, kY, orthogonal(70, kBlocks, 3, "sqrt_d"));
  const double t = std::sqrt(3 * squared_sum(kX, kY)),
               biased = std::sinh(t) / t * std::exp(-(dot(kX, kX) + dot(kY, kY)) / 2);
  EXPECT_NEAR(mean(equal), biased, kStandardErrors * standard_error(equal));
  EXPECT_GT(std::exp(dot(kX, kY)) - mean(equal), 10 * standard_error(equal));
}

TEST(RandomFeatures, OrthogonalDirectionsVaryLess) {
  const Values x{0.5, -0.25, 0.25}, y{0, 0.25, 0.25};
  const auto together = estimates(x, y, orthogonal(80, 8 * kBlocks, 3, "chi"));
  const double centre = std::exp(dot(x, y)), variance = central_moment(together, centre, 2),
               error = std::sqrt((central_moment(together, centre, 4) - variance * variance) /
                                 static_cast<double>(together.size()));
  EXPECT_LT(variance + kStandardErrors * error, positive_variance(x, y) / 3);
}

/// The root mean square error of an attention with random features against softmax attention, over some draws of the
/// directions.
double error_of(const char* id, Index directions, const Parameters& parameters, double scale) {
  const Index n = 4, s = 6, d = 3, m = 2;
  Values q = normals(40, n * d), k = normals(41, s * d);
  for (Values* x : {&q, &k})
    for (double& entry : *x) entry /= 2;
  const Array values{{s, m}, normals(42, s * m)};
  const Problem softmax{&find_spec("attention.scaled_dot_product"),
                        {{"n", n}, {"s", s}, {"d", d}, {"m", m}},
                        {{"scale", scale}},
                        {{"q", {{n, d}, q}}, {"k", {{s, d}, k}}, {"v", values}}};
  const Values right = evaluate_in_double(softmax, "max_shift", {}).at("o").values;
  Values squares;
  for (std::uint64_t draw = 0; draw < 24; ++draw) {
    Problem problem{&find_spec(id),
                    {{"n", n}, {"s", s}, {"d", d}, {"c", directions}, {"m", m}},
                    parameters,
                    {{"q", {{n, d}, q}}, {"k", {{s, d}, k}}, {"v", values}}};
    problem.inputs["w"] = {{directions, d}, normals(50 + draw, directions * d)};
    const Values got = evaluate_in_double(problem, "linear", {}).at("o").values;
    for (std::size_t i = 0; i < got.size(); ++i) squares.push_back(std::pow(got[i] - right[i], 2));
  }
  return std::sqrt(mean(squares));
}

/// 64 times the directions give an 8th of the error: between a 6th and an 11th in a draw of this size.
void expect_root_of_the_directions(const char* id, const Parameters& parameters, double scale) {
  const double few = error_of(id, 64, parameters, scale), many = error_of(id, 4096, parameters, scale);
  EXPECT_GT(few, 6 * many);
  EXPECT_LT(few, 11 * many);
  EXPECT_LT(many, 0.02);
}

TEST(RandomFeatures, AttentionConvergesAsTheRootOfTheDirections) {
  expect_root_of_the_directions("lowrank.rfa_attention", {{"key_norm", std::string("corrected")}}, 1);
  // Without the correction it converges to something else.
  EXPECT_GT(error_of("lowrank.rfa_attention", 4096, {}, 1), 0.05);
}

TEST(RandomFeatures, PerformerConvergesAsTheRootOfTheDirections) {
  expect_root_of_the_directions("lowrank.performer_attention", {}, 1 / std::sqrt(3.0));
}

}  // namespace
}  // namespace attest
