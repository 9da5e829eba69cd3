// SPDX-License-Identifier: MIT
// Faults, exact families and statistics: each shown to be what its spec says, and each check shown to notice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "attest/judge/check.hpp"
#include "attest/judge/diagnosis.hpp"
#include "attest/judge/judge_kernel.hpp"
#include "attest/judge/judge_statistics.hpp"
#include "attest/judge/mutants.hpp"
#include "attest/judge/select.hpp"

namespace attest::judge {
namespace {

std::vector<std::string> ids() {
  std::vector<std::string> all;
  for (const auto& [id, _] : specs()) all.push_back(id);
  return all;
}

const std::filesystem::path kGolden = std::string(ATTEST_PROJECT_DIR) + "/golden";

std::vector<golden::GoldenCase> cases_of(const Spec& spec, const golden::Profile& profile) {
  return select(spec, "", {}, profile, golden::load_golden(spec, kGolden)).cases;
}

class EveryFault : public testing::TestWithParam<std::string> {
protected:
  const Spec& spec = find_spec(GetParam());
};

/// A spec says which 16-bit profiles hide a fault. What they hide is hidden too where only probabilities are binary32,
/// and by the factors of tf32, which have the eleven bits of f16.
bool is_hidden(const Fault& fault, const golden::Profile& profile) {
  return fault.hidden.count(profile.name) || fault.hidden.count(std::string(name(profile.storage))) ||
         (profile.name == "tf32" && fault.hidden.count("f16"));
}

/// The constructed cases of a fault's flag betray it in every profile: ten times the bound in binary32 and binary64,
/// twice in those with coarser factors.
TEST_P(EveryFault, IsBetrayedByItsFlag) {
  for (const auto& profile : golden::profiles()) {
    const double least = profile.name == "f32" || profile.name == "f64" ? 10 : 2;
    Bank bank(spec, profile);
    const auto cases = cases_of(spec, profile);
    for (const auto& fault : spec.faults) {
      if (!fault.equivalent.empty() || fault.amplitude > 0 || is_hidden(fault, profile)) continue;
      double shown = 0;
      for (const auto& c : cases)
        if (c.name.flag == fault.flag) shown = std::max(shown, bank.shown(c, fault));
      EXPECT_GE(shown, least) << spec.id << "." << fault.name << " " << profile.name;
    }
  }
}

TEST_P(EveryFault, HiddenNamesAProfileAndAReason) {
  for (const auto& fault : spec.faults)
    for (const auto& [profile, reason] : fault.hidden) {
      EXPECT_NO_THROW(golden::profile(profile)) << fault.name;
      EXPECT_FALSE(reason.empty()) << fault.name;
    }
}

/// The header holds no fault that the spec does not list.
TEST_P(EveryFault, StandsInTheSpec) {
  std::ifstream file(std::string(ATTEST_PROJECT_DIR) + "/tests/faults/" + spec.family() + "/" + spec.stem() + ".hpp");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::regex function(R"(void (\w+)\((?:const (?:In|Given)&|In) in, const Out& out(, const Number& c)?\) \{)");
  int found = 0;
  for (auto at = std::sregex_iterator(all.begin(), all.end(), function); at != std::sregex_iterator(); ++at) {
    const Fault* fault = spec.fault((*at)[1].str());
    ASSERT_NE(fault, nullptr) << (*at)[1] << " is in the header but not in the spec";
    EXPECT_EQ((*at)[2].matched, fault->amplitude > 0) << fault->name;
    ++found;
  }
  EXPECT_EQ(found, static_cast<int>(spec.faults.size()));
}

/// The values of exact families are numbers of every 16-bit format, so that kernels of every profile can give them bit
/// for bit. That emulated kernels of every form, order and precision do is what NoCorrectKernelIsAccused shows.
TEST_P(EveryFault, ExactFamiliesAreExact) {
  int judged = 0;
  for (const auto& c : golden::load_golden(spec, kGolden)) {
    const auto* group = spec.group(c.name.flag);
    for (const auto& name : group->same_bits) {
      const auto& tensor = c.certified.outputs.at(name);
      for (std::size_t i = 0; i < tensor.hi.size(); ++i) {
        EXPECT_EQ(round_to(DType::bf16, tensor.hi[i]), tensor.hi[i])
            << golden::query(c.name, "") << " " << name << "[" << i << "]";
        EXPECT_EQ(round_to(DType::f16, tensor.hi[i]), tensor.hi[i])
            << golden::query(c.name, "") << " " << name << "[" << i << "]";
        EXPECT_LT(std::abs(static_cast<double>(tensor.lo[i])), 1e-30);
        ++judged;
      }
    }
  }
  EXPECT_EQ(judged == 0, !spec.no_exact_family.empty()) << spec.no_exact_family;
}

/// No correct kernel is accused, of any form and order, in any profile.
TEST_P(EveryFault, NoCorrectKernelIsAccused) {
  for (const auto& profile : golden::profiles()) {
    Bank bank(spec, profile);
    const auto cases = cases_of(spec, profile);
    std::vector<const golden::GoldenCase*> pointers;
    for (const auto& c : cases) pointers.push_back(&c);
    const Alarms alarms = bank.alarms(pointers, static_cast<double>(spec.faults.size()));
    EXPECT_GT(alarms.judged, 100);
    EXPECT_EQ(alarms.raised, 0) << spec.id << " " << profile.name << " " << alarms.first;
    EXPECT_LT(alarms.largest_z, 6) << spec.id << " " << profile.name;
    Shown shown(spec, profile);
    for (const auto& c : cases) bank.show(c, shown);
    EXPECT_EQ(shown.vacuity().too_little, "") << spec.id << " " << profile.name;
    for (const auto& c : cases) EXPECT_FALSE(bank.is_vacuous(c)) << golden::query(c.name, profile.name);
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, EveryFault, testing::ValuesIn(ids()), [](const auto& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

/// Where all products but one are equal over the reals, no enclosure says which the smallest is.
TEST(Fault, WhoseTiesNoPrecisionSettlesHasNoEquationAndIsNoName) {
  const auto& f32 = golden::profile("f32");
  const auto c = judged_by(golden::certify_case(golden::parse_query("attest:content.routing_attention:f32;n=3;c=3;d=4;"
                                                                    "m=2;draw.q=one_hot 64 0;draw.mu=one_hot 4 0;"
                                                                    "flag=random;seed=1")
                                                    .first),
                           f32);
  const Spec& spec = *c.problem.spec;
  Bank bank(spec, f32);
  Sample sample{&c, {}};
  for (const auto& [name, tensor] : c.certified.outputs) sample.got[name] = {tensor.shape, tensor.hi};
  EXPECT_EQ(bank.as_equation(sample, *spec.fault("argmin")), nullptr);
  EXPECT_NE(bank.as_equation(sample, *spec.fault("scale_drift")), nullptr);
  sample.got.begin()->second.values[0] += 1;
  EXPECT_TRUE(diagnose(bank, {sample}, {}, {}).names.empty());
}

struct Attention : testing::Test {
  const Spec& spec = find_spec("attention.scaled_dot_product");
  const golden::Profile& f32 = golden::profile("f32");
  Bank bank{spec, f32};
  std::vector<golden::GoldenCase> cases = cases_of(spec, f32);

  template <class F>
  std::vector<Sample> samples_of(F&& outputs) {
    std::vector<Sample> samples;
    for (const auto& c : cases) samples.push_back({&c, stored(c.problem, outputs(c.problem), f32)});
    return samples;
  }
  template <class F>
  Statistics of(F&& outputs) {
    return bank.statistics(samples_of(outputs), 1000);
  }
  /// Names of a kernel that has the fault where `there` holds.
  std::vector<Name> names_of(const std::string& fault, const std::function<bool(const Problem&)>& there) {
    const auto how = kernel_of(f32);
    const auto samples = samples_of([&](const Problem& problem) {
      return there(problem) ? outputs_of_fault(problem, *spec.fault(fault), how) : emulated(problem, "max_shift", how);
    });
    return diagnose(bank, samples, {}, bank.statistics(samples, 1000)).names;
  }
};

TEST_F(Attention, AScaleOffByTwoToTheMinus16IsNamedWithItsAmplitude) {
  const Fault& fault = *spec.fault("scale_drift");
  for (const double multiple : {1.0, -1.0, 0.25, 0.0625}) {  // 1 + 2^-16 ... 1 + 2^-20
    const Statistics s = of([&](const Problem& problem) {
      return outputs_of_fault(problem, fault, kernel_of(f32), multiple * fault.amplitude);
    });
    ASSERT_FALSE(s.rejected.empty()) << multiple;
    EXPECT_EQ(s.rejected[0].fault, "scale_drift") << multiple;
    EXPECT_NEAR(s.rejected[0].c, multiple,
                std::abs(multiple) < 0.1 ? 0.1 * std::abs(multiple) : 0.01 * std::abs(multiple));
  }
}

TEST_F(Attention, AnAmplitudeOfAFewUnitsRejectsNobody) {
  const Fault& fault = *spec.fault("scale_drift");
  const Statistics s = of(
      [&](const Problem& problem) { return outputs_of_fault(problem, fault, kernel_of(f32), 0x1p-22); });  // four units
  EXPECT_TRUE(s.rejected.empty());
}

TEST_F(Attention, TwoFaultsAtOnceAreFittedTogether) {
  const Fault &scale = *spec.fault("scale_drift"), &normaliser = *spec.fault("normaliser_drift");
  const Statistics s = of([&](const Problem& problem) {
    const auto how = kernel_of(golden::profile("f64"));
    Arrays both = outputs_of_fault(problem, scale, how),
           other = outputs_of_fault(problem, normaliser, how, -2 * normaliser.amplitude);
    const Arrays right = emulated(problem, "max_shift", how);
    for (std::size_t i = 0; i < both.at("o").values.size(); ++i)
      both.at("o").values[i] += other.at("o").values[i] - right.at("o").values[i];
    return both;
  });
  ASSERT_GE(s.joint.size(), 2u);
  for (const Fit& fit : s.joint) {
    const double amount = fit.fault == "scale_drift" ? 1 : fit.fault == "normaliser_drift" ? -2 : 0;
    EXPECT_NEAR(fit.c, amount, 0.02) << fit.fault;
  }
}

TEST_F(Attention, AMistakeUnderSomeConditionsIsNamedByTheCasesThatFail) {
  const auto masked = [](const Problem& problem) { return problem.inputs.count("mask") != 0; };
  const auto zero = [](const Problem& problem) {
    return setting(problem, "empty_row") == ParameterSetting(std::string("zero"));
  };
  for (const auto& [fault, there] :
       std::map<std::string, std::function<bool(const Problem&)>>{{"scale_by_d", masked}, {"empty_row_nan", zero}}) {
    const auto names = names_of(fault, there);
    ASSERT_FALSE(names.empty()) << fault;
    EXPECT_EQ(names[0].fault, fault);
    EXPECT_TRUE(names[0].failing && !names[0].whole) << fault;
    const auto everywhere = names_of(fault, [](const Problem&) { return true; });
    ASSERT_FALSE(everywhere.empty()) << fault;
    EXPECT_EQ(everywhere[0].fault, fault);
    EXPECT_TRUE(everywhere[0].failing && everywhere[0].whole) << fault;
  }
  EXPECT_TRUE(names_of("scale_by_d", [](const Problem&) { return false; }).empty());
}

TEST_F(Attention, AnInfinityIsNotTheNanOfAFault) {
  const Fault& fault = *spec.fault("empty_row_nan");
  const auto names = [&](double instead) {
    const auto samples = samples_of([&](const Problem& problem) {
      const Arrays right = emulated(problem, "max_shift", kernel_of(f32));
      Arrays outputs = outputs_of_fault(problem, fault, kernel_of(f32));
      for (auto& [name, array] : outputs)
        for (std::size_t i = 0; i < array.values.size(); ++i)
          if (std::isnan(array.values[i]) && !std::isnan(right.at(name).values[i])) array.values[i] = instead;
      return outputs;
    });
    return diagnose(bank, samples, {}, bank.statistics(samples, 1000)).names;
  };
  const auto is_named = [&](double instead) {
    const auto all = names(instead);
    return std::any_of(all.begin(), all.end(), [&](const Name& name) { return name.fault == fault.name; });
  };
  EXPECT_TRUE(is_named(std::nan("")));
  EXPECT_FALSE(is_named(INFINITY));
  EXPECT_FALSE(is_named(-INFINITY));
}

/// The names of a kernel that has that fault.
std::vector<Name> names_of_fault(const char* id, const char* fault, const golden::Profile& profile) {
  const Spec& spec = find_spec(id);
  Bank bank(spec, profile);
  const auto cases = cases_of(spec, profile);
  std::vector<Sample> samples;
  for (const auto& c : cases) samples.push_back({&c, bank.outputs_of_fault(c, *spec.fault(fault))});
  return diagnose(bank, samples, {}, bank.statistics(samples, 1000)).names;
}

/// Raw keys in the memory alone are not raw keys in memory and z.
TEST(Fault, WhatGivesEveryOutputIsNamedAndWhatGivesSomeIsNot) {
  const auto names = names_of_fault("infini.memory_update_linear", "map_missing_in_memory", golden::profile("f32"));
  ASSERT_EQ(names.size(), 1U);
  EXPECT_EQ(names[0].fault, "map_missing_in_memory");
  EXPECT_TRUE(names[0].outputs.empty());
}

/// In binary16 1e-5 in a denominator shows where 0 / 0 is due alone: a fault that gives NaN there, too, is no name.
TEST(Fault, WhoseNanIsANumberHereIsNoName) {
  const auto names = names_of_fault("infini.memory_retrieve", "eps_added", golden::profile("bf16"));
  ASSERT_EQ(names.size(), 1U);
  EXPECT_EQ(names[0].fault, "eps_added");
}

TEST_F(Attention, TheGradeIsThatOfTheArithmetic) {
  const auto grade = [&](const char* profile) {
    return of(
        [&](const Problem& problem) { return emulated(problem, "max_shift", kernel_of(golden::profile(profile))); });
  };
  EXPECT_NEAR(grade("f32").bits, 24, 1.5);
  EXPECT_EQ(grade("f32").behaves_like, "f32");
  EXPECT_NEAR(grade("tf32").bits, 11, 2.5);
  EXPECT_EQ(grade("tf32").behaves_like, "tf32");
}

/// Over many correct kernels and many inputs the scores scatter as their errors say: not more, and not so much less
/// that a fault would be missed.
TEST(Calibration, ScoresOfCorrectKernelsScatterAsTheyShould) {
  for (const char* id : {"attention.scaled_dot_product", "linear.causal", "positional.rotary"}) {
    const Spec& spec = find_spec(id);
    const auto& f32 = golden::profile("f32");
    const auto names = golden::stored_cases(spec);
    Alarms all;
    for (std::uint64_t check = 0; check < 8; ++check) {
      Bank bank(spec, f32);
      std::vector<golden::GoldenCase> cases;
      for (std::size_t i = 0; i < 30; ++i) {
        golden::Case c = names[(i + 7 * check) % names.size()];
        c.seed = 9000 + 100 * check + i;
        const auto certified = golden::certify_case(c, {.check_witnesses = false, .gradients = false});
        if (golden::exact_in(certified.problem, f32.storage)) cases.push_back(judged_by(certified, f32));
      }
      std::vector<const golden::GoldenCase*> pointers;
      for (const auto& c : cases) pointers.push_back(&c);
      const Alarms one = bank.alarms(pointers, 1000);
      all.z_squares += one.z_squares, all.scores += one.scores, all.raised += one.raised;
      all.largest_z = std::max(all.largest_z, one.largest_z);
    }
    EXPECT_EQ(all.raised, 0) << id;
    EXPECT_GT(all.scores, 100) << id;
    EXPECT_GT(all.rms_z(), 0.3) << id;
    EXPECT_LT(all.rms_z(), 1.2) << id;
    EXPECT_LT(all.largest_z, 6) << id;
  }
}

TEST_F(Attention, ABiasIsSeen) {
  const Statistics s = of([&](const Problem& problem) {
    Arrays outputs = emulated(problem, "max_shift", kernel_of(golden::profile("f64")));
    for (double& x : outputs.at("o").values) x += 0x1p-17 * x;
    return outputs;
  });
  EXPECT_GT(s.bias, 1);
  EXPECT_GT(s.bias_z, 6);
}

TEST_F(Attention, CasesThatProveNothingAreInvalid) {
  const auto without_scale = std::find_if(cases.begin(), cases.end(), [](const golden::GoldenCase& c) {
    return c.name.flag == "custom_scale" && c.name.seed == 3;  // scale 0: every weight is the same
  });
  ASSERT_NE(without_scale, cases.end());
  Selection few;
  for (; few.stored < kFewestCases; ++few.stored) {
    golden::Case c = without_scale->name;
    c.seed += static_cast<std::uint64_t>(100 * few.stored);
    few.cases.push_back(judged_by(golden::certify_case(c, {.check_witnesses = false, .gradients = false}), f32));
  }
  const Source right{[&](const Batch& batch, const golden::GoldenCase&) {
    const Problem& problem = batch.problems[0];
    Answers answers;
    answers.answers.push_back({"", {stored(problem, emulated(problem, "max_shift", kernel_of(f32)), f32)}});
    return answers;
  }};
  Kernel kernel;
  kernel.spec = &spec;
  const Row row = judge_selection(kernel, f32, few, right, bank, {}, 1);
  ASSERT_EQ(row.failures.size(), 1u);
  EXPECT_EQ(row.status, Status::invalid);
  EXPECT_EQ(row.failures[0].tier, "vacuity");
  EXPECT_NE(row.failures[0].message.find(" (not shown: "), std::string::npos) << row.failures[0].message;
}

TEST(Mutant, AFaultIsACandidate) {
  Candidate candidate("fault:linear.causal.state_not_carried");
  EXPECT_EQ(candidate.kernels().size(), 4u);
  CheckOptions options;
  options.strength = 0;
  options.golden = kGolden;
  const Report report = check(candidate, options);
  EXPECT_EQ(report.status(), Status::fail);
  for (const auto& row : report.rows) {
    ASSERT_FALSE(row.diagnosis.names.empty()) << row.kernel.profile;
    EXPECT_EQ(row.diagnosis.names[0].fault, "state_not_carried") << row.kernel.profile;
    EXPECT_TRUE(row.diagnosis.names[0].whole) << row.kernel.profile;
    EXPECT_NE(row.diagnosis.where.find("chunk"), std::string::npos) << row.diagnosis.where;
  }
}

TEST(Mutant, AnOrderIsACandidateThatPasses) {
  Candidate candidate("order:pairwise");
  CheckOptions options;
  options.strength = 0;
  options.golden = kGolden;
  options.law_draws = options.property_draws = 2;
  options.only = "linear.causal";
  const Report report = check(candidate, options);
  for (const auto& row : report.rows)
    for (const auto& failure : row.failures)
      ADD_FAILURE() << row.kernel.form << " " << row.kernel.profile << " " << failure.tier << " " << failure.message
                    << " " << failure.query;
  EXPECT_EQ(report.status(), Status::pass);
  EXPECT_GE(report.rows.size(), 16u);
}

TEST(Mutant, UnknownNamesAreRefusedWithNearOnes) {
  for (const char* name : {"fault:linear.causal.state_not_caried", "order:pairwize",
                           "fault:linear.causal.state_not_carried@2", "fault:linear.causal.state_decay@x"})
    try {
      Candidate candidate(name);
      FAIL() << name;
    } catch (const InvalidCandidate& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
}

TEST(Mutants, AreKilledAndNamed) {
  MutantsOptions options;
  options.golden = kGolden;
  options.only = "linear.causal*";
  options.seeds = 20;
  const MutantsReport report = mutants(options);
  EXPECT_TRUE(report.passed());
  EXPECT_GT(report.mutants.size(), 200u);
}

TEST(Mutants, ASurvivorOrAFalseAlarmFails) {
  MutantsReport report;
  report.mutants.push_back({"e", "f", "f32", true, "T2", 1, "f", 20, ""});
  report.orders.push_back({"e", "f32", 10, 10, {10, 0, 1, ""}});
  EXPECT_TRUE(report.passed());
  auto survived = report, accused = report, misnamed = report;
  survived.mutants[0].killed = false;
  accused.orders[0].alarms.raised = 1;
  misnamed.mutants[0].rank = 2;
  EXPECT_FALSE(survived.passed());
  EXPECT_FALSE(accused.passed());
  EXPECT_FALSE(misnamed.passed());
}

}  // namespace
}  // namespace attest::judge
