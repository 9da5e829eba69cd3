// SPDX-License-Identifier: MIT
// Tests of every equation, whichever there are.
#include <gtest/gtest.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "attest/golden/files.hpp"
#include "attest/golden/store.hpp"
#include "attest/judge/evaluate.hpp"
#include "attest/judge/faults.hpp"
#include "attest/judge/run_law.hpp"

namespace attest {
namespace {

std::vector<std::string> ids() {
  std::vector<std::string> all;
  for (const auto& [id, _] : specs()) all.push_back(id);
  return all;
}

class EveryEquation : public testing::TestWithParam<std::string> {
protected:
  const Spec& spec = find_spec(GetParam());
};

/// Laws and properties hold over the reals: certified intervals overlap, form by form.
TEST_P(EveryEquation, LawsHoldOnTheReference) {
  const auto& profile = golden::profile("f64");
  int judged = 0;
  for (const auto& form : spec.forms) {
    const auto evaluate = judge::over_enclosures(form.name);
    const auto expect = [&](laws::Law law, const LawClaim& claim, const std::string& name) {
      const auto run = judge::run_law(law, claim, spec, form.name, {}, profile, evaluate, false, 8, 11);
      EXPECT_FALSE(run.broken) << spec.id << " " << form.name << " " << name << ": " << *run.broken << "\n  "
                               << run.query;
      judged += run.draws;
    };
    for (const auto& claim : spec.laws) {
      ASSERT_TRUE(laws::all_laws().count(claim.law)) << "no law is called " << claim.law;
      expect(laws::all_laws().find(claim.law)->second, claim, claim.law);
    }
    if (const auto properties = laws::all_properties().find(spec.id); properties != laws::all_properties().end())
      for (const auto& property : properties->second) expect(property.check, {}, property.name);
  }
  EXPECT_TRUE(judged > 0 || spec.laws.empty());
}

/// A kernel that is NaN at sizes that no golden case has, and right elsewhere, breaks every law that speaks.
TEST_P(EveryEquation, NaNBeyondTheStoredSizesBreaksEveryLaw) {
  const auto& profile = golden::profile("f64");
  std::set<Sizes> stored;
  for (const auto& c : golden::stored_cases(spec)) stored.insert(c.sizes);
  judge::LawBounds bounds;
  bool beyond = false;
  const laws::Evaluate evaluate = [&](const Problem& problem) {
    laws::Outcome outcome;
    outcome.values = judge::emulated(problem, golden::first_modelled_form(problem).name, judge::kernel_of(profile));
    outcome.bounds = [&bounds, &profile, owned = std::make_shared<Problem>(problem)]() -> const Arrays& {
      return bounds.of(*owned, profile);
    };
    if (stored.count(problem.sizes)) return outcome;
    beyond = true;
    for (auto& [_, array] : outcome.values) std::fill(array.values.begin(), array.values.end(), std::nan(""));
    return outcome;
  };
  int broken = 0;
  const auto expect = [&](laws::Law law, const LawClaim& claim, const std::string& name) {
    beyond = false;
    const auto run = judge::run_law(law, claim, spec, spec.forms[0].name, {}, profile, evaluate, true, 4, 7);
    if (!beyond) return;
    ++broken;
    EXPECT_TRUE(run.broken && run.broken->find("is NaN where the equation gives") != std::string::npos)
        << name << ": " << run.broken.value_or("holds");
  };
  for (const auto& claim : spec.laws) expect(laws::all_laws().at(claim.law), claim, claim.law);
  if (const auto properties = laws::all_properties().find(spec.id); properties != laws::all_properties().end())
    for (const auto& property : properties->second) expect(property.check, {}, property.name);
  EXPECT_TRUE(broken > 0 || spec.laws.empty());
}

/// Drawn laws see a few of an equation's cases; here each law meets the recipes of every small one, under every
/// convention that a kernel may have, in every form.
TEST_P(EveryEquation, LawsHoldOnEveryCase) {
  int judged = 0;
  for (const auto& stored : golden::stored_cases(spec)) {
    if (std::any_of(stored.sizes.begin(), stored.sizes.end(), [](const auto& size) { return size.second > 24; }))
      continue;
    std::vector<Parameters> conventions{stored.parameters};
    for (const auto& parameter : spec.parameters)
      for (const auto& choice : parameter.choices)
        (conventions.emplace_back(stored.parameters))[parameter.name] = choice;
    for (const auto& claim : spec.laws) {
      for (const auto& parameters : conventions) {
        const judge::Capabilities claimed(spec, claim.when);
        const auto adapted = claimed.adapted(spec, stored.sizes, parameters, stored.with);
        if (!adapted || !claimed.takes(stored.with)) continue;
        golden::Case c = stored;
        std::tie(c.sizes, c.parameters) = *adapted;
        for (const auto& form : spec.forms) {
          if (!holds(form.when, spec, c.sizes, c.parameters)) continue;
          laws::Finding finding;
          try {
            const Problem problem = golden::draw(c);
            const auto evaluate = judge::over_enclosures(form.name);
            finding = laws::all_laws().at(claim.law)({claim, problem, evaluate, c.seed, dtype_from(c.exact), false});
          } catch (const SpecError&) {  // constraints on data, of this problem or of one that the law derives from it
            continue;
          } catch (const reference::Undecided&) {  // a tie
            continue;
          }
          judged += finding.kind == laws::Finding::Kind::holds;
          EXPECT_NE(finding.kind, laws::Finding::Kind::broken)
              << claim.law << ", " << form.name << ": " << finding.text << "\n  " << golden::query(c, "f64");
        }
      }
    }
  }
  EXPECT_TRUE(judged > 0 || spec.laws.empty());
}

/// A law that is never able to speak is no law.
TEST_P(EveryEquation, EveryClaimedLawSpeaks) {
  for (const auto& claim : spec.laws) {
    int spoken = 0;
    for (const auto& form : spec.forms) {
      const auto run = judge::run_law(laws::all_laws().find(claim.law)->second, claim, spec, form.name, {},
                                      golden::profile("f64"), judge::over_enclosures(form.name), false, 12, 5);
      spoken += run.draws;
      if (spoken) break;
    }
    EXPECT_GT(spoken, 0) << spec.id << ": " << claim.law << " along " << claim.along;
  }
}

/// Every golden case comes back from its own query, drawn bit for bit.
TEST_P(EveryEquation, QueriesNameTheirCases) {
  std::set<std::string> seen;
  for (const auto& c : golden::stored_cases(spec)) {
    const std::string query = golden::query(c, "f32");
    EXPECT_TRUE(seen.insert(query).second) << query << " is there twice";
    const auto [again, profile] = golden::parse_query(query);
    EXPECT_EQ(profile, "f32");
    EXPECT_EQ(golden::query(again, "f32"), query);
    const Problem a = golden::draw(c), b = golden::draw(again);
    ASSERT_EQ(a.inputs.size(), b.inputs.size());
    for (const auto& [name, array] : a.inputs)
      EXPECT_EQ(array.values, b.inputs.at(name).values) << query << " " << name;
  }
}

TEST_P(EveryEquation, HasCasesForEachFlagAndEachFlagAnExplanation) {
  const auto flags = toml::parse(golden::read_file(std::string(ATTEST_PROJECT_DIR) + "/golden/flags.toml"));
  EXPECT_GE(golden::stored_cases(spec).size(), 15u);
  for (const auto& group : spec.vectors)
    EXPECT_TRUE(flags.contains(group.flag)) << "golden/flags.toml does not explain '" << group.flag << "'";
}

/// Drawn inputs are what their group promises, and golden files read back to what was certified.
TEST_P(EveryEquation, GoldenFileRoundTrips) {
  std::vector<golden::GoldenCase> cases;
  const auto names = golden::stored_cases(spec);
  for (const auto& c : names) cases.push_back(golden::certify_case(c, {.check_witnesses = false}));
  const std::string bytes = golden::serialize(spec, cases);
  const auto read = golden::parse_golden(spec, bytes, "memory");
  ASSERT_EQ(read.size(), cases.size());
  for (std::size_t i = 0; i < read.size(); ++i)
    for (const auto& [name, tensor] : cases[i].certified.outputs) {
      const auto& back = read[i].certified.outputs.at(name);
      for (std::size_t e = 0; e < tensor.hi.size(); ++e)
        EXPECT_TRUE(back.hi[e] == tensor.hi[e] || (std::isnan(back.hi[e]) && std::isnan(tensor.hi[e])));
      EXPECT_EQ(back.lo, tensor.lo);
      EXPECT_EQ(back.bound, tensor.bound);
      EXPECT_EQ(back.rms, tensor.rms);
    }
}

/// Bad input is refused with a message that names it, never evaluated.
TEST_P(EveryEquation, RejectsBadInput) {
  Problem problem = golden::draw(golden::stored_cases(spec).front());
  for (const auto& input : spec.inputs) {
    if (!problem.inputs.count(input.name)) continue;
    Problem missing = problem, misshapen = problem, unknown = problem;
    missing.inputs.erase(input.name);
    if (!input.optional) {
      EXPECT_THROW(check(missing), SpecError) << input.name;
    }
    misshapen.inputs[input.name].shape.push_back(2);
    EXPECT_THROW(check(misshapen), SpecError) << input.name;
    unknown.inputs["nonsense"] = problem.inputs[input.name];
    EXPECT_THROW(check(unknown), SpecError);
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      Problem poisoned = problem;
      if (poisoned.inputs[input.name].values.empty()) continue;
      poisoned.inputs[input.name].values[0] = bad;
      EXPECT_THROW(check(poisoned), SpecError) << input.name << " " << bad;
    }
  }
  for (const auto& size : spec.sizes) {
    Sizes negative = problem.sizes, absent = problem.sizes;
    negative[size.name] = -1;
    absent.erase(size.name);
    EXPECT_THROW(check_sizes(spec, negative, problem.parameters), SpecError);
    EXPECT_THROW(check_sizes(spec, absent, problem.parameters), SpecError);
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, EveryEquation, testing::ValuesIn(ids()), [](const auto& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(Flags, NoneIsExplainedForNothing) {
  std::set<std::string> used;
  for (const auto& [_, spec] : specs())
    for (const auto& group : spec.vectors) used.insert(group.flag);
  for (const auto& [flag, _] : toml::parse(golden::read_file(std::string(ATTEST_PROJECT_DIR) + "/golden/flags.toml")))
    EXPECT_TRUE(used.count(std::string(flag.str()))) << "no spec uses '" << flag.str() << "'";
}

}  // namespace
}  // namespace attest
