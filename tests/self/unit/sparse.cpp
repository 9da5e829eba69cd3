// SPDX-License-Identifier: MIT
// Which keys the queries of a pattern reach, and how many pairs that takes: read off runs of the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "runs.hpp"

namespace attest {
namespace {

using reference::Bundle;
using reference::Influence;
using Sets = std::vector<Tokens>;

/// The keys whose value or logit each row of o depends on.
Sets reached(const Problem& problem, const std::string& form) {
  Influence arithmetic;
  const reference::Scope scope(arithmetic);
  Bundle bundle(problem, [&](const TensorDeclaration& declared, Index flat, double x) {
    if (declared.name != "k" && declared.name != "v") return reference::Number::input(x);
    return arithmetic.of_token(x, static_cast<std::size_t>(flat / problem.sizes.at(declared.shape.back())));
  });
  evaluate(form, bundle);
  const auto values = values_of(arithmetic, bundle, "o");
  const auto width = static_cast<std::size_t>(problem.sizes.at("m"));
  Sets rows(values.size() / width);
  for (std::size_t i = 0; i < values.size(); ++i) rows[i / width].merge(tokens_of(values[i]));
  return rows;
}

/// The same in each form of the equation.
Sets reached(const std::string& query) {
  const Problem problem = drawn(query);
  const Sets sets = reached(problem, problem.spec->forms.front().name);
  for (const auto& form : problem.spec->forms)
    EXPECT_EQ(reached(problem, form.name), sets) << query << " " << form.name;
  return sets;
}

/// {j < end : sees(j)}
Tokens tokens(Index end, const std::function<bool(Index)>& sees) {
  Tokens some;
  for (Index j = 0; j < end; ++j)
    if (sees(j)) some.insert(j);
  return some;
}

/// What is reached from the sets of `first` through those of `second`.
Sets composed(const Sets& second, const Sets& first) {
  Sets both(first.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    for (const Index a : first[i]) {
      const auto& more = second[static_cast<std::size_t>(a)];
      both[i].insert(more.begin(), more.end());
    }
  return both;
}

bool is_causal(const Sets& sets) {
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (sets[i] != tokens(static_cast<Index>(i) + 1, [](Index) { return true; })) return false;
  return true;
}

std::string query(const std::string& stem, const std::string& sizes) {
  return "attest:sparse." + stem + ":f64;d=2;m=2;" + sizes + ";flag=random;seed=1";
}

TEST(SparseInfluence, OfASetIsTheSet) {
  const std::string text = query("attend", "n=6;s=9;c=4");
  const Problem problem = drawn(text);
  const auto& lists = problem.inputs.at("sets").values;
  const Sets sets = reached(text);
  for (std::size_t i = 0; i < sets.size(); ++i)
    EXPECT_EQ(sets[i], Tokens(lists.begin() + static_cast<std::ptrdiff_t>(4 * i),
                              lists.begin() + static_cast<std::ptrdiff_t>(4 * i + 4)));
}

/// The sets of one part of a strided pattern.
Sets strided(Index n, Index l, const std::string& part, const std::string& window = "inclusive") {
  return reached(query("strided_pattern", "n=" + std::to_string(n) + ";stride=" + std::to_string(l) + ";part=" + part +
                                              ";window=" + window));
}

TEST(SparseInfluence, OfStridedSets) {
  for (const auto& [n, l] : {std::pair<Index, Index>{11, 3}, {4, 7}, {6, 1}}) {
    const Sets first = strided(n, l, "first"), code = strided(n, l, "first", "exclusive"),
               second = strided(n, l, "second"), both = strided(n, l, "both");
    for (Index i = 0; i < n; ++i) {
      const auto row = static_cast<std::size_t>(i);
      EXPECT_EQ(first[row], tokens(i + 1, [&, back = l](Index j) { return j >= i - back; }));
      EXPECT_EQ(code[row], tokens(i + 1, [&, back = l](Index j) { return j > i - back; }));
      EXPECT_EQ(second[row], tokens(i + 1, [&, step = l](Index j) { return (i - j) % step == 0; }));
      Tokens all = first[row];
      all.insert(second[row].begin(), second[row].end());
      EXPECT_EQ(both[row], all);
      EXPECT_TRUE(first[row].count(i) && second[row].count(i));
      EXPECT_EQ(static_cast<Index>(both[row].size()), std::min(i, l) + 1 + i / l + 1 - (i >= l ? 2 : 1));
    }
  }
}

TEST(SparseInfluence, TwoStepsOfAStrideReachAll) {
  for (const Index l : {1, 2, 3, 5})
    for (const char* window : {"inclusive", "exclusive"}) {
      const Sets first = strided(13, l, "first", window), second = strided(13, l, "second");
      EXPECT_TRUE(is_causal(composed(first, second))) << l << window;
      EXPECT_TRUE(is_causal(composed(second, first))) << l << window;
    }
}

TEST(SparseInfluence, FactorsOverlapAndDoNotCover) {
  const Index n = 13, l = 3;
  const Sets first = strided(n, l, "first"), second = strided(n, l, "second"), both = strided(n, l, "both");
  for (Index i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    Tokens shared;
    std::set_intersection(first[row].begin(), first[row].end(), second[row].begin(), second[row].end(),
                          std::inserter(shared, shared.end()));
    EXPECT_EQ(shared, i >= l ? (Tokens{i - l, i}) : Tokens{i});
    EXPECT_EQ(static_cast<Index>(both[row].size()) < i + 1, i > l) << i;
  }
}

Sets fixed(Index n, Index l, Index c, const std::string& part) {
  return reached(query("fixed_pattern", "n=" + std::to_string(n) + ";period=" + std::to_string(l) +
                                            ";summary=" + std::to_string(c) + ";part=" + part));
}

TEST(SparseInfluence, OfFixedSets) {
  for (const Index l : {1, 3, 5, 20})
    for (Index c = 1; c <= l; c += 2) {
      const Index n = 13;
      const Sets first = fixed(n, l, c, "first"), second = fixed(n, l, c, "second"), both = fixed(n, l, c, "both");
      for (Index i = 0; i < n; ++i) {
        const auto row = static_cast<std::size_t>(i);
        EXPECT_EQ(first[row], tokens(i + 1, [&](Index j) { return j >= i / l * l; }));
        EXPECT_EQ(second[row], tokens(i + 1, [&](Index j) { return (l - 1 - j % l) < c; }));
        Tokens all = first[row];
        all.insert(second[row].begin(), second[row].end());
        EXPECT_EQ(both[row], all);
        EXPECT_EQ(static_cast<Index>(both[row].size()), i % l + 1 + c * (i / l));
        for (Index later = (i / l + 1) * l; later < n; ++later)  // what sums up i's block is the same for all of them
          EXPECT_EQ(second[static_cast<std::size_t>(later)].count(i), l - 1 - i % l < c);
      }
    }
}

TEST(SparseInfluence, TwoStepsOfFixedSetsReachAllInOneOrder) {
  for (const Index l : {2, 3, 5})
    for (Index c = 1; c <= l; ++c) {
      const Sets first = fixed(13, l, c, "first"), second = fixed(13, l, c, "second");
      const Sets through = composed(first, second), other = composed(second, first);
      Sets reach = first, wrong = first;
      for (std::size_t i = 0; i < reach.size(); ++i) {
        for (const Sets* more : {&second, &through}) reach[i].insert((*more)[i].begin(), (*more)[i].end());
        for (const Sets* more : {&second, &other}) wrong[i].insert((*more)[i].begin(), (*more)[i].end());
      }
      EXPECT_TRUE(is_causal(reach)) << l << " " << c;
      EXPECT_EQ(is_causal(wrong), c == l) << l << " " << c;
    }
}

TEST(SparseInfluence, OfImageBlocks) {
  for (const auto& [l, extension] : {std::pair<Index, Index>{4, 3}, {3, 7}, {1, 2}, {20, 5}, {5, 0}})
    for (const bool causal : {true, false}) {
      const Index n = 14;
      const Sets sets = reached(query("image_local_1d", "n=14;query_block=" + std::to_string(l) +
                                                            ";extension=" + std::to_string(extension) +
                                                            (causal ? ";causal=true" : ";causal=false")));
      for (Index i = 0; i < n; ++i) {
        const Index start = std::max<Index>(0, i / l * l - extension);
        const auto& set = sets[static_cast<std::size_t>(i)];
        EXPECT_EQ(*set.begin(), start);
        EXPECT_EQ(*set.rbegin(), causal ? i : std::min(n, (i / l + 1) * l) - 1);
        EXPECT_EQ(static_cast<Index>(set.size()), *set.rbegin() - start + 1);
      }
    }
}

/// What the tokens of the global set see and who sees them.
TEST(SparseInfluence, OfALongformerIsSymmetric) {
  const Index n = 15, radius = 2;
  for (const Index step : {1, 2})
    for (const bool symmetric : {true, false}) {
      Problem problem =
          drawn(query("longformer", "n=15;radius=2;dilation=" + std::to_string(step) +
                                        (symmetric ? ";symmetric=true" : ";symmetric=false") + ";with=globals"));
      problem.inputs.at("globals").values.assign(static_cast<std::size_t>(n), 0);
      problem.inputs.at("globals").values[3] = problem.inputs.at("globals").values[8] = 1;
      const auto is_global = [](Index i) { return i == 3 || i == 8; };
      Index asymmetric = 0;
      for (const auto& form : problem.spec->forms) {
        if (step > 1 && form.name == "chunks") continue;
        const Sets sets = reached(problem, form.name);
        for (Index i = 0; i < n; ++i) {
          const auto& set = sets[static_cast<std::size_t>(i)];
          EXPECT_EQ(set, tokens(n,
                                [&](Index j) {
                                  const bool near = (i - j) % step == 0 && std::abs(i - j) <= radius * step;
                                  return near || is_global(i) || (symmetric && is_global(j));
                                }))
              << form.name;
          for (Index j = 0; j < n; ++j) asymmetric += set.count(j) != sets[static_cast<std::size_t>(j)].count(i);
          if (is_global(i) || i < radius * step || i + radius * step >= n || !symmetric) continue;
          const Index beside = !(std::abs(i - 3) <= radius * step && (i - 3) % step == 0) +
                               !(std::abs(i - 8) <= radius * step && (i - 8) % step == 0);
          EXPECT_EQ(static_cast<Index>(set.size()), 2 * radius + 1 + beside);
        }
      }
      EXPECT_EQ(asymmetric == 0, symmetric);
    }
}

TEST(SparseInfluence, OfABigBird) {
  const Index n = 19, length = 3, blocks = 7;
  const Problem problem = drawn(query("big_bird", "n=19;c=1;block=3;first_global=1;last_global=1;radius=1"));
  const auto& lists = problem.inputs.at("random").values;
  for (const auto& form : problem.spec->forms) {
    const Sets sets = reached(problem, form.name);
    for (Index i = 0; i < n; ++i) {
      const Index a = i / length, random = static_cast<Index>(lists[static_cast<std::size_t>(a * length)]) / length;
      EXPECT_EQ(sets[static_cast<std::size_t>(i)], tokens(n, [&](Index j) {
                  const Index e = j / length;
                  const bool global = a == 0 || a == blocks - 1 || e == 0 || e == blocks - 1;
                  return global || std::abs(a - e) <= 1 || e == random;
                }));
    }
  }
}

/// How many steps the slowest token takes to depend on all.
Index steps_to_all(const Sets& step) {
  Sets reach = step;
  for (Index steps = 1;; ++steps) {
    if (std::all_of(reach.begin(), reach.end(), [&](const Tokens& row) { return row.size() == reach.size(); }))
      return steps;
    reach = composed(step, reach);
  }
}

TEST(SparseInfluence, RandomKeysShortenPaths) {
  const std::string sizes = "n=64;c=3;block=1;first_global=0;last_global=0;radius=1";
  Problem problem = drawn(query("big_bird", sizes));
  const Index random = steps_to_all(reached(problem, "edge_list"));
  for (std::size_t i = 0; i < problem.inputs.at("random").values.size(); ++i)
    problem.inputs.at("random").values[i] = static_cast<double>(i / 3);  // each its own
  EXPECT_EQ(steps_to_all(reached(problem, "edge_list")), 63);
  EXPECT_LE(random, 6);  // log2 64
}

TEST(SparseInfluence, OfBlockwiseAttention) {
  for (const Index n : {12, 14}) {
    const Problem problem = drawn(query("blockwise", "n=" + std::to_string(n) + ";p=4"));
    const auto& pi = problem.inputs.at("permutation").values;
    for (const auto& form : problem.spec->forms) {
      const Sets sets = reached(problem, form.name);
      for (Index i = 0; i < n; ++i)
        EXPECT_EQ(sets[static_cast<std::size_t>(i)], tokens(n, [&](Index j) {
                    return static_cast<Index>(pi[static_cast<std::size_t>(i * 4 / n)]) == j * 4 / n;
                  }));
    }
  }
}

TEST(SparseInfluence, OfImageRectangles) {
  const Index n = 34, columns = 7, rows = 2, wide = 3, above = 1, beside = 2;
  for (const bool causal : {true, false}) {
    const Sets sets =
        reached(query("image_local_2d", std::string("n=34;columns=7;block_rows=2;block_columns=3;above=1;") +
                                            "beside=2;causal=" + (causal ? "true" : "false")));
    for (Index i = 0; i < n; ++i) {
      const Index row = i / columns, column = i % columns, top = row / rows * rows, left = column / wide * wide;
      Tokens expected;
      for (Index r = std::max<Index>(0, top - above); r < top + rows; ++r)
        for (Index c = std::max<Index>(0, left - beside); c < std::min(columns, left + wide + beside); ++c) {
          const Index j = r * columns + c;
          const bool inside = r >= top && c >= left && c < left + wide;
          const bool later = inside ? j > i : r >= top && c >= left + wide;
          if (j < n && !(causal && later)) expected.insert(j);
        }
      EXPECT_EQ(sets[static_cast<std::size_t>(i)], expected) << i;
    }
  }
}

TEST(SparseCounts, OfAStrideOf128) {
  EXPECT_EQ(pairs("attest:sparse.strided_pattern:f64;n=16384;d=1;m=1;stride=128;flag=random;seed=1", "sets"), 3129408);
}

TEST(SparseCounts, OfFixedSets) {
  const Index n = 1024, l = 128, c = 8;
  Index expected = 0;
  for (Index i = 0; i < n; ++i) expected += i % l + 1 + c * (i / l);
  EXPECT_EQ(pairs("attest:sparse.fixed_pattern:f64;n=1024;d=1;m=1;period=128;summary=8;flag=random;seed=1", "sets"),
            expected);
}

}  // namespace
}  // namespace attest
