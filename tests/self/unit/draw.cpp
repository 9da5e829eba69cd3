// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <string>

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

}  // namespace
}  // namespace attest::golden
