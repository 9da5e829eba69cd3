// SPDX-License-Identifier: MIT
// Weights of wrong kernels, read by unit probes: what is said of them is so.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <utility>

#include "attest/judge/check.hpp"
#include "attest/judge/reproduce.hpp"
#include "attest/judge/weight_map.hpp"
#include "off_under.hpp"

namespace attest::judge {
namespace {

/// Weights of softmax attention, row by row.
class Weights {
public:
  Weights(Index rows, Index columns) : n(rows), s(columns), values(static_cast<std::size_t>(rows * columns)) {}

  double& operator()(Index i, Index j) { return values[static_cast<std::size_t>(i * s + j)]; }
  double operator()(Index i, Index j) const { return values[static_cast<std::size_t>(i * s + j)]; }

  /// Divides each row by its sum.
  Weights& normalise() {
    for (Index i = 0; i < n; ++i) {
      double sum = 0;
      for (Index j = 0; j < s; ++j) sum += (*this)(i, j);
      for (Index j = 0; j < s && sum != 0; ++j) (*this)(i, j) /= sum;
    }
    return *this;
  }

  Index n, s;
  std::vector<double> values;
};

/// e^logit where a query sees a key.
Weights exponentials(Index n, Index s, bool causal, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  Weights weights(n, s);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < s; ++j) {
      const double logit = static_cast<double>(random() % 4001) / 1000 - 2;
      weights(i, j) = causal && j > i + (s - n) ? 0 : std::exp(logit);
    }
  return weights;
}

Weights softmax(Index n, Index s, bool causal = false, std::uint32_t seed = 1) {
  return exponentials(n, s, causal, seed).normalise();
}

/// A map of a float32 kernel.
WeightMap map_of(const Weights& due, const Weights& got) {
  WeightMap map;
  map.input = std::string("v"), map.output = std::string("o");
  map.rows = due.n, map.columns = due.s;
  map.expected = due.values, map.got = got.values;
  for (const double weight : due.values) map.bound.push_back(1e-6 * weight + 1e-30);
  return map;
}

using Edit = std::function<void(Weights&)>;

/// What is said of weights that were edited.
std::vector<std::string> said(const Weights& due, const Edit& edit, MapContext context = {}) {
  Weights got = due;
  edit(got);
  if (context.sizes.empty()) context.sizes = {{"n", due.n}, {"s", due.s}, {"d", 12}, {"m", 5}};
  return sentences_of(map_of(due, got), context);
}

/// visit(weight, i, j).
template <class Visit>
void each(Weights& weights, Visit&& visit) {
  for (Index i = 0; i < weights.n; ++i)
    for (Index j = 0; j < weights.s; ++j) visit(weights(i, j), i, j);
}

struct Mistake {
  const char* name;
  Index n, s;
  bool causal;
  Edit edit;
  const char* sentence;
};

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all{
      {"last key", 6, 9, false, [](Weights& w) {
         for (Index i = 0; i < w.n; ++i) w(i, w.s - 1) = 0;
         w.normalise();
       }, "?"},
      {"first key, not normalised", 6, 9, false, [](Weights& w) {
         for (Index i = 0; i < w.n; ++i) w(i, 0) = 0;
       }, "?"},
      {"keys of the last tile", 12, 70, false, [](Weights& w) {
         each(w, [](double& x, Index, Index j) { if (j >= 64) x = 0; });
         w.normalise();
       }, "?"},
      {"every 16th key", 12, 70, false, [](Weights& w) {
         each(w, [](double& x, Index, Index j) { if (j % 16 == 15) x = 0; });
         w.normalise();
       }, "?"},
      {"upper half of each tile", 12, 64, false, [](Weights& w) {
         each(w, [](double& x, Index, Index j) { if (j % 16 >= 12) x = 0; });
         w.normalise();
       }, "?"},
      {"own key", 7, 10, true, [](Weights& w) {
         each(w, [&](double& x, Index i, Index j) { if (j == i + 3) x = 0; });
         w.normalise();
       }, "?"},
      {"next key", 7, 7, true, [](Weights& w) {
         each(w, [&](double& x, Index i, Index j) { if (j == i + 1) x = 0.1; });
         w.normalise();
       }, "?"},
      {"no causal order", 8, 8, true, [](Weights& w) { w = softmax(8, 8); }, "?"},
      {"causal at the top left", 7, 10, true, [](Weights& w) {
         each(w, [&](double& x, Index i, Index j) { if (j > i) x = 0; });
         w.normalise();
       }, "?"},
      {"window one too long", 20, 20, true, [](Weights& w) {
         each(w, [&](double& x, Index i, Index j) { if (j == i - 5) x = 0; });
         w.normalise();
       }, "?"},
      {"a factor per query", 10, 20, false, [](Weights& w) {
         each(w, [&](double& x, Index i, Index) { x *= 0.93 + 0.015 * static_cast<double>(i); });
       }, "?"},
      {"half of it", 10, 20, false, [](Weights& w) { each(w, [](double& x, Index, Index) { x *= 0.5; }); }, "?"},
      {"sqrt(d)", 10, 20, false, [](Weights& w) { each(w, [](double& x, Index, Index) { x *= std::sqrt(12); }); }, "?"},
      {"some queries doubled", 10, 20, false, [](Weights& w) {
         each(w, [](double& x, Index i, Index) { if (i >= 8) x *= 2; });
       }, "?"},
      {"not divided by the sum", 10, 20, false, [](Weights& w) { w = exponentials(10, 20, false); }, "?"},
      {"divided by the number of keys", 10, 20, true, [](Weights& w) {
         each(w, [&](double& x, Index i, Index) { x /= static_cast<double>(i + 11); });
       }, "?"},
      {"tiles not rescaled", 10, 150, false, [](Weights& w) {
         each(w, [](double& x, Index i, Index j) { if (j < 128) x *= 1 + 0.3 * static_cast<double>((i + j / 64) % 5 + 1); });
       }, "?"},
      {"keys counted twice", 10, 70, false, [](Weights& w) {
         each(w, [](double& x, Index, Index j) { if (j >= 64) x *= 2; });
         w.normalise();
       }, "?"},
      {"a factor per key", 10, 20, false, [](Weights& w) {
         each(w, [](double& x, Index, Index j) { x *= 1 + 0.01 * static_cast<double>(j + 1); });
       }, "?"},
      {"no scale", 10, 20, false, [](Weights& w) {
         each(w, [](double& x, Index, Index) { x = std::pow(x, std::sqrt(12)); });
         w.normalise();
       }, "?"},
      {"logits in base 2", 10, 20, true, [](Weights& w) {
         each(w, [](double& x, Index, Index) { x = x > 0 ? std::pow(x, std::log(2)) : 0; });
         w.normalise();
       }, "?"},
      {"all equal", 10, 20, true, [](Weights& w) {
         each(w, [](double& x, Index, Index) { x = x > 0; });
         w.normalise();
       }, "?"},
      {"transposed", 9, 9, false, [](Weights& w) {
         const Weights due = w;
         each(w, [&](double& x, Index i, Index j) { x = due(j, i); });
       }, "?"},
      {"shifted by one key", 9, 14, false, [](Weights& w) {
         const Weights due = w;
         each(w, [&](double& x, Index i, Index j) { x = due(i, (j + 1) % 14); });
       }, "?"},
      {"two keys exchanged", 9, 14, false, [](Weights& w) {
         for (Index i = 0; i < w.n; ++i) std::swap(w(i, 3), w(i, 7));
       }, "?"},
      {"two queries exchanged", 9, 14, false, [](Weights& w) {
         for (Index j = 0; j < w.s; ++j) std::swap(w(2, j), w(5, j));
       }, "?"},
      {"queries reversed", 9, 14, false, [](Weights& w) {
         const Weights due = w;
         each(w, [&](double& x, Index i, Index j) { x = due(8 - i, j); });
       }, "?"},
      {"the first query for all", 9, 14, false, [](Weights& w) {
         const Weights due = w;
         each(w, [&](double& x, Index, Index j) { x = due(0, j); });
       }, "?"},
      {"the last query is another", 9, 14, false, [](Weights& w) {
         for (Index j = 0; j < w.s; ++j) w(8, j) = w(7, j);
       }, "?"},
      {"queries of the second tile as those of the first", 40, 14, false, [](Weights& w) {
         const Weights due = w;
         each(w, [&](double& x, Index i, Index j) { x = due(i % 16, j); });
       }, "?"},
      {"last queries left out", 70, 14, false, [](Weights& w) {
         each(w, [](double& x, Index i, Index) { if (i >= 64) x = 0; });
       }, "?"},
      {"nothing", 9, 14, false, [](Weights& w) { each(w, [](double& x, Index, Index) { x = 0; }); }, "?"},
      {"NaN", 9, 14, false, [](Weights& w) {
         each(w, [](double& x, Index i, Index) { if (i == 3) x = std::numeric_limits<double>::quiet_NaN(); });
       }, "?"},
      {"eight bits", 9, 14, false, [](Weights& w) {
         std::mt19937 random(3);
         each(w, [&](double& x, Index, Index) { x *= 1 + 0x1p-8 * (static_cast<double>(random() % 2001) / 1000 - 1); });
       }, "?"},
      {"one weight", 9, 14, false, [](Weights& w) { w(3, 4) *= 3; }, "?"},
      {"noise", 9, 14, false, [](Weights& w) {
         std::mt19937 random(3);
         each(w, [&](double& x, Index, Index) { x *= static_cast<double>(random() % 2001) / 1000; });
       }, "?"},
      {"causal order of tiles", 40, 40, true, [](Weights& w) {
         w = exponentials(40, 40, false);
         each(w, [](double& x, Index i, Index j) { if (j / 16 > i / 16) x = 0; });
         w.normalise();
       }, "?"},
  };
  return all;
}

TEST(Sentences, NameThePlantedMistake) {
  for (const auto& mistake : mistakes()) {
    const Weights due = softmax(mistake.n, mistake.s, mistake.causal);
    const auto sentences = said(due, mistake.edit);
    std::printf("%s:\n", mistake.name);
    for (const auto& sentence : sentences) std::printf("    %s\n", sentence.c_str());
  }
}

}  // namespace
}  // namespace attest::judge
