// SPDX-License-Identifier: MIT
// A grid has at most 65,535 blocks along y and z, and a batch may have more sequences: kernels count them along x. The
// emulation allows one block along y and z here, so that few sequences show it.
#include "sizes.hpp"

#include <gtest/gtest.h>

using namespace attest::sizes;

namespace {

constexpr Index kSequences = 40, kSteps = 65'537, kDifferent = 7;

/// Numbers for kDifferent entries, again and again.
Tensor repeated(const std::string& name, const std::vector<Index>& shape) {
  Tensor tensor(name, shape, kFloat);
  Index count = 1;
  for (const Index extent : shape) count *= extent;
  for (Index i = 0; i < count; ++i) {
    const float value = static_cast<float>(i % kDifferent + 1) / 8;
    std::memcpy(tensor.data() + i * tensor.width(), &value, sizeof value);
  }
  return tensor;
}

struct Case {
  const char* equation;
  const char* form;
  const char* reading;
  std::map<std::string, std::vector<Index>> inputs, outputs;
  std::vector<attest_parameter> parameters{};
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.equation << " " << c.form << " " << c.reading; }

const std::vector<Index> kRow{kSequences, 1, 1, 1}, kVector{kSequences, 1, 1}, kNumber{kSequences, 1},
    kRowOfSteps{1, 1, kSteps, 1, 1};

const std::vector<Case> kCases{
    {.equation = "linear.causal",
     .form = "two_level",
     .reading = "value",
     .inputs = {{"phi_q", kRow}, {"phi_k", kRow}, {"v", kRow}, {"S", kRow}, {"Z", kVector}},
     .outputs = {{"o", kRow}, {"S", kRow}, {"Z", kVector}},
     .parameters = {{"chunk", 1, 0, 1, nullptr},
                    {"eps", 1, 0.125, 0, nullptr},
                    {"zero_denominator", 1, 0, 0, "zero"},
                    {"features", 1, 0, 0, "given"}}},
    {.equation = "positional.xl_expanded_score",
     .form = "factored",
     .reading = "value",
     .inputs = {{"x_q", kRow}, {"p_q", kRow}, {"x_k", kRow}, {"p_k", kRow}, {"w_q", kRow}, {"w_k", kRow}},
     .outputs = {{"a", kRow}}},
    {.equation = "positional.xl_relative_score",
     .form = "rel_shift",
     .reading = "gradient",
     .inputs = {{"x_q", kRow},
                {"x_k", kRow},
                {"w_q", kRow},
                {"w_e", kRow},
                {"w_r", kRow},
                {"u", kVector},
                {"v", kVector},
                {"r", kRow},
                {"cotangent.a", kRow}},
     .outputs = {{"gradient.x_q", kRow},
                 {"gradient.x_k", kRow},
                 {"gradient.w_q", kRow},
                 {"gradient.w_e", kRow},
                 {"gradient.w_r", kRow},
                 {"gradient.u", kVector},
                 {"gradient.v", kVector},
                 {"gradient.r", kRow}},
     .parameters = {{"scale", 0, 0, 0, nullptr}}},
    {.equation = "positional.distance_aware",
     .form = "softplus",
     .reading = "value",
     .inputs = {{"q", kRow}, {"k", kRow}, {"v", kRow}, {"alpha", kNumber}, {"beta", kNumber}},
     .outputs = {{"o", kRow}, {"f", kRow}},
     .parameters = {{"scale", 0, 0, 0, nullptr}}},
    {.equation = "positional.coordinate_2d",
     .form = "sum_of_tables",
     .reading = "gradient",
     .inputs = {{"cotangent.y", kRowOfSteps}},
     .outputs = {{"gradient.x", kRowOfSteps}}},
};

class Batches : public testing::TestWithParam<Case> {
protected:
  static void SetUpTestSuite() { setenv("ATTEST_CUDA_EMULATED_GRID", "1", 1); }  // before the plugin reads it
};

/// Equal entries have equal results, others have others.
TEST_P(Batches, MoreThanAGridHasAlongY) {
  const Case& c = GetParam();
  const Index many = c.inputs.begin()->second == kRowOfSteps ? kSteps : kSequences;
  Tensors inputs, outputs;
  for (const auto& [name, shape] : c.inputs) inputs.emplace(name, repeated(name, shape));
  for (const auto& [name, shape] : c.outputs) outputs.emplace(name, Tensor(name, shape, kFloat));
  const attest_kernel& kernel = kernel_of(c.equation, kFormats[0], c.form, c.reading, false);
  ASSERT_EQ(call(kernel, inputs, outputs, c.outputs.begin()->first, c.parameters), "");
  std::vector<std::vector<std::uint32_t>> first;
  Index wrong = 0;
  for (Index i = 0; i < many; ++i) {
    std::vector<std::uint32_t> bits;
    for (const auto& [name, tensor] : outputs) {
      float value = 0;
      std::memcpy(&value, tensor.data() + i * tensor.width(), sizeof value);
      EXPECT_FALSE(i < kDifferent && std::isnan(value)) << name << " of entry " << i;
      bits.push_back(std::bit_cast<std::uint32_t>(value));
    }
    if (i < kDifferent) {
      EXPECT_EQ(std::count(first.begin(), first.end(), bits), 0) << "entry " << i;
      first.push_back(std::move(bits));
    } else {
      wrong += bits != first[static_cast<std::size_t>(i % kDifferent)];
    }
  }
  EXPECT_EQ(wrong, 0) << "entries that differ from an equal one";
}
INSTANTIATE_TEST_SUITE_P(Equations, Batches, testing::ValuesIn(kCases), [](const auto& tested) {
  std::string name = tested.param.equation;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
