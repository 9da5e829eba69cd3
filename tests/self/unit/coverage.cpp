// SPDX-License-Identifier: MIT
#include "attest/judge/coverage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "attest/golden/agreement.hpp"
#include "attest/golden/files.hpp"
#include "attest/golden/store.hpp"

namespace attest::judge {
namespace {

namespace fs = std::filesystem;

/// A copy of what coverage reads, to be damaged.
struct CoverageOf : testing::Test {
  const std::string id = "linear.causal_step";
  fs::path project = fs::temp_directory_path() / ("attest_coverage_" + std::to_string(::getpid()));

  void SetUp() override {
    fs::remove_all(project);
    fs::create_directories(project / "specs");
    fs::create_directories(project / "golden/linear");
    const fs::path source = ATTEST_PROJECT_DIR;
    fs::copy(source / "specs/catalogue.toml", project / "specs/catalogue.toml");
    for (const char* file : {"linear/causal_step.safetensors", "linear/causal_step.manifest.toml", "flags.toml"})
      fs::copy(source / "golden" / file, project / "golden" / file);
    fs::create_directory_symlink(source / "tests", project / "tests");
  }
  void TearDown() override { fs::remove_all(project); }

  Coverage covered() const { return coverage({.project = project, .only = id}).at(0); }

  void edit_catalogue(const std::string& from, const std::string& to) const {
    std::string text = golden::read_file(project / "specs/catalogue.toml");
    const auto at = text.find(from, text.find("[" + id + "]"));
    ASSERT_NE(at, std::string::npos) << from;
    golden::write_file_atomically(project / "specs/catalogue.toml", text.replace(at, from.size(), to));
  }
  void expect_open(const std::string& words) const {
    const Coverage row = covered();
    EXPECT_EQ(name(row.status), "partial");
    EXPECT_TRUE(std::any_of(row.open.begin(), row.open.end(),
                            [&](const std::string& open) { return open.find(words) != std::string::npos; }))
        << words << " is not among: " << nlohmann::json(row.open).dump();
  }
};

TEST_F(CoverageOf, AFinishedEquationIsComplete) {
  const Coverage row = covered();
  EXPECT_EQ(name(row.status), "complete") << nlohmann::json(row.open).dump();
  EXPECT_GT(row.golden, 0);
  EXPECT_EQ(row.kernels.at("openmp"), (std::vector<std::string>{"f32", "f64"}));
  EXPECT_GT(row.laws.stand, 0);
}
TEST_F(CoverageOf, AFormThatNobodyWroteIsOpen) {
  edit_catalogue("forms = [", "forms = [\"by_magic\", ");
  expect_open("form by_magic is not accounted for");
}
TEST_F(CoverageOf, AnInvariantThatNobodyShowsIsOpen) {
  edit_catalogue("invariants = [", "invariants = [\"eternity\", ");
  expect_open("invariant eternity is not accounted for");
}
TEST_F(CoverageOf, AFaultThatNobodyWroteIsOpen) {
  edit_catalogue("faults = [", "faults = [\"sabotage\", ");
  expect_open("fault sabotage is not accounted for");
}
TEST_F(CoverageOf, ADamagedGoldenFileIsOpen) {
  std::ofstream(project / "golden/linear/causal_step.safetensors", std::ios::binary | std::ios::trunc) << "nothing";
  expect_open("causal_step.safetensors");
}
TEST_F(CoverageOf, AnOperationWithoutASpecIsPlanned) {
  std::ofstream(project / "specs/catalogue.toml", std::ios::app)
      << "\n[imagined.attention]\ntitle = \"of nobody\"\nforms = [\"direct\"]\n";
  const Coverage row = coverage({.project = project, .only = "imagined.*"}).at(0);
  EXPECT_EQ(name(row.status), "planned");
  EXPECT_EQ(row.forms.stand, 0);
  EXPECT_EQ(row.forms.listed, 1);
}
TEST_F(CoverageOf, AWrongCatalogueIsNamedWithItsPlace) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"[linear.causal_step]\nform = []\n", "key 'form'"},
           {"linear = 1\n", "'linear' must be a table"},
           {"[linear.causal_step]\nforms = [1]\n", "array of names"},
           {"[linear.causal_step\n", "catalogue.toml:1"},
           {"[linear.causal_step]\ntitle = \"x\"\n", "there is a spec of " + specs().begin()->first}}) {
    golden::write_file_atomically(project / "specs/catalogue.toml", text);
    try {
      covered();
      FAIL() << "accepted: " << text;
    } catch (const SpecError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
}

/// linear.causal_step has `test Kernel.writes_an_input` as evidence: a program in its place does what is said here.
struct CoverageOfATest : CoverageOf {
  /// Reports of kernels that pass, so that none is run.
  std::map<std::string, nlohmann::json> passing() const {
    std::map<std::string, nlohmann::json> reports;
    for (const auto& [backend, dtypes] : find_spec(id).backends)
      for (const auto& dtype : dtypes)
        reports[backend]["rows"].push_back({{"equation", id}, {"dtype", dtype}, {"status", "PASS"}});
    return reports;
  }
  Coverage with_program(const std::string& script) const {
    const fs::path programs = project / "programs", program = programs / "attest_test_process";
    fs::create_directories(programs);
    if (!script.empty()) {
      std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
      fs::permissions(program, fs::perms::owner_all);
    }
    return coverage({.project = project, .programs = programs, .only = id, .reports = passing()}).at(0);
  }
};

TEST_F(CoverageOfATest, OneThatPassesStands) {
  const Coverage row = with_program("echo \"$1\" > " + (project / "asked").string() + "; echo '[  PASSED  ] 1 test.'");
  EXPECT_EQ(golden::read_file(project / "asked"), "--gtest_filter=Kernel.writes_an_input\n");
  EXPECT_EQ(row.open, std::vector<std::string>());
  EXPECT_EQ(row.declared, std::vector<std::string>());
}
TEST_F(CoverageOfATest, OneThatFailsOrRunsNothingIsOpen) {
  const int all = with_program("echo '[  PASSED  ] 1 test.'").laws.stand;
  for (const char* script : {"echo '[  FAILED  ] 1 test, listed below:'; exit 1", "echo '[  PASSED  ] 0 tests.'",
                             "echo '[  PASSED  ] 1 test.'; exit 1", "kill -9 $$"}) {
    const Coverage row = with_program(script);
    EXPECT_EQ(row.open, std::vector<std::string>{"purity: test Kernel.writes_an_input: attest_test_process does not "
                                                 "pass it"})
        << script;
    EXPECT_EQ(name(row.status), "partial");
    EXPECT_EQ(row.laws.stand, all - 1);
  }
}
TEST_F(CoverageOfATest, OneThatIsNotBuiltIsDeclaredAndDoesNotStand) {
  const Coverage row = with_program(""), passing = with_program("echo '[  PASSED  ] 1 test.'");
  EXPECT_EQ(row.declared,
            std::vector<std::string>{"purity: test Kernel.writes_an_input: attest_test_process is not built here"});
  EXPECT_EQ(row.laws.stand, passing.laws.stand - 1);
  EXPECT_EQ(row.laws.declared, 1);
  EXPECT_EQ(passing.laws.declared, 0);
}

/// A stored gradient that is off by 2^-60 of itself, in a file whose manifest has its hash.
TEST_F(CoverageOf, AWrongGradientInTheGoldenFileIsOpen) {
  const Spec& spec = find_spec(id);
  auto cases = golden::load_golden(spec, project / "golden");
  for (auto& c : cases)
    for (auto& [result, tensor] : c.certified.outputs)
      if (golden::is_gradient(result))
        for (std::size_t i = 0; i < tensor.hi.size(); ++i) tensor.lo[i] += static_cast<float>(tensor.hi[i]) * 0x1p-60f;
  const fs::path file = project / "golden" / golden::file_of(spec),
                 manifest = project / "golden/linear/causal_step.manifest.toml";
  std::string text = golden::read_file(manifest);
  const std::string hash = golden::sha256(golden::read_file(file)), bytes = golden::serialize(spec, cases);
  ASSERT_NE(text.find(hash), std::string::npos);
  golden::write_file_atomically(file, bytes);
  golden::write_file_atomically(manifest, text.replace(text.find(hash), hash.size(), golden::sha256(bytes)));
  expect_open("gradient: the stored gradient is not the derivative of the definition");
  EXPECT_FALSE(covered().gradient);
}

TEST(Evidence, ACostThatIsNotCountedFails) {
  Spec spec = find_spec("linear.feature_map");
  EXPECT_EQ(try_costs(spec).why, "");
  spec.costs.at(0).count = Expression::parse("n * d + 1");
  EXPECT_EQ(try_costs(spec).result, Trial::Result::fails);
  EXPECT_NE(try_costs(spec).why.find("n * d + 1"), std::string::npos) << try_costs(spec).why;
  spec.costs = {find_spec("linear.feature_map").costs.at(0)};
  spec.costs.at(0).when = "n > 1000000";
  EXPECT_EQ(try_costs(spec).result, Trial::Result::fails);
}

TEST(Evidence, AConstraintThatRefusesNothingFailsAndOneOnDataIsDeclared) {
  Spec spec = find_spec("linear.polynomial_feature_map");
  for (const auto& constraint : spec.constraints)
    if (constraint.label != "C1") {
      EXPECT_EQ(try_constraint(spec, constraint.label).why, "") << constraint.label;
    }
  auto& C2 =
      *std::find_if(spec.constraints.begin(), spec.constraints.end(), [](auto& one) { return one.label == "C2"; });
  C2.require = Expression::parse("n >= 0");
  EXPECT_EQ(try_constraint(spec, "C2").result, Trial::Result::fails);
  C2.require.reset();
  EXPECT_EQ(try_constraint(spec, "C2").result, Trial::Result::declared);
  EXPECT_EQ(try_constraint(spec, "C99").result, Trial::Result::fails);
}

/// Each equation with gradients passes; a gradient that is wrong in the last of its 77 bits does not.
TEST(Evidence, EveryStoredGradientIsADerivative) {
  int tried = 0;
  for (const auto& [id, spec] : specs()) {
    if (spec.gradient.empty()) continue;
    auto cases = golden::load_golden(spec, fs::path(ATTEST_PROJECT_DIR) / "golden");
    EXPECT_EQ(try_gradients(cases).why, "") << id;
    for (auto& c : cases)
      for (auto& [result, tensor] : c.certified.outputs)
        if (golden::is_gradient(result))
          for (double& x : tensor.hi) x = -x;
    EXPECT_EQ(try_gradients(cases).result, Trial::Result::fails) << id;
    ++tried;
  }
  EXPECT_GT(tried, 20);
}

TEST(Evidence, UnitTestsHaveTheirProgram) {
  const auto tests = unit_tests(fs::path(ATTEST_PROJECT_DIR) / "tests/self/unit");
  EXPECT_EQ(tests.at("Evidence.UnitTestsHaveTheirProgram"), "attest_test_coverage");
  EXPECT_EQ(try_test(tests, "Evidence.Nothing", test_programs()).result, Trial::Result::fails);
}

TEST(Evidence, EachErratumAndClaimBelongsToOneEquation) {
  std::map<std::string, std::string> owner;
  for (const auto& [id, spec] : specs())
    for (const auto* statements : {&spec.errata, &spec.claims})
      for (const auto& statement : *statements)
        EXPECT_TRUE(owner.emplace(statement.name, id).second)
            << statement.name << ": " << id << " and " << owner[statement.name];
}

/// At most one in twenty of the invariants and faults of the finished operations is left out, each with a reason.
TEST(Evidence, WhatIsLeftOutIsTheException) {
  int listed = 0, left_out = 0;
  for (const auto& [id, spec] : specs()) {
    if (spec.invariants.empty()) continue;
    listed += static_cast<int>(spec.invariants.size() + spec.faults.size());
    for (const auto& invariant : spec.invariants) left_out += !invariant.reason.empty();
  }
  EXPECT_GT(listed, 0);
  EXPECT_LE(20 * left_out, listed);
}

}  // namespace
}  // namespace attest::judge
