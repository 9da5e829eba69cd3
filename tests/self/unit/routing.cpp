// SPDX-License-Identifier: MIT
// What attention within clusters costs, counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "attest/golden/case.hpp"
#include "attest/reference/cost.hpp"
#include "attest/reference/evaluate.hpp"

namespace attest {
namespace {

/// n tokens, c centroids, queries, keys and values of width d.
Problem problem(Index n, Index c, Index d, const std::string& assign) {
  return golden::draw(golden::parse_query("attest:content.routing_attention:f64;n=" + std::to_string(n) +
                                          ";c=" + std::to_string(c) + ";d=" + std::to_string(d) +
                                          ";m=" + std::to_string(d) + ";assign=" + assign + ";flag=random;seed=1")
                          .first);
}

reference::Counts counted(const Problem& problem) {
  reference::Cost arithmetic;
  reference::outputs_of(arithmetic, problem, "set");
  return arithmetic.counts();
}

/// Products with centroids, of queries and of keys, and of all pairs in c clusters of n / c tokens: the fewest at
/// c = sqrt(n), n^1.5 d four times.
TEST(Routing, BalancedClustersCostLeastAtTheRootOfTheLength) {
  for (const Index root : {4, 8})
    for (const Index d : {3, 6}) {
      const Index n = root * root;
      Index best = 0, fewest = 0;
      for (Index c = 1; c <= n; c *= 2) {
        const auto counts = counted(problem(n, c, d, "balanced"));
        EXPECT_EQ(counts.exp, n * n / c) << n << " tokens, " << c << " clusters";
        EXPECT_EQ(counts.mac, 2 * n * c * d + 2 * (n * n / c) * d) << n << " tokens, " << c << " clusters";
        if (best == 0 || counts.mac < fewest) best = c, fewest = counts.mac;
      }
      EXPECT_EQ(best, root);
      EXPECT_EQ(fewest, 4 * n * root * d);
    }
}

/// Equal tokens are all in one of sqrt(n) clusters.
TEST(Routing, ClustersOfAnySizeMayCostAllPairs) {
  for (const Index root : {4, 8}) {
    const Index n = root * root, d = 3;
    Problem equal = problem(n, root, d, "argmax");
    for (const char* name : {"q", "k"}) {
      auto& x = equal.inputs.at(name).values;
      const auto& first = equal.inputs.at("q").values;
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = first[i % static_cast<std::size_t>(d)];
    }
    EXPECT_EQ(counted(equal).exp, n * n);
    EXPECT_EQ(counted(equal).mac, 2 * n * root * d + 2 * n * n * d);
    equal.parameters["assign"] = std::string("balanced");
    EXPECT_EQ(counted(equal).exp, n * root);
  }
}

}  // namespace
}  // namespace attest
