// SPDX-License-Identifier: MIT
// Conditions under which a kernel fails, found by calls of kernels that fail where a case says so.
#include "attest/judge/condition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "attest/judge/candidate.hpp"

namespace attest::judge {
namespace {

using Mistake = std::function<bool(const golden::Case&)>;

struct Condition : testing::Test {
  Candidate openmp{"openmp"};

  /// What is said of a kernel of the equation that is wrong in those cases, from the first setting in which it is.
  std::string said(const std::string& equation, const Mistake& is_wrong) {
    const auto is_of = [&](const Kernel& kernel) { return kernel.info.equation == equation; };
    const Kernel kernel = *std::find_if(openmp.kernels().begin(), openmp.kernels().end(), is_of);
    const Regimes regimes(kernel, kernel.profile(), SizesJudged::small, 1, 1);
    const auto fails = [&](const Setting& setting) {
      return std::optional(is_wrong(regimes.case_of(setting, 1, kernel.info.dtype)));
    };
    for (const auto& setting : regimes.covering().settings)
      if (*fails(setting)) return condition_by_calls(regimes, setting, 1000, fails).text;
    return "never wrong";
  }
};

Index size(const golden::Case& c, const char* name) { return c.sizes.at(name); }

bool is_given(const golden::Case& c, const char* name) {
  return std::find(c.with.begin(), c.with.end(), name) != c.with.end();
}

TEST_F(Condition, OfMultiples) {
  EXPECT_EQ(said("attention.layer_norm", [](const auto& c) { return size(c, "d") % 4 != 0; }), "d % 4 != 0");
  EXPECT_EQ(said("attention.layer_norm", [](const auto& c) { return size(c, "d") % 32 == 0; }), "d % 32 == 0");
  EXPECT_EQ(said("linear.causal", [](const auto& c) { return size(c, "n") > 16 && size(c, "n") % 16 != 0; }),
            "n > 16 and n % 16 != 0");
  EXPECT_EQ(said("linear.causal_step", [](const auto& c) { return size(c, "c") > 2 && size(c, "c") % 2 != 0; }),
            "c > 2 and c % 2 != 0");
}

TEST_F(Condition, OfThresholdsAndOfSizesThatGoTogether) {
  EXPECT_EQ(said("attention.softmax", [](const auto& c) { return size(c, "s") >= 33; }), "s >= 33 (not 32)");
  EXPECT_EQ(said("attention.multi_head", [](const auto& c) { return size(c, "n") < size(c, "s"); }), "n < s");
  EXPECT_EQ(said("attention.multi_head", [](const auto& c) { return size(c, "n") == size(c, "s"); }), "n = s");
  EXPECT_EQ(said("attention.multi_head", [](const auto& c) { return size(c, "n") <= 5; }), "n <= 5 (not 6)");
  EXPECT_EQ(said("attention.scaled_dot_product", [](const auto& c) { return size(c, "d") == size(c, "m"); }), "d = m");
  EXPECT_EQ(said("attention.scaled_dot_product", [](const auto& c) { return size(c, "d") > size(c, "m"); }), "d > m");
}

TEST_F(Condition, OfWhatAPlainCallHas) {
  const auto is_relu = [](const golden::Case& c) {
    const auto kind = c.parameters.find("kind");
    return kind != c.parameters.end() && kind->second == ParameterSetting(std::string("relu"));
  };
  EXPECT_EQ(said("linear.feature_map", is_relu), "kind = relu");
  EXPECT_EQ(said("linear.feature_map", [&](const auto& c) { return !is_relu(c); }),
            "kind in {elu_plus_one, identity, exp}");
  EXPECT_EQ(said("attention.softmax", [](const auto& c) { return !is_given(c, "mask"); }), "mask = absent");
  EXPECT_EQ(said("linear.causal", [](const auto& c) { return is_given(c, "S") && size(c, "m") % 2 != 0; }),
            "S in {given, zeros} and m % 2 != 0");
}

TEST_F(Condition, OneTokenIsSaidWhereThereIsNothingElse) {
  EXPECT_EQ(said("attention.softmax", [](const auto& c) { return size(c, "s") > 1; }), "s >= 2 (not 1)");
  EXPECT_EQ(said("attention.softmax", [](const auto& c) { return size(c, "s") > 1 && !is_given(c, "mask"); }),
            "mask = absent");
}

TEST_F(Condition, OfEveryCallThereIsNone) {
  EXPECT_EQ(said("attention.softmax", [](const auto&) { return true; }), "");
}

/// Failures that come and go with the inputs are no condition.
TEST_F(Condition, ChanceIsNone) {
  int calls = 0;
  EXPECT_EQ(said("attention.softmax", [&](const auto&) { return calls++ % 2 == 0; }), "");
}

}  // namespace
}  // namespace attest::judge
