// SPDX-License-Identifier: MIT
// How cases and laws become a verdict.
#include "attest/judge/check.hpp"

#include <gtest/gtest.h>

#include <set>

namespace attest::judge {
namespace {

const std::string kGolden = std::string(ATTEST_PROJECT_DIR) + "/golden";

/// The row of one kernel of unit/plugins/attention.c.
Row row_of(const std::string& form, int law_draws) {
  Candidate candidate(std::string(ATTEST_TEST_PLUGIN_DIR) + "/libattention.so");
  CheckOptions options;
  options.golden = kGolden;
  options.only = "attention.scaled_dot_product." + form;
  options.law_draws = options.property_draws = law_draws;
  const Report report = check(candidate, options);
  EXPECT_EQ(report.rows.size(), 1u);
  EXPECT_EQ(report.status(), report.rows.at(0).status);
  return report.rows.at(0);
}

TEST(Check, ACorrectKernelPasses) {
  const Row row = row_of("correct", 0);
  EXPECT_EQ(row.status, Status::pass);
  EXPECT_EQ(row.cases, row.stored + row.drawn);
  EXPECT_EQ(row.cases_passed, row.cases);
}

TEST(Check, ACaseWhoseValuesAreRightFailsByTheContract) {
  const Row row = row_of("wavering", 0);
  EXPECT_EQ(row.status, Status::fail);
  EXPECT_EQ(row.cases_passed, 0);
  ASSERT_FALSE(row.failures.empty());
  EXPECT_EQ(row.failures[0].message, "the same call gave two different answers");
}

TEST(Check, NothingJudgedIsNotAPass) {
  const Row row = row_of("impossible", 0);
  EXPECT_EQ(row.cases, 0);
  EXPECT_EQ(row.status, Status::invalid);
}

TEST(Check, ALawThatHadNothingToSayWasNotHeld) {
  const Row row = row_of("causal_only", 2);
  EXPECT_EQ(row.status, Status::pass);
  EXPECT_GT(row.laws_held, 0);
  EXPECT_EQ(row.laws_vacuous, 5) << "permutation along n and s, row_locality, duplication, self_equivariance";
}

TEST(Check, OnlyAPassHasExitStatusZero) {
  EXPECT_EQ(exit_code(Status::pass), 0);
  EXPECT_EQ(exit_code(Status::fail), 1);
  EXPECT_EQ(exit_code(Status::crashed), 3);
  EXPECT_EQ(exit_code(Status::invalid), 3);
}

TEST(Selection, HoldsTheStoredCasesThenFreshOnes) {
  const Spec& spec = find_spec("attention.scaled_dot_product");
  const auto stored = golden::load_golden(spec, kGolden);
  std::set<std::vector<double>> known;
  for (const auto& c : stored) known.insert(c.problem.inputs.at("v").values);
  for (const std::uint64_t seed : {1, 2}) {
    const Selection selection = select(spec, "", {}, golden::profile("f32"), stored, seed);
    EXPECT_GE(selection.stored, 40);
    EXPECT_EQ(selection.drawn, 3);
    ASSERT_EQ(selection.cases.size(), static_cast<std::size_t>(selection.stored + selection.drawn));
    std::set<std::string> flags;
    for (auto c = selection.cases.end() - selection.drawn; c != selection.cases.end(); ++c) {
      EXPECT_TRUE(known.insert(c->problem.inputs.at("v").values).second) << golden::query(c->name, "f32");
      EXPECT_TRUE(flags.insert(c->name.flag).second) << c->name.flag;
    }
  }
}

}  // namespace
}  // namespace attest::judge

int main(int argc, char** argv) {
  attest::judge::serve_if_worker(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
