// SPDX-License-Identifier: MIT
// Updates of the infinity-former's memory, one and many.
#include <gtest/gtest.h>

#include <cmath>
#include <list>

#include "attest/golden/agreement.hpp"
#include "attest/golden/case.hpp"
#include "attest/golden/certify.hpp"
#include "attest/golden/profile.hpp"
#include "attest/reference/emulation.hpp"
#include "attest/reference/evaluate.hpp"
#include "properties/infty/memory_update.hpp"

namespace attest {
namespace {

using golden::evaluate_in_double;

TEST(Infty, UniformAndContractedPositionsAgreeForOneShareOnly) {
  constexpr Index m = 10, l = 5;
  const auto largest_gap = [&](double tau) {
    double most = 0;
    for (Index r = 0; r < m + l; ++r) {
      const double contracted =
          r < m ? tau * static_cast<double>(r) / m : tau + (1 - tau) * static_cast<double>(r - m) / l;
      most = std::max(most, std::abs(contracted - static_cast<double>(r) / (m + l)));
    }
    return most;
  };
  EXPECT_LT(largest_gap(2.0 / 3), 1e-15);
  EXPECT_NEAR(largest_gap(0.5), 1.0 / 6, 1e-15);
  const auto fitted = [&](double tau, const char* refit) {
    auto one =
        golden::parse_query("attest:infty.memory_update:f64;l=5;m=10;d=2;b=4;flag=random;with=coefficients;seed=3")
            .first;
    one.parameters["tau"] = tau;
    one.parameters["refit"] = std::string(refit);
    return evaluate_in_double(golden::draw(one), "direct", {}).at("coefficients").values;
  };
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(fitted(2.0 / 3, "contracted")[i], fitted(2.0 / 3, "uniform")[i], 1e-12);
  EXPECT_GT(std::abs(fitted(0.5, "contracted")[0] - fitted(0.5, "uniform")[0]), 1e-3);
}

/// many_updates on a kernel of binary32 that computes the form, its state changed by `keep` from update to update.
template <class F>
laws::Finding fifty_updates(const std::string& form, F&& keep) {
  const auto& profile = golden::profile("f32");
  const auto query =
      "attest:infty.memory_update:f32;l=6;m=8;d=3;b=5;tau=0.75;penalty=8;flag=random;with=coefficients;seed=9";
  const Problem problem = golden::draw(golden::parse_query(query).first);
  const LawClaim claim;
  std::list<Arrays> kept;
  const laws::Evaluate evaluate = [&](const Problem& one) {
    reference::Kernel kernel;
    kernel.single = true;
    reference::Emulation emulation(kernel);
    laws::Outcome outcome;
    for (const auto& [name, values] : reference::outputs_of(emulation, one, form)) {
      outcome.values[name] = {golden::shape_of_result(one, name), values};
      for (double& x : outcome.values[name].values) x = static_cast<double>(static_cast<float>(keep(x)));
    }
    const auto model = golden::error_model(one, {}, golden::narrow_units());
    auto& bounds = kept.emplace_back();
    for (const auto& [name, tensor] : model) bounds[name] = golden::bounds_of(tensor, profile.units);
    outcome.bounds = [&bounds]() -> const Arrays& { return bounds; };
    return outcome;
  };
  return properties::infty::memory_update::carried_through({claim, problem, evaluate, 1, DType::f32, true}, 50);
}

TEST(Infty, FiftyUpdatesOfACorrectKernelPassAndOfAWrongOneFail) {
  using Kind = laws::Finding::Kind;
  const auto as_it_is = [](double x) { return x; };
  for (const char* form : {"direct", "fit_operator", "composed"}) {
    const auto finding = fifty_updates(form, as_it_is);
    EXPECT_EQ(finding.kind, Kind::holds) << form << ": " << finding.text;
  }
  const auto in_bfloat16 = fifty_updates("direct", [](double x) { return round_to(DType::bf16, x); });
  EXPECT_EQ(in_bfloat16.kind, Kind::broken);
  const auto drifting = fifty_updates("direct", [](double x) { return x * (1 + 0x1p-9); });
  EXPECT_EQ(drifting.kind, Kind::broken);
}

}  // namespace
}  // namespace attest
