// SPDX-License-Identifier: MIT
// How the tokens of a collective call are divided over its ranks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attest/judge/host.hpp"

namespace attest::judge {

/// Consecutive tokens that a rank has.
struct Piece {
  Index rank = 0, tokens = 0;

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// So many tokens over so many ranks, in the order of the sequence: equal parts, unequal ones, some of them empty, all
/// with the first rank, or (of a kernel that takes it) two pieces a rank, the first and the last, the second and the
/// last but one. What it is follows from `how`, the number of tokens and that of ranks.
std::vector<Piece> pieces_of(Index tokens, Index ranks, const Request& request, const CallOptions& how);

/// The request of each rank: its part of the tensors with tokens, all of the others, and a table "parts.SIZE" for each
/// size that counts tokens.
std::vector<Request> divided(const Request& request, Index ranks, const CallOptions& how);

/// The outputs of the whole from those of the ranks, each of which has finished. What has no tokens must be the same on
/// all ranks; a violation says where it is not.
Response gathered(const Request& request, std::vector<Response> of_ranks, const CallOptions& how);

}  // namespace attest::judge
