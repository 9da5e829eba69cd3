// SPDX-License-Identifier: MIT
// The precision of the stages of kernels whose answers are right, planted by emulation.
#include "attest/judge/precision.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "attest/judge/faults.hpp"
#include "attest/judge/select.hpp"
#include "attest/judge/stages.hpp"
#include "attest/judge/verdict.hpp"
#include "temporary_folder.hpp"

namespace attest::judge {
namespace {

/// What a bfloat16 kernel of the equation gives in its golden cases that adds in binary32 and holds one stage, if any,
/// in bfloat16.
struct Planted {
  const golden::Profile& profile = golden::profile("bf16");
  std::vector<golden::GoldenCase> cases;
  std::vector<Sample> samples;
  int failed = 0;

  Planted(const std::string& id, const std::string& form, const std::string& stage) {
    const Spec& spec = find_spec(id);
    cases = select(spec, "", {}, profile, golden::load_golden(spec, std::string(ATTEST_PROJECT_DIR) + "/golden")).cases;
    reference::Kernel kernel;
    kernel.single = true;
    if (!stage.empty()) kernel.stages[stage] = [](double x) { return round_to(DType::bf16, x); };
    for (const auto& c : cases) {
      if (!golden::is_modelled(*spec.form(form), c.problem) || !exact_outputs(c.name).empty()) continue;
      samples.push_back({&c, stored(c.problem, emulated(c.problem, form, kernel), profile)});
      failed += compare(c.problem, c.certified, samples.back().got, profile).failed > 0;
    }
  }

  Precision seen(Cache* cache = nullptr) const { return precision_of(samples, profile, cache); }
};

bool has(const std::vector<StagePrecision>& all, const std::string& place, const std::string& format) {
  return std::any_of(all.begin(), all.end(), [&](const StagePrecision& one) {
    return (one.place == place || std::count(one.alike.begin(), one.alike.end(), place) > 0) && one.format == format;
  });
}

TEST(Precision, WeightsInBfloat16AreSeenInAKernelThatPasses) {
  const Planted planted("attention.scaled_dot_product", "max_shift", "exponentials");
  EXPECT_EQ(planted.failed, 0);
  const Precision seen = planted.seen();
  EXPECT_TRUE(has(seen.held, "exponentials", "bfloat16")) << seen.text();
  EXPECT_EQ(seen.held.size(), 1u) << seen.text();
}

TEST(Precision, NothingIsHeldInAKernelThatComputesInBinary32) {
  const Precision seen = Planted("attention.scaled_dot_product", "max_shift", "").seen();
  EXPECT_TRUE(seen.held.empty()) << seen.text();
  EXPECT_TRUE(std::any_of(seen.finer.begin(), seen.finer.end(), [](const StagePrecision& one) {
    return one.place == "exponentials";
  })) << seen.text();
}

TEST(Precision, IsKeptForTheSameAnswersOnly) {
  const TemporaryFolder folder;
  Cache cache(folder.path());
  const Planted lower("attention.scaled_dot_product", "max_shift", "exponentials");
  const Planted whole("attention.scaled_dot_product", "max_shift", "");
  for (std::uint64_t i = 0; i <= Cache::kChecked; ++i) EXPECT_EQ(lower.seen(&cache).held.size(), 1u);
  EXPECT_TRUE(whole.seen(&cache).held.empty());
  EXPECT_EQ(whole.seen(&cache).text(), whole.seen().text());
}

TEST(Precision, ATableOfAnglesInBfloat16IsSeen) {
  const Planted planted("positional.rotary", "pairs", "sines and cosines");
  EXPECT_EQ(planted.failed, 0);
  const Precision seen = planted.seen();
  EXPECT_TRUE(has(seen.held, "sines and cosines", "bfloat16")) << seen.text();
}

TEST(Precision, WithoutSamplesNothingIsSaid) {
  const Precision seen = precision_of({}, golden::profile("f32"));
  EXPECT_EQ(seen.text(), "");
}

}  // namespace
}  // namespace attest::judge
