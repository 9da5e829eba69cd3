// SPDX-License-Identifier: MIT
// A mutant of the OpenMP chunked form that drops the carried state is found by the properties, and its case is shrunk
// to a query that reproduces the failure.
#include <gtest/gtest.h>

#include "attest/judge/check.hpp"
#include "attest/judge/evaluate.hpp"
#include "attest/judge/run_law.hpp"

namespace attest::judge {
namespace {

CheckOptions options() {
  CheckOptions options;
  options.strength = 0;
  options.golden = std::string(ATTEST_PROJECT_DIR) + "/golden";
  options.law_draws = options.property_draws = 40;
  options.only = "linear.causal.chunked";
  return options;
}

TEST(CarryDropped, IsFoundByTheGoldenCases) {
  Candidate candidate(std::string(ATTEST_TEST_PLUGIN_DIR) + "/libcarry_dropped.so");
  auto without_laws = options();
  without_laws.law_draws = without_laws.property_draws = 0;
  const Report report = check(candidate, without_laws);
  EXPECT_EQ(report.status(), Status::fail);
  auto others = without_laws;
  others.only = "linear.causal.recurrent";
  EXPECT_EQ(check(candidate, others).status(), Status::pass) << "only the chunked form is wrong";
}

TEST(CarryDropped, IsFoundByThePropertyAloneAndShrunkToAQueryThatReproducesIt) {
  Candidate candidate(std::string(ATTEST_TEST_PLUGIN_DIR) + "/libcarry_dropped.so");
  const Spec& spec = find_spec("linear.causal");
  for (const auto& kernel : candidate.kernels()) {
    if (kernel.info.form != "chunked" || kernel.info.dtype != DType::f32) continue;
    const auto property = laws::all_properties().find("linear.causal")->second.front();
    ASSERT_EQ(property.name, "any_split_into_calls");
    const auto& f32 = golden::profile("f32");
    LawBounds bounds;
    const auto evaluate = evaluate_with(candidate, kernel, f32, {}, bounds);
    const LawRun run = run_law(property.check, {}, spec, "chunked", {}, f32, evaluate, true, 100, 3);
    ASSERT_TRUE(run.broken);
    const auto [c, profile] = golden::parse_query(run.query);
    const Index chunk = std::get<Index>(*setting(golden::draw(c), "chunk"));
    EXPECT_LE(c.sizes.at("n"), 3 * std::max<Index>(chunk, 9) + 1) << run.query;
    EXPECT_EQ(c.sizes.at("m"), 1) << run.query;
    EXPECT_EQ(c.sizes.at("c"), 1) << run.query;
    RecordProperty("query", run.query);
    // The same law on the same query breaks again; the correct kernel keeps it.
    const auto again = laws::all_properties()
                           .find("linear.causal")
                           ->second.front()
                           .check({{}, golden::draw(c), evaluate, c.seed, dtype_from(c.exact), true});
    EXPECT_EQ(again.kind, laws::Finding::Kind::broken);
    Candidate correct("openmp");
    for (const auto& good : correct.kernels())
      if (good.info.equation == "linear.causal" && good.info.form == "chunked" && good.info.dtype == DType::f32) {
        const auto fine = property.check(
            {{}, golden::draw(c), evaluate_with(correct, good, f32, {}, bounds), c.seed, dtype_from(c.exact), true});
        EXPECT_NE(fine.kind, laws::Finding::Kind::broken) << fine.text;
      }
    return;
  }
  FAIL() << "no chunked float32 kernel";
}

}  // namespace
}  // namespace attest::judge
