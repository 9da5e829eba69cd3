// SPDX-License-Identifier: MIT
// Every stage of every equation in formats that a kernel may hold it in, by emulation: what exceeds the bounds is
// named.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "attest/golden/agreement.hpp"
#include "attest/golden/rows.hpp"
#include "attest/judge/diagnosis.hpp"
#include "attest/judge/faults.hpp"
#include "attest/judge/select.hpp"
#include "attest/judge/work.hpp"
#include "each_equation.hpp"

namespace attest::judge {
namespace {

constexpr double kMostWork = 4e3;       // of a case
constexpr std::size_t kMostCases = 16;  // of an equation

std::vector<golden::GoldenCase> small_cases(const Spec& spec, const golden::Profile& profile) {
  const std::string golden = std::string(ATTEST_PROJECT_DIR) + "/golden";
  std::vector<golden::GoldenCase> cases;
  for (auto& c : select(spec, "", {}, profile, golden::load_golden(spec, golden)).cases)
    if (work_of(spec, c.problem.sizes, c.problem.parameters) <= kMostWork && exact_outputs(c.name).empty())
      cases.push_back(std::move(c));
  std::vector<golden::GoldenCase> some;
  const std::size_t number = std::min(kMostCases, cases.size());
  for (std::size_t i = 0; i < number; ++i) some.push_back(cases[i * cases.size() / number]);
  return some;
}

/// Cases in which that form computes, with what a kernel gives that has the change.
std::vector<Sample> samples_of(const std::vector<golden::GoldenCase>& cases, const FormDeclaration& form,
                               const golden::Profile& profile, const StageChange& change) {
  std::vector<Sample> samples;
  for (const auto& c : cases)
    if (golden::is_modelled(form, c.problem))
      samples.push_back({&c, outputs_with(c.problem, form.name, profile, {change})});
  return samples;
}

struct Counts {
  int shown = 0, named = 0, alike = 0, nothing = 0;
  std::vector<std::string> others;
};

bool has(const StageName& name, const StageChange& change) {
  return name.changes.size() == 1 && name.changes[0].place == change.place &&
         name.changes[0].format.find(change.format) != std::string::npos;
}

void count(const std::vector<Sample>& samples, const golden::Profile& profile, const StageChange& change,
           const std::string& what, Counts& counts) {
  std::vector<const Sample*> failing, passing;
  for (const Sample& sample : samples)
    (compare(sample.c->problem, sample.c->certified, sample.got, profile).failed > 0 ? failing : passing)
        .push_back(&sample);
  if (failing.empty()) return;
  ++counts.shown;
  const auto name = name_of_stage(failing, passing, profile);
  if (!name) {
    ++counts.nothing;
  } else if (has(*name, change)) {
    ++counts.named;
  } else if (std::any_of(name->alike.begin(), name->alike.end(),
                         [&](const std::string& text) { return text == change.text(); })) {
    ++counts.alike;
  } else {
    counts.others.push_back(what + " -> " + name->text());
  }
}

class EveryStage : public testing::TestWithParam<std::string> {};

/// In binary32 held in bfloat16 and binary16, in binary64 in binary32. A name that is another one is a twin: it gives
/// the same numbers, within what a correct kernel errs.
TEST_P(EveryStage, ThatExceedsTheBoundsIsNamed) {
  const Spec& spec = find_spec(GetParam());
  Counts counts;
  for (const auto& [profile_name, formats] : std::vector<std::pair<const char*, std::vector<const char*>>>{
           {"f32", {"bfloat16", "binary16"}}, {"f64", {"binary32"}}}) {
    const auto& profile = golden::profile(profile_name);
    const auto cases = small_cases(spec, profile);
    for (const auto& form : spec.forms)
      for (const auto& label : golden::stages_of(spec, form))
        for (const char* format : formats) {
          const StageChange change{StageChange::Kind::held, label, format};
          count(samples_of(cases, form, profile, change), profile, change,
                std::string(profile_name) + " " + form.name + ": " + change.text(), counts);
        }
  }
  std::printf("%s: %d shown, %d named, %d alike, %d no name, %zu other names\n", spec.id.c_str(), counts.shown,
              counts.named, counts.alike, counts.nothing, counts.others.size());
  for (const auto& other : counts.others) std::printf("    %s\n", other.c_str());
  EXPECT_TRUE(counts.others.empty());
  // Of all equations together more than 95 in 100: in small cases one or two elements may carry all of an error.
  EXPECT_GE(counts.named + counts.alike, 0.65 * counts.shown);
}

/// A gradient that is wrong in no known way: no stage is its cause, and one that has an output's name is tried, too.
TEST_P(EveryStage, ThatHasTheNameOfAnOutputIsTried) {
  const Spec& spec = find_spec(GetParam());
  const auto has_output_of_its_name = [&](const FormDeclaration& form) {
    const auto labels = golden::stages_of(spec, form);
    return std::any_of(labels.begin(), labels.end(), [&](const auto& label) { return spec.output(label); });
  };
  if (spec.gradient.empty() || std::none_of(spec.forms.begin(), spec.forms.end(), has_output_of_its_name)) return;
  const auto& profile = golden::profile("f32");
  const auto cases = small_cases(spec, profile);
  std::vector<Sample> samples;
  for (const auto& c : cases) {
    samples.push_back({&c, {}});
    double sign = 1;
    for (const auto& [name, tensor] : c.certified.outputs)
      if (golden::is_gradient(name)) {
        Array& wrong = samples.back().got[name] = {tensor.shape, tensor.hi};
        for (double& x : wrong.values) x += sign, sign = -sign;
      }
  }
  std::vector<const Sample*> failing;
  for (const Sample& sample : samples)
    if (!sample.got.empty()) failing.push_back(&sample);
  ASSERT_FALSE(failing.empty());
  EXPECT_FALSE(name_of_stage(failing, {}, profile));
}

INSTANTIATE_TEST_SUITE_P(Specs, EveryStage, testing::ValuesIn(equation_ids()), name_of_equation);

}  // namespace
}  // namespace attest::judge
