// SPDX-License-Identifier: MIT
#include "attest/judge/parts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "attest/array.hpp"

namespace attest::judge {
namespace {

constexpr Index kMostRanks = 7, kMostTokens = 40;

CallOptions drawn(std::uint64_t seed) {
  CallOptions how;
  how.parts = seed;
  return how;
}

Request taking(bool zigzag) {
  Request request;
  request.collective = true;
  request.zigzag = zigzag;
  return request;
}

std::vector<Index> ranks_of(const std::vector<Piece>& pieces) {
  std::vector<Index> ranks;
  for (const Piece& piece : pieces) ranks.push_back(piece.rank);
  return ranks;
}

Index tokens_of(const std::vector<Piece>& pieces) {
  Index tokens = 0;
  for (const Piece& piece : pieces) tokens += piece.tokens;
  return tokens;
}

/// int64 numbers 0, 1, 2 ... in that shape.
InputTensor counted(const std::string& name, std::vector<Index> shape, int token_axis, const std::string& tokens) {
  InputTensor tensor;
  tensor.name = name;
  tensor.dtype = DType::i64;
  tensor.shape = std::move(shape);
  tensor.token_axis = token_axis;
  tensor.tokens = tokens;
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count(tensor.shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  tensor.bytes.resize(numbers.size() * sizeof(std::int64_t));
  if (!numbers.empty()) std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size());
  return tensor;
}

std::vector<std::int64_t> numbers_of(const std::vector<std::byte>& bytes) {
  std::vector<std::int64_t> numbers(bytes.size() / sizeof(std::int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

TEST(Parts, EveryTokenHasOneRankInTheOrderOfTheSequence) {
  rc::check([](std::uint64_t seed) {
    const auto ranks = *rc::gen::inRange<Index>(1, kMostRanks + 1), tokens = *rc::gen::inRange<Index>(0, kMostTokens);
    const auto pieces = pieces_of(tokens, ranks, taking(false), drawn(seed));
    std::vector<Index> each(static_cast<std::size_t>(ranks));
    for (Index rank = 0; rank < ranks; ++rank) each[static_cast<std::size_t>(rank)] = rank;
    RC_ASSERT(ranks_of(pieces) == each);
    RC_ASSERT(tokens_of(pieces) == tokens);
    RC_ASSERT(std::all_of(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.tokens >= 0; }));
    RC_ASSERT(pieces == pieces_of(tokens, ranks, taking(false), drawn(seed)));
  });
}

TEST(Parts, SeedsGiveEqualUnequalEmptyAndZigZagOnes) {
  constexpr Index ranks = 3, tokens = 12;
  const std::vector<Index> turns{0, 1, 2, 2, 1, 0};
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto pieces = pieces_of(tokens, ranks, taking(true), drawn(seed));
    ASSERT_EQ(tokens_of(pieces), tokens);
    std::set<Index> lengths;
    for (const Piece& piece : pieces) lengths.insert(piece.tokens);
    if (ranks_of(pieces) == turns)
      ++seen["zig-zag"];
    else if (lengths.count(0))
      ++seen["empty"];
    else
      ++seen[lengths.size() == 1 ? "equal" : "unequal"];
  }
  for (const char* way : {"zig-zag", "empty", "equal", "unequal"}) EXPECT_GT(seen[way], 20) << way;
}

TEST(Parts, OneRankMayHaveAll) {
  auto how = drawn(3);
  how.all_tokens_on = 2;
  EXPECT_EQ(pieces_of(5, 3, taking(true), how), (std::vector<Piece>{{0, 0}, {1, 0}, {2, 5}}));
}

TEST(Parts, EachRankGetsItsRowsAndTheTableSaysWhere) {
  Request request = taking(false);
  request.inputs = {counted("x", {2, 5, 3}, 1, "n"), counted("w", {4}, -1, "")};
  request.outputs = {{"o", DType::i64, {2, 5, 3}, 1, "n"}};
  auto how = drawn(1);
  how.all_tokens_on = 1;
  auto parts = divided(request, 2, how);
  ASSERT_EQ(parts.size(), 2);
  EXPECT_EQ(parts[0].inputs[0].shape, (std::vector<Index>{2, 0, 3}));
  EXPECT_TRUE(parts[0].inputs[0].bytes.empty());
  EXPECT_EQ(parts[1].inputs[0].bytes, request.inputs[0].bytes);
  for (const Request& part : parts) {
    EXPECT_EQ(part.inputs[1].bytes, request.inputs[1].bytes);
    ASSERT_EQ(part.inputs.size(), 3);
    EXPECT_EQ(part.inputs[2].name, "parts.n");
    EXPECT_TRUE(part.inputs[2].is_table);
    EXPECT_EQ(part.inputs[2].shape, (std::vector<Index>{2, 2}));
    EXPECT_EQ(numbers_of(part.inputs[2].bytes), (std::vector<std::int64_t>{0, 0, 1, 5}));
  }
}

/// What ranks would hand back whose kernel copies x to o.
std::vector<Response> copies(const std::vector<Request>& parts) {
  std::vector<Response> responses;
  for (const Request& part : parts) {
    responses.emplace_back();
    responses.back().outputs = {part.inputs[0].bytes, part.inputs[1].bytes};
  }
  return responses;
}

Request copying(Index tokens, Index outer, Index inner) {
  Request request = taking(true);
  request.inputs = {counted("x", {outer, tokens, inner}, 1, "n"), counted("s", {inner}, -1, "")};
  request.outputs = {{"o", DType::i64, {outer, tokens, inner}, 1, "n"}, {"S", DType::i64, {inner}}};
  return request;
}

TEST(Parts, WhatIsDividedIsGatheredAsItWas) {
  rc::check([](std::uint64_t seed) {
    const auto ranks = *rc::gen::inRange<Index>(1, kMostRanks + 1), tokens = *rc::gen::inRange<Index>(0, kMostTokens);
    const Request request = copying(tokens, *rc::gen::inRange<Index>(1, 4), *rc::gen::inRange<Index>(1, 4));
    const auto parts = divided(request, ranks, drawn(seed));
    const Response whole = gathered(request, copies(parts), drawn(seed));
    RC_ASSERT(whole.violations.empty());
    RC_ASSERT(whole.outputs[0] == request.inputs[0].bytes);
    RC_ASSERT(whole.outputs[1] == request.inputs[1].bytes);
  });
}

TEST(Parts, OutputWithoutTokensHasToBeTheSameOnAllRanks) {
  const Request request = copying(4, 1, 2);
  auto responses = copies(divided(request, 3, drawn(1)));
  responses[2].outputs[1][0] ^= std::byte{1};
  const Response whole = gathered(request, std::move(responses), drawn(1));
  ASSERT_EQ(whole.violations.size(), 1);
  EXPECT_EQ(whole.violations[0].find("output 'S' is not the same on rank 2 as on rank 0"), 0);
}

}  // namespace
}  // namespace attest::judge
