// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <vector>

#include "attest/mpi/world.hpp"

namespace attest::mpi {

/// Joins, for each of several runs of numbers, what ranks before have with what ranks behind have: into `behind`.
using Join = MPI_User_function;

/// What the ranks before this one have together, in the order of the communicator; zeros on the first. `numbers` are
/// states of so many numbers each, for which `join` is associative and zeros are neutral.
template <class T>
std::vector<T> joined_before(std::vector<T>& numbers, int size, Join* join, MPI_Comm ranks) {
  MPI_Datatype state = MPI_DATATYPE_NULL;
  MPI_Op operation = MPI_OP_NULL;
  MPI_Type_contiguous(size, type_of<T>(), &state);
  MPI_Type_commit(&state);
  constexpr int commutes = 0;  // to MPI: the sums are those of one order, run after run
  MPI_Op_create(join, commutes, &operation);
  std::vector<T> before(numbers.size());
  MPI_Exscan(numbers.data(), before.data(), static_cast<int>(numbers.size()) / size, state, operation, ranks);
  MPI_Op_free(&operation);
  MPI_Type_free(&state);
  int rank = 0;
  MPI_Comm_rank(ranks, &rank);
  if (rank == 0) before.assign(before.size(), T(0));  // MPI leaves it as it was, or not
  return before;
}

/// So many numbers in all that an operation of MPI has to join, and of how many each state is.
template <class T>
std::pair<std::size_t, std::size_t> numbers_of(int count, MPI_Datatype type) {
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  const std::size_t each = static_cast<std::size_t>(bytes) / sizeof(T);
  return {static_cast<std::size_t>(count) * each, each};
}

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
    numbers_ = joined_before(numbers_, static_cast<int>(rows_ * columns_), add, ranks);
  }

  /// Those of the last rank, on all.
  void take_from_last(const World& world) {
    MPI_Bcast(numbers_.data(), static_cast<int>(numbers_.size()), type_of<T>(), world.size - 1, world.forward);
  }

private:
  /// The operation of the states' monoid: the state of one run of tokens, then that of the run behind it.
  static void add(void* before, void* behind, int* count, MPI_Datatype* type) {
    const auto [numbers, each] = numbers_of<T>(*count, *type);
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

/// Writes a state [S | z] to the outputs of a call that it has.
template <class T>
void write_state(View<const T, 2> state, View<T, 2> S, View<T, 1> z) {
  const Index m = state.extent(1) - 1;
  for (Index a = 0; a < state.extent(0); ++a) {
    for (Index b = 0; S && b < m; ++b) S(a, b) = state(a, b);
    if (z) z(a) = state(a, m);
  }
}

}  // namespace attest::mpi
