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
      {"last key", 6, 9, false,
       [](Weights& w) {
         for (Index i = 0; i < w.n; ++i) w(i, w.s - 1) = 0;
         w.normalise();
       },
       "the last key (8, what is left of tiles of 4 to 8) is missing for every query; a query's other weights are off "
       "by one factor, so that the sum is right: normalised without what is missing"},
      {"first key, not normalised", 6, 9, false,
       [](Weights& w) {
         for (Index i = 0; i < w.n; ++i) w(i, 0) = 0;
       },
       "key 0 is missing for every query; all other weights are right"},
      {"keys of the last tile", 12, 70, false,
       [](Weights& w) {
         each(w, [](double& x, Index, Index j) {
           if (j >= 64) x = 0;
         });
         w.normalise();
       },
       "keys 64 to 69 of 70 (what is left of tiles of 8 to 64) are missing for every query; a query's other weights "
       "are off by one factor, so that the sum is right: normalised without what is missing"},
      {"every 16th key", 12, 70, false,
       [](Weights& w) {
         each(w, [](double& x, Index, Index j) {
           if (j % 16 == 15) x = 0;
         });
         w.normalise();
       },
       "keys j with j % 16 == 15 (one of 16) are missing for every query; a query's other weights are off by one "
       "factor, so that the sum is right: normalised without what is missing"},
      {"upper half of each tile", 12, 64, false,
       [](Weights& w) {
         each(w, [](double& x, Index, Index j) {
           if (j % 16 >= 12) x = 0;
         });
         w.normalise();
       },
       "keys j with j % 16 >= 12 are missing for every query; a query's other weights are off by one factor, so that "
       "the sum is right: normalised without what is missing"},
      {"own key", 7, 10, true,
       [](Weights& w) {
         each(w, [&](double& x, Index i, Index j) {
           if (j == i + 3) x = 0;
         });
         w.normalise();
       },
       "each query's own key (j = i + 3) is missing; a query's other weights are off by one factor, so that the sum is "
       "right: normalised without what is missing"},
      {"next key", 7, 7, true,
       [](Weights& w) {
         each(w, [&](double& x, Index i, Index j) {
           if (j == i + 1) x = 0.1;
         });
         w.normalise();
       },
       "the key after each query's last key with a weight (j = i + 1) is extra; a query's other weights are off by one "
       "factor, so that the sum is right: normalised with what is extra"},
      {"no causal order", 8, 8, true, [](Weights& w) { w = softmax(8, 8); },
       "all keys after each query's own (j > i) are extra; a query's other weights are off by one factor, so that the "
       "sum is right: normalised with what is extra"},
      {"causal at the top left", 7, 10, true,
       [](Weights& w) {
         each(w, [&](double& x, Index i, Index j) {
           if (j > i) x = 0;
         });
         w.normalise();
       },
       "all keys j >= i + 1 (s - n = 3) are missing; a query's other weights are off by one factor, so that the sum is "
       "right: normalised without what is missing"},
      {"window one too long", 20, 20, true,
       [](Weights& w) {
         each(w, [&](double& x, Index i, Index j) {
           if (j == i - 5) x = 0;
         });
         w.normalise();
       },
       "the diagonal j = i - 5 is missing; a query's other weights are off by one factor, so that the sum is right: "
       "normalised without what is missing"},
      {"a factor per query", 10, 20, false,
       [](Weights& w) { each(w, [&](double& x, Index i, Index) { x *= 0.93 + 0.015 * static_cast<double>(i); }); },
       "the weights of each query are off by a factor of the query's own, 0.93 to 1.06: what they are divided by is "
       "wrong"},
      {"half of it", 10, 20, false, [](Weights& w) { each(w, [](double& x, Index, Index) { x *= 0.5; }); },
       "all weights are 0.5 times what is due"},
      {"sqrt(d)", 10, 20, false, [](Weights& w) { each(w, [](double& x, Index, Index) { x *= std::sqrt(12); }); },
       "all weights are 3.46 = sqrt(d) times what is due"},
      {"some queries doubled", 10, 20, false,
       [](Weights& w) {
         each(w, [](double& x, Index i, Index) {
           if (i >= 8) x *= 2;
         });
       },
       "all weights of queries 8 to 9 of 10 (what is left of tiles of 4 to 8) are 2 times what is due"},
      {"not divided by the sum", 10, 20, false, [](Weights& w) { w = exponentials(10, 20, false); },
       "the weights of each query are off by a factor of the query's own, 29.8 to 49.6: what they are divided by is "
       "wrong"},
      {"divided by the number of keys", 10, 20, true,
       [](Weights& w) { each(w, [&](double& x, Index i, Index) { x /= static_cast<double>(i + 11); }); },
       "the weights of each query are what is due divided by the number of its keys"},
      {"tiles not rescaled", 10, 150, false,
       [](Weights& w) {
         each(w, [](double& x, Index i, Index j) {
           if (j < 128) x *= 1 + 0.3 * static_cast<double>((i + j / 64) % 5 + 1);
         });
       },
       "the weights of keys 0 to 127 of 150 are 1.3 to 2.5 times what is due, the same within a tile of 64 keys: as "
       "where tiles are not rescaled"},
      {"keys counted twice", 10, 70, false,
       [](Weights& w) {
         each(w, [](double& x, Index, Index j) {
           if (j >= 64) x *= 2;
         });
         w.normalise();
       },
       "keys 64 to 69 of 70 (what is left of tiles of 8 to 64) weigh 2 times as much as they should beside a query's "
       "others, with the right sum"},
      {"a factor per key", 10, 20, false,
       [](Weights& w) { each(w, [](double& x, Index, Index j) { x *= 1 + 0.01 * static_cast<double>(j + 1); }); },
       "the weights of every key are off by a factor of the key, 1.01 to 1.2, the same for every query"},
      {"no scale", 10, 20, false,
       [](Weights& w) {
         each(w, [](double& x, Index, Index) { x = std::pow(x, std::sqrt(12)); });
         w.normalise();
       },
       "the weights of a query are those due to the power 3.46 = sqrt(d), as if its logits were so many times as "
       "large"},
      {"logits in base 2", 10, 20, true,
       [](Weights& w) {
         each(w, [](double& x, Index, Index) { x = x > 0 ? std::pow(x, std::log(2)) : 0; });
         w.normalise();
       },
       "the weights of a query are those due to the power 0.693 = ln 2, as if its logits were so many times as large"},
      {"all equal", 10, 20, true,
       [](Weights& w) {
         each(w, [](double& x, Index, Index) { x = x > 0; });
         w.normalise();
       },
       "the weights of a query are all equal where any is due (1 / their number)"},
      {"transposed", 9, 9, false,
       [](Weights& w) {
         const Weights due = w;
         each(w, [&](double& x, Index i, Index j) { x = due(j, i); });
       },
       "the weights are transposed: query i has for key j what is due to query j for key i"},
      {"shifted by one key", 9, 14, false,
       [](Weights& w) {
         const Weights due = w;
         each(w, [&](double& x, Index i, Index j) { x = due(i, (j + 1) % 14); });
       },
       "every key is shifted: key j has the weights that are due to key j + 1, modulo 14"},
      {"two keys exchanged", 9, 14, false,
       [](Weights& w) {
         for (Index i = 0; i < w.n; ++i) std::swap(w(i, 3), w(i, 7));
       },
       "keys 3 and 7 are exchanged: each has the weights of the other"},
      {"two queries exchanged", 9, 14, false,
       [](Weights& w) {
         for (Index j = 0; j < w.s; ++j) std::swap(w(2, j), w(5, j));
       },
       "queries 2 and 5 are exchanged: each has the weights of the other"},
      {"queries reversed", 9, 14, false,
       [](Weights& w) {
         const Weights due = w;
         each(w, [&](double& x, Index i, Index j) { x = due(8 - i, j); });
       },
       "the queries are in reverse order: query i has the weights that are due to query 8 - i"},
      {"the first query for all", 9, 14, false,
       [](Weights& w) {
         const Weights due = w;
         each(w, [&](double& x, Index, Index j) { x = due(0, j); });
       },
       "queries 1 to 8 of 9 have the weights that are due to query 0"},
      {"the last query is another", 9, 14, false,
       [](Weights& w) {
         for (Index j = 0; j < w.s; ++j) w(8, j) = w(7, j);
       },
       "query 8 has the weights that are due to query 7"},
      {"queries of the second tile as those of the first", 40, 14, false,
       [](Weights& w) {
         const Weights due = w;
         each(w, [&](double& x, Index i, Index j) { x = due(i % 16, j); });
       },
       "queries 16 to 39 of 40 have the weights that are due to the first 16: query i has those of query i % 16"},
      {"last queries left out", 70, 14, false,
       [](Weights& w) {
         each(w, [](double& x, Index i, Index) {
           if (i >= 64) x = 0;
         });
       },
       "queries 64 to 69 of 70 (what is left of tiles of 8 to 64) have no key: all weights are 0"},
      {"nothing", 9, 14, false, [](Weights& w) { each(w, [](double& x, Index, Index) { x = 0; }); },
       "every weight is 0"},
      {"NaN", 9, 14, false,
       [](Weights& w) {
         each(w, [](double& x, Index i, Index) {
           if (i == 3) x = std::numeric_limits<double>::quiet_NaN();
         });
       },
       "the weights of query 3 are NaN or infinite for every key"},
      {"eight bits", 9, 14, false,
       [](Weights& w) {
         std::mt19937 random(3);
         each(w, [&](double& x, Index, Index) { x *= 1 + 0x1p-8 * (static_cast<double>(random() % 2001) / 1000 - 1); });
       },
       "weights are right to about 8 bits: the largest relative error of the 126 wrong ones is 2^-8.0"},
      {"one weight", 9, 14, false, [](Weights& w) { w(3, 4) *= 3; },
       "1 of 126 weights is wrong: query 3, key 4 (0.798 for 0.266)"},
      {"noise", 9, 14, false,
       [](Weights& w) {
         std::mt19937 random(3);
         each(w, [&](double& x, Index, Index) { x *= static_cast<double>(random() % 2001) / 1000; });
       },
       ""},
      {"causal order of tiles", 40, 40, true,
       [](Weights& w) {
         w = exponentials(40, 40, false);
         each(w, [](double& x, Index i, Index j) {
           if (j / 16 > i / 16) x = 0;
         });
         w.normalise();
       },
       "keys in each query's own tile of 16 that should have no weight are extra; a query's other weights are off by "
       "one factor, so that the sum is right: normalised with what is extra"},
  };
  return all;
}

TEST(Sentences, NameThePlantedMistake) {
  for (const auto& mistake : mistakes()) {
    const auto sentences = said(softmax(mistake.n, mistake.s, mistake.causal), mistake.edit);
    if (*mistake.sentence == 0)
      EXPECT_TRUE(sentences.empty()) << mistake.name << ": " << sentences[0];
    else
      EXPECT_EQ(sentences, std::vector<std::string>{mistake.sentence}) << mistake.name;
  }
}

TEST(Sentences, SayNothingOfRightWeights) {
  EXPECT_TRUE(
      said(softmax(7, 9, true), [](Weights& w) { each(w, [](double& x, Index, Index) { x *= 1 + 5e-7; }); }).empty());
}

TEST(Sentences, KnowOtherHeadsAndOtherWords) {
  const Weights due = softmax(6, 9), other = softmax(6, 9, false, 2);
  WeightMap map = map_of(due, other);
  map.head = std::string("head 1");
  EXPECT_EQ(sentences_of(map, {{}, {}, {{"answers as head 0", other.values}}}),
            std::vector<std::string>{"head 1 answers as head 0"});
  map.got = due.values;
  map.got[8] = 0;
  EXPECT_EQ(
      sentences_of(map, {{"row of o", "rows of o", "token", "tokens"}, {}, {}}),
      std::vector<std::string>{"head 1: the last token (8, what is left of tiles of 4 to 8) is missing for row of o "
                               "0; all other weights are right"});
}

TEST(Drawn, OneCharacterAWeight) {
  const Weights due = softmax(3, 12, true);
  Weights got = due;
  got(0, 0) = 0, got(0, 11) = 0.1, got(1, 0) *= 2, got(1, 1) /= 2, got(2, 4) = std::nan("");
  EXPECT_EQ(drawn(map_of(due, got)),
            "     0         10\n"
            "   0 0......... x\n"
            "   1 +-.........\n"
            "   2 ....!.......\n"
            ". right, ' ' 0 as due, 0 missing, x extra, + large, - small, ! NaN or infinite\n");
}

TEST(Drawn, ABlockShowsItsWorstWeight) {
  const Weights due = softmax(100, 300);
  Weights got = due;
  got(99, 299) = 0, got(98, 298) *= 2, got(0, 0) *= 2;
  const std::string page = drawn(map_of(due, got), 80, 40);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < page.size(); at = page.find('\n', at) + 1)
    lines.push_back(page.substr(at, page.find('\n', at) - at));
  EXPECT_LE(lines.size(), 40u);
  for (const auto& line : lines) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(lines[0].substr(0, 17), "     0         40");
  EXPECT_EQ(lines[1], "   0 +" + std::string(74, '.'));
  EXPECT_EQ(lines[34], "  99 " + std::string(74, '.') + "0");
  EXPECT_EQ(lines[35], "a character stands for 3 x 4 weights and shows the worst");
}

/// Whether a sentence is so, by the map alone.
class Truth {
public:
  explicit Truth(const WeightMap& map) : map_(map), state_(compared(map)) {}

  bool of(const std::string& sentence) const {
    std::smatch part;
    const auto is = [&](const char* pattern) { return std::regex_match(sentence, part, std::regex(pattern)); };
    if (is("(\\d+) of (\\d+) weights (?:is|are) wrong: .*")) return number(part[1]) == wrong();
    if (is("(\\d+) of (\\d+) weights are NaN or infinite")) return number(part[1]) == count(Weight::not_finite);
    if (is("every weight is NaN or infinite")) return count(Weight::not_finite) == all();
    if (is("the weights of (.*) are NaN or infinite for every (key|query)"))
      return only(part[2] == "key" ? rows(part[1]) : every_row(), part[2] == "key" ? every_column() : columns(part[1]),
                  Weight::not_finite);
    if (is("what is wrong is (every weight|\\d+ weights) of ((?:every )?quer.*?|the last query.*?)(?:, in (key.*|every "
           "key.*|the "
           "last key.*))?"))
      return wrong_is_in(rows(part[2]), part[3].matched ? columns(part[3]) : every_column()) &&
             (part[1] == "every weight" ? none_right(rows(part[2])) : number(part[1]) == wrong());
    if (is("what is wrong is (\\d+) weights of (.*)"))
      return number(part[1]) == wrong() && wrong_is_in(every_row(), columns(part[2]));
    if (is("all weights(?: of (.*))? are ([0-9.e+-]+(?: [+-] [0-9e.-]+)?).*? times what is due"))
      return factor(part[1].matched ? rows(part[1]) : every_row(), every_column(), number_of(part[2])) &&
             wrong_is_in(part[1].matched ? rows(part[1]) : every_row(), every_column());
    if (is("the weights of (.*) are ([0-9.e+-]+(?: [+-] [0-9e.-]+)?)(?: \\(here also .*\\)| = .*)? times what is "
           "due(?: for (.*))?; all "
           "others are right"))
      return factor(rows_of(part[3]), columns(part[1]), number_of(part[2])) &&
             wrong_is_in(rows_of(part[3]), columns(part[1]));
    if (is("the weights of .* are (off by a factor of the query's own|what is due (times|divided by) the number).*"))
      return rows_have_factors();
    if (is("the weights of (.*) are off by a factor of the key.*"))
      return columns_have_factors(columns(part[1])) && wrong_is_in(every_row(), columns(part[1]));
    if (is("(.*) weighs? ([0-9.e+-]+(?: [+-] [0-9e.-]+)?).*? times as much as (?:it|they) should beside a query's "
           "others.*"))
      return counts(columns(part[1]), number_of(part[2]));
    if (is("(query|key) (\\d+) has the weights that are due to \\1 (\\d+)"))
      return part[1] == "query"
                 ? moved(number(part[2]), number(part[3])) && wrong_is_in({number(part[2])}, every_column())
                 : moved_column(number(part[2]), number(part[3]));
    if (is("(queries|keys) (\\d+) and (\\d+) are exchanged.*")) {
      const Index a = number(part[2]), b = number(part[3]);
      return part[1] == "queries" ? moved(a, b) && moved(b, a) && wrong_is_in({a, b}, every_column())
                                  : moved_column(a, b) && moved_column(b, a) && wrong_is_in(every_row(), {a, b});
    }
    if (is("(.*) (?:has|have) no key: all weights are 0")) {
      bool holds = wrong_is_in(rows(part[1]), every_column());
      for (const Index i : rows(part[1]))
        for (Index j = 0; j < map_.columns; ++j) holds = holds && got(i, j) == 0;
      return holds;
    }
    if (is("weights are right to about (\\d+) bits.*")) {
      bool holds = true;
      for (Index i = 0; i < map_.rows; ++i)
        for (Index j = 0; j < map_.columns; ++j)
          holds = holds && (!is_wrong(i, j) ||
                            std::abs(got(i, j) / due(i, j) - 1) <= std::exp2(-static_cast<double>(number(part[1]))));
      return holds;
    }
    if (is("every weight is 0")) return std::all_of(map_.got.begin(), map_.got.end(), [](double x) { return x == 0; });
    if (is("the weights are transposed.*")) {
      bool holds = true;
      for (Index i = 0; i < map_.rows; ++i)
        for (Index j = 0; j < map_.columns; ++j) holds = holds && std::abs(got(i, j) - due(j, i)) <= 1e-5;
      return holds;
    }
    if (is("the weights of a query are all equal.*?(?: for (.*))?")) {
      bool holds = true;
      for (const Index i : rows_of(part[1])) {
        std::vector<double> weights;
        for (Index j = 0; j < map_.columns; ++j)
          if (due(i, j) != 0) weights.push_back(got(i, j));
        holds = holds && same(weights);
      }
      return holds && wrong_is_in(rows_of(part[1]), every_column());
    }
    if (is("the weights of (.*) are ([0-9.e+-]+.*) to ([0-9.e+-]+.*) times what is due, the same within a tile of "
           "(\\d+) keys"
           "(?: for (.*?))?(?:: as where tiles are not rescaled)?")) {
      bool holds = true;
      const Index tile = number(part[4]);
      for (Index i = 0; i < map_.rows; ++i)
        for (Index first = 0; first < map_.columns; first += tile) {
          std::vector<double> ratios;
          for (Index j = first; j < std::min(map_.columns, first + tile); ++j)
            if (due(i, j) != 0) ratios.push_back(got(i, j) / due(i, j));
          holds = holds && same(ratios);
        }
      return holds && (part[1] == "keys" || wrong_is_in(rows_of(part[5]), columns(part[1])));
    }
    if (is("the weights of (.*) are off by one factor for each query.*?(?: for (.*))?; all others are right")) {
      bool holds = wrong_is_in(rows_of(part[2]), columns(part[1]));
      for (Index i = 0; i < map_.rows; ++i) {
        std::vector<double> ratios;
        for (const Index j : columns(part[1]))
          if (due(i, j) != 0) ratios.push_back(got(i, j) / due(i, j));
        holds = holds && same(ratios);
      }
      return holds;
    }
    if (is("(.*) (?:has|have|is shifted: |are shifted: |are in reverse order: ).*the weights that are due to.*"))
      return moves(sentence);
    if (sentence.find(" missing") != std::string::npos || sentence.find(" extra") != std::string::npos)
      return stripes(sentence);
    return false;
  }

private:
  using Places = std::set<Index>;

  /// "2.5", "1 - 3e-05".
  static double number_of(const std::string& text) {
    const auto space = text.find(' ');
    if (space == std::string::npos) return std::stod(text);
    return std::stod(text) + (text[space + 1] == '-' ? -1 : 1) * std::stod(text.substr(space + 3));
  }
  static Index number(const std::string& text) { return std::stol(text); }
  Index all() const { return map_.rows * map_.columns; }
  Places every_row() const { return upto(map_.rows); }
  Places every_column() const { return upto(map_.columns); }
  static Places upto(Index total) {
    Places places;
    for (Index at = 0; at < total; ++at) places.insert(at);
    return places;
  }
  std::size_t at(Index i, Index j) const { return static_cast<std::size_t>(i * map_.columns + j); }
  double got(Index i, Index j) const { return map_.got[at(i, j)]; }
  double due(Index i, Index j) const { return map_.expected[at(i, j)]; }
  Weight state(Index i, Index j) const { return state_[at(i, j)]; }
  bool is_wrong(Index i, Index j) const { return state(i, j) != Weight::right && state(i, j) != Weight::zero; }
  Index count(Weight one) const { return static_cast<Index>(std::count(state_.begin(), state_.end(), one)); }
  Index wrong() const { return all() - count(Weight::right) - count(Weight::zero); }

  /// The places that words name; none where they name nothing.
  static Places places(const std::string& text, Index total) {
    std::smatch part;
    const auto is = [&](const char* pattern) { return std::regex_match(text, part, std::regex(pattern)); };
    const auto those = [&](const std::function<bool(Index)>& holds) {
      Places chosen;
      for (Index at = 0; at < total; ++at)
        if (holds(at)) chosen.insert(at);
      return chosen;
    };
    if (is("(?:every|the only) (?:key|query)")) return upto(total);
    if (is("every (?:key|query) but (?:key|query) (\\d+)")) return those([&](Index x) { return x != number(part[1]); });
    if (is("the last (?:key|query) \\((\\d+).*\\)"))
      return those([&](Index x) { return x == number(part[1]) && x == total - 1; });
    if (is("(?:key|query) (\\d+)")) return {number(part[1])};
    if (is("(?:keys|queries) (\\d+) to (\\d+) of .*"))
      return those([&](Index x) { return number(part[1]) <= x && x <= number(part[2]); });
    if (is("(?:keys|queries) . with . % (\\d+) == (\\d+).*"))
      return those([&](Index x) { return x % number(part[1]) == number(part[2]); });
    if (is("(?:keys|queries) . with . % (\\d+) < (\\d+)"))
      return those([&](Index x) { return x % number(part[1]) < number(part[2]); });
    if (is("(?:keys|queries) . with . % (\\d+) >= (\\d+)"))
      return those([&](Index x) { return x % number(part[1]) >= number(part[2]); });
    if (is("(?:keys|queries) . with (\\d+) <= . % (\\d+) <= (\\d+)"))
      return those(
          [&](Index x) { return number(part[1]) <= x % number(part[2]) && x % number(part[2]) <= number(part[3]); });
    Places listed;
    if (is("(?:keys|queries) ((?:\\d+, )*\\d+) and (\\d+)")) {
      const std::string numbers = text;
      const std::regex one("\\d+");
      for (auto found = std::sregex_iterator(numbers.begin(), numbers.end(), one); found != std::sregex_iterator();
           ++found)
        listed.insert(number(found->str()));
    }
    return listed;
  }
  Places rows(const std::string& text) const {
    std::smatch part;
    if (!std::regex_match(text, part, std::regex("(\\d+) of \\d+ queries"))) return places(text, map_.rows);
    Places wrong_rows;
    for (Index i = 0; i < map_.rows; ++i)
      for (Index j = 0; j < map_.columns; ++j)
        if (is_wrong(i, j)) wrong_rows.insert(i);
    return static_cast<Index>(wrong_rows.size()) == number(part[1]) ? wrong_rows : Places();
  }
  Places columns(const std::string& text) const {
    if (!std::regex_match(text, std::regex("\\d+ (?:of \\d+ )?keys"))) return places(text, map_.columns);
    Places wrong_columns;
    for (Index i = 0; i < map_.rows; ++i)
      for (Index j = 0; j < map_.columns; ++j)
        if (is_wrong(i, j)) wrong_columns.insert(j);
    return wrong_columns;
  }
  /// Of "for ...": as named, or those with something wrong (of one kind).
  Places rows_of(const std::string& text, std::optional<Weight> kind = {}) const {
    if (text.empty()) return every_row();
    if (const auto named = rows(text); !named.empty()) return named;
    Places wrong_rows;
    for (Index i = 0; i < map_.rows; ++i)
      for (Index j = 0; j < map_.columns; ++j)
        if (kind ? state(i, j) == *kind : is_wrong(i, j)) wrong_rows.insert(i);
    return wrong_rows;
  }

  bool only(const Places& rows, const Places& columns, Weight kind) const {
    bool holds = !rows.empty() && !columns.empty();
    for (Index i = 0; i < map_.rows; ++i)
      for (Index j = 0; j < map_.columns; ++j)
        holds = holds && (state(i, j) == kind) == (rows.count(i) && columns.count(j));
    return holds;
  }
  bool wrong_is_in(const Places& rows, const Places& columns) const {
    for (Index i = 0; i < map_.rows; ++i)
      for (Index j = 0; j < map_.columns; ++j)
        if (is_wrong(i, j) && (!rows.count(i) || !columns.count(j))) return false;
    return true;
  }
  bool none_right(const Places& rows) const {
    for (const Index i : rows)
      for (Index j = 0; j < map_.columns; ++j)
        if (state(i, j) == Weight::right) return false;
    return true;
  }
  /// Factors are printed with three digits.
  bool factor(const Places& rows, const Places& columns, double factor) const {
    bool holds = !rows.empty() && !columns.empty();
    for (const Index i : rows)
      for (const Index j : columns)
        holds = holds && std::abs(got(i, j) - factor * due(i, j)) <= 0.006 * std::abs(factor * due(i, j));
    return holds;
  }
  /// Whether the ratio of the largest to the least of got / due is 1.
  template <class Ratios>
  static bool same(const Ratios& ratios) {
    if (ratios.empty()) return true;
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    return *most - *least <= 1e-5 * std::max(1.0, std::abs(*most));
  }
  bool rows_have_factors() const {
    for (Index i = 0; i < map_.rows; ++i) {
      std::vector<double> ratios;
      for (Index j = 0; j < map_.columns; ++j)
        if (due(i, j) != 0) ratios.push_back(got(i, j) / due(i, j));
      if (!same(ratios)) return false;
    }
    return true;
  }
  bool columns_have_factors(const Places& columns) const {
    for (const Index j : columns) {
      std::vector<double> ratios;
      for (Index i = 0; i < map_.rows; ++i)
        if (due(i, j) != 0) ratios.push_back(got(i, j) / due(i, j));
      if (!same(ratios)) return false;
    }
    return true;
  }
  bool counts(const Places& columns, double factor) const {
    for (Index i = 0; i < map_.rows; ++i) {
      std::vector<double> inside, outside;
      for (Index j = 0; j < map_.columns; ++j)
        if (due(i, j) != 0) (columns.count(j) ? inside : outside).push_back(got(i, j) / due(i, j));
      if (!same(inside) || !same(outside)) return false;
      if (!inside.empty() && !outside.empty() && std::abs(inside[0] / outside[0] - 1) > 1e-5 &&
          std::abs(inside[0] / outside[0] / factor - 1) > 0.006)
        return false;
    }
    return true;
  }
  bool moved(Index i, Index from) const {
    for (Index j = 0; j < map_.columns; ++j)
      if (!(std::abs(got(i, j) - due(from, j)) <= 1e-5)) return false;
    return true;
  }
  bool moved_column(Index j, Index from) const {
    for (Index i = 0; i < map_.rows; ++i)
      if (!(std::abs(got(i, j) - due(i, from)) <= 1e-5)) return false;
    return true;
  }

  /// Rows, or columns, that have what is due to others.
  bool moves(const std::string& sentence) const {
    std::smatch part;
    const auto is = [&](const char* pattern) { return std::regex_match(sentence, part, std::regex(pattern)); };
    const auto by = [&](const std::string& text, const std::function<Index(Index)>& from) {
      const bool of_rows = sentence.find("quer") != std::string::npos;
      const Index total = of_rows ? map_.rows : map_.columns;
      auto chosen = places(text, total);
      if (text == "the queries" || text == "the keys") chosen = upto(total);
      bool holds = !chosen.empty() && wrong_is_in(of_rows ? chosen : every_row(), of_rows ? every_column() : chosen);
      for (const Index place : chosen)
        if (const Index other = from(place); other >= 0 && other < total)
          holds = holds && (of_rows ? moved(place, other) : moved_column(place, other));
      return holds;
    };
    const auto total = sentence.find("quer") != std::string::npos ? map_.rows : map_.columns;
    if (is("(.*) (?:has|have) the weights that are due to (?:query|key) (\\d+)"))
      return by(part[1], [&](Index) { return number(part[2]); });
    if (is("(.*) (?:is|are) shifted: .* due to (?:query|key) [ij] ([+-]) (\\d+)(, modulo \\d+)?(, as far as there is "
           "one)?")) {
      const Index shift = part[2] == "-" ? -number(part[3]) : number(part[3]);
      return by(part[1], [&](Index x) { return part[4].matched ? (x + shift + total) % total : x + shift; });
    }
    if (is("(.*) are in reverse order: .*")) return by(part[1], [&](Index x) { return total - 1 - x; });
    if (is("(.*) (?:has|have) the weights that are due to the first (\\d+): .*"))
      return by(part[1], [&](Index x) { return x % number(part[2]); });
    if (is("(.*) (?:has|have) the weights that are due to the first of (\\d+) .*"))
      return by(part[1], [&](Index x) { return x / number(part[2]) * number(part[2]); });
    return false;
  }

  /// "key 3 is missing for every query, and ... is extra; all other weights are right".
  bool stripes(const std::string& sentence) const {
    const auto semicolon = sentence.find("; ");
    std::string stripes = sentence.substr(0, semicolon);
    Index told = 0;
    for (bool more = true; more;) {
      const auto comma = stripes.find(", and ");
      more = comma != std::string::npos;
      const std::string one = stripes.substr(0, comma);
      stripes = more ? stripes.substr(comma + 6) : "";
      std::smatch part;
      if (!std::regex_match(one, part, std::regex("(.*) (?:is|are) (missing|extra)(?: for (.*))?"))) return false;
      const Weight kind = part[2] == "missing" ? Weight::missing : Weight::extra;
      const std::string where = part[3], subject = part[1];
      if (!holds_of(subject, kind, where)) return false;
      told += count(kind);
    }
    if (semicolon == std::string::npos) return true;
    const std::string rest = sentence.substr(semicolon + 2);
    if (rest == "all other weights are right") return told == wrong();
    std::smatch part;
    if (std::regex_match(rest, part, std::regex("(\\d+) other weights? (?:is|are) wrong too")))
      return told + number(part[1]) == wrong();
    // One factor in each row.
    for (Index i = 0; i < map_.rows; ++i) {
      std::vector<double> ratios;
      for (Index j = 0; j < map_.columns; ++j)
        if (state(i, j) != Weight::missing && due(i, j) != 0) ratios.push_back(got(i, j) / due(i, j));
      if (!same(ratios)) return false;
    }
    return true;
  }

  bool holds_of(const std::string& subject, Weight kind, const std::string& where) const {
    const auto columns = this->columns(subject);
    const Places named = where.rfind("every query that", 0) == 0 ? every_row() : rows_of(where, kind);
    std::smatch part;
    const Index ahead = map_.columns - map_.rows;
    Index least = 0, most = 0;
    bool band = false;
    if (std::regex_search(subject, part, std::regex("\\(?j = i(?: ([+-]) (\\d+))?\\)?"))) {
      least = most = part[1].matched ? (part[1] == "-" ? -number(part[2]) : number(part[2])) : 0;
      band = true;
    } else if (std::regex_search(subject, part, std::regex("j (>=?|<=) i(?: ([+-]) (\\d+))?"))) {
      const Index shift = part[2].matched ? (part[2] == "-" ? -number(part[3]) : number(part[3])) : 0;
      least = part[1] == "<=" ? -map_.rows : part[1] == ">" ? shift + 1 : shift;
      most = part[1] == "<=" ? shift : map_.columns;
      band = true;
    } else if (std::regex_search(subject, part, std::regex("j from i(?: ([+-]) (\\d+))? to i(?: ([+-]) (\\d+))?"))) {
      least = part[1].matched ? (part[1] == "-" ? -number(part[2]) : number(part[2])) : 0;
      most = part[3].matched ? (part[3] == "-" ? -number(part[4]) : number(part[4])) : 0;
      band = true;
    } else if (subject.rfind("all keys", 0) == 0) {
      least = -map_.rows, most = map_.columns, band = true;
    }
    (void)ahead;
    if (columns.empty() && !band) {
      // The last, or the first, key with a weight.
      const bool last = subject.find("last") != std::string::npos;
      for (Index i = 0; i < map_.rows; ++i) {
        Index end = -1;
        for (Index j = 0; j < map_.columns; ++j)
          if (due(i, j) != 0 && (last || end < 0)) end = j;
        const Index place = kind == Weight::missing ? end : end + (last ? 1 : -1);
        for (Index j = 0; j < map_.columns; ++j)
          if ((state(i, j) == kind) != (named.count(i) && j == place && end >= 0 && may_be(kind, i, j))) return false;
      }
      return subject.find("with a weight") != std::string::npos;
    }
    for (Index i = 0; i < map_.rows; ++i)
      for (Index j = 0; j < map_.columns; ++j) {
        const bool inside = named.count(i) && (band ? least <= j - i && j - i <= most : columns.count(j) > 0);
        if ((state(i, j) == kind) != (inside && may_be(kind, i, j))) return false;
      }
    return true;
  }
  bool may_be(Weight kind, Index i, Index j) const {
    return state(i, j) != Weight::not_finite && (due(i, j) == 0) == (kind == Weight::extra);
  }

  const WeightMap& map_;
  const std::vector<Weight> state_;
};

/// Weights that are wrong in some way that nobody chose.
void corrupt(Weights& w, std::mt19937& random) {
  const auto below = [&](std::uint32_t most) { return random() % most; };
  const auto some = [&](Index total) {
    std::set<Index> chosen;
    const std::uint32_t one_in = 1 + below(5);
    for (Index at = 0; at < total; ++at)
      if (below(one_in) == 0) chosen.insert(at);
    return chosen;
  };
  const double factors[] = {0, 0.5, 2, 3, 1.01};
  const double factor = factors[below(5)];
  switch (below(7)) {
    case 0: {
      for (std::uint32_t left = 1 + below(6); left > 0; --left) {
        double& one = w(below(static_cast<std::uint32_t>(w.n)), below(static_cast<std::uint32_t>(w.s)));
        one = below(4) == 0 ? std::numeric_limits<double>::quiet_NaN() : below(2) == 0 ? one + 0.2 : factor * one;
      }
      break;
    }
    case 1: {
      const auto columns = some(w.s), rows = below(2) == 0 ? some(w.n) : some(1);
      each(w, [&](double& x, Index i, Index j) {
        if (columns.count(j) && (rows.count(i) || rows.size() <= 1)) x *= factor;
      });
      break;
    }
    case 2: {
      const auto rows = some(w.n);
      each(w, [&](double& x, Index i, Index) {
        if (rows.count(i)) x *= factor * static_cast<double>(i + 1);
      });
      break;
    }
    case 3: {
      const auto a = below(static_cast<std::uint32_t>(w.n)), b = below(static_cast<std::uint32_t>(w.n));
      for (Index j = 0; j < w.s; ++j) std::swap(w(a, j), w(b, j));
      break;
    }
    case 4: {
      const auto a = below(static_cast<std::uint32_t>(w.s)), b = below(static_cast<std::uint32_t>(w.s));
      for (Index i = 0; i < w.n; ++i) w(i, a) = w(i, b);
      break;
    }
    case 5: {
      const Index shift = static_cast<Index>(below(5)) - 2;
      each(w, [&](double& x, Index i, Index j) {
        if (j - i == shift || (factor == 0.5 && j - i > shift)) x = x == 0 ? 0.1 : 0;
      });
      break;
    }
    default: {
      const auto columns = some(w.s);
      each(w, [&](double& x, Index, Index j) {
        if (columns.count(j)) x *= factor;
      });
      w.normalise();
    }
  }
  if (below(3) == 0) w(below(static_cast<std::uint32_t>(w.n)), below(static_cast<std::uint32_t>(w.s))) += 0.3;
}

/// A sentence about mistakes drawn from a seed that is not true, with the map; empty where all are.
std::string untrue(std::uint32_t seed, std::set<std::string>& kinds) {
  std::mt19937 random(seed);
  const Index n = 1 + random() % 12, s = std::max<Index>(n, 2 + random() % 24);
  const Weights due = softmax(n, s, random() % 2 == 0, static_cast<std::uint32_t>(random()));
  Weights got = due;
  corrupt(got, random);
  const WeightMap map = map_of(due, got);
  for (const auto& sentence : sentences_of(map, {{}, {{"n", n}, {"s", s}, {"d", 5}}, {}})) {
    if (!Truth(map).of(sentence)) return sentence + "\n" + drawn(map);
    kinds.insert(std::regex_replace(sentence.substr(0, 20), std::regex("\\d+"), "#"));
  }
  return "";
}

TEST(Sentences, AreTrueOfRandomMistakes) {
  std::set<std::string> kinds;
  EXPECT_TRUE(rc::check([&] {
    const auto wrong = untrue(*rc::gen::arbitrary<std::uint32_t>(), kinds);
    if (!wrong.empty()) RC_FAIL(wrong);
  }));
  EXPECT_GE(kinds.size(), 10u);
}

/// Tiles of few keys, and rows that are only counted: mistakes that random seeds seldom draw.
TEST(Sentences, AreTrueOfMistakesThatAreSeldomDrawn) {
  std::set<std::string> kinds;
  for (const std::uint32_t seed : {2483718u, 76984u, 3845444u, 2563974u, 269436u, 60997776u, 268269u, 189613u, 85102u,
                                   917016283u, 455381u, 406076u, 399089u})
    EXPECT_EQ(untrue(seed, kinds), "");
}

/// Softmax attention whose weights, and the heads whose tensors are read, may be changed.
struct Changes {
  std::function<void(Weights&, Index head)> weights{};            // normalised ones
  std::function<void(Weights&, Index d)> exponentials{};          // before they are normalised
  std::function<Index(Index head)> q{}, k{}, v{};                 // which is read for a head of an entry
  std::function<void(std::vector<double>& o, Index m)> output{};  // of one head
};

class Attention : public Host {
public:
  explicit Attention(Changes changes, DType dtype = DType::f32) : changes_(std::move(changes)) {
    kernels_.push_back({"attention.scaled_dot_product", "", "value", dtype, "cpu", "bhnd",
                        "not mask; not bias; not sink; softcap == 0; window_left < 0; window_right < 0"});
  }

  const std::string& name() const override { return name_; }
  const std::string& version() const override { return name_; }
  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  std::vector<std::string> settle(std::chrono::milliseconds) override { return {}; }
  bool places_outputs() const override { return true; }
  int calls() const { return calls_; }

  Response call(std::size_t, const Request& request, const CallOptions&) override {
    ++calls_;
    const Tensor q(request, "q"), k(request, "k"), v(request, "v");
    const auto setting = [&](const char* name) {
      return *std::find_if(request.parameters.begin(), request.parameters.end(),
                           [&](const ParameterValue& value) { return value.name == name; });
    };
    const Index n = q.shape[2], d = q.shape[3], s = k.shape[2], m = v.shape[3];
    const bool causal = setting("causal").integer != 0;
    const auto scale = setting("scale");
    std::vector<double> all;
    for (Index entry = 0; entry < q.shape[0]; ++entry)
      for (Index head = 0; head < q.shape[1]; ++head) {
        const auto of = [&](const std::function<Index(Index)>& which, const Tensor& tensor) {
          return tensor.of(entry, (which ? which(head) : head) / (q.shape[1] / tensor.shape[1]));
        };
        const double *qs = of(changes_.q, q), *ks = of(changes_.k, k), *vs = of(changes_.v, v);
        Weights weights(n, s);
        for (Index i = 0; i < n; ++i) {
          double top = -std::numeric_limits<double>::infinity();
          for (Index j = 0; j < s; ++j) {
            double dot = 0;
            for (Index c = 0; c < d; ++c) dot += qs[i * d + c] * ks[j * d + c];
            weights(i, j) = dot * (scale.given ? scale.real : 1 / std::sqrt(static_cast<double>(d)));
            if (causal && j > i + (s - n)) weights(i, j) = -std::numeric_limits<double>::infinity();
            top = std::max(top, weights(i, j));
          }
          for (Index j = 0; j < s; ++j) weights(i, j) = std::exp(weights(i, j) - top);
        }
        if (changes_.exponentials) changes_.exponentials(weights, d);
        weights.normalise();
        if (changes_.weights) changes_.weights(weights, head);
        std::vector<double> o(static_cast<std::size_t>(n * m));
        for (Index i = 0; i < n; ++i)
          for (Index j = 0; j < s; ++j)
            for (Index c = 0; c < m; ++c) o[static_cast<std::size_t>(i * m + c)] += weights(i, j) * vs[j * m + c];
        if (changes_.output) changes_.output(o, m);
        all.insert(all.end(), o.begin(), o.end());
      }
    Response response;
    response.outputs.emplace_back(all.size() * size_of(request.outputs[0].dtype));
    encode(request.outputs[0].dtype, all, response.outputs[0].data());
    return response;
  }

private:
  struct Tensor {
    Tensor(const Request& request, const std::string& name) {
      const auto& tensor = *std::find_if(request.inputs.begin(), request.inputs.end(),
                                         [&](const InputTensor& input) { return input.name == name; });
      shape = tensor.shape;
      values.resize(tensor.bytes.size() / size_of(tensor.dtype));
      decode(tensor.dtype, tensor.bytes.data(), values);
    }
    const double* of(Index entry, Index head) const {
      return values.data() + (entry * shape[1] + head) * shape[2] * shape[3];
    }
    std::vector<Index> shape;
    std::vector<double> values;
  };

  Changes changes_;
  std::string name_ = "attention in this test";
  std::vector<KernelInfo> kernels_;
  int calls_ = 0;
};

CheckOptions few() {
  CheckOptions options;
  options.golden = std::string(ATTEST_PROJECT_DIR) + "/golden";
  options.law_draws = options.property_draws = 0;
  return options;
}

/// The row of a check of that kernel.
Row checked(Changes changes) {
  Candidate candidate("test", std::make_unique<Attention>(std::move(changes)));
  return check(candidate, few()).rows.at(0);
}

/// The row of one case of a batch.
Row reproduced(Changes changes, const std::string& query) {
  Candidate candidate("test", std::make_unique<Attention>(std::move(changes)));
  return reproduce(candidate, "attest:attention.scaled_dot_product:f32;" + query, few()).rows.at(0);
}

/// The first sentence of a map; why there is none.
std::string first_sentence(const Row& row) {
  if (!row.map) return fmt::format("no map: {}", name(row.status));
  return row.map->sentences.empty() ? "no sentence" : row.map->sentences[0];
}

bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

TEST(Probe, ARightKernelIsNotProbed) {
  auto host = std::make_unique<Attention>(Changes{});
  const Attention& attention = *host;
  Candidate candidate("test", std::move(host));
  const Report report = check(candidate, few());
  EXPECT_EQ(report.rows.at(0).status, Status::pass);
  EXPECT_FALSE(report.rows.at(0).map);
  const int calls = attention.calls();
  CheckOptions without = few();
  without.probes = false;
  check(candidate, without);
  EXPECT_EQ(attention.calls() - calls, calls);
}

TEST(Probe, NoneIsReadOfAKernelThatCrashesOrRefuses) {
  Candidate right("openmp");
  Candidate refusing("test", std::make_unique<Refusing>(right, [](const Request&) { return true; }));
  CheckOptions options = few();
  options.only = "attention.scaled_dot_product.max_shift";
  options.most_cases = 4;
  for (const Row& row : check(refusing, options).rows) EXPECT_FALSE(row.map);
}

TEST(Probe, KeysThatAreMissed) {
  const auto row = checked({.exponentials = [](Weights& w, Index) {
    if (w.s > 8)
      each(w, [&](double& x, Index, Index j) {
        if (j >= w.s / 8 * 8) x = 0;
      });
  }});
  EXPECT_EQ(row.status, Status::fail);
  EXPECT_TRUE(
      begins(first_sentence(row), "the last key (8, what is left of tiles of 4 to 8) is missing for every query"))
      << first_sentence(row);
  EXPECT_EQ(row.map->input, "v");
  EXPECT_EQ(row.map->output, "o");
}

TEST(Probe, EachQuerysOwnKey) {
  const auto row = checked({.exponentials = [](Weights& w, Index) {
    for (Index i = std::max<Index>(0, w.n - w.s); i < w.n; ++i) w(i, i + w.s - w.n) = 0;
  }});
  EXPECT_TRUE(begins(first_sentence(row), "each query's own key (j = i")) << first_sentence(row);
}

TEST(Probe, TheScaleOfTheLogits) {
  const auto row = checked({.exponentials = [](Weights& w, Index d) {
    each(w, [&](double& x, Index, Index) { x = std::pow(x, std::sqrt(static_cast<double>(d))); });
  }});
  EXPECT_TRUE(begins(first_sentence(row), "the weights of a query are those due to the power 2 (here also sqrt(d)"))
      << first_sentence(row);
}

TEST(Probe, AFactor) {
  const auto half = [](Weights& w, Index) { each(w, [](double& x, Index, Index) { x *= 0.3; }); };
  EXPECT_EQ(first_sentence(checked({.weights = half})), "all weights are 0.3 times what is due");
}

TEST(Probe, WhatOnesDoNotShow) {
  const auto row = checked({.output = [](std::vector<double>& o, Index) {
    if (std::any_of(o.begin(), o.end(), [](double x) { return std::abs(x) > 1.01; }))
      for (double& x : o) x *= 1.01;
  }});
  EXPECT_EQ(row.status, Status::fail);
  EXPECT_EQ(first_sentence(row), "with ones in v all weights in o are right in this case");
}

TEST(Probe, HeadsThatAreMixedUp) {
  const auto first = [](Index) -> Index { return 0; };
  const std::string batch = "n=6;s=9;d=4;m=3;flag=random;seed=1;";
  const auto of = [&](Changes changes, const std::string& grid) {
    return first_sentence(reproduced(std::move(changes), batch + grid));
  };
  EXPECT_EQ(of({.q = first, .k = first, .v = first}, "grid=1x2x2"), "head 1 answers as head 0");
  EXPECT_EQ(of({.q = [](Index head) { return head / 2 * 2; }}, "grid=2x4x2"),
            "head 1 of entry 0 answers as head 0 of entry 0");
  EXPECT_EQ(of({.k = first}, "grid=2x4x2"), "head 2 of entry 0 has k of group 0 of entry 0");
  EXPECT_EQ(of({.v = first}, "grid=2x4x2"), "head 2 of entry 0 has v of group 0 of entry 0");
  EXPECT_EQ(of({.k = [](Index) { return 3; }, .v = [](Index) { return 3; }}, "grid=1x4x2"),
            "head 0 has k and v of group 1");
  EXPECT_EQ(of({.weights =
                    [](Weights& w, Index head) {
                      for (Index i = 0; i < w.n && head == 2; ++i) w(i, 0) = 0;
                    }},
               "grid=1x4x2"),
            "head 2: key 0 is missing for every query; all other weights are right");
}

TEST(Probe, FaultsOfEquations) {
  const auto of = [](const std::string& fault) {
    Candidate candidate("fault:" + fault);
    CheckOptions options = few();
    options.profile = "f32";
    return first_sentence(check(candidate, options).rows.at(0));
  };
  EXPECT_TRUE(begins(of("linear.causal.exclusive_prefix"), "each query's own token (j = i) is missing; "));
  EXPECT_EQ(of("infini.segment_attention.first_segment_ungated"),
            "all weights of queries 0 to 3 of 7 are 4.33 times what is due");
  EXPECT_EQ(of("linear.causal.remainder_dropped"), "with ones in v all weights in o are right in this case");
  EXPECT_EQ(of("attention.scaled_dot_product.base2"),
            "the weights of a query are those due to the power 0.693 = ln 2, as if its logits were so many times as "
            "large");
  EXPECT_EQ(of("attention.scaled_dot_product.mean_of_values"),
            "the weights of a query are all equal where any is due (1 / their number)");
  // An output element that is no sum of an input's rows, each times one weight.
  EXPECT_EQ(of("positional.rotary.half_split"), "no map: FAIL");
}

}  // namespace
}  // namespace attest::judge
