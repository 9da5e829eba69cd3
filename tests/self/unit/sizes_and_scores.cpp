// SPDX-License-Identifier: MIT
// Claims of papers about sizes and scores, computed from the shapes that the specs declare and from the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "attest/golden/certify.hpp"
#include "attest/reference/binary64.hpp"
#include "attest/reference/evaluate.hpp"

namespace attest {
namespace {

/// Numbers in an equation's tensors: its state, or everything else.
Index numbers(const char* id, const Sizes& sizes, bool state) {
  const Spec& spec = find_spec(id);
  Index total = 0;
  for (const auto& output : spec.outputs)
    if (output.state == state) total += count(shape_of(output, sizes));
  for (const auto& input : spec.inputs)
    if (!input.state && !state) total += count(shape_of(input, sizes));
  return total;
}

TEST(Memory, OfLinearAttentionIsItsTensorsAndOneState) {
  const Index c = 64, m = 32;
  for (const Index n : {1, 1000, 1000000}) {
    const Sizes sizes{{"n", n}, {"c", c}, {"m", m}};
    EXPECT_EQ(numbers("linear.causal", sizes, true), c * (m + 1));
    EXPECT_EQ(numbers("linear.causal", sizes, false), n * (2 * c + 2 * m));
    EXPECT_LE(numbers("linear.causal", sizes, false), 4 * n * std::max(c, m));
  }
}

TEST(Memory, OfEveryPrefixStateIsAFactorOfTheWidth) {
  const Index n = 1000, width = 64;
  const Sizes sizes{{"n", n}, {"c", width}, {"m", width}};
  const Index kept = n * numbers("linear.causal", sizes, true), tensor = n * width;
  EXPECT_EQ(kept / tensor, width + 1);  // S, and one more for Z
}

TEST(Memory, OfInfiniAttentionHasOneSize) {
  const Index h = 8, d = 128, m = 64;
  for (const Index n : {1, 2048, 1000000}) {
    EXPECT_EQ(numbers("infini.segment_attention", {{"n", n}, {"d", d}, {"m", m}}, true), d * (m + 1));
    EXPECT_EQ(numbers("infini.multi_head", {{"n", n}, {"h", h}, {"e", 512}, {"d", d}, {"m", m}, {"f", 512}}, true),
              h * d * (m + 1));
  }
}

/// 12 layers of 8 heads of width 128; the others keep keys and values: of 2048 tokens in every layer, and of 65,000 in
/// one.
TEST(Memory, OfInfiniAttentionIsBelowOnePercent) {
  const Index layers = 12, h = 8, d = 128;
  const Index infini =
      layers * numbers("infini.multi_head", {{"n", 1}, {"h", h}, {"e", h * d}, {"d", d}, {"m", d}, {"f", h * d}}, true);
  const Index per_token = h * 2 * d, segments = layers * 2048 * per_token, memorizing = segments + 65000 * per_token;
  EXPECT_EQ(infini, 1585152);
  EXPECT_EQ(memorizing, 183451648);
  EXPECT_LT(infini, memorizing / 100);
  EXPECT_NEAR(static_cast<double>(memorizing) / static_cast<double>(infini), 114, 2);
}

/// The segments of one head, told from its outputs: with equal logits and a closed gate, token i gives the mean of the
/// values since the first token of its segment, and with v_j = j that is (first + i) / 2.
TEST(Memory, ATrainingSequenceIsSixteenSegments) {
  const Index n = 32768, segment = 2048;
  Array zeros{{n, 1}, std::vector<double>(static_cast<std::size_t>(n))}, v = zeros;
  std::iota(v.values.begin(), v.values.end(), 0.0);
  const Problem problem{&find_spec("infini.segment_attention"),
                        {{"n", n}, {"d", 1}, {"m", 1}},
                        {{"segment", segment}},
                        {{"q", zeros}, {"k", zeros}, {"v", v}, {"beta", {{}, {-1000}}}}};  // sigma(-1000) is 0
  check(problem);
  reference::WantedRows rows{{"n", {}}};
  for (Index i = 0; i < n; i += segment / 2) rows["n"].insert(rows["n"].end(), {i, i + segment / 2 - 1});
  std::set<double> expected;
  for (int s = 0; s < 16; ++s) expected.insert(2048 * s);
  for (const char* form : {"loop", "parallel_linear"}) {
    reference::Binary64 arithmetic;
    const auto o = reference::outputs_of(arithmetic, problem, form, nullptr, rows).at("o");
    std::set<double> firsts;
    for (std::size_t r = 0; r < o.size(); ++r) firsts.insert(std::round(2 * o[r] - static_cast<double>(rows["n"][r])));
    EXPECT_EQ(firsts, expected) << form;
  }
}

/// The row x turned at that position.
std::vector<double> turned(const std::vector<double>& x, Index position) {
  const auto d = static_cast<Index>(x.size());
  const Problem problem{&find_spec("positional.rotary"),
                        {{"n", 1}, {"d", d}},
                        {},
                        {{"x", Array{{1, d}, x}}, {"positions", Array{{1}, {static_cast<double>(position)}}}}};
  return golden::evaluate_in_double(problem, "pairs", {}).at("y").values;
}

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) total += x[i] * y[i];
  return total;
}

using Square = std::vector<std::vector<double>>;

std::vector<double> times(const Square& w, const std::vector<double>& x) {
  std::vector<double> y;
  for (const auto& row : w) y.push_back(dot(row, x));
  return y;
}

TEST(Rotary, TheScoreNeedsTheTransposeOfTheQueriesWeights) {
  const Square w_q{{0.5, -1, 2, 0}, {1, 0.25, -0.5, 1}, {-2, 1, 0, 0.75}, {0.5, 0.5, 1, -1}},
      w_k{{1, 0.5, 0, -1}, {0, 1, 2, 0.5}, {-0.5, 0, 1, 1}, {2, -1, 0.5, 0}};
  Square transposed = w_q;
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t b = 0; b < 4; ++b) transposed[b][r] = w_q[r][b];
  const std::vector<double> x_i{1, -0.5, 2, 0.25}, x_j{0.5, 1, -1, 1.5};
  const Index i = 11, j = 4;
  const double score = dot(turned(times(w_q, x_i), i), turned(times(w_k, x_j), j));
  const auto moved = turned(times(w_k, x_j), j - i);
  EXPECT_NEAR(score, dot(x_i, times(transposed, moved)), 1e-12);
  EXPECT_GT(std::abs(score - dot(x_i, times(w_q, moved))), 0.1);  // as printed
}

/// The row x of that position with its sinusoid added.
std::vector<double> added(const std::vector<double>& x, Index position) {
  const auto d = static_cast<Index>(x.size());
  const Problem problem{
      &find_spec("positional.sinusoidal"), {{"n", 1}, {"d", d}}, {{"start", position}}, {{"x", Array{{1, d}, x}}}};
  return golden::evaluate_in_double(problem, problem.spec->forms[0].name, {}).at("y").values;
}

/// Turning (1, 0) gives (cos, sin) of the position where adding gives (sin, cos): the same frequencies. But scores of
/// turned rows depend on the distance alone, and scores of rows that the sinusoid is added to do not.
TEST(Rotary, IsNotTheSinusoidAdded) {
  const std::vector<double> axis{1, 0, 1, 0}, q{0.5, -1, 2, 1}, k{1, 0.25, -0.5, 2};
  const auto rotation = turned(axis, 7), sinusoid = added({0, 0, 0, 0}, 7);
  for (std::size_t a = 0; a < 4; ++a) EXPECT_NEAR(rotation[a], sinusoid[a ^ 1], 1e-15);
  EXPECT_NEAR(dot(turned(q, 3), turned(k, 8)), dot(turned(q, 23), turned(k, 28)), 1e-12);
  EXPECT_GT(std::abs(dot(added(q, 3), added(k, 8)) - dot(added(q, 23), added(k, 28))), 0.1);
}

}  // namespace
}  // namespace attest
