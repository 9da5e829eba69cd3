// SPDX-License-Identifier: MIT
// Covering arrays, and regimes in which a kernel that is right elsewhere is 1 % off.
#include "attest/judge/regimes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "attest/judge/check.hpp"
#include "attest/judge/memory.hpp"
#include "attest/judge/reproduce.hpp"
#include "attest/judge/shown.hpp"
#include "off_under.hpp"

namespace attest::judge {
namespace {

std::vector<Axis> axes_of(std::size_t axes, std::size_t levels) {
  std::vector<Axis> all;
  for (std::size_t a = 0; a < axes; ++a) {
    all.push_back({fmt::format("axis {}", a), {}});
    for (std::size_t l = 0; l < levels; ++l) all.back().levels.push_back({static_cast<std::int64_t>(l)});
  }
  return all;
}

bool is_covered(const Covering& covering, const Combination& combination) {
  return std::any_of(covering.settings.begin(), covering.settings.end(),
                     [&](const Setting& setting) { return has(setting, combination); });
}

TEST(Covering, HoldsEveryCombinationInFewSettings) {
  for (const int strength : {1, 2, 3}) {
    const auto axes = axes_of(8, 3);
    const auto covering = cover(axes, {}, strength, 1);
    EXPECT_TRUE(covering.uncovered.empty());
    for (const auto& combination : combinations_of(axes, strength)) EXPECT_TRUE(is_covered(covering, combination));
    EXPECT_LE(covering.settings.size(), strength == 1 ? 4u : strength == 2 ? 20u : 90u);
  }
}

TEST(Covering, WhatARuleExcludesIsNamedAndNothingElseIsMissing) {
  const auto axes = axes_of(6, 3);
  const Rule rule{"not both 2", {0, 1}, [](const Setting& s) { return s.level[0] != 2 || s.level[1] != 2; }};
  const auto covering = cover(axes, {rule}, 2, 1);
  ASSERT_EQ(covering.uncovered.size(), 1u);
  EXPECT_EQ(covering.uncovered[0].why, "not both 2");
  EXPECT_TRUE(covering.uncovered[0].proven);
  for (const auto& combination : combinations_of(axes, 2))
    EXPECT_NE(is_covered(covering, combination), combination.axes == covering.uncovered[0].combination.axes &&
                                                     combination.levels == covering.uncovered[0].combination.levels);
  for (const auto& setting : covering.settings) EXPECT_TRUE(rule.holds(setting));
}

TEST(Covering, ShapesAreLimitedAndWhatTheyLeaveOutIsCounted) {
  const auto axes = axes_of(6, 3);
  const ShapeLimit limit{{0, 1, 2}, 4};
  const auto covering = cover(axes, {}, 2, 1, {}, limit);
  std::set<std::vector<int>> shapes;
  for (const auto& setting : covering.settings) shapes.insert({setting.level.begin(), setting.level.begin() + 3});
  EXPECT_EQ(shapes.size(), 4u);
  EXPECT_TRUE(covering.uncovered.empty());
  EXPECT_FALSE(covering.left_out.empty());
  std::size_t covered = 0;
  for (const auto& combination : combinations_of(axes, 2)) covered += is_covered(covering, combination);
  EXPECT_EQ(covered, covering.covered());
  for (const auto& combination : covering.left_out) {
    EXPECT_FALSE(is_covered(covering, combination));
    EXPECT_LT(combination.axes[0], 3u) << "what has no shape is not left out";
  }
  EXPECT_TRUE(cover(axes, {}, 2, 1, {}, ShapeLimit{{0, 1, 2}, 1000}).left_out.empty());
}

TEST(Covering, EveryCombinationOfChoicesIsVisitedWithAllOthersPlain) {
  const auto axes = axes_of(7, 3);
  const std::vector<int> plain{0, 0, 0, 1, -1, -1, -1};
  const Rule rule{"0 with 1 alone", {0, 1}, [](const Setting& s) { return s.level[0] != 2 || s.level[1] == 2; }};
  const std::size_t without = cover(axes, {rule}, 2, 1).settings.size();
  const auto covering = cover(axes, {rule}, 2, 1, plain);
  EXPECT_TRUE(std::all_of(covering.uncovered.begin(), covering.uncovered.end(),
                          [](const Uncovered& one) { return one.why == "0 with 1 alone"; }));
  for (const auto& setting : covering.settings) EXPECT_TRUE(rule.holds(setting));
  const auto is_plain_beside = [&](const Setting& setting, const Combination& combination) {
    const auto& [first, second] = std::pair(combination.axes[0], combination.axes[1]);
    for (std::size_t axis = 0; axis < 4; ++axis) {
      const bool forced = axis == 1 && setting.level[0] == 2;
      if (axis != first && axis != second && !forced && setting.level[axis] != plain[axis]) return false;
    }
    return true;
  };
  for (const auto& combination : combinations_of(axes, 2)) {
    if (combination.axes[1] > 3) continue;
    const bool possible =
        combination.axes != std::vector<std::size_t>{0, 1} || combination.levels[0] != 2 || combination.levels[1] == 2;
    EXPECT_EQ(std::any_of(covering.settings.begin(), covering.settings.end(),
                          [&](const Setting& setting) {
                            return has(setting, combination) && is_plain_beside(setting, combination);
                          }),
              possible)
        << combination.axes[0] << " " << combination.axes[1] << ": " << combination.levels[0] << " "
        << combination.levels[1];
  }
  EXPECT_LT(covering.settings.size(), without + 30);
}

TEST(Covering, WhatShowsNothingIsVisitedAgainAtPlainLevels) {
  const auto axes = axes_of(5, 3);
  const Rule rule{
      "0 and 1 are not both 1", {0, 1}, [](const Setting& s) { return s.level[0] != 1 || s.level[1] != 1; }};
  const auto covering = cover(axes, {rule}, 2, 1);
  std::vector<bool> shows;  // only where the first axis is 0
  for (const auto& setting : covering.settings) shows.push_back(setting.level[0] == 0);
  const auto open = unseen(axes, 2, covering.settings, shows);
  EXPECT_GT(open.size(), 10u);
  for (const auto& combination : open)
    for (std::size_t s = 0; s < shows.size(); ++s) EXPECT_FALSE(shows[s] && has(covering.settings[s], combination));
  auto settings = covering.settings;
  for (const auto& setting : cover_plainly(axes, {rule}, open, {0, -1, -1, -1, -1}, 1)) {
    EXPECT_TRUE(rule.holds(setting));
    settings.push_back(setting);
    shows.push_back(setting.level[0] == 0);
  }
  // What is left has another level of that axis.
  for (const auto& combination : unseen(axes, 2, settings, shows)) {
    EXPECT_EQ(combination.axes[0], 0u);
    EXPECT_NE(combination.levels[0], 0);
  }
  EXPECT_TRUE(cover_plainly(axes, {rule}, {}, {0, -1, -1, -1, -1}, 1).empty());
}

/// A tensor of the numbers 0, 1, 2 and so on.
InputTensor counting(DType dtype, const std::vector<Index>& shape) {
  InputTensor tensor;
  tensor.dtype = dtype;
  tensor.shape = shape;
  std::vector<double> values(static_cast<std::size_t>(count(shape)));
  std::iota(values.begin(), values.end(), 0.0);
  tensor.bytes.resize(values.size() * size_of(dtype));
  encode(dtype, values, tensor.bytes.data());
  return tensor;
}

TEST(Memory, AViewOfAnyShapeHoldsEveryElementAndFillsTheRest) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i64, DType::boolean})
    for (const std::vector<Index>& shape : std::vector<std::vector<Index>>{
             {}, {6}, {4, 5}, {3, 4, 5}, {2, 3, 4, 5}, {4, 1}, {1, 5}, {2, 1, 5}, {3, 0}, {0, 3}})
      for (const auto* memory : {"", "padded", "offset", "transposed", "mixed"})
        for (std::size_t number = 0; number < 4; ++number) {
          const InputTensor tensor = counting(dtype, shape);
          const View view = laid_out(tensor, memory, number, 0);
          const std::size_t width = size_of(dtype);
          std::vector<bool> taken(view.buffer.size(), false);
          for (std::size_t element = 0; element < static_cast<std::size_t>(count(shape)); ++element) {
            std::size_t at = view.offset, rest = element;
            for (std::size_t axis = shape.size(); axis-- > 0;) {
              const auto extent = static_cast<std::size_t>(shape[axis]);
              at += rest % extent * static_cast<std::size_t>(view.strides[axis]) * width;
              rest /= extent;
            }
            ASSERT_LE(at + width, view.buffer.size());
            EXPECT_EQ(std::memcmp(view.buffer.data() + at, tensor.bytes.data() + element * width, width), 0)
                << memory << " element " << element;
            for (std::size_t byte = at; byte < at + width; ++byte) {
              EXPECT_FALSE(taken[byte]) << memory << ": two elements lie at the same place";
              taken[byte] = true;
            }
          }
          for (std::size_t byte = 0; byte < taken.size(); ++byte)
            if (!taken[byte]) {
              EXPECT_EQ(view.buffer[byte], dtype == DType::boolean ? std::byte{1} : std::byte{0xff}) << memory;
            }
        }
}

TEST(Memory, AViewHoldsEveryElementAndFillsTheRest) {
  const InputTensor tensor = counting(DType::f32, {2, 3, 4, 5});
  const std::vector<std::pair<std::string, std::vector<Index>>> strides{{"", {60, 20, 5, 1}},
                                                                        {"padded", {96, 32, 8, 1}},
                                                                        {"offset", {60, 20, 5, 1}},
                                                                        {"transposed", {60, 5, 15, 1}},
                                                                        {"mixed", {60, 5, 15, 1}}};
  for (const auto& [memory, expected] : strides) {
    const View view = laid_out(tensor, memory, 1, 0);
    EXPECT_EQ(view.strides, expected) << memory;
    EXPECT_EQ(view.offset > 0, memory == "offset");
    std::vector<float> buffer(view.buffer.size() / sizeof(float));
    std::memcpy(buffer.data(), view.buffer.data(), view.buffer.size());
    float next = 0;
    for (Index b = 0; b < 2; ++b)
      for (Index h = 0; h < 3; ++h)
        for (Index i = 0; i < 4; ++i)
          for (Index c = 0; c < 5; ++c) {
            float& element = buffer[view.offset / sizeof(float) +
                                    static_cast<std::size_t>(b * view.strides[0] + h * view.strides[1] +
                                                             i * view.strides[2] + c * view.strides[3])];
            EXPECT_EQ(element, next++) << memory;
            element = std::nanf("");
          }
    EXPECT_TRUE(std::all_of(buffer.begin(), buffer.end(), [](float x) { return std::isnan(x); })) << memory;
  }
  EXPECT_EQ(laid_out(tensor, "padded", 0, 64).strides[2], 16) << "a row is a multiple of 64 bytes";
  EXPECT_EQ(laid_out(tensor, "offset", 0, 64).offset, 64u);
}

const std::vector<Index>* shape(const Request& request, const std::string& input) {
  for (const auto& tensor : request.inputs)
    if (tensor.name == input) return &tensor.shape;
  return nullptr;
}

Row row_under(const std::string& only, Condition condition) {
  Candidate right("openmp");
  Candidate candidate("off", std::make_unique<OffUnder>(right, std::move(condition)));
  CheckOptions options;
  options.only = only;
  options.profile = "f32";
  options.golden = std::string(ATTEST_PROJECT_DIR) + "/golden";
  options.law_draws = options.property_draws = 0;
  options.strength = 2;
  return check(candidate, options).rows.at(0);
}

const std::string kAttention = "attention.scaled_dot_product.split_k";

TEST(Regimes, ARightKernelPassesInAll) {
  const Row row = row_under(kAttention, [](const Request&) { return false; });
  EXPECT_EQ(row.status, Status::pass);
  EXPECT_GT(row.regimes.judged, 50);
  EXPECT_EQ(row.regimes.passed, row.regimes.judged);
  EXPECT_EQ(row.regimes.visited, row.regimes.possible);
  EXPECT_GT(row.regimes.possible, 1500u);
}

TEST(Regimes, AMistakeInOneOfThemIsFoundAndItsConditionNamed) {
  const struct {
    const char* condition;
    Condition holds;
  } plants[]{
      {"batch = 3 (not 1, 2, 5)", [](const Request& r) { return (*shape(r, "q"))[0] == 3; }},
      {"heads > 8", [](const Request& r) { return (*shape(r, "q"))[1] == 32; }},
      {"mask = given and bias = given", [](const Request& r) { return shape(r, "mask") && shape(r, "bias"); }},
  };
  for (const auto& plant : plants) {
    const Row row = row_under(kAttention, plant.holds);
    EXPECT_EQ(row.status, Status::fail) << plant.condition;
    for (const auto& failure : row.failures) EXPECT_EQ(failure.group, "regimes") << plant.condition;
    EXPECT_EQ(row.regimes.fails_when, plant.condition);
  }
}

/// Features are drawn positive, queries and keys of both signs: below 0 is where feature maps curve.
TEST(Regimes, OfLinearAttentionVisitEveryMapWithSignedInputs) {
  Candidate openmp("openmp");
  const auto is_wanted = [](const Kernel& kernel) { return kernel.info.equation == "linear.causal"; };
  const Kernel kernel = *std::find_if(openmp.kernels().begin(), openmp.kernels().end(), is_wanted);
  const Regimes regimes(kernel, kernel.profile(), SizesJudged::small, 1, 1);
  std::set<std::string> visited;
  for (const auto& setting : regimes.covering().settings) {
    golden::Case c = regimes.case_of(setting, 1, DType::f32);
    c.grid.reset();
    c.magnitudes.clear();
    c.sizes = {{"n", 8}, {"c", 8}, {"m", 2}};
    const Problem problem = golden::draw(c);
    const auto features = std::get<std::string>(*attest::setting(problem, "features"));
    const auto& phi_k = problem.inputs.at("phi_k").values;
    const bool is_signed = std::any_of(phi_k.begin(), phi_k.end(), [](double x) { return x < 0; });
    EXPECT_EQ(is_signed, features != "given") << features;
    visited.insert(features);
  }
  EXPECT_EQ(visited.size(), 4u);
}

/// Faults of a choice that a kernel does not have are none of its: one that rotates and scales nothing gets a verdict.
TEST(Shown, FaultsOfOtherChoicesAreNotCounted) {
  const Spec& spec = find_spec("positional.rotary");
  const auto faults_of = [&](const std::string& capabilities) {
    return Shown(spec, golden::profile("f32"), Capabilities(spec, capabilities)).vacuity().faults;
  };
  const auto all = faults_of(""), plain = faults_of("scaling == 'none'");
  const auto scaled = std::count_if(spec.faults.begin(), spec.faults.end(),
                                    [](const Fault& fault) { return fault.flag == "scaled_frequencies"; });
  EXPECT_GT(scaled, 0);
  EXPECT_EQ(plain, all - scaled);
  EXPECT_EQ(faults_of("scaling == default"), plain);
  EXPECT_EQ(faults_of("scaling in {'none', 'yarn'}"), all);
  EXPECT_EQ(faults_of("pairing == 'half'"), all);  // other cases are moved to it
  const auto partial = std::count_if(spec.faults.begin(), spec.faults.end(),
                                     [](const Fault& fault) { return fault.flag == "partial_width"; });
  EXPECT_EQ(faults_of("rotary_width == 0"), all - partial);
  EXPECT_EQ(faults_of("rotary_width >= 0"), all);
}

TEST(Regimes, KeepWhatAKernelSaysOfItsBatches) {
  Candidate openmp("openmp");
  const auto is_wanted = [](const Kernel& kernel) {
    return kernel.info.equation == "attention.scaled_dot_product" && kernel.batched();
  };
  Kernel kernel = *std::find_if(openmp.kernels().begin(), openmp.kernels().end(), is_wanted);
  kernel.capabilities = Capabilities(*kernel.spec, "groups == heads; batch != 3");
  const Regimes regimes(kernel, kernel.profile(), SizesJudged::small, 2, 1);
  ASSERT_FALSE(regimes.covering().settings.empty());
  for (const auto& setting : regimes.covering().settings) {
    const golden::Grid grid = *regimes.case_of(setting, 1, DType::f32).grid;
    EXPECT_EQ(grid.groups, grid.heads);
    EXPECT_NE(grid.entries, 3);
  }
}

/// A kernel that shifts the number of a head by 2 finds the group of 3 heads, too, where there is only one.
TEST(Regimes, OfGroupsOfThreeHeadsThereAreSeveral) {
  Candidate openmp("openmp");
  const auto is_grouped = [](const Kernel& kernel) {
    return kernel.info.equation == "attention.scaled_dot_product" && kernel.batched();
  };
  const Kernel& kernel = *std::find_if(openmp.kernels().begin(), openmp.kernels().end(), is_grouped);
  const Regimes regimes(kernel, kernel.profile(), SizesJudged::small, 2, 1);
  const auto& settings = regimes.covering().settings;
  EXPECT_TRUE(std::any_of(settings.begin(), settings.end(), [&](const Setting& setting) {
    const golden::Grid grid = *regimes.case_of(setting, 1, DType::f32).grid;
    return grid.groups > 1 && grid.heads == 3 * grid.groups;
  }));
}

TEST(Regimes, AKernelWithoutGroupsOfHeadsIsNotAskedForThem) {
  Candidate right("openmp");
  const Condition grouped = [](const Request& r) {
    return shape(r, "q")->size() == 4 && (*shape(r, "q"))[1] != (*shape(r, "k"))[1];
  };
  Candidate candidate("ungrouped", std::make_unique<Refusing>(right, grouped, "bhnd", "groups == heads"));
  CheckOptions options;
  options.only = kAttention;
  options.profile = "f32";
  options.golden = std::string(ATTEST_PROJECT_DIR) + "/golden";
  options.law_draws = options.property_draws = 0;
  const Row row = check(candidate, options).rows.at(0);
  EXPECT_EQ(row.status, Status::pass) << (row.failures.empty() ? "" : row.failures[0].message);
  EXPECT_GT(row.regimes.judged, 50);
}

TEST(Regimes, ACaseWithoutTrueValuesIsNoPass) {
  Candidate candidate("openmp");
  // Its inputs are no numbers of the profile.
  const Report report =
      reproduce(candidate, "attest:attention.softmax:f32;r=1;s=1;flag=random;exact=f64;seed=1;grid=1x1x1", {});
  ASSERT_FALSE(report.rows.empty());
  EXPECT_EQ(report.status(), Status::invalid);
}

TEST(Regimes, AreReproducedByTheirQueries) {
  const Condition condition = [](const Request& r) { return (*shape(r, "q"))[0] == 3; };
  const Row row = row_under(kAttention, condition);
  ASSERT_FALSE(row.failures.empty());
  Candidate right("openmp");
  Candidate candidate("off", std::make_unique<OffUnder>(right, condition));
  const Report again = reproduce(candidate, row.failures[0].query, {});
  ASSERT_FALSE(again.rows.empty());
  for (const Row& one : again.rows) {
    if (one.kernel.layout == "thd") continue;  // its first axis is no batch
    ASSERT_FALSE(one.failures.empty()) << one.kernel.form;
    if (one.kernel.form != row.kernel.form) continue;
    EXPECT_EQ(one.failures[0].message, row.failures[0].message);
  }
}

}  // namespace
}  // namespace attest::judge
