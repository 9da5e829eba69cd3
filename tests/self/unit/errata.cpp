// SPDX-License-Identifier: MIT
// Printed formulas that are wrong: the corrected one equals the certified value, the printed one does not.
#include <gtest/gtest.h>

#include <cmath>

#include "attest/golden/store.hpp"

namespace attest {
namespace {

struct NumeratorBackward : testing::Test {
  golden::GoldenCase c = golden::certify_case(
      golden::parse_query("attest:linear.causal_numerator_backward:f64;n=7;c=3;m=2;chunk=4;flag=random;seed=21").first);
  Index n = 7, width = 3, m = 2;

  double at(const char* input, Index i, Index j) const {
    const Array& x = c.problem.inputs.at(input);
    return x.values[static_cast<std::size_t>(i * x.shape[1] + j)];
  }

  /// sum over j in [first, n) of (phi_q_j . v-direction): the state that grad_phi_k_i and grad_v_i read, [c, m].
  double state(Index first, Index a, Index e, Index gradient_of) const {
    double total = 0;
    for (Index j = first; j < n; ++j) total += at("phi_q", j, a) * at("grad_o", gradient_of < 0 ? j : gradient_of, e);
    return total;
  }

  /// Largest deviation from the certified gradients of a variant with its own range and index.
  double deviation(bool full_range, bool index_i) const {
    double worst = 0;
    for (Index i = 0; i < n; ++i) {
      const Index first = full_range ? 0 : i, gradient_of = index_i ? i : -1;
      for (Index a = 0; a < width; ++a) {
        double grad = 0;
        for (Index e = 0; e < m; ++e) grad += state(first, a, e, gradient_of) * at("v", i, e);
        worst = std::max(
            worst, std::abs(grad - c.certified.outputs.at("grad_phi_k").hi[static_cast<std::size_t>(i * width + a)]));
      }
      for (Index e = 0; e < m; ++e) {
        double grad = 0;
        for (Index a = 0; a < width; ++a) grad += state(first, a, e, gradient_of) * at("phi_k", i, a);
        worst =
            std::max(worst, std::abs(grad - c.certified.outputs.at("grad_v").hi[static_cast<std::size_t>(i * m + e)]));
      }
    }
    return worst;
  }
};

TEST_F(NumeratorBackward, TheCorrectedRangeAndIndexOfEquations14And15AreRight) {
  EXPECT_LT(deviation(false, false), 1e-13);
}
TEST_F(NumeratorBackward, ThePrintedRangeFrom1IsWrong) {
  EXPECT_LT(deviation(false, false), 1e-13);
  EXPECT_GT(deviation(true, false), 0.1);
}
TEST_F(NumeratorBackward, ThePrintedIndexOfTheGradientIsWrong) {
  EXPECT_LT(deviation(false, false), 1e-13);
  EXPECT_GT(deviation(false, true), 0.1);
}
TEST_F(NumeratorBackward, BothAsPrintedAreWrong) { EXPECT_GT(deviation(true, true), 0.1); }

/// The closed forms equal what reverse-mode differentiation of the numerator gives: the spec's form `tape`.
TEST_F(NumeratorBackward, ClosedFormsEqualTheTape) {
  const auto closed = golden::enclose(c.problem, "two_sweeps", 192), tape = golden::enclose(c.problem, "tape", 192);
  for (const auto& [name, array] : closed.middle)
    for (std::size_t i = 0; i < array.values.size(); ++i)
      EXPECT_DOUBLE_EQ(array.values[i], tape.middle.at(name).values[i]) << name;
}

}  // namespace
}  // namespace attest
