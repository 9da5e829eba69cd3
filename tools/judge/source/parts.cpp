// SPDX-License-Identifier: MIT
#include "attest/judge/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "attest/dtype.hpp"

namespace attest::judge {
namespace {

/// Part p of so many that are as equal as can be.
Index equal_part(Index tokens, Index parts, Index p) { return tokens / parts + (p < tokens % parts ? 1 : 0); }

std::vector<Piece> equal(Index tokens, const std::vector<Index>& ranks) {
  std::vector<Piece> pieces;
  const auto parts = static_cast<Index>(ranks.size());
  for (Index p = 0; p < parts; ++p)
    pieces.push_back({ranks[static_cast<std::size_t>(p)], equal_part(tokens, parts, p)});
  return pieces;
}

std::vector<Piece> unequal(Index tokens, Index ranks, std::mt19937_64& random) {
  std::vector<Index> cuts{0, tokens};
  for (Index r = 1; r < ranks; ++r)
    cuts.push_back(static_cast<Index>(random() % static_cast<std::uint64_t>(tokens + 1)));
  std::sort(cuts.begin(), cuts.end());
  std::vector<Piece> pieces;
  for (Index r = 0; r < ranks; ++r) {
    const auto at = static_cast<std::size_t>(r);
    pieces.push_back({r, cuts[at + 1] - cuts[at]});
  }
  return pieces;
}

/// Every rank has a piece, some of them none of the tokens.
std::vector<Piece> some_empty(Index tokens, Index ranks, std::mt19937_64& random) {
  std::vector<Index> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), Index{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  const auto some = static_cast<Index>(1 + random() % static_cast<std::uint64_t>(std::max<Index>(1, ranks - 1)));
  std::vector<Piece> pieces;
  for (Index r = 0; r < ranks; ++r) pieces.push_back({r, 0});
  for (Index p = 0; p < some; ++p)
    pieces[static_cast<std::size_t>(order[static_cast<std::size_t>(p)])].tokens = equal_part(tokens, some, p);
  return pieces;
}

std::vector<Piece> zigzag(Index tokens, Index ranks) {
  std::vector<Index> turns(static_cast<std::size_t>(2 * ranks));
  std::iota(turns.begin(), turns.begin() + ranks, Index{0});
  std::copy(turns.begin(), turns.begin() + ranks, turns.rbegin());
  return equal(tokens, turns);
}

/// Copies each run of bytes of the whole tensor that lies in the piece to or from that rank's part: copy(rank, byte of
/// the part, byte of the whole, bytes).
void each_run(const TensorSpec& whole, const std::vector<Piece>& pieces,
              const std::function<void(Index, std::size_t, std::size_t, std::size_t)>& copy) {
  const auto axis = whole.shape.begin() + whole.token_axis;
  const auto product = [](auto first, auto last) {
    return static_cast<std::size_t>(std::accumulate(first, last, Index{1}, std::multiplies<>()));
  };
  const std::size_t outer = product(whole.shape.begin(), axis),
                    row = product(axis + 1, whole.shape.end()) * size_of(whole.dtype),
                    length = static_cast<std::size_t>(*axis);
  std::map<Index, std::size_t> all;  // tokens of each rank
  for (const Piece& piece : pieces) all[piece.rank] += static_cast<std::size_t>(piece.tokens);
  std::map<Index, std::size_t> before;
  std::size_t at = 0;
  for (const auto& [rank, tokens] : pieces) {
    const auto count = static_cast<std::size_t>(tokens);
    for (std::size_t o = 0; o < outer && count > 0; ++o)
      copy(rank, (o * all[rank] + before[rank]) * row, (o * length + at) * row, count * row);
    before[rank] += count;
    at += count;
  }
}

Index tokens_of(const std::vector<Piece>& pieces, Index rank) {
  Index tokens = 0;
  for (const Piece& piece : pieces)
    if (piece.rank == rank) tokens += piece.tokens;
  return tokens;
}

/// "parts.n", int64 [pieces, 2]: the rank of each piece and its tokens.
InputTensor table_of(const std::string& size, const std::vector<Piece>& pieces) {
  InputTensor table;
  table.name = "parts." + size;
  table.dtype = DType::i64;
  table.shape = {static_cast<Index>(pieces.size()), 2};
  table.is_table = true;
  std::vector<std::int64_t> entries;
  for (const Piece& piece : pieces) entries.insert(entries.end(), {piece.rank, piece.tokens});
  table.bytes.resize(entries.size() * sizeof(std::int64_t));
  std::memcpy(table.bytes.data(), entries.data(), table.bytes.size());
  return table;
}

/// The pieces of each size that counts tokens of the call.
std::map<std::string, std::vector<Piece>> all_pieces(const Request& request, Index ranks, const CallOptions& how) {
  std::map<std::string, std::vector<Piece>> pieces;
  const auto add = [&](const TensorSpec& tensor) {
    if (tensor.token_axis >= 0 && !pieces.count(tensor.tokens))
      pieces[tensor.tokens] = pieces_of(tensor.shape[static_cast<std::size_t>(tensor.token_axis)], ranks, request, how);
  };
  for (const auto& input : request.inputs) add(input);
  for (const auto& output : request.outputs) add(output);
  return pieces;
}

std::size_t bytes_of(const TensorSpec& tensor) {
  return static_cast<std::size_t>(count(tensor.shape)) * size_of(tensor.dtype);
}

}  // namespace

std::vector<Piece> pieces_of(Index tokens, Index ranks, const Request& request, const CallOptions& how) {
  std::vector<Index> each(static_cast<std::size_t>(ranks));
  std::iota(each.begin(), each.end(), Index{0});
  std::mt19937_64 random(how.parts * 1000003 + static_cast<std::uint64_t>(tokens));
  if (how.all_tokens_on) {
    std::vector<Piece> pieces;
    for (const Index rank : each) pieces.push_back({rank, rank == *how.all_tokens_on ? tokens : 0});
    return pieces;
  }
  switch (random() % (request.zigzag ? 4 : 3)) {
    case 0: return equal(tokens, each);
    case 1: return unequal(tokens, ranks, random);
    case 2: return some_empty(tokens, ranks, random);
    default: return zigzag(tokens, ranks);
  }
}

std::vector<Request> divided(const Request& request, Index ranks, const CallOptions& how) {
  const auto pieces = all_pieces(request, ranks, how);
  std::vector<Request> parts(static_cast<std::size_t>(ranks), request);
  const auto shrink = [&](TensorSpec& tensor, Index rank) {
    if (tensor.token_axis >= 0)
      tensor.shape[static_cast<std::size_t>(tensor.token_axis)] = tokens_of(pieces.at(tensor.tokens), rank);
  };
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const InputTensor& whole = request.inputs[i];
    for (Index rank = 0; rank < ranks; ++rank) {
      InputTensor& part = parts[static_cast<std::size_t>(rank)].inputs[i];
      shrink(part, rank);
      part.bytes.resize(bytes_of(part));
    }
    if (whole.token_axis >= 0)
      each_run(whole, pieces.at(whole.tokens), [&](Index rank, std::size_t to, std::size_t from, std::size_t bytes) {
        std::memcpy(parts[static_cast<std::size_t>(rank)].inputs[i].bytes.data() + to, whole.bytes.data() + from,
                    bytes);
      });
  }
  for (Index rank = 0; rank < ranks; ++rank) {
    Request& part = parts[static_cast<std::size_t>(rank)];
    for (TensorSpec& output : part.outputs) shrink(output, rank);
    for (const auto& [size, of_size] : pieces) part.inputs.push_back(table_of(size, of_size));
  }
  return parts;
}

Response gathered(const Request& request, std::vector<Response> of_ranks, const CallOptions& how) {
  Response whole;
  const auto ranks = static_cast<Index>(of_ranks.size());
  const auto pieces = all_pieces(request, ranks, how);
  for (std::size_t o = 0; o < request.outputs.size(); ++o) {
    const TensorSpec& output = request.outputs[o];
    if (output.token_axis < 0) {
      for (std::size_t rank = 1; rank < of_ranks.size(); ++rank)
        if (of_ranks[rank].outputs[o] != of_ranks[0].outputs[o])
          whole.violations.push_back(
              fmt::format("output '{}' is not the same on rank {} as on rank 0; what has no "
                          "tokens is due on every rank",
                          output.name, rank));
      whole.outputs.push_back(std::move(of_ranks[0].outputs[o]));
      continue;
    }
    std::vector<std::byte> bytes(bytes_of(output));
    each_run(output, pieces.at(output.tokens), [&](Index rank, std::size_t from, std::size_t to, std::size_t run) {
      std::memcpy(bytes.data() + to, of_ranks[static_cast<std::size_t>(rank)].outputs[o].data() + from, run);
    });
    whole.outputs.push_back(std::move(bytes));
  }
  return whole;
}

}  // namespace attest::judge
