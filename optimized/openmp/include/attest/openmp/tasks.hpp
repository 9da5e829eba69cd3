// SPDX-License-Identifier: MIT
#pragma once

#include <omp.h>

#include "attest/view.hpp"

namespace attest::openmp {

/// task(t) for t < count, in parallel where `enough` work is at hand: tasks of the team that runs already, or a team of
/// their own. Returns when all are done. No two may write to one place.
template <class F>
void each_task(Index count, bool enough, F&& task) {
  if (count <= 1 || !enough) {  // a team of one thread would cost more than what it does
    for (Index t = 0; t < count; ++t) task(t);
  } else if (omp_in_parallel()) {  // false in a team of one thread
#pragma omp taskgroup
    for (Index t = 0; t < count; ++t) {
#pragma omp task default(shared) firstprivate(t)
      task(t);
    }
  } else {
#pragma omp parallel for schedule(dynamic)
    for (Index t = 0; t < count; ++t) task(t);
  }
}

}  // namespace attest::openmp
