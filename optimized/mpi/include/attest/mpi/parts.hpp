// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "attest/attest_kernel.h"
#include "attest/view.hpp"

namespace attest::mpi {

/// Consecutive tokens of one rank: where they begin in the sequence, and in the rank's tensors.
struct Piece {
  Index begin = 0, at = 0, tokens = 0;
};

/// Which tokens each rank has, from the call's table.
class Parts {
public:
  Parts(const attest_call& call, const char* size, int ranks) : of_(static_cast<std::size_t>(ranks)) {
    const DLTensor* table = attest_input(&call, (std::string("parts.") + size).c_str());
    if (!table) throw std::invalid_argument(std::string("the call has no table parts.") + size);
    const View<const Index, 2> pieces(static_cast<const Index*>(table->data), {table->shape[0], 2});
    for (Index p = 0; p < pieces.extent(0); ++p) {
      auto& of_rank = of_.at(static_cast<std::size_t>(pieces(p, 0)));
      const Index at = of_rank.empty() ? 0 : of_rank.back().at + of_rank.back().tokens;
      of_rank.push_back({total_, at, pieces(p, 1)});
      total_ += pieces(p, 1);
    }
  }

  const std::vector<Piece>& of(int rank) const { return of_.at(static_cast<std::size_t>(rank)); }
  Index tokens(int rank) const { return of(rank).empty() ? 0 : of(rank).back().at + of(rank).back().tokens; }
  Index total() const { return total_; }
  /// Of the rank that has the most.
  Index most() const {
    Index most = 0;
    for (std::size_t rank = 0; rank < of_.size(); ++rank) most = std::max(most, tokens(static_cast<int>(rank)));
    return most;
  }

private:
  std::vector<std::vector<Piece>> of_;
  Index total_ = 0;
};

}  // namespace attest::mpi
