// SPDX-License-Identifier: MIT
// How cases and laws become a verdict.
#include "attest/judge/check.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "attest/judge/evaluate.hpp"
#include "attest/judge/faults.hpp"
#include "attest/judge/reproduce.hpp"
#include "attest/judge/run_law.hpp"
#include "attest/judge/select.hpp"

namespace attest::judge {
namespace {

const std::string kGolden = std::string(ATTEST_PROJECT_DIR) + "/golden";

std::string plugin(const std::string& stem) { return fmt::format("{}/lib{}.so", ATTEST_TEST_PLUGIN_DIR, stem); }

/// The row of one kernel of a plugin in unit/plugins.
Row row_of(const std::string& stem, const std::string& kernel, int law_draws, int strength = 0) {
  Candidate candidate(plugin(stem));
  CheckOptions options;
  options.strength = strength;
  options.golden = kGolden;
  options.only = kernel;
  options.law_draws = options.property_draws = law_draws;
  const Report report = check(candidate, options);
  EXPECT_EQ(report.rows.size(), 1u);
  EXPECT_EQ(report.status(), report.rows.at(0).status);
  return report.rows.at(0);
}

Row row_of(const std::string& form, int law_draws) {
  return row_of("attention", "attention.scaled_dot_product." + form, law_draws);
}

std::string messages(const Row& row) {
  std::string all;
  for (const auto& failure : row.failures) all += failure.message + "\n";
  return all;
}

/// A candidate whose table is looked at and whose kernels are not called.
class Table : public Host {
public:
  explicit Table(KernelInfo kernel) : kernels_{std::move(kernel)} {}
  const std::string& name() const override { return name_; }
  const std::string& version() const override { return name_; }
  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  Response call(std::size_t, const Request&, const CallOptions&) override { return {}; }
  std::vector<std::string> settle(std::chrono::milliseconds) override { return {}; }
  bool places_outputs() const override { return true; }

private:
  std::string name_ = "table";
  std::vector<KernelInfo> kernels_;
};

/// The message about a kernel that cannot be judged.
std::string refusal(const std::string& equation, DType dtype, const std::string& layout,
                    const std::string& capabilities) {
  try {
    Candidate candidate("table",
                        std::make_unique<Table>(KernelInfo{equation, "", "value", dtype, "cpu", layout, capabilities}));
  } catch (const InvalidCandidate& error) {
    return error.what();
  }
  return "was accepted";
}

TEST(LawBounds, AreThoseOfTheProblemAndTheProfileWhateverWasAskedBefore) {
  Problem one = golden::draw(golden::parse_query("attest:attention.softmax:f32;r=2;s=3;flag=random;seed=1").first),
          other = one, masked = one;
  other.inputs.at("x").values.back() += 1;
  masked.inputs["mask"] = {{2, 3}, {1, 1, 1, 1, 1, 0}};
  LawBounds kept;
  std::set<std::vector<double>> different;
  for (int round = 0; round < 2; ++round)
    for (Problem* problem : {&one, &other, &masked})
      for (const char* profile : {"f32", "f64"}) {
        LawBounds fresh;
        const auto& bounds = kept.of(*problem, golden::profile(profile)).at("a");
        EXPECT_EQ(bounds.shape, (std::vector<Index>{2, 3}));
        EXPECT_EQ(bounds.values, fresh.of(*problem, golden::profile(profile)).at("a").values);
        different.insert(bounds.values);
      }
  EXPECT_EQ(different.size(), 6u);
}

TEST(Check, ACorrectKernelPasses) {
  const Row row = row_of("correct", 0);
  EXPECT_EQ(row.status, Status::pass);
  EXPECT_EQ(row.cases.judged, row.cases.stored + row.cases.drawn);
  EXPECT_EQ(row.cases.passed, row.cases.judged);
}

TEST(Check, ACaseWhoseValuesAreRightFailsByTheContract) {
  const Row row = row_of("wavering", 0);
  EXPECT_EQ(row.status, Status::fail);
  EXPECT_EQ(row.cases.passed, 0);
  ASSERT_FALSE(row.failures.empty());
  EXPECT_EQ(row.failures[0].message, "the same call gave two different answers");
}

TEST(Check, NothingJudgedIsNotAPass) {
  const Row row = row_of("impossible", 0);
  EXPECT_EQ(row.cases.judged, 0);
  EXPECT_EQ(row.status, Status::invalid);
}

TEST(Check, ALawThatDidNotApplyWasNotHeld) {
  const Row row = row_of("causal_only", 2);
  EXPECT_EQ(row.status, Status::pass);
  EXPECT_GT(row.laws.held, 0);
  EXPECT_EQ(row.laws.not_applicable, 5) << "permutation along n and s, row_locality, duplication, self_equivariance";
}

TEST(Check, OnlyAPassHasExitStatusZero) {
  EXPECT_EQ(exit_code(Status::pass), 0);
  EXPECT_EQ(exit_code(Status::fail), 1);
  EXPECT_EQ(exit_code(Status::crashed), 3);
  EXPECT_EQ(exit_code(Status::invalid), 3);
}

TEST(Packed, RightKernelsPass) {
  for (const char* kernel : {"linear.causal_chunked.right", "attention.scaled_dot_product.right",
                             "attention.scaled_dot_product.multiples"}) {
    const Row row = row_of("packed", kernel, 2, 1);
    EXPECT_EQ(row.status, Status::pass) << kernel << ": " << messages(row);
    EXPECT_GT(row.groups.at("regimes").judged, 5) << kernel;
    EXPECT_GT(row.laws.held, 0) << kernel;
  }
}

/// One sequence and one head hide these mistakes: every golden case passes.
TEST(Packed, MistakesAcrossSequencesAndHeadsAreFound) {
  for (const std::string kernel :
       {"linear.causal_chunked.first_length", "linear.causal_chunked.state_carried", "linear.causal_chunked.one_head",
        "linear.causal_chunked.one_group", "attention.scaled_dot_product.one_offset"}) {
    const Row row = row_of("packed", kernel, 0, 2);
    EXPECT_EQ(row.status, Status::fail) << kernel;
    EXPECT_EQ(row.cases.passed, row.cases.judged) << kernel;
    for (const auto& failure : row.failures) EXPECT_EQ(failure.group, "regimes") << kernel << ": " << failure.message;
  }
}

TEST(Gradients, AreJudgedInBatchesOfHeads) {
  for (const char* form : {"right", "packed"}) {
    const Row row = row_of("gradient", fmt::format("infini.gate.{}", form), 0, 2);
    EXPECT_EQ(row.status, Status::pass) << form << ": " << messages(row);
    EXPECT_GT(row.groups.at("regimes").judged, 5) << form;
  }
  for (const char* form : {"one_gate", "packed_one_gate"}) {
    const Row row = row_of("gradient", fmt::format("infini.gate.{}", form), 0, 2);
    EXPECT_EQ(row.cases.passed, row.cases.judged) << form << ": only several heads show it";
    EXPECT_LT(row.groups.at("regimes").passed, row.groups.at("regimes").judged) << form;
    EXPECT_EQ(row.status, Status::fail);
  }
}

TEST(Packed, TheMessageSaysWhichSequenceAndHead) {
  const Row row = row_of("packed", "linear.causal_chunked.state_carried", 0, 2);
  EXPECT_NE(messages(row).find(" of sequence 1 among "), std::string::npos) << messages(row);
  EXPECT_NE(messages(row).find(" that are packed (n = "), std::string::npos) << messages(row);
}

TEST(Packed, WhatCannotBePackedIsRefused) {
  const std::string attention = "attention.scaled_dot_product";
  EXPECT_EQ(refusal(attention, DType::f32, "thd", "bias == false"),
            "table: kernel 0: attention.scaled_dot_product cannot be packed, as layout 'thd' asks for: 'mask' [n, s] "
            "has an axis of tokens that is not its first; "
            "a kernel without it says 'mask == false'");
  EXPECT_EQ(refusal(attention, DType::f32, "thd", "mask == false; bias == false"), "was accepted");
  EXPECT_EQ(refusal("linear.causal_step", DType::f32, "thd", ""),
            "table: kernel 0: linear.causal_step cannot be packed, as layout 'thd' asks for: it has no axis of tokens");
  EXPECT_EQ(refusal(attention, DType::f32, "hdt", ""),
            "table: kernel 0: layout 'hdt' is not known; allowed: nd, bhnd, bnhd, thd, pkv");
}

TEST(Paged, RightKernelsPass) {
  for (const char* kernel : {"attention.scaled_dot_product.right", "attention.scaled_dot_product.long_pages"}) {
    const Row row = row_of("paged", kernel, 2, 2);
    EXPECT_EQ(row.status, Status::pass) << kernel << ": " << messages(row);
    EXPECT_GT(row.groups.at("regimes").judged, 5) << kernel;
    EXPECT_GT(row.laws.held, 0) << kernel;
  }
}

TEST(Paged, MistakesAreFound) {
  for (const std::string kernel : {"next_entry", "one_table", "one_length", "whole_pages", "pages_in_order"}) {
    const Row row = row_of("paged", "attention.scaled_dot_product." + kernel, 0, 2);
    EXPECT_EQ(row.status, Status::fail) << kernel;
  }
}

TEST(Paged, RowsThatNobodyUsesHoldNaNWhereTheKernelAllowsIt) {
  EXPECT_EQ(row_of("paged", "attention.scaled_dot_product.zero_weights", 0, 1).status, Status::pass);
  EXPECT_EQ(row_of("paged", "attention.scaled_dot_product.zero_weights_of_nan", 0, 1).status, Status::fail);
}

TEST(Paged, WhatHasNoPagesIsRefused) {
  EXPECT_EQ(refusal("attention.scaled_dot_product", DType::f32, "pkv", "bias == false"),
            "table: kernel 0: attention.scaled_dot_product cannot be paged, as layout 'pkv' asks for: 'mask' [n, s] "
            "has an axis of tokens that is not its first; a kernel without it says 'mask == false'");
  EXPECT_EQ(refusal("linear.causal", DType::f32, "pkv", ""),
            "table: kernel 0: linear.causal cannot be paged, as layout 'pkv' asks for: its outputs have every axis of "
            "tokens");
  EXPECT_EQ(refusal("attention.scaled_dot_product", DType::f32, "pkv", "mask == false; bias == false; page == 0"),
            "table: kernel 0: capabilities of attention.scaled_dot_product: 'page == 0' allows no length of a page "
            "from 1 to 4096");
}

TEST(Profile, AKernelSaysByWhichItIsJudged) {
  const Row own = row_of("tensor_cores", 0);
  EXPECT_EQ(own.kernel.profile, "tf32");
  EXPECT_EQ(own.status, Status::pass) << messages(own);
  const Row hopeful = row_of("hopeful", 0);
  EXPECT_EQ(hopeful.kernel.profile, "f32");
  EXPECT_EQ(hopeful.status, Status::fail);
  Candidate candidate(plugin("attention"));
  CheckOptions options;
  options.strength = 0;
  options.golden = kGolden;
  options.only = "attention.scaled_dot_product.tensor_cores";
  options.law_draws = options.property_draws = 0;
  options.profile = "f32";
  const Row told = check(candidate, options).rows.at(0);
  EXPECT_EQ(told.kernel.profile, "f32");
  EXPECT_EQ(told.status, Status::fail);
}

TEST(Profile, AQueryIsForTheKernelsOfItsProfile) {
  Candidate candidate(plugin("attention"));
  const std::string where = "attest:attention.scaled_dot_product:{};n=7;s=9;d=4;m=3;flag=random;seed=1";
  for (const auto& [profile, forms] : std::map<std::string, std::vector<std::string>>{
           {"tf32", {"tensor_cores"}},
           {"f32", {"correct", "wavering", "hopeful", "one_thread", "says_one_thread", "plain"}}}) {
    std::vector<std::string> found;
    for (const Row& row : reproduce(candidate, fmt::format(fmt::runtime(where), profile), {}).rows)
      found.push_back(row.kernel.form);
    EXPECT_EQ(found, forms) << profile;
  }
}

TEST(Profile, AnotherWordOrDtypeIsRefused) {
  const auto refused = [](const std::string& capabilities) {
    return refusal("linear.causal", DType::f32, "nd", capabilities);
  };
  EXPECT_EQ(refused("profile == 'tf23'"),
            "table: kernel 0: capabilities of linear.causal: no profile is called 'tf23'; did you mean 'tf32'?; "
            "profiles: f64, f32, tf32, bf16, bf16-f32p, f16, f16-f32p");
  EXPECT_EQ(refused("profile == 'bf16'"),
            "table: kernel 0: it says profile == 'bf16', which is for bf16, and its dtype is f32");
  for (const std::string wrong :
       {"profile != 'tf32'", "profile == 'f32' or profile == 'tf32'", "profile == 3", "profile == 'tf32' and n == 3"})
    EXPECT_EQ(refused(wrong),
              "table: kernel 0: capabilities of linear.causal: '" + wrong + "': 'profile' is for profile == 'NAME'");
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

TEST(Selection, SaysWhyACaseIsLeftOut) {
  const Spec& spec = find_spec("attention.scaled_dot_product");
  const auto stored = golden::load_golden(spec, kGolden);
  const Capabilities capabilities(spec, "mask == false; not (bias and n > 4); causal == false; d <= 4");
  std::map<std::string, int> expected;
  for (const auto& c : stored) {
    const auto with = [&](const char* input) { return std::count(c.name.with.begin(), c.name.with.end(), input) > 0; };
    const auto size = [&](const char* name) { return c.problem.sizes.at(name); };
    if (!golden::exact_in(c.problem, DType::f32) || !within_range(c.problem, golden::profile("f32")))
      ++expected["precision"];
    else if (with("mask"))
      ++expected["capability mask == false"];
    else if (with("bias") && size("n") > 4)
      ++expected["capability not (bias and n > 4)"];
    else if (setting(c.problem, "causal") == ParameterSetting(true))
      ++expected["capability causal == false"];
    else if (size("d") > 4)
      ++expected["capability d <= 4"];
  }
  EXPECT_GE(expected.size(), 4u);
  EXPECT_EQ(select(spec, "", capabilities, golden::profile("f32"), stored).left_out, expected);
}

TEST(Options, FlagsAndNumberLimitTheCasesAndTheRestIsCounted) {
  Candidate candidate(plugin("attention"));
  CheckOptions options;
  options.strength = 0;
  options.golden = kGolden;
  options.only = "attention.scaled_dot_product.correct";
  options.law_draws = options.property_draws = 0;
  const Row all = check(candidate, options).rows.at(0);
  options.most_cases = 7;
  const Row seven = check(candidate, options).rows.at(0);
  EXPECT_EQ(seven.cases.judged, 7);
  EXPECT_EQ(seven.cases.skipped(), all.cases.skipped() + all.cases.judged - 7);
  EXPECT_EQ(all.cases.left_out.count("limit of cases"), 0u);
  EXPECT_EQ(seven.cases.left_out.at("limit of cases"), all.cases.judged - 7);
  int flags = 0;
  for (const auto& [group, count] : seven.groups)
    flags += group != "statistics" && group != "contract" && count.judged > 0;
  EXPECT_EQ(flags, 7) << "every flag before a second case of any";
  options.most_cases.reset();
  options.flags = "tile_*";
  const Row tiles = check(candidate, options).rows.at(0);
  EXPECT_GE(tiles.cases.judged, 3);
  EXPECT_EQ(tiles.groups.count("random"), 0u);
  const auto every = golden::load_golden(find_spec("attention.scaled_dot_product"), kGolden);
  EXPECT_EQ(tiles.cases.left_out.at("flag"),
            std::count_if(every.begin(), every.end(), [](const auto& c) { return !c.name.flag.starts_with("tile_"); }));
}

TEST(Options, ARunThatIsStoppedSaysWhatItLeft) {
  for (const Stop why : {Stop::budget, Stop::interrupt}) {
    Candidate candidate(plugin("attention"));
    CheckOptions options;
    options.strength = 0;
    options.golden = kGolden;
    options.only = "attention.scaled_dot_product.correct";
    int asked = 0;
    options.stop = [&] { return ++asked > 60 ? why : Stop::no; };
    const Row row = check(candidate, options).rows.at(0);
    EXPECT_EQ(row.cases.judged, 60);
    EXPECT_EQ(row.cases.passed, 60);
    EXPECT_GT(row.early_end.not_run, 20);
    EXPECT_EQ(row.laws.judged, 0);
    EXPECT_EQ(row.early_end.by, why == Stop::budget ? "budget" : "interrupt");
    EXPECT_EQ(row.status, why == Stop::budget ? Status::pass : Status::invalid)
        << "a budget was asked for, an interrupt was not";
  }
}

TEST(Capabilities, AParameterCanStayAtItsDefault) {
  const Spec& spec = find_spec("attention.scaled_dot_product");
  const Capabilities capabilities(spec, "scale == default; causal==default");
  const Sizes sizes{{"n", 2}, {"s", 3}, {"d", 4}, {"m", 2}};
  EXPECT_TRUE(capabilities.allow(spec, sizes, {}));
  EXPECT_TRUE(capabilities.allow(spec, sizes, {{"causal", false}}));
  EXPECT_FALSE(capabilities.allow(spec, sizes, {{"causal", true}}));
  EXPECT_FALSE(capabilities.allow(spec, sizes, {{"scale", 0.5}}));
  const auto adapted = capabilities.adapted(spec, sizes, {{"scale", 0.5}, {"causal", true}});
  ASSERT_TRUE(adapted);
  EXPECT_TRUE(adapted->second.empty());
  for (const char* wrong : {"d == default", "mask == default", "default == 3", "scale <= default", "default",
                            "scale in {default, 1}", "consecutive(q)", "sorted(d)", "shared(nothing)", "sorted(1)"})
    EXPECT_THROW(Capabilities(spec, wrong), SpecError) << wrong;
}

TEST(Capabilities, OperandsOfAndAreMendedOneByOne) {
  const Spec& spec = find_spec("attention.scaled_dot_product");
  const Sizes sizes{{"n", 5}, {"s", 3}, {"d", 4}, {"m", 2}};
  const auto adapted = Capabilities(spec, "causal and n == s").adapted(spec, sizes, {});
  ASSERT_TRUE(adapted);
  EXPECT_EQ(adapted->second, (Parameters{{"causal", true}}));
  EXPECT_EQ(adapted->first.at("n"), adapted->first.at("s"));
}

TEST(Capabilities, AConditionThatCannotHoldIsRefused) {
  const Spec& spec = find_spec("attention.scaled_dot_product");
  const auto refusal = [&](const char* text) -> std::string {
    try {
      const Capabilities accepted(spec, text);
      return "";
    } catch (const SpecError& error) {
      return error.what();
    }
  };
  EXPECT_NE(refusal("empty_row == 'zeros'").find("'zeros' is none of the choices of 'empty_row': 'zero', "),
            std::string::npos);
  EXPECT_NE(refusal("n > 4; empty_row == 1").find("'empty_row' is a choice of 'zero', "), std::string::npos);
  EXPECT_NE(refusal("causal implies d == 'zero'").find("'d' is a number, and compared with the choice 'zero'"),
            std::string::npos);
  EXPECT_EQ(refusal("empty_row in {'zero', 'nan'} or not mask"), "");
}

TEST(Capabilities, ADefaultMayStandAnywhere) {
  const Spec& spec = find_spec("attention.scaled_dot_product");
  const Sizes sizes{{"n", 2}, {"s", 3}, {"d", 4}, {"m", 2}};
  const auto allows = [&](const char* text, const Parameters& parameters, const std::vector<std::string>& given = {}) {
    return Capabilities(spec, text).allow(spec, sizes, parameters, given);
  };
  for (const char* either : {"scale == default or scale > 0", "scale > 0 or default == scale", "not (scale <= 0)"}) {
    EXPECT_TRUE(allows(either, {})) << either;
    EXPECT_TRUE(allows(either, {{"scale", 0.3}})) << either;
    EXPECT_FALSE(allows(either, {{"scale", -1.0}})) << either;
  }
  EXPECT_TRUE(allows("scale == 0.5", {})) << "1/sqrt(4)";
  for (const char* both : {"not (scale != default and mask)", "mask implies scale == default"}) {
    EXPECT_TRUE(allows(both, {}, {"mask"})) << both;
    EXPECT_TRUE(allows(both, {{"scale", 0.3}})) << both;
    EXPECT_FALSE(allows(both, {{"scale", 0.3}}, {"mask"})) << both;
  }
  const auto adapted = Capabilities(spec, "scale == default or scale > 1").adapted(spec, sizes, {{"scale", 0.5}});
  ASSERT_TRUE(adapted);
  EXPECT_TRUE(adapted->second.empty());
  EXPECT_FALSE(allows("mask == true", {}));
  EXPECT_TRUE(allows("mask == true", {}, {"mask"}));
}

/// The golden cases of rotary positions that a kernel with that condition is given, by flag.
Selection rotary_cases(const std::string& capabilities) {
  const Spec& spec = find_spec("positional.rotary");
  return select(spec, "pairs", Capabilities(spec, capabilities), golden::profile("f32"),
                golden::load_golden(spec, kGolden), 1, false);
}

TEST(Capabilities, AConditionOnPositionsLeavesCasesOutAndCountsThem) {
  EXPECT_EQ(rotary_cases("").skipped.count("strided_positions"), 0u);
  const Selection some = rotary_cases("consecutive(positions)");
  EXPECT_EQ(some.skipped.at("strided_positions"), 2);
  EXPECT_EQ(some.skipped.at("position_zero"), 2);
  EXPECT_EQ(some.skipped.count("later_start"), 0u);
  for (const auto& c : some.cases) {
    const auto& positions = c.problem.inputs.at("positions").values;
    for (std::size_t i = 1; i < positions.size(); ++i) EXPECT_EQ(positions[i], positions[i - 1] + 1);
  }
  EXPECT_EQ(rotary_cases("sorted(positions) and shared(positions)").skipped.count("strided_positions"), 0u);
  try {
    static_cast<void>(Capabilities(find_spec("positional.rotary"), "consecutive(x)"));
    FAIL();
  } catch (const SpecError& error) {
    EXPECT_STREQ(error.what(),
                 "capabilities of positional.rotary: 'consecutive(x)': 'consecutive(x)' is about an input of integers, "
                 "and 'x' is none; there is positions");
  }
}

TEST(Capabilities, PropertiesAreThoseOfTheValues) {
  const Spec& spec = find_spec("positional.rotary");
  const auto of = [&](const std::vector<std::vector<double>>& entries) {
    std::vector<Problem> batch;
    for (const auto& values : entries)
      batch.push_back({&spec, {}, {}, {{"positions", {{static_cast<Index>(values.size())}, values}}}});
    const auto properties = properties_of(spec, batch);
    std::string all;
    for (const char* word : {"consecutive", "sorted", "shared"})
      if (properties.at(std::string(word) + "(positions)")) all += word[1];
    return all;
  };
  EXPECT_EQ(of({{3, 4, 5}, {3, 4}}), "ooh");
  EXPECT_EQ(of({{3, 4, 5}, {7, 8}}), "oo");
  EXPECT_EQ(of({{3, 3, 9}}), "oh");
  EXPECT_EQ(of({{3, 4}, {4, 3}}), "");
}

TEST(Capabilities, WhatAMaskHidesIsPromisedDeniedOrNotSaid) {
  const Spec& spec = find_spec("attention.scaled_dot_product");
  EXPECT_EQ(Capabilities(spec, "").hidden_nan(), std::nullopt);
  EXPECT_EQ(Capabilities(spec, "hidden_nan == true").hidden_nan(), true);
  EXPECT_EQ(Capabilities(spec, "hidden_nan == false").hidden_nan(), false);
}

/// A kernel that multiplies hidden values by zero instead of leaving them out.
LawRun zero_times_hidden(const std::string& capabilities) {
  const Spec& spec = find_spec("attention.scaled_dot_product");
  const LawClaim* claim = nullptr;
  for (const auto& one : spec.laws)
    if (one.law == "masked_irrelevant") claim = &one;
  const auto careless = [](const Problem& problem) {
    Problem finite = problem;  // the reference takes no NaN
    double hidden = 0;
    for (const char* input : {"k", "v"})
      for (double& x : finite.inputs.at(input).values) {
        hidden += 0 * x;
        if (!std::isfinite(x)) x = 0;
      }
    laws::Outcome outcome{golden::evaluate_in_double(finite, "max_shift", {}), {}};
    for (double& x : outcome.values.at("o").values) x += hidden;
    return outcome;
  };
  return run_law(laws::all_laws().find("masked_irrelevant")->second, *claim, spec, "", Capabilities(spec, capabilities),
                 golden::profile("f64"), careless, true, 20, 1);
}

TEST(Capabilities, NanBehindAMaskIsAFaultOnlyOfAKernelThatPromised) {
  EXPECT_FALSE(zero_times_hidden("hidden_nan == false").broken);
  EXPECT_FALSE(zero_times_hidden("hidden_nan == false").note);
  EXPECT_GT(zero_times_hidden("hidden_nan == false").draws, 10);
  EXPECT_TRUE(zero_times_hidden("hidden_nan == true").broken);
  const LawRun silent = zero_times_hidden("");
  EXPECT_FALSE(silent.broken);
  ASSERT_TRUE(silent.note);
  EXPECT_NE(silent.note->find("hidden_nan"), std::string::npos);
}

}  // namespace
}  // namespace attest::judge
