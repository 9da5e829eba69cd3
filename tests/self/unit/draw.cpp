// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attest/golden/case.hpp"

namespace attest::golden {
namespace {

Case classes(const std::string& input, const std::string& recipe) {
  Case c;
  c.spec = &find_spec("objective.perplexity");
  c.sizes = {{"t", 9}, {"v", 4}};
  c.recipes[input] = recipe;
  return c;
}

TEST(Draw, BelowReducesWholeNumbersToIndices) {
  const Array targets = draw(classes("targets", "positions -2 3 below v")).inputs.at("targets");
  for (Index t = 0; t < 9; ++t) {
    const Index expected = ((-2 + 3 * t) % 4 + 4) % 4;
    EXPECT_EQ(targets.values[static_cast<std::size_t>(t)], static_cast<double>(expected));
  }
  EXPECT_EQ(
      draw(parse_query(query(classes("targets", "integers 0 99 below v"), "f32")).first).inputs.at("targets").values,
      draw(classes("targets", "integers 0 99 below v")).inputs.at("targets").values);
}

TEST(Draw, BelowIsForIntegersAndSizes) {
  EXPECT_THROW(draw(classes("targets", "integers 0 99 below w")), SpecError);
  EXPECT_THROW(draw(classes("logits", "normal below v")), SpecError);
}

/// Each as draw() draws it, to the bit.
void expect_as_drawn_alone(const std::vector<Case>& cases) {
  const auto problems = draw_each(cases);
  ASSERT_EQ(problems.size(), cases.size());
  for (std::size_t p = 0; p < cases.size(); ++p) {
    const Problem alone = draw(cases[p]);
    EXPECT_EQ(problems[p].sizes, alone.sizes);
    ASSERT_EQ(problems[p].inputs.size(), alone.inputs.size());
    for (const auto& [name, array] : alone.inputs) {
      EXPECT_EQ(problems[p].inputs.at(name).shape, array.shape) << name << " of problem " << p;
      EXPECT_EQ(problems[p].inputs.at(name).values, array.values) << name << " of problem " << p;
    }
  }
}

TEST(Draw, ABatchIsDrawnAsItsProblemsAre) {
  const Case batch = parse_query(
                         "attest:attention.scaled_dot_product:f32;n=5;s=7;d=4;m=3;flag=random;with=mask;seed=3;"
                         "magnitude.v=0.25;grid=2x6x2")
                         .first;
  auto problems = problems_of(batch);
  expect_as_drawn_alone(problems);
  // What is shared is the same, and what is not differs.
  const auto drawn = draw_each(problems);
  EXPECT_EQ(drawn[0].inputs.at("k").values, drawn[1].inputs.at("k").values);
  EXPECT_NE(drawn[0].inputs.at("k").values, drawn[3].inputs.at("k").values);
  EXPECT_NE(drawn[0].inputs.at("q").values, drawn[1].inputs.at("q").values);
}

TEST(Draw, CasesOfOneSeedThatDifferOtherwiseAreDrawnApart) {
  const Case one =
      parse_query("attest:attention.scaled_dot_product:f32;n=5;s=7;d=4;m=3;flag=random;with=mask;seed=3").first;
  const auto changed = [&](auto change) {
    Case other = one;
    change(other);
    return other;
  };
  expect_as_drawn_alone({one, changed([](Case& c) { c.sizes["s"] = 6; }), changed([](Case& c) { c.sizes["n"] = 9; }),
                         changed([](Case& c) { c.exact = "bf16"; }), changed([](Case& c) { c.recipes["k"] = "zeros"; }),
                         changed([](Case& c) { c.magnitudes["q"] = 0.5; }), changed([](Case& c) { c.seeds["v"] = 8; }),
                         changed([](Case& c) { c.with.clear(); }), changed([](Case& c) { c.flag = "last_key_wins"; }),
                         changed([](Case& c) { c.parameters["causal"] = true; })});
}

}  // namespace
}  // namespace attest::golden
