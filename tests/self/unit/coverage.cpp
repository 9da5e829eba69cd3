// SPDX-License-Identifier: MIT
#include "attest/judge/coverage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "attest/golden/files.hpp"
#include "attest/judge/process.hpp"

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

  Coverage covered() const { return coverage({project, id}).at(0); }

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
TEST_F(CoverageOf, AVariantThatNobodyPlantedIsOpen) {
  edit_catalogue("variants = [", "variants = [\"sabotage\", ");
  expect_open("variant sabotage is not accounted for");
}
TEST_F(CoverageOf, ADamagedGoldenFileIsOpen) {
  std::ofstream(project / "golden/linear/causal_step.safetensors", std::ios::binary | std::ios::trunc) << "nothing";
  expect_open("causal_step.safetensors");
}
TEST_F(CoverageOf, AnOperationWithoutASpecIsPlanned) {
  const auto rows = coverage({project, "infty.*"});
  ASSERT_FALSE(rows.empty());
  for (const Coverage& row : rows) {
    EXPECT_EQ(name(row.status), "planned") << row.id;
    EXPECT_EQ(row.forms.stand, 0) << row.id;
    EXPECT_GT(row.forms.listed, 0) << row.id;
  }
}
TEST_F(CoverageOf, AWrongCatalogueIsNamedWithItsPlace) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"[linear.causal_step]\nform = []\n", "key 'form'"},
           {"linear = 1\n", "'linear' must be a table"},
           {"[linear.causal_step]\nforms = [1]\n", "array of names"},
           {"[linear.causal_step\n", "catalogue.toml:1"},
           {"[linear.causal_step]\ntitle = \"x\"\n", "there is a spec of attention."}}) {
    golden::write_file_atomically(project / "specs/catalogue.toml", text);
    try {
      covered();
      FAIL() << "accepted: " << text;
    } catch (const SpecError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
}

TEST(Evidence, APropertyOrTestThatDoesNotExistIsMissing) {
  const auto tests = unit_tests(fs::path(ATTEST_PROJECT_DIR) / "tests/self/unit");
  const Spec& spec = find_spec("linear.causal");
  const auto missing = [&](const std::string& evidence) {
    return missing_evidence(spec, {"x", "", "", {evidence}, ""}, tests).size();
  };
  EXPECT_EQ(missing("property any_split_into_calls"), 0u);
  EXPECT_EQ(missing("property linear.causal:any_split_into_calls"), 0u);
  EXPECT_EQ(missing("property every_split_into_calls"), 1u);
  EXPECT_EQ(missing("property linear.causal_step:any_split_into_calls"), 1u);
  EXPECT_EQ(missing("test Evidence.APropertyOrTestThatDoesNotExistIsMissing"), 0u);
  EXPECT_EQ(missing("test Evidence.Nothing"), 1u);
}

TEST(Evidence, EachErratumAndClaimBelongsToOneEquation) {
  std::map<std::string, std::string> owner;
  for (const auto& [id, spec] : specs())
    for (const auto* statements : {&spec.errata, &spec.claims})
      for (const auto& statement : *statements)
        EXPECT_TRUE(owner.emplace(statement.name, id).second)
            << statement.name << ": " << id << " and " << owner[statement.name];
}

/// What is left out is the exception: at most one in twenty of the invariants and variants of the finished operations,
/// and every reason is given.
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

int main(int argc, char** argv) {
  attest::judge::serve_if_worker(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
