// SPDX-License-Identifier: MIT
// A manifest's hash of sources: what decides the values changes it, and nothing else does.
#include "attest/golden/sources.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "attest/golden/files.hpp"
#include "attest/golden/store.hpp"

namespace attest::golden {
namespace {

namespace fs = std::filesystem;

const std::string kHeader = "reference/include/attest/reference/attention/scaled_dot_product.hpp";

/// A copy of the rooms that are hashed, to be changed.
struct SourceHash : testing::Test {
  fs::path project = fs::temp_directory_path() / ("attest_sources_" + std::to_string(::getpid()));
  const Spec& spec = find_spec("attention.scaled_dot_product");

  void SetUp() override {
    fs::remove_all(project);
    for (const char* room : {"specs", "reference", "golden"})
      for (const char* part : {"include", "source"})
        if (const fs::path from = fs::path(ATTEST_PROJECT_DIR) / room / part; fs::exists(from)) {
          fs::create_directories(project / room);
          fs::copy(from, project / room / part, fs::copy_options::recursive);
        }
  }
  void TearDown() override { fs::remove_all(project); }

  /// The hash with a piece of a file replaced, once; the file is then as it was.
  std::string hash_with(const std::string& file, const std::string& find, const std::string& replacement,
                        const Spec& of) {
    const std::string text = read_file(project / file);
    const auto at = text.find(find);
    if (at == std::string::npos) throw std::runtime_error(file + " does not hold " + find);
    write_file_atomically(project / file, std::string(text).replace(at, find.size(), replacement));
    const std::string hash = source_hash(of, project);
    write_file_atomically(project / file, text);
    return hash;
  }
  std::string hash_with(const std::string& file, const std::string& find, const std::string& replacement) {
    return hash_with(file, find, replacement, spec);
  }
  std::string hash_with_line(const std::string& file, const std::string& line) {
    const std::string text = read_file(project / file);
    return hash_with(file, text, text + line + "\n");
  }
  std::string hash() { return source_hash(spec, project); }

  /// The spec with a piece of its text replaced.
  std::string hash_of_spec_with(const std::string& find, const std::string& replacement) {
    std::string text = spec.text;
    const auto at = text.find(find);
    if (at == std::string::npos) throw std::runtime_error("the spec does not hold " + find);
    return source_hash(
        parse_spec(text.replace(at, find.size(), replacement), "attention/scaled_dot_product.toml", reasons()),
        project);
  }
};

TEST_F(SourceHash, IsThatOfTheProject) { EXPECT_EQ(hash(), source_hash(spec, ATTEST_PROJECT_DIR)); }

TEST_F(SourceHash, CommentsAndWhiteSpaceChangeNothing) {
  for (const std::string& file :
       {kHeader, std::string("specs/source/dtype.cpp"), std::string("golden/source/certify.cpp"),
        std::string("reference/include/attest/reference/vocabulary.hpp")}) {
    EXPECT_EQ(hash_with_line(file, "// a comment, \"quoted\" and 'not"), hash()) << file;
    EXPECT_EQ(hash_with_line(file, "/* a comment\n\n over lines */  "), hash()) << file;
    EXPECT_EQ(hash_with(file, ") {\n", ")  // said\n\n{\n\t"), hash()) << file;
  }
}

TEST_F(SourceHash, ProseEvidenceLawsFaultsAndBackendsChangeNothing) {
  for (const auto& [find, replacement] : std::initializer_list<std::pair<std::string, std::string>>{
           {"title = \"Scaled", "title = \"Unscaled"},
           {"S_i is what", "S_i is that which"},
           {"meaning = \"queries\"", "meaning = \"those who ask\""},
           {"Vaswani et al. 2017", "Vaswani et al. 2018"},
           {"shown = [\"law convex\"]", "shown = [\"law linear\"]"},
           {"cuda = [", "cuda = [\"f16\", "},
           {"{ law = \"row_locality\", along = \"n\", when = \"not causal\" },", ""},
           {"1/d in place of 1/sqrt(d)", "1/d"},
           {"claim = \"time", "claim = \"space"},
           {"a query that sees nothing, not even a sink, follows empty_row", "an empty row"},
           {"range = [1, 70]", "range = [1, 71]"}})
    EXPECT_EQ(hash_of_spec_with(find, replacement), hash()) << find;
}

TEST_F(SourceHash, WhatWritesAndReadsFilesChangesNothing) {
  for (const char* file :
       {"golden/source/npy.cpp", "golden/source/files.cpp", "golden/source/safetensors.cpp", "golden/source/store.cpp",
        "golden/source/sources.cpp", "specs/source/spec.cpp", "reference/include/attest/reference/linear/causal.hpp"})
    EXPECT_EQ(hash_with_line(file, "int planted = 1;"), hash()) << file;
}

TEST_F(SourceHash, ANumberInTheEquationsHeaderChangesIt) {
  EXPECT_NE(hash_with(kHeader, "Number(0)", "Number(1)"), hash());
}

TEST_F(SourceHash, AHeaderThatItReadsChangesIt) {
  const Spec& outer = find_spec("attention.multi_head");
  EXPECT_NE(hash_with(kHeader, "Number(0)", "Number(1)", outer), source_hash(outer, project));
}

TEST_F(SourceHash, ACaseChangesIt) {
  for (const auto& [find, replacement] : std::initializer_list<std::pair<std::string, std::string>>{
           {"{ n = 3, s = 5, d = 4, m = 2 }", "{ n = 3, s = 5, d = 4, m = 3 }"},
           {"{ n = 3, s = 5, d = 4, m = 2 }", "{ n = 3, s = 5, d = 4, m = 2, causal = true }"},
           {"draw = \"visible 0.7\"", "draw = \"visible 0.6\""},
           {"default = 8", "default = 4"},
           {"gradient = [\"q\", \"k\", \"v\", \"sink\"]", "gradient = [\"q\", \"k\"]"},
           {"name = \"gather\", numeric = true", "name = \"gather\""},
           {"default = \"zero\"", "default = \"mean\""},
           {"not causal or n <= s", "not causal or n < s + 1"}})
    EXPECT_NE(hash_of_spec_with(find, replacement), hash()) << find;
}

TEST_F(SourceHash, ARoundingRuleChangesTheHashOfEveryEquation) {
  const std::string file = "specs/source/dtype.cpp", rule = "constexpr Format bf16{8, 7};";
  for (const auto& [id, one] : specs())
    EXPECT_NE(hash_with(file, rule, "constexpr Format bf16{8, 6};", one), source_hash(one, project)) << id;
}

TEST_F(SourceHash, EveryNumberTypeAndTheGeneratorChangeIt) {
  std::vector<std::string> files{"golden/source/draw.cpp", "golden/source/case.cpp", "golden/source/certify.cpp",
                                 "golden/source/profile.cpp", "specs/include/attest/view.hpp"};
  const auto is_shared = [](const fs::directory_entry& entry) {
    return entry.is_regular_file() && (entry.path().extension() == ".hpp" || entry.path().extension() == ".cpp");
  };
  for (const char* folder : {"reference/include/attest/reference", "reference/source"})
    if (fs::exists(project / folder))
      for (const auto& entry : fs::directory_iterator(project / folder))
        if (is_shared(entry)) files.push_back(entry.path().lexically_relative(project).generic_string());
  EXPECT_GT(files.size(), 10u);
  for (const auto& file : files) {
    // These judge kernels and certify nothing.
    const std::string stem = fs::path(file).stem();
    const bool certifies = stem != "emulation" && stem != "cost" && stem != "influence";
    const auto reader = std::find_if(specs().begin(), specs().end(),
                                     [&](const auto& one) { return sources_of(one.second, project).count(file) > 0; });
    ASSERT_EQ(reader != specs().end(), certifies)
        << file
        << (certifies ? " decides no golden value: does what implements it include its header first?"
                      : " decides golden values");
    if (!certifies) continue;
    EXPECT_NE(hash_with(file, "\n", "\ninline int planted = 1;\n", reader->second),
              source_hash(reader->second, project))
        << file;
  }
}

TEST(Canonical, LiteralsAreKeptAndTokensStayApart) {
  EXPECT_EQ(canonical("int  x = 1'000; // one\nchar c = '\\''; /* two */ auto s = \"a // b  c\";"),
            "int x=1'000;char c='\\'';auto s=\"a // b  c\";");
  EXPECT_EQ(canonical("a - -b; a > > b; return  -1;"), "a- -b;a> >b;return-1;");
  EXPECT_EQ(canonical("x\n#define A  1\ny /**/ z\n  #if A\nR\"(  // kept )\"  w"),
            "x\n#define A 1\ny z\n#if A\nR\"(  // kept )\"w");
  EXPECT_NE(canonical("f(0x1p-19)"), canonical("f(0x1p-24)"));
  EXPECT_EQ(canonical("f(1e-5)"), "f(1e-5)");
}

}  // namespace
}  // namespace attest::golden
