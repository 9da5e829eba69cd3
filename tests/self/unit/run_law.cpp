// SPDX-License-Identifier: MIT
// How laws are tried: problems drawn from a seed, shrunk when they break a law, on any thread.
#include "attest/judge/run_law.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

namespace attest::judge {
namespace {

laws::Outcome nothing(const Problem&) { return {}; }

LawRun run(laws::Law law, const laws::Evaluate& evaluate, std::uint64_t seed = 1, int draws = 20) {
  static const LawClaim claim;
  const Spec& spec = find_spec("attention.softmax");
  return run_law(law, claim, spec, spec.forms[0].name, {}, golden::profile("f64"), evaluate, true, draws, seed);
}

/// Sizes and inputs of all problems that a law met.
struct Drawn {
  std::vector<Sizes> sizes;
  std::vector<std::vector<double>> inputs;
  bool operator==(const Drawn&) const = default;
};

Drawn drawn(std::uint64_t seed) {
  Drawn all;
  const auto record = [&](const Problem& problem) {
    all.sizes.push_back(problem.sizes);
    all.inputs.push_back(problem.inputs.at("x").values);
    return laws::Outcome{};
  };
  run(
      [](const laws::Context& context) {
        context.evaluate(context.problem);
        return laws::Finding{};
      },
      record, seed);
  return all;
}

TEST(RunLaw, TheSameSeedGivesTheSameProblems) {
  const Drawn one = drawn(1), two = drawn(2);
  EXPECT_EQ(one.sizes.size(), 20u);
  EXPECT_EQ(drawn(1), one);
  EXPECT_FALSE(one == two);
}

TEST(RunLaw, ProblemsGrowFromTheSmallestSizesToTheLargest) {
  const Drawn all = drawn(3);
  const auto elements = [](const Sizes& sizes) { return sizes.at("r") * sizes.at("s"); };
  EXPECT_LE(elements(all.sizes.front()), 1);
  Index most = 0;
  for (const auto& sizes : all.sizes) most = std::max(most, elements(sizes));
  EXPECT_GT(most, 300);
}

TEST(RunLaw, ABrokenLawIsShrunkToTheSmallestProblemThatBreaksIt) {
  const LawRun broken = run(
      [](const laws::Context& context) {
        const auto& sizes = context.problem.sizes;
        return sizes.at("r") >= 4 && sizes.at("s") >= 3 ? laws::Finding::broken("large") : laws::Finding{};
      },
      nothing);
  EXPECT_EQ(broken.broken, "large");
  EXPECT_NE(broken.query.find(";r=4;s=3;"), std::string::npos) << broken.query;
  EXPECT_NE(broken.query.find(";seed=1"), std::string::npos) << broken.query;
}

TEST(RunLaw, AnEvaluationThatThrowsIsNotShrunk) {
  int calls = 0;
  const LawRun died = run(
      [](const laws::Context& context) {
        context.evaluate(context.problem);
        return laws::Finding{};
      },
      [&](const Problem&) -> laws::Outcome {
        ++calls;
        throw std::runtime_error("died");
      });
  EXPECT_EQ(died.broken, "died");
  EXPECT_FALSE(died.query.empty());
  EXPECT_EQ(calls, 1);
}

TEST(RunLaw, ALawThatNeverAppliesIsGivenUp) {
  const LawRun silent = run([](const laws::Context&) { return laws::Finding::not_applicable(); }, nothing);
  EXPECT_EQ(silent.draws, 0);
  EXPECT_FALSE(silent.broken);
}

TEST(RunLaw, ThreadsDrawWhatEachDrawsAlone) {
  constexpr std::uint64_t kThreads = 8;
  std::vector<Drawn> alone, together(kThreads);
  for (std::uint64_t seed = 0; seed < kThreads; ++seed) alone.push_back(drawn(seed));
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < kThreads; ++seed)
    threads.emplace_back([&together, seed] {
      for (int round = 0; round < 5; ++round) together[seed] = drawn(seed);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(together == alone);
}

}  // namespace
}  // namespace attest::judge
