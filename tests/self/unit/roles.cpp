// SPDX-License-Identifier: MIT
// Shared code knows inputs and parameters by role: an equation may call them as it likes.
#include <gtest/gtest.h>

#include <limits>
#include <regex>

#include "attest/judge/evaluate.hpp"
#include "attest/judge/laws.hpp"

namespace attest {
namespace {

using Names = std::map<std::string, std::string>;

/// The spec with other names for inputs, outputs and parameters; the roles stay.
Spec renamed(const std::string& id, const Names& names) {
  const Spec& spec = find_spec(id);
  std::string text = spec.text;
  for (const auto& [from, to] : names) {
    text = std::regex_replace(text, std::regex("\\b" + from + "\\b"), to);
    text = std::regex_replace(text, std::regex("role = \"" + to + "\\b"), "role = \"" + from);
  }
  return parse_spec(text, spec.family() + "/" + spec.stem() + ".toml", reasons());
}

template <class T>
std::map<std::string, T> with_names(const std::map<std::string, T>& all, const Names& names, bool back) {
  std::map<std::string, T> result;
  for (const auto& [name, value] : all) {
    std::string other = name;
    for (const auto& [from, to] : names)
      if (name == (back ? to : from)) other = back ? from : to;
    result[other] = value;
  }
  return result;
}

/// The problem of the renamed spec as one of the equation that it renames.
Problem original(const Problem& problem, const Names& names) {
  return {&find_spec(problem.spec->id), problem.sizes, with_names(problem.parameters, names, true),
          with_names(problem.inputs, names, true)};
}

laws::Evaluate over_enclosures(const std::string& form, const Names& names) {
  return [form, &names](const Problem& problem) {
    const laws::Outcome outcome = judge::over_enclosures(form)(original(problem, names));
    return laws::Outcome{with_names(outcome.values, names, false),
                         [bounds = with_names(outcome.bounds(), names, false)]() -> const Arrays& { return bounds; }};
  };
}

const Names kAttention{{"mask", "seen"}, {"bias", "added"}, {"causal", "ordered"}, {"empty_row", "nothing_seen"}};

TEST(Roles, ABiasOfAnyNameMayHideKeys) {
  const Spec spec = renamed("attention.scaled_dot_product", kAttention);
  for (const golden::Case& c : golden::stored_cases(spec)) {
    if (c.flag != "bias_hides") continue;
    const Problem problem = golden::draw(c);
    ASSERT_NE(given(problem, Role::bias), nullptr);
    EXPECT_EQ(given(problem, Role::bias), &problem.inputs.at("added"));
    EXPECT_NO_THROW(check(problem));
    Problem poisoned = problem;
    poisoned.inputs.at("q").values[0] = -std::numeric_limits<double>::infinity();
    EXPECT_THROW(check(poisoned), SpecError);
  }
}

TEST(Roles, AMaskOfAnyNameHides) {
  const Spec spec = renamed("attention.scaled_dot_product", kAttention);
  const LawClaim claim{"masked_irrelevant", {"k", "v"}, "s", "", ""};
  const auto law = laws::all_laws().at("masked_irrelevant");
  int held = 0, averaged = 0;
  for (const golden::Case& c : golden::stored_cases(spec)) {
    if (c.flag != "masked" && c.flag != "nothing_seen") continue;
    const Problem problem = golden::draw(c);
    EXPECT_EQ(laws::averages_hidden_values(problem), laws::averages_hidden_values(original(problem, kAttention)));
    averaged += laws::averages_hidden_values(problem);
    const auto evaluate = over_enclosures("dense", kAttention);
    const auto finding = law({claim, problem, evaluate, 3, DType::bf16, false, false});
    EXPECT_NE(finding.kind, laws::Finding::Kind::broken) << finding.text;
    held += finding.kind == laws::Finding::Kind::holds;
    // A kernel that looks at hidden keys breaks the law under the other name too.
    const laws::Evaluate looks = [&](const Problem& given_problem) {
      Problem all = given_problem;
      all.inputs.erase("seen");
      return evaluate(all);
    };
    if (finding.kind == laws::Finding::Kind::holds) {
      EXPECT_EQ(law({claim, problem, looks, 3, DType::bf16, false, false}).kind, laws::Finding::Kind::broken);
    }
  }
  EXPECT_GT(held, 0);
  EXPECT_GT(averaged, 0);
}

TEST(Roles, AWindowOfAnyNameHides) {
  const Spec spec = renamed("attention.scaled_dot_product", {{"window_left", "earlier"}, {"window_right", "later"}});
  Array mask{{3, 5}, std::vector<double>(15, 1)};
  mask.values[1 * 5 + 3] = 0;  // the own key of query 1
  const auto averages = [&](Index earlier, Index later) {
    const Parameters parameters{{"empty_row", std::string("mean")}, {"earlier", earlier}, {"later", later}};
    return laws::averages_hidden_values(
        {&spec, {{"n", 3}, {"s", 5}, {"d", 1}, {"m", 1}}, parameters, {{"mask", mask}}});
  };
  EXPECT_TRUE(averages(0, 0));
  for (const auto& [earlier, later] : {std::pair<Index, Index>{-1, -1}, {-1, 0}, {0, -1}, {1, 0}, {0, 1}, {9, 9}})
    EXPECT_FALSE(averages(earlier, later)) << earlier << " " << later;
}

TEST(Roles, StatesOfAnyNameAreHandedOverBetweenSegments) {
  const Names names{{"memory", "A"}, {"segment", "span"}, {"offset", "start"}};
  const Spec spec = renamed("infini.segment_attention", names);
  ASSERT_NE(spec.parameter(Role::segment_length), nullptr);
  EXPECT_EQ(spec.parameter(Role::segment_length)->name, "span");
  const LawClaim claim{"state_split", {"q", "k", "v"}, "n", "", ""};
  struct Stop {};
  int split = 0;
  for (const golden::Case& c : golden::stored_cases(spec)) {
    if (c.flag != "random" && c.flag != "rotary_offset") continue;
    const Problem problem = golden::draw(c);
    std::vector<Problem> calls;  // the whole, the first tokens, the rest
    Arrays first;
    const laws::Evaluate evaluate = [&](const Problem& part) {
      calls.push_back(part);
      if (calls.size() == 3) throw Stop();
      laws::Outcome outcome = over_enclosures("loop", names)(part);
      first = outcome.values;
      return outcome;
    };
    try {
      laws::all_laws().at("state_split")({claim, problem, evaluate, 3, DType::bf16, false});
    } catch (const Stop&) {
      const Index before = calls[1].sizes.at("n"), span = std::get<Index>(*setting(problem, "span"));
      EXPECT_EQ(before % span, 0);
      EXPECT_EQ(before + calls[2].sizes.at("n"), problem.sizes.at("n"));
      EXPECT_EQ(std::get<Index>(calls[2].parameters.at("start")), std::get<Index>(*setting(problem, "start")) + before);
      EXPECT_EQ(calls[2].inputs.at("A").values, first.at("A").values);
      ++split;
    }
  }
  EXPECT_GT(split, 2);
}

}  // namespace
}  // namespace attest
