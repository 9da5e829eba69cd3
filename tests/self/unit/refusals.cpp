// SPDX-License-Identifier: MIT
// Kernels that return an error for what they do not say: the report proposes the capability that says so.
#include "attest/judge/refusals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "attest/judge/check.hpp"
#include "off_under.hpp"

namespace attest::judge {
namespace {

const InputTensor* input(const Request& request, const std::string& name) {
  const auto at = std::find_if(request.inputs.begin(), request.inputs.end(),
                               [&](const InputTensor& tensor) { return tensor.name == name; });
  return at == request.inputs.end() ? nullptr : &*at;
}

Index extent(const Request& request, const std::string& name, std::size_t axis) {
  return input(request, name)->shape.at(axis);
}

bool is_set(const Request& request, const std::string& parameter) {
  return std::any_of(request.parameters.begin(), request.parameters.end(),
                     [&](const ParameterValue& value) { return value.name == parameter && value.integer != 0; });
}

Row row_of(std::unique_ptr<Host> host) {
  Candidate candidate("refusing", std::move(host));
  CheckOptions options;
  options.only = "attention.scaled_dot_product.split_k";
  options.profile = "f32";
  options.golden = std::string(ATTEST_PROJECT_DIR) + "/golden";
  options.law_draws = options.property_draws = 0;
  return check(candidate, options).rows.at(0);
}

TEST(Refusals, AreCountedAndTheCapabilityIsFound) {
  const struct {
    Condition refuses;
    const char* capability;
  } plants[]{
      {[](const Request& r) { return input(r, "mask") && is_set(r, "causal"); }, "not (mask and causal)"},
      {[](const Request& r) { return extent(r, "q", 1) != 1; }, "heads == 1"},
      {[](const Request& r) { return extent(r, "q", 3) > 64; }, "d <= 64"},
      {[](const Request& r) { return extent(r, "v", 3) % 8 != 0; }, "m % 8 == 0"},
      {[](const Request& r) { return input(r, "bias") || extent(r, "q", 0) > 3; }, "batch <= 3; bias == false"},
  };
  Candidate right("openmp");
  for (const auto& plant : plants) {
    const auto batched = [&](const Request& r) { return r.inputs[0].shape.size() == 4 && plant.refuses(r); };
    const Row row = row_of(std::make_unique<Refusing>(right, batched));
    EXPECT_EQ(row.status, Status::fail) << plant.capability;
    EXPECT_TRUE(row.only_refusals()) << plant.capability;
    EXPECT_EQ(row.refusals.condition, plant.capability);
    EXPECT_EQ(row.refusals.left + row.refusals.excluded, 0) << plant.capability;
    EXPECT_EQ(static_cast<std::size_t>(row.refusals.cases + row.refusals.regimes), row.failures.size());
    EXPECT_EQ(row.refusals.message, "not that");
    if (&plant != &plants[0]) continue;
    // What is proposed is enough.
    const Row again = row_of(std::make_unique<Refusing>(right, batched, row.kernel.layout, row.refusals.condition));
    EXPECT_EQ(again.status, Status::pass) << plant.capability;
    EXPECT_EQ(again.refusals.regimes, 0) << plant.capability;
  }
}

const Spec& attention() { return find_spec("attention.scaled_dot_product"); }

Situation call(Index d, bool mask, bool causal) {
  Situation situation{{{"n", 4}, {"s", 4}, {"d", d}, {"m", 4}}, {{"causal", causal}}, {}};
  if (mask) situation.given = {"mask"};
  return situation;
}

TEST(Refusals, ThreeConditionsTogetherAreFound) {
  std::vector<Situation> refused, answered;
  for (const Index d : {8, 16, 32, 64, 128})
    for (const bool mask : {false, true})
      for (const bool causal : {false, true})
        (mask && causal && d > 32 ? refused : answered).push_back(call(d, mask, causal));
  Refusals refusals;
  propose(refused, answered, attention(), refusals);
  EXPECT_EQ(refusals.left + refusals.excluded, 0) << refusals.condition;
  const Capabilities said(attention(), refusals.condition);
  EXPECT_FALSE(said.allow(attention(), call(128, true, true)));
  EXPECT_TRUE(said.allow(attention(), call(128, true, false)));
}

TEST(Refusals, WhatNoConditionTellsIsSaidToBeSo) {
  Refusals refusals;
  // The same call was refused once and answered twice.
  propose({call(8, true, false)}, {call(8, true, false), call(8, false, false), call(16, true, true)}, attention(),
          refusals);
  EXPECT_FALSE(refusals.condition.empty());
  EXPECT_GT(refusals.excluded, 0);
  EXPECT_EQ(capability_without({call(8, true, true)}, {}, attention()), "") << "nothing was answered";
  EXPECT_EQ(capability_without({call(8, true, true)}, {call(8, true, true)}, attention()), "");
}

}  // namespace
}  // namespace attest::judge
