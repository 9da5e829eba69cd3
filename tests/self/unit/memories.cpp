// SPDX-License-Identifier: MIT
// How far back layers with a memory reach, and how many pairs they score: read off runs of the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "attest/reference/memory/compressive_attention.hpp"
#include "attest/reference/memory/compressive_update.hpp"
#include "runs.hpp"

namespace attest::reference {
namespace {

using Tokens = std::vector<Index>;  // in order

Array ones(std::vector<Index> shape) {
  Array x{std::move(shape), {}};
  x.values.assign(static_cast<std::size_t>(count(x.shape)), 1.0);
  return x;
}

/// Layers of width 1 over n tokens, without a memory at first.
Problem recurrence(Index n, Index layers, Index segment, Index given, Index kept) {
  Problem problem{&find_spec("memory.segment_recurrence"), {}, {{"segment", segment}}, {}};
  problem.sizes = {
      {"n", n}, {"l", layers}, {"f", 1}, {"d", 1}, {"r", given}, {"c", kept}, {"p", std::max(given, kept) + n}};
  for (const auto& input : problem.spec->inputs)
    if (!input.optional) problem.inputs[input.name] = ones(shape_of(input, problem.sizes));
  check(problem);
  return problem;
}

Tokens all_of(const Influenced& x) {
  const auto tokens = tokens_of(x);
  return {tokens.begin(), tokens.end()};
}

/// first, first + 1, .., last
Tokens range(Index first, Index last) {
  Tokens tokens(static_cast<std::size_t>(last - first + 1));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// The tokens that each output depends on.
std::vector<Tokens> seen_by(const Problem& problem, const char* form) {
  Influence arithmetic;
  const Scope scope(arithmetic);
  Bundle bundle(problem, [&](const TensorDeclaration& input, Index i, double x) {
    return input.name == "h" ? arithmetic.of_token(x, static_cast<std::size_t>(i)) : Number::input(x);
  });
  evaluate(form, bundle);
  std::vector<Tokens> seen;
  for (const auto& o : values_of(arithmetic, bundle, "o")) seen.push_back(all_of(o));
  return seen;
}

TEST(SegmentRecurrence, ReachIsThatOfTheRecursion) {
  for (const auto& [segment, kept, layers] :
       {std::tuple<Index, Index, Index>{5, 3, 3}, {4, 4, 3}, {3, 7, 2}, {4, 0, 3}})
    for (const char* form : {"concatenate", "cached_projections", "banded_mask", "layer_stack"}) {
      const Index n = 6 * segment;
      const auto seen = seen_by(recurrence(n, layers, segment, 0, kept), form);
      for (Index t = 0; t < n; ++t) {
        Index first = t;
        for (Index layer = 0; layer < layers; ++layer) first = std::max<Index>(first / segment * segment - kept, 0);
        EXPECT_EQ(seen[static_cast<std::size_t>(t)], range(first, t)) << form << " token " << t;
      }
    }
  // What is printed, layers times memory, holds where the segment divides the memory.
  const auto reach = [](Index segment, Index kept, Index layers, Index token) {
    return token - static_cast<Index>(seen_by(recurrence(6 * segment, layers, segment, 0, kept), "concatenate")
                                          .at(static_cast<std::size_t>(token))
                                          .front());
  };
  EXPECT_EQ(reach(4, 4, 3, 20), 3 * 4);      // the first token of a segment
  EXPECT_EQ(reach(4, 4, 3, 23), 3 * 4 + 3);  // the last one
  EXPECT_EQ(reach(5, 3, 3, 20), 13);         // not 9
}

TEST(SegmentRecurrence, EachLayerAddsASegment) {
  const Index segment = 3, segments = 4, n = segments * segment;
  for (Index layers = 1; layers < segments; ++layers) {
    const auto last = seen_by(recurrence(n, layers, segment, 0, segment), "layer_stack").back();
    EXPECT_EQ(last, range((segments - 1 - layers) * segment, n - 1)) << layers << " layers";
  }
}

TEST(SegmentRecurrence, PairsOfASegment) {
  for (const Index memory : {0, 3, 8})
    for (const char* form : {"concatenate", "cached_projections", "banded_mask", "layer_stack"})
      for (const Index segment : {1, 4, 7})
        EXPECT_EQ(pairs(recurrence(segment, 1, segment, memory, memory), form),
                  segment * memory + segment * (segment + 1) / 2);
}

/// The tokens of a row of a memory.
Tokens of_row(const Influence& arithmetic, const Matrix& memory, Index row) {
  return all_of(arithmetic.value(memory(row, 0)));
}

/// A layer with memories of `rows` states and `rows` compressed ones, each of `rate` states; all of width 1.
struct Layer {
  Matrix memory{0, 1}, compressed{0, 1};

  /// What comes out for a segment; then the memories take it.
  Matrix step(const Matrix& h, Index rows, Index rate) {
    Matrix w(1, 1), o(h.extent(0), 1);
    w(0, 0) = Number(1);
    memory::compressive_attention::concatenate({.h = h,
                                                .memory = std::as_const(memory).view(),
                                                .compressed = std::as_const(compressed).view(),
                                                .w_q = std::as_const(w).view(),
                                                .w_k = std::as_const(w).view(),
                                                .w_v = std::as_const(w).view(),
                                                .distances = {},
                                                .u = {},
                                                .v = {},
                                                .scale = {}},
                                               {.o = o.view()});
    const Index all = memory.extent(0) + h.extent(0), kept = std::min(rows, all), evicted = all - kept;
    Matrix next(kept, 1), old(evicted, 1), next_compressed(std::min(rows, compressed.extent(0) + evicted / rate), 1);
    memory::compressive_update::queues(
        {.h = h,
         .memory = std::as_const(memory).view(),
         .compressed = std::as_const(compressed).view(),
         .w = {},
         .bias = {},
         .rate = rate},
        {.memory = next.view(), .compressed = next_compressed.view(), .old = old.view()});
    memory = std::move(next), compressed = std::move(next_compressed);
    return o;
  }
};

/// Segments of tokens through layers; `visit(first token, segment, layers, outputs)` after each.
template <class F>
void run(Influence& arithmetic, Index layers, Index segments, Index length, Index rows, Index rate, F&& visit) {
  std::vector<Layer> stack(static_cast<std::size_t>(layers));
  for (Index s = 0; s < segments; ++s) {
    Matrix x(length, 1);
    for (Index i = 0; i < length; ++i) x(i, 0) = arithmetic.of_token(1, static_cast<std::size_t>(s * length + i));
    for (Layer& layer : stack) x = layer.step(x, rows, rate);
    visit(s * length, stack, x);
  }
}

/// A layer sees the rows of the memory, and `rate` states in each row of the compressed memory. Blocks end where
/// segments do, so that the first token of a segment reaches no further.
TEST(CompressiveMemory, TemporalRangeGrowsByLayersTimesBothMemories) {
  const Index length = 4, rows = 4, rate = 2, per_layer = rows + rate * rows;
  for (const Index layers : {1, 2, 3}) {
    Influence arithmetic;
    const Scope scope(arithmetic);
    Index last = 0;
    run(arithmetic, layers, layers * per_layer / length + 2, length, rows, rate,
        [&](Index first, const std::vector<Layer>&, const Matrix& o) {
          const auto tokens = all_of(arithmetic.value(o(0, 0)));
          EXPECT_EQ(tokens, range(std::max<Index>(first - layers * per_layer, 0), first)) << layers << " layers";
          last = first;
        });
    EXPECT_GT(last, layers * per_layer);  // the range is that of the memories, not of the run
  }
}

TEST(CompressiveMemory, EveryTokenIsRepresentedOnce) {
  const Index length = 4, rows = 4, rate = 2;
  Influence arithmetic;
  const Scope scope(arithmetic);
  run(arithmetic, 1, 6, length, rows, rate, [&](Index first, const std::vector<Layer>& stack, const Matrix&) {
    Tokens all;
    const Layer& layer = stack.front();
    for (Index t = 0; t < layer.compressed.extent(0); ++t) {
      const auto tokens = of_row(arithmetic, layer.compressed, t);
      EXPECT_EQ(tokens.size(), static_cast<std::size_t>(rate));
      all.insert(all.end(), tokens.begin(), tokens.end());
    }
    for (Index t = 0; t < layer.memory.extent(0); ++t) {
      const auto tokens = of_row(arithmetic, layer.memory, t);
      all.insert(all.end(), tokens.begin(), tokens.end());
    }
    const Index end = first + length;  // the last rows + rate rows tokens, oldest first, none twice
    EXPECT_EQ(all, range(std::max<Index>(end - rows - rate * rows, 0), end - 1));
  });
}

TEST(CompressiveMemory, EveryQuerySeesBothMemories) {
  Problem problem{&find_spec("memory.compressive_attention"), {}, {}, {}};
  const Index n = 3, a = 4, b = 2;
  problem.sizes = {{"n", n}, {"a", a}, {"b", b}, {"f", 1}, {"d", 1}, {"m", 1}, {"p", a + b + n}};
  for (const auto& input : problem.spec->inputs)
    if (!input.optional) problem.inputs[input.name] = ones(shape_of(input, problem.sizes));
  for (const char* form : {"concatenate", "three_parts"}) {
    Influence arithmetic;
    const Scope scope(arithmetic);
    Bundle bundle(problem, [&](const TensorDeclaration& input, Index i, double x) {
      const Index before = input.name == "compressed" ? 0 : input.name == "memory" ? b : a + b;
      const bool row = input.name == "h" || input.name == "memory" || input.name == "compressed";
      return row ? arithmetic.of_token(x, static_cast<std::size_t>(before + i)) : Number::input(x);
    });
    evaluate(form, bundle);
    const auto o = values_of(arithmetic, bundle, "o");
    for (Index i = 0; i < n; ++i) EXPECT_EQ(all_of(o[static_cast<std::size_t>(i)]), range(0, a + b + i)) << form;
  }
  EXPECT_EQ(pairs(problem, "concatenate"), n * (a + b) + n * (n + 1) / 2);
}

}  // namespace
}  // namespace attest::reference
