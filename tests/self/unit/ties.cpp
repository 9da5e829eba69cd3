// SPDX-License-Identifier: MIT
// Kernels that decide otherwise than the reference: right where the scores are closer than a correct kernel's error,
// wrong where they are not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "attest/golden/certify.hpp"
#include "attest/judge/verdict.hpp"
#include "runs.hpp"

namespace attest::judge {
namespace {

constexpr int kDraws = 1000;

double single(double x) { return static_cast<double>(static_cast<float>(x)); }

/// x in binary32, and `ulps` numbers further in one of its places.
void store(double* x, const std::vector<double>& values, std::size_t place, int ulps) {
  for (std::size_t a = 0; a < values.size(); ++a) x[a] = single(values[a]);
  x[place] = single(x[place] * (1 + ulps * 0x1p-23));
}

std::vector<Index> shuffled(Index n, std::mt19937_64& random) {
  std::vector<Index> places(static_cast<std::size_t>(n));
  std::iota(places.begin(), places.end(), Index{0});
  std::shuffle(places.begin(), places.end(), random);
  return places;
}

/// A problem of memory.knn_attention with one query, some of whose scores tie at the edge of what it retrieves.
struct Retrieval {
  static constexpr Index kMemories = 5, kWidth = 4, kValues = 3;

  Problem problem;
  Index top = 0;
  std::vector<Index> winners, tied;

  /// `steps`: 0 for scores that differ by a unit in the last place of a factor at most, else how far they are apart.
  Retrieval(std::uint64_t seed, double step) {
    std::mt19937_64 random(seed);
    const std::array<Index, 3> groups{2, 3, kMemories};
    const Index together = groups[random() % groups.size()];
    const Index ahead = static_cast<Index>(random() % static_cast<std::uint64_t>(kMemories - together + 1));
    top = ahead + 1 + static_cast<Index>(random() % static_cast<std::uint64_t>(together - 1));
    problem = drawn(fmt::format("attest:memory.knn_attention:f32;n=1;d={};m={};r={};c={};top={};flag=random;seed={}",
                                kWidth, kValues, kMemories, kMemories, top, seed));
    const auto& q = problem.inputs.at("q").values;
    auto& keys = problem.inputs.at("memory_k").values;
    const double square = std::inner_product(q.begin(), q.end(), q.begin(), 0.0);
    const std::vector<double> base(keys.begin(), keys.begin() + kWidth);
    const auto places = shuffled(kMemories, random);
    for (Index rank = 0; rank < kMemories; ++rank) {
      const Index row = places[static_cast<std::size_t>(rank)];
      const bool ties = rank >= ahead && rank < ahead + together;
      (rank < ahead ? winners : tied).push_back(row);
      if (!ties && rank >= ahead) tied.pop_back();
      const double further = rank < ahead ? 4 : ties ? -step * static_cast<double>(rank) : -4;
      std::vector<double> key = base;
      for (std::size_t a = 0; a < key.size(); ++a) key[a] += further * q[a] / square;
      store(&keys[static_cast<std::size_t>(row * kWidth)], key, random() % kWidth,
            ties && step == 0 ? static_cast<int>(random() % 3) - 1 : 0);
    }
  }

  /// What a kernel gives that retrieves these of the scores that tie, the first ones of a list.
  Arrays with(const std::vector<Index>& chosen) const {
    std::vector<Index> found = winners;
    found.insert(found.end(), chosen.begin(), chosen.begin() + (top - static_cast<Index>(winners.size())));
    const auto& in = problem.inputs;
    const auto row = [&](const char* name, Index i, Index width, Index a) {
      return in.at(name).values[static_cast<std::size_t>(i * width + a)];
    };
    std::vector<double> weights;
    for (const Index j : found) {
      double score = 0;
      for (Index a = 0; a < kWidth; ++a) score += row("q", 0, kWidth, a) * row("memory_k", j, kWidth, a);
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(kWidth))));
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double gate = 1 / (1 + std::exp(-in.at("gate_bias").values[0]));
    Array o{{1, kValues}, {}};
    for (Index e = 0; e < kValues; ++e) {
      double retrieved = 0;
      for (std::size_t t = 0; t < found.size(); ++t)
        retrieved += weights[t] / sum * row("memory_v", found[t], kValues, e);
      o.values.push_back(gate * retrieved + (1 - gate) * row("v", 0, kValues, e));
    }
    return {{"o", o}};
  }
};

TEST(Ties, EveryChoiceAmongScoresInsideTheMarginIsRight) {
  const auto& f32 = golden::profile("f32");
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    const Retrieval one(seed, 0);
    const auto certified = golden::certify(one.problem, {});
    auto chosen = one.tied;
    std::sort(chosen.begin(), chosen.end());
    do {
      const auto result = compare(one.problem, certified, one.with(chosen), f32);
      ASSERT_TRUE(result.passed()) << "seed " << seed << ": " << result.first->text();
    } while (std::next_permutation(chosen.begin(), chosen.end()));
  }
}

TEST(Ties, OneChoiceAmongScoresOutsideOfTheMarginIsRight) {
  const auto& f32 = golden::profile("f32");
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    const Retrieval one(seed, 0x1p-10);
    const auto certified = golden::certify(one.problem, {});
    EXPECT_TRUE(certified.alternatives.empty());
    const auto kept = one.top - static_cast<Index>(one.winners.size());
    const std::vector<Index> due(one.tied.begin(), one.tied.begin() + kept);
    auto chosen = one.tied;
    std::sort(chosen.begin(), chosen.end());
    do {
      const bool right = std::is_permutation(due.begin(), due.end(), chosen.begin(), chosen.begin() + kept);
      ASSERT_EQ(compare(one.problem, certified, one.with(chosen), f32).passed(), right) << "seed " << seed;
    } while (std::next_permutation(chosen.begin(), chosen.end()));
  }
}

/// Buckets of one token whose best two, three or all entries are that close; `due` is what it must be put into.
void try_buckets(std::uint64_t seed, double step) {
  constexpr Index kWidth = 3, kDirections = 4;
  const auto& f32 = golden::profile("f32");
  std::mt19937_64 random(seed);
  const std::array<Index, 3> groups{2, 3, kDirections};
  const Index together = groups[random() % groups.size()];
  Problem problem =
      drawn(fmt::format("attest:content.lsh_hash:f32;n=1;d={};c={};flag=random;seed={}", kWidth, kDirections, seed));
  const auto& x = problem.inputs.at("x").values;
  auto& r = problem.inputs.at("r").values;
  const double square = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  const auto places = shuffled(kDirections, random);
  std::vector<Index> tied;  // the best first
  for (Index rank = 0; rank < kDirections; ++rank) {
    const Index column = places[static_cast<std::size_t>(rank)];
    const bool ties = rank < together, negative = random() % 2 == 0;
    // The best have 1 or nearly so, the others a quarter.
    const double due = (ties ? 1 - step * static_cast<double>(rank) : 0.25) * (negative ? -1 : 1);
    if (ties) tied.push_back(column + (negative ? kDirections : 0));
    std::vector<double> direction;
    for (const double a : x) direction.push_back(due * a / square);
    std::array<double, kWidth> stored{};
    store(stored.data(), direction, random() % kWidth, 0);
    for (Index a = 0; a < kWidth; ++a)
      r[static_cast<std::size_t>(a * kDirections + column)] = stored[static_cast<std::size_t>(a)];
  }
  const auto certified = golden::certify(problem, {});
  for (Index bucket = 0; bucket < 2 * kDirections; ++bucket) {
    const Arrays got{{"h", {{1}, {static_cast<double>(bucket)}}}};
    const bool right = step == 0 ? std::find(tied.begin(), tied.end(), bucket) != tied.end() : bucket == tied[0];
    ASSERT_EQ(compare(problem, certified, got, f32).passed(), right) << "seed " << seed << ", bucket " << bucket;
  }
}

/// A network of one hidden unit whose pre-activation is `step`: as it is, and as if that were below 0.
void try_relu(double step, bool either) {
  Problem problem = drawn("attest:attention.feed_forward:f32;n=1;d=2;f=1;flag=random;seed=1");
  for (const char* bias : {"b_1", "b_2"}) problem.inputs.erase(bias);
  problem.inputs.at("x").values = {1, 1};
  problem.inputs.at("w_1").values = {1, step - 1};
  problem.inputs.at("w_2").values = {1, 1};
  const Arrays cotangents{{"y", {{1, 2}, {1, 3}}}};
  const auto certified = golden::certify(problem, cotangents);
  const auto& f32 = golden::profile("f32");
  Arrays got = golden::evaluate_in_double(problem, "dense", cotangents);
  EXPECT_EQ(got.at("gradient.x").values[0], 4);
  EXPECT_TRUE(compare(problem, certified, got, f32).passed()) << step;
  auto other = got;
  for (const char* name : {"y", "gradient.x", "gradient.w_1", "gradient.w_2"})
    for (double& x : other.at(name).values) x = 0;
  const auto judged = compare(problem, certified, other, f32);
  EXPECT_EQ(judged.passed(), either) << step << (judged.first ? ": " + judged.first->text() : "");
  for (double& x : got.at("gradient.x").values) x *= 100;
  EXPECT_FALSE(compare(problem, certified, got, f32).passed()) << step;
}

TEST(Ties, EitherSideOfReluIsRightWhereThePreActivationIsWithinItsError) {
  try_relu(0x1p-24, true);
  try_relu(0x1p-18, false);
}

TEST(Ties, EveryBucketInsideTheMarginIsRight) {
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) try_buckets(seed, 0);
}

TEST(Ties, OneBucketOutsideOfTheMarginIsRight) {
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) try_buckets(seed, 0x1p-10);
}

}  // namespace
}  // namespace attest::judge
