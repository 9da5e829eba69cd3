// SPDX-License-Identifier: MIT
#include "attest/judge/verdict.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attest/golden/store.hpp"

namespace attest::judge {
namespace {

constexpr const char* kQuery = "attest:attention.scaled_dot_product:f32;n=4;s=9;d=4;m=3;flag=random;seed=5";

struct Verdict : testing::Test {
  golden::GoldenCase c = golden::certify_case(golden::parse_query(kQuery).first);
  const golden::Profile& f32 = golden::profile("f32");
  Arrays right() const {
    const auto& o = c.certified.outputs.at("o");
    return {{"o", {o.shape, o.hi}}};
  }
  double bound(std::size_t i) const {
    const auto& o = c.certified.outputs.at("o");
    double total = 0;
    for (std::size_t ch = 0; ch < f32.units.size(); ++ch) total += f32.units[ch] * static_cast<double>(o.bound[ch][i]);
    return total;
  }
};

TEST_F(Verdict, TheTruthPasses) {
  const auto result = compare(c.problem, c.certified, right(), f32);
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.compared, 12);
}

TEST_F(Verdict, JustInsideTheBoundPassesAndJustOutsideFails) {
  for (std::size_t i = 0; i < 12; ++i) {
    Arrays inside = right(), outside = right();
    inside["o"].values[i] += 0.99 * bound(i);
    outside["o"].values[i] -= 1.01 * bound(i);
    EXPECT_TRUE(compare(c.problem, c.certified, inside, f32).passed()) << i;
    const auto failed = compare(c.problem, c.certified, outside, f32);
    EXPECT_EQ(failed.failed, 1) << i;
    ASSERT_TRUE(failed.first);
    EXPECT_EQ(failed.first->flat, static_cast<Index>(i));
    EXPECT_NEAR(failed.first->ratio(), 1.01, 0.01);
  }
}

TEST_F(Verdict, NaNAndInfinityFailWhereverTheyStand) {
  for (std::size_t i = 0; i < 12; ++i)
    for (const double bad :
         {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
      Arrays got = right();
      got["o"].values[i] = bad;
      const auto result = compare(c.problem, c.certified, got, f32);
      EXPECT_EQ(result.failed, 1);
      EXPECT_TRUE(std::isinf(result.worst.ratio()));
    }
}

TEST_F(Verdict, NaNPassesOnlyWhereTheErrorHasNoBound) {
  auto open = c.certified;
  open.outputs["o"].bound[0][3] = std::numeric_limits<float>::infinity();
  Arrays got = right();
  got["o"].values[3] = std::nan("");
  EXPECT_TRUE(compare(c.problem, open, got, f32).passed());
  got["o"].values[4] = std::nan("");
  EXPECT_EQ(compare(c.problem, open, got, f32).failed, 1);
}

TEST_F(Verdict, EveryWrongElementIsCountedNotOnlyTheLastColumn) {
  Arrays got = right();
  for (double& x : got["o"].values) x += 1;
  EXPECT_EQ(compare(c.problem, c.certified, got, f32).failed, 12);
}

TEST_F(Verdict, NothingComparedIsNotAPass) { EXPECT_FALSE(compare(c.problem, c.certified, {}, f32).passed()); }

TEST_F(Verdict, ANaNInTheBoundFails) {
  auto damaged = c.certified;
  damaged.outputs["o"].bound[0][3] = std::nanf("");
  Arrays got = right();
  got["o"].values[3] += 1e-9;
  EXPECT_FALSE(compare(c.problem, damaged, got, f32).passed());
}

TEST_F(Verdict, AConventionOfNaNIsNoWildcard) {
  auto convention = c.certified;
  convention.outputs["o"].hi[0] = std::nan("");
  Arrays number = right(), nan = right();
  nan["o"].values[0] = std::nan("");
  EXPECT_FALSE(compare(c.problem, convention, number, f32).passed());
  EXPECT_TRUE(compare(c.problem, convention, nan, f32).passed());
  nan["o"].values[1] = std::nan("");
  EXPECT_FALSE(compare(c.problem, convention, nan, f32).passed());
}

TEST_F(Verdict, AnAlternativeIsAcceptedByWholeRowsOnly) {
  auto two = c.certified;
  two.alternatives = {two.outputs};
  for (double& x : two.alternatives[0]["o"].hi) x += 1;
  Arrays other = right(), mixed = right();
  for (std::size_t i = 3; i < 6; ++i) other["o"].values[i] += 1;  // row 1 takes the other branch
  mixed["o"].values[4] += 1;                                      // half of row 1 does
  EXPECT_TRUE(compare(c.problem, two, other, f32).passed());
  EXPECT_FALSE(compare(c.problem, two, mixed, f32).passed());
}

/// Five equal scores, of which two are taken: each of the ten choices is right, and the mean of two choices is not.
TEST(Alternatives, EveryChoiceAmongEqualScoresIsAccepted) {
  auto [name, _] = golden::parse_query("attest:memory.knn_attention:f64;n=1;d=2;m=1;r=5;c=0;top=2;flag=random;seed=1");
  golden::GoldenCase c{name, golden::draw(name), {}, {}};
  std::fill(c.problem.inputs.at("memory_k").values.begin(), c.problem.inputs.at("memory_k").values.end(), 0.0);
  c.problem.inputs.at("memory_v").values = {1, 2, 4, 8, 16};
  c.problem.inputs.at("v").values = {0};
  c.problem.inputs.at("gate_bias").values = {0};
  c.certified = golden::certify(c.problem, {});
  EXPECT_EQ(c.certified.alternatives.size(), 9u);
  const auto accepted = [&](double sum) {  // of the two values that were read
    Arrays got{{"o", {{1, 1}, {sum / 4}}}};
    return compare(c.problem, c.certified, got, golden::profile("f64")).passed();
  };
  const std::vector<double> values{1, 2, 4, 8, 16};
  for (std::size_t a = 0; a < 5; ++a) {
    for (std::size_t b = a + 1; b < 5; ++b) EXPECT_TRUE(accepted(values[a] + values[b])) << a << " " << b;
    EXPECT_FALSE(accepted(2 * values[a])) << a;
  }
}

TEST(Alternatives, MoreChoicesThanAnybodyWouldListAreNotCertified) {
  auto [name, _] = golden::parse_query("attest:memory.knn_attention:f64;n=1;d=2;m=1;r=9;c=0;top=4;flag=random;seed=1");
  Problem problem = golden::draw(name);
  std::fill(problem.inputs.at("memory_k").values.begin(), problem.inputs.at("memory_k").values.end(), 0.0);
  EXPECT_THROW(golden::certify(problem, {}), golden::Uncertifiable);
}

TEST_F(Verdict, ACoarserProfileHasLargerBounds) {
  Arrays got = right();
  for (double& x : got["o"].values) x = round_to(DType::bf16, x);
  const auto& bf16 = golden::profile("bf16");
  EXPECT_TRUE(compare(c.problem, judged_by(c, bf16).certified, got, bf16).passed());
  EXPECT_FALSE(compare(c.problem, c.certified, got, f32).passed());
}

TEST_F(Verdict, AnExactFamilyAllowsNotOneUlp) {
  const auto& bf16 = golden::profile("bf16");
  c = judged_by(
      golden::certify_case(
          golden::parse_query("attest:attention.scaled_dot_product:bf16;n=5;s=8;d=8;m=3;flag=one_hot;seed=1").first),
      bf16);
  const auto& o = c.certified.outputs.at("o");
  Arrays got{{"o", {o.shape, o.hi}}};
  EXPECT_TRUE(compare(c.problem, c.certified, got, bf16).passed());
  for (double& x : got["o"].values) {
    if (x == 0) x = 0x1p-126;  // an underflow that was not flushed
  }
  EXPECT_TRUE(compare(c.problem, c.certified, got, bf16).passed());
  for (std::size_t i = 0; i < o.hi.size(); ++i) {
    Arrays off = got;
    off["o"].values[i] += std::max(std::abs(o.hi[i]), 1.0) * 0x1p-7;
    EXPECT_FALSE(compare(c.problem, c.certified, off, bf16).passed()) << i;
  }
}

TEST(Profiles, AnUnknownNameListsThem) {
  try {
    golden::profile("fp32");
    FAIL();
  } catch (const SpecError& error) {
    EXPECT_NE(std::string(error.what()).find("f64, f32, tf32, bf16, bf16-f32p, f16, f16-f32p"), std::string::npos);
  }
}

TEST(StoredBounds, AreWhatTheErrorModelSays) {
  const auto c = golden::certify_case(golden::parse_query(kQuery).first);
  ASSERT_EQ(c.certified.units, "wide");
  const auto model = golden::error_model(c.problem, c.cotangents, golden::wide_units());
  EXPECT_EQ(model.at("o").bound, c.certified.outputs.at("o").bound);
}

/// Attention in float32 as compilers for GPUs make it: 2^(l c - m c), the product contracted into the subtraction, and
/// a reciprocal in the end. The weight of the largest logit is 1 + d.
Array contracted_attention(const Problem& problem) {
  const Array &q = problem.inputs.at("q"), &k = problem.inputs.at("k"), &v = problem.inputs.at("v");
  const Index n = q.shape[0], d = q.shape[1], s = k.shape[0], m = v.shape[1];
  const auto scale = problem.parameters.find("scale");
  const float c = static_cast<float>(
      (scale == problem.parameters.end() ? 1 / std::sqrt(static_cast<double>(d)) : std::get<double>(scale->second)) /
      std::log(2.0));
  const bool causal = std::get<bool>(*setting(problem, "causal"));
  Array o{{n, m}, {}};
  for (Index i = 0; i < n; ++i) {
    std::vector<float> logits;
    for (Index j = 0; j < (causal ? i + 1 + s - n : s); ++j) {
      float logit = 0;
      for (Index a = 0; a < d; ++a)
        logit += static_cast<float>(q.values[static_cast<std::size_t>(i * d + a)]) *
                 static_cast<float>(k.values[static_cast<std::size_t>(j * d + a)]);
      logits.push_back(logit);
    }
    const float top = *std::max_element(logits.begin(), logits.end()) * c;
    for (Index e = 0; e < m; ++e) {
      float total = 0, sum = 0;
      for (Index j = 0; j < static_cast<Index>(logits.size()); ++j) {
        const float p = std::exp2(std::fma(logits[static_cast<std::size_t>(j)], c, -top));
        total += p * static_cast<float>(v.values[static_cast<std::size_t>(j * m + e)]), sum += p;
      }
      o.values.push_back(total * (1 / sum));
    }
  }
  return o;
}

TEST(ExactFamily, LeavesRoomForAContractedExponentAndForNoLabel) {
  const Spec& spec = find_spec("attention.scaled_dot_product");
  int judged = 0, other_bits = 0;
  for (const auto& name : golden::stored_cases(spec)) {
    if (exact_outputs(name).empty()) continue;
    auto c = judged_by(golden::certify_case(name), golden::profile("f32"));
    if (c.problem.inputs.count("mask") || c.problem.inputs.count("bias")) continue;
    for (double& x : c.problem.inputs["q"].values)
      x *= 45.8125;  // still one-hot, but l c is rounded, by as much as 1/128
    Arrays got{{"o", contracted_attention(c.problem)}};
    const auto& expected = c.certified.outputs.at("o");
    for (std::size_t i = 0; i < expected.hi.size(); ++i) other_bits += got.at("o").values[i] != expected.hi[i];
    const auto result = compare(c.problem, c.certified, got, golden::profile("f32"));
    EXPECT_TRUE(result.passed()) << golden::query(c.name, "f32") << (result.first ? result.first->text() : "");
    for (double& x : got["o"].values) x *= 1 + 0x1p-19;  // sixteen roundings more
    EXPECT_FALSE(compare(c.problem, c.certified, got, golden::profile("f32")).passed()) << golden::query(c.name, "f32");
    ++judged;
  }
  EXPECT_GE(judged, 3);
  EXPECT_GT(other_bits, 0);
}

}  // namespace
}  // namespace attest::judge
