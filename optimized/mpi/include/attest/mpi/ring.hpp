// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "attest/mpi/parts.hpp"
#include "attest/mpi/world.hpp"

namespace attest::mpi {

/// Rows of all heads that go round the ranks: so many columns for each token, in a message of one length.
template <class T>
class Ring {
public:
  Ring(const World& world, const Parts& parts, std::size_t heads, Index columns)
      : world_(world),
        parts_(parts),
        columns_(columns),
        owner_(world.rank),
        numbers_(heads * static_cast<std::size_t>(parts.most() * columns)) {}

  /// Whose rows are here.
  int owner() const { return owner_; }

  /// The rows of one head that are here.
  View<T, 2> of(std::size_t head) {
    return {numbers_.data() + head * static_cast<std::size_t>(parts_.most() * columns_),
            {parts_.tokens(owner_), columns_}};
  }

  /// Every rank gets the rows that the next one had; after as many turns as ranks they are at home.
  void turn() {
    const int next = (world_.rank + 1) % world_.size, before = (world_.rank + world_.size - 1) % world_.size;
    MPI_Sendrecv_replace(numbers_.data(), static_cast<int>(numbers_.size()), type_of<T>(), before, 0, next, 0,
                         world_.forward, MPI_STATUS_IGNORE);
    owner_ = (owner_ + 1) % world_.size;
  }

private:
  const World& world_;
  const Parts& parts_;
  Index columns_;
  int owner_;
  std::vector<T> numbers_;
};

/// f(piece of queries here, piece of keys of the owner), for all.
template <class F>
void each_pair(const std::vector<Piece>& queries, const std::vector<Piece>& keys, F&& f) {
  for (const Piece& of_queries : queries)
    for (const Piece& of_keys : keys)
      if (of_queries.tokens > 0 && of_keys.tokens > 0) f(of_queries, of_keys);
}

template <class T>
void copy(View<const T, 2> from, View<T, 2> to) {
  for (Index i = 0; i < from.extent(0); ++i)
    for (Index a = 0; a < from.extent(1); ++a) to(i, a) = from(i, a);
}

}  // namespace attest::mpi
