// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "attest/mpi/world.hpp"

namespace attest::mpi {

/// A state [rows, columns] for each head, one behind the other.
template <class T>
class States {
public:
  States(std::size_t heads, Index rows, Index columns)
      : rows_(rows), columns_(columns), numbers_(heads * static_cast<std::size_t>(rows * columns)) {}

  View<T, 2> of(std::size_t head) {
    return {numbers_.data() + head * static_cast<std::size_t>(rows_ * columns_), {rows_, columns_}};
  }

  /// What the ranks before this one have together, in the order of the communicator; zeros on the first.
  void sum_before(MPI_Comm ranks) {
    MPI_Datatype state = MPI_DATATYPE_NULL;
    MPI_Op sum = MPI_OP_NULL;
    const auto size = static_cast<int>(rows_ * columns_);
    MPI_Type_contiguous(size, type_of<T>(), &state);
    MPI_Type_commit(&state);
    constexpr int commutes = 0;  // to MPI: the sums are those of one order, run after run
    MPI_Op_create(add, commutes, &sum);
    std::vector<T> before(numbers_.size());
    MPI_Exscan(numbers_.data(), before.data(), static_cast<int>(numbers_.size()) / size, state, sum, ranks);
    MPI_Op_free(&sum);
    MPI_Type_free(&state);
    int rank = 0;
    MPI_Comm_rank(ranks, &rank);
    if (rank == 0) before.assign(before.size(), T(0));  // MPI leaves it as it was, or not
    numbers_ = std::move(before);
  }

  /// Those of the last rank, on all.
  void take_from_last(const World& world) {
    MPI_Bcast(numbers_.data(), static_cast<int>(numbers_.size()), type_of<T>(), world.size - 1, world.forward);
  }

private:
  /// The operation of the states' monoid: the state of one run of tokens, then that of the run behind it.
  static void add(void* before, void* behind, int* count, MPI_Datatype* type) {
    int bytes = 0;
    MPI_Type_size(*type, &bytes);
    const auto numbers = static_cast<std::size_t>(*count) * static_cast<std::size_t>(bytes) / sizeof(T);
    for (std::size_t i = 0; i < numbers; ++i)
      static_cast<T*>(behind)[i] = static_cast<T*>(before)[i] + static_cast<T*>(behind)[i];
  }

  Index rows_, columns_;
  std::vector<T> numbers_;
};

/// Adds what a call was given of a state [S | z]; what it was not given is 0.
template <class T>
void add_carried(View<const T, 2> S, View<const T, 1> z, View<T, 2> state) {
  const Index m = state.extent(1) - 1;
  for (Index a = 0; a < state.extent(0); ++a) {
    for (Index b = 0; S && b < m; ++b) state(a, b) += S(a, b);
    if (z) state(a, m) += z(a);
  }
}

/// Writes a state [S | z] to the outputs of a call.
template <class T>
void write_state(View<const T, 2> state, View<T, 2> S, View<T, 1> z) {
  const Index m = state.extent(1) - 1;
  for (Index a = 0; a < state.extent(0); ++a) {
    for (Index b = 0; b < m; ++b) S(a, b) = state(a, b);
    z(a) = state(a, m);
  }
}

}  // namespace attest::mpi
