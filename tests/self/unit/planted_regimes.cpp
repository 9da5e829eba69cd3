// SPDX-License-Identifier: MIT
// Correct kernels made 1 % wrong under one condition or two: every one is rejected.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attest/judge/check.hpp"
#include "off_under.hpp"

namespace attest::judge {
namespace {

/// What a kernel can see of a call.
class Call {
public:
  Call(const Spec& spec, const Request& request) : request_(request) {
    for (const auto& input : spec.inputs) {
      const InputTensor* tensor = find(input.name);
      if (!tensor) continue;
      const auto before = static_cast<std::ptrdiff_t>(tensor->shape.size() - input.shape.size());
      for (std::size_t axis = 0; axis < input.shape.size(); ++axis)
        sizes_[input.shape[axis]] = tensor->shape[static_cast<std::size_t>(before) + axis];
      if (before == 0) continue;
      batch_ = tensor->shape[0];
      if (before == 2 && input.sharing == Sharing::head) heads_ = tensor->shape[1];
      if (before == 2 && input.sharing == Sharing::group) groups_ = tensor->shape[1];
    }
  }

  Index size(const std::string& name) const { return sizes_.at(name); }
  Index batch() const { return batch_; }
  Index heads() const { return heads_; }
  Index per_group() const { return heads_ / groups_; }
  bool given(const std::string& input) const { return find(input); }

  std::vector<double> values(const std::string& input) const {
    const InputTensor* tensor = find(input);
    if (!tensor) return {};
    std::vector<double> all(tensor->bytes.size() / size_of(tensor->dtype));
    decode(tensor->dtype, tensor->bytes.data(), all);
    return all;
  }
  double largest(const std::string& input) const {
    double most = 0;
    for (const double x : values(input)) most = std::max(most, std::abs(x));
    return most;
  }
  bool zeros(const std::string& input) const { return given(input) && largest(input) == 0; }

  const ParameterValue& parameter(const std::string& name) const {
    return *std::find_if(request_.parameters.begin(), request_.parameters.end(),
                         [&](const ParameterValue& value) { return value.name == name; });
  }

private:
  const InputTensor* find(const std::string& input) const {
    for (const auto& tensor : request_.inputs)
      if (tensor.name == input) return &tensor;
    return nullptr;
  }

  const Request& request_;
  std::map<std::string, Index> sizes_;
  Index batch_ = 1, heads_ = 1, groups_ = 1;
};

using Holds = std::function<bool(const Call&)>;

/// A condition; one of those over the same thing holds at most, so that no two of them are planted together.
struct Atom {
  std::string over, text;
  Holds holds;
};

struct Plant {
  std::string text;
  Holds holds;
  Index first_head = 0;  // from which on the results are off
};

Plant both(const Atom& one, const Atom& other) {
  return {one.text + " and " + other.text, [=](const Call& call) { return one.holds(call) && other.holds(call); }};
}

/// Each condition alone, and every two over different things.
std::vector<Plant> plants_of(const std::vector<Atom>& atoms) {
  std::vector<Plant> plants;
  for (std::size_t a = 0; a < atoms.size(); ++a) {
    plants.push_back({atoms[a].text, atoms[a].holds});
    for (std::size_t b = a + 1; b < atoms.size(); ++b)
      if (atoms[a].over != atoms[b].over) plants.push_back(both(atoms[a], atoms[b]));
  }
  return plants;
}

Atom at_least(const std::string& size, Index least) {
  return {size, fmt::format("{} >= {}", size, least), [=](const Call& call) { return call.size(size) >= least; }};
}
Atom equal(const std::string& size, Index value) {
  return {size, fmt::format("{} = {}", size, value), [=](const Call& call) { return call.size(size) == value; }};
}
Atom given(const std::string& input) {
  return {input, input + " given", [=](const Call& call) { return call.given(input); }};
}
Atom chosen(const std::string& parameter, const std::string& choice) {
  return {parameter, fmt::format("{} = {}", parameter, choice),
          [=](const Call& call) { return call.parameter(parameter).text == choice; }};
}
Atom is_true(const std::string& parameter) {
  return {parameter, parameter, [=](const Call& call) { return call.parameter(parameter).integer != 0; }};
}
/// A number other than the default.
Atom other_than(const std::string& parameter, double fallback) {
  return {parameter, fmt::format("{} != {}", parameter, fallback), [=](const Call& call) {
            const auto& value = call.parameter(parameter);
            const double number = value.integer != 0 ? static_cast<double>(value.integer) : value.real;
            return value.given && number != fallback;
          }};
}
Atom passed(const std::string& parameter) {
  return {parameter, parameter + " passed", [=](const Call& call) { return call.parameter(parameter).given; }};
}
Atom below(const std::string& input, double size) {
  return {"size of " + input, fmt::format("{} below {}", input, size),
          [=](const Call& call) { return !call.zeros(input) && call.largest(input) < size; }};
}
Atom above(const std::string& input, double size) {
  return {"size of " + input, fmt::format("{} above {}", input, size),
          [=](const Call& call) { return call.largest(input) > size; }};
}
Atom batch_of(Index entries) {
  return {"batch", fmt::format("batch = {}", entries), [=](const Call& call) { return call.batch() == entries; }};
}
Atom heads_above(Index heads) {
  return {"heads", fmt::format("heads > {}", heads), [=](const Call& call) { return call.heads() > heads; }};
}
Atom per_group(Index heads) {
  return {"sharing", fmt::format("{} heads per group", heads),
          [=](const Call& call) { return call.per_group() == heads; }};
}
Atom carried(const std::string& state) {
  return {state, state + " carried", [=](const Call& call) { return call.given(state) && !call.zeros(state); }};
}
Atom more_queries() {
  return {"order", "n > s", [](const Call& call) { return call.size("n") > call.size("s"); }};
}
Atom fewer_queries() {
  return {"order", "n < s", [](const Call& call) { return call.size("n") < call.size("s"); }};
}
/// Some query sees no key by the mask alone, another one does.
Atom empty_row() {
  return {"mask", "an empty row", [](const Call& call) {
            const auto mask = call.values("mask");
            const auto keys = static_cast<std::ptrdiff_t>(call.size("s"));
            bool empty = false, full = false;
            for (auto row = mask.begin(); row != mask.end(); row += keys)
              (std::count(row, row + keys, 0.0) == keys ? empty : full) = true;
            return empty && full;
          }};
}

/// Copies of one kernel, each off under its own condition.
class Planted : public Wrapped {
public:
  Planted(Candidate& right, const std::string& kernel, std::vector<Plant> plants)
      : Wrapped(right), plants_(std::move(plants)) {
    original_ = &*std::find_if(right.kernels().begin(), right.kernels().end(),
                               [&](const Kernel& one) { return one.name() == kernel && one.batched(); });
    KernelInfo info = original_->info;
    for (std::size_t p = 0; p < plants_.size(); ++p) {
      info.form = fmt::format("plant {}", p);
      kernels_.push_back(info);
    }
  }

  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  Response call(std::size_t kernel, const Request& request, const CallOptions& options) override {
    Response response = Wrapped::call(original_->index, request, options);
    const Plant& plant = plants_[kernel];
    if (plant.holds(Call(*original_->spec, request))) put_off(request, response, plant.first_head);
    return response;
  }

private:
  std::vector<Plant> plants_;
  const Kernel* original_;
  std::vector<KernelInfo> kernels_;
};

/// Every Nth plant, where ATTEST_PART names the part K/N of long tests.
std::vector<Plant> of_this_part(std::vector<Plant> plants) {
  std::size_t part = 0, parts = 0;
  const char* text = std::getenv("ATTEST_PART");
  if (!text || std::sscanf(text, "%zu/%zu", &part, &parts) != 2 || parts == 0) return plants;
  std::vector<Plant> some;
  for (std::size_t p = 0; p < plants.size(); ++p)
    if (p % parts == part % parts) some.push_back(std::move(plants[p]));
  std::printf("Part %zu of %zu: %zu of %zu plants; %zu are left out\n", part, parts, some.size(), plants.size(),
              plants.size() - some.size());
  return some;
}

/// Every plant is rejected, and of those that only regimes show, the report says when.
void all_are_rejected(const std::string& kernel, std::vector<Plant> all) {
  const auto plants = of_this_part(std::move(all));
  Candidate right("openmp");
  Candidate candidate("planted", std::make_unique<Planted>(right, kernel, plants));
  CheckOptions options;
  options.golden = std::string(ATTEST_PROJECT_DIR) + "/golden";
  options.law_draws = options.property_draws = 0;
  const Report report = check(candidate, options);
  ASSERT_EQ(report.rows.size(), plants.size());
  std::size_t by_regimes = 0, with_condition = 0;
  for (std::size_t p = 0; p < plants.size(); ++p) {
    const Row& row = report.rows[p];
    EXPECT_EQ(row.status, Status::fail) << plants[p].text;
    if (row.regimes.judged == row.regimes.passed) continue;
    ++by_regimes;
    with_condition += !row.regimes.fails_when.empty();
  }
  EXPECT_GE(2 * with_condition, by_regimes);
  testing::Test::RecordProperty("plants", static_cast<int>(plants.size()));
  testing::Test::RecordProperty("shown by regimes alone", static_cast<int>(by_regimes));
  testing::Test::RecordProperty("with a condition", static_cast<int>(with_condition));
  std::printf("%zu plants, %zu shown by regimes alone, of these %zu with a condition\n", plants.size(), by_regimes,
              with_condition);
}

TEST(PlantedRegimes, OfAttentionAreRejected) {
  auto plants = plants_of({at_least("n", 64), at_least("d", 64), at_least("s", 65), given("mask"), given("bias"),
                           passed("scale"), is_true("causal"), batch_of(3), heads_above(4), per_group(4)});
  for (const Atom& atom :
       {empty_row(), more_queries(), fewer_queries(), below("v", 1e-5), above("v", 1000), equal("n", 1),
        at_least("n", 131), at_least("s", 257), equal("d", 64), batch_of(5), per_group(2), given("sink"),
        other_than("softcap", 0), other_than("window_left", -1), other_than("window_right", -1)})
    plants.push_back({atom.text, atom.holds});
  for (const auto& [one, other] :
       std::vector<std::pair<Atom, Atom>>{{equal("n", 1), at_least("s", 65)},
                                          {empty_row(), is_true("causal")},
                                          {empty_row(), batch_of(2)},
                                          {above("v", 1000), heads_above(4)},
                                          {below("v", 1e-5), given("mask")},
                                          {given("sink"), other_than("softcap", 0)},
                                          {given("sink"), heads_above(4)},
                                          {given("sink"), other_than("window_left", -1)},
                                          {given("bias"), other_than("softcap", 0)},
                                          {at_least("s", 257), other_than("window_left", -1)},
                                          {is_true("causal"), other_than("window_left", -1)},
                                          {fewer_queries(), other_than("window_right", -1)}})
    plants.push_back(both(one, other));
  // A path of their own for calls that ask for nothing else, as is in PyTorch's attention of 2.15 on a CPU
  plants.push_back({"d = m, causal, scale < 0 and no mask, bias, sink, cap or window", [](const Call& call) {
                      const auto off = [&](const Atom& atom) { return !atom.holds(call); };
                      return call.size("d") == call.size("m") && is_true("causal").holds(call) &&
                             call.parameter("scale").given && call.parameter("scale").real < 0 && off(given("mask")) &&
                             off(given("bias")) && off(given("sink")) && off(other_than("softcap", 0)) &&
                             off(other_than("window_left", -1)) && off(other_than("window_right", -1));
                    }});
  plants.push_back(
      {"several groups of 3 heads", [](const Call& call) { return call.per_group() == 3 && call.heads() > 3; }});
  plants.push_back({"heads from the fifth on", [](const Call&) { return true; }, 4});
  plants.push_back({"heads from the fifth on and mask", [](const Call& call) { return call.given("mask"); }, 4});
  all_are_rejected("attention.scaled_dot_product split_k f32", plants);
}

TEST(PlantedRegimes, OfTheBackwardPassOfAttentionAreRejected) {
  all_are_rejected("attention.scaled_dot_product_backward recompute f32",
                   plants_of({at_least("n", 64), at_least("d", 17), given("mask"), given("bias"), is_true("causal"),
                              passed("scale"), batch_of(3), heads_above(4)}));
}

TEST(PlantedRegimes, OfCausalLinearAttentionAreRejected) {
  auto plants = plants_of({at_least("n", 65), at_least("c", 5), equal("m", 1), carried("S"), other_than("chunk", 64),
                           other_than("eps", 0), batch_of(3), heads_above(1), per_group(4)});
  for (const Atom& atom : {at_least("n", 130), at_least("m", 64), below("v", 1e-5), above("v", 1000)})
    plants.push_back({atom.text, atom.holds});
  all_are_rejected("linear.causal chunked f32", plants);
}

TEST(PlantedRegimes, OfInfiniSegmentsAreRejected) {
  all_are_rejected("infini.segment_attention loop f32",
                   plants_of({at_least("n", 33), at_least("d", 5), carried("memory"), chosen("update", "delta"),
                              chosen("position", "rotary"), passed("segment"), batch_of(3), heads_above(4)}));
}

TEST(PlantedRegimes, OfRotaryPositionsAreRejected) {
  all_are_rejected("positional.rotary pairs f32",
                   plants_of({at_least("n", 64), at_least("d", 64), above("positions", 100), chosen("pairing", "half"),
                              other_than("base", 10000), batch_of(3), heads_above(4), below("x", 1e-5)}));
}

TEST(PlantedRegimes, OfLayerNormAreRejected) {
  all_are_rejected("attention.layer_norm welford f32",
                   plants_of({at_least("n", 64), at_least("d", 64), given("gamma"), given("beta"),
                              other_than("eps", 1e-5), batch_of(3), below("x", 1e-5)}));
}

}  // namespace
}  // namespace attest::judge
