// SPDX-License-Identifier: MIT
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <type_traits>

#include "attest/view.hpp"

namespace attest::mpi {

template <class T>
MPI_Datatype type_of() {
  return std::is_same_v<T, float> ? MPI_FLOAT : MPI_DOUBLE;
}

/// All ranks of the job, and the same ones backwards.
struct World {
  MPI_Comm forward = MPI_COMM_WORLD, backward = MPI_COMM_NULL;
  int rank = 0, size = 1;

  /// MPI begins with the first call of a kernel, which may come from any thread.
  static const World& here() {
    static const World world = [] {
      int given = 0;
      if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS ||
          given < MPI_THREAD_SERIALIZED)
        throw std::runtime_error("this MPI cannot be called from one thread after another");
      World made;
      MPI_Comm_rank(made.forward, &made.rank);
      MPI_Comm_size(made.forward, &made.size);
      MPI_Comm_split(made.forward, 0, -made.rank, &made.backward);
      return made;
    }();
    return world;
  }
};

}  // namespace attest::mpi
