// SPDX-License-Identifier: MIT
// Which tokens the layers of a stack reach that take the factors of a pattern in turn, and how many pairs each mode
// scores: read off runs of the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runs.hpp"

namespace attest {
namespace {

using reference::Bundle;
using reference::Influence;
using Sets = std::vector<Tokens>;

constexpr Index kStride = 3;

/// A problem of n tokens whose factors are those of a strided pattern.
Problem strided(Index n, const std::string& more) {
  Problem problem = drawn("attest:sparse.factorized_attention:f64;n=" + std::to_string(n) + ";p=2;f=2;d=2;m=2;e=2;" +
                          more + ";flag=random;seed=1");
  auto& patterns = problem.inputs.at("patterns").values;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      patterns[static_cast<std::size_t>(i * n + j)] = i - j <= kStride ? 1 : 0;
      patterns[static_cast<std::size_t>((n + i) * n + j)] = (i - j) % kStride == 0 ? 1 : 0;
    }
  return problem;
}

/// The tokens that each row of x + o depends on, the same in both forms.
Sets reached(const Problem& problem) {
  Sets first;
  for (const auto& form : problem.spec->forms) {
    Influence arithmetic;
    const reference::Scope scope(arithmetic);
    Bundle bundle(problem, [&](const TensorDeclaration& declared, Index flat, double x) {
      if (declared.name != "x") return reference::Number::input(x);
      return arithmetic.of_token(x, static_cast<std::size_t>(flat / problem.sizes.at("f")));
    });
    evaluate(form.name, bundle);
    const auto values = values_of(arithmetic, bundle, "o");
    const auto width = static_cast<std::size_t>(problem.sizes.at("e"));
    Sets rows(values.size() / width);
    for (std::size_t i = 0; i < values.size(); ++i) rows[i / width].merge(tokens_of(values[i]));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].insert(static_cast<Index>(i));
    if (first.empty()) first = rows;
    EXPECT_EQ(rows, first) << form.name;
  }
  return first;
}

/// What is reached through a layer and the one below it.
Sets composed(const Sets& below, const Sets& layer) {
  Sets both(layer.size());
  for (std::size_t i = 0; i < layer.size(); ++i)
    for (const Index a : layer[i]) {
      const auto& more = below[static_cast<std::size_t>(a)];
      both[i].insert(more.begin(), more.end());
    }
  return both;
}

bool is_causal(const Sets& sets) {
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (sets[i].size() != i + 1 || *sets[i].rbegin() != static_cast<Index>(i)) return false;
  return true;
}

Sets layer(Index number) { return reached(strided(11, "h=1;mode=interleaved;layer=" + std::to_string(number))); }

TEST(FactorizedAttention, LayersInTurnReachAll) {
  const Sets even = layer(0), odd = layer(1);
  EXPECT_NE(even, odd);
  EXPECT_FALSE(is_causal(even));
  EXPECT_FALSE(is_causal(odd));
  EXPECT_TRUE(is_causal(composed(even, odd)));
  EXPECT_TRUE(is_causal(composed(odd, layer(2))));
  EXPECT_FALSE(is_causal(composed(even, even)));  // without a turn
}

TEST(FactorizedAttention, PairsAreThoseOfTheSets) {
  const Index n = 11;
  Index first = 0, second = 0, either = 0;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j) {
      const bool near = i - j <= kStride, column = (i - j) % kStride == 0;
      first += near, second += column, either += near || column;
    }
  for (const char* form : {"sets", "mask"}) {
    EXPECT_EQ(pairs(strided(n, "h=1;mode=interleaved"), form), first);
    EXPECT_EQ(pairs(strided(n, "h=1;mode=interleaved;layer=3"), form), second);
    EXPECT_EQ(pairs(strided(n, "h=2;mode=merged"), form), 2 * either);
    EXPECT_EQ(pairs(strided(n, "h=3;mode=multi_head"), form), 2 * first + second);
  }
}

}  // namespace
}  // namespace attest
