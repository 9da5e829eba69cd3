// SPDX-License-Identifier: MIT
// What adaptive spans and exits save, counted in runs of the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runs.hpp"

namespace attest {
namespace {

/// A query at position t takes min(t, ceil(z + ramp) - 1, span) pairs, and as many exponentials.
TEST(AdaptiveSpans, TakePairsByTheirReach) {
  for (const char* ramp : {"1.5", "2", "8"})
    for (const char* span : {"3", "16"})
      for (const char* seed : {"1", "2", "3"}) {
        const Problem problem = drawn(std::string("attest:adaptive.span_attention:f64;n=12;s=12;d=2;m=2;span=") + span +
                                      ";ramp=" + ramp + ";flag=random;seed=" + seed);
        Index pairs = 0;
        const auto& z = problem.inputs.at("z").values;
        for (std::size_t t = 0; t < z.size(); ++t)
          pairs += std::min({static_cast<Index>(t), static_cast<Index>(std::ceil(z[t] + std::stod(ramp))) - 1,
                             static_cast<Index>(std::stol(span))});
        for (const char* form : {"trimmed", "masked_exp"}) {
          reference::Cost arithmetic;
          reference::outputs_of(arithmetic, problem, form);
          EXPECT_EQ(arithmetic.counts().exp, pairs) << form << " span " << span << " ramp " << ramp;
          EXPECT_EQ(arithmetic.counts().mac, pairs * 4) << form << " span " << span << " ramp " << ramp;
        }
      }
}

}  // namespace
}  // namespace attest
