// SPDX-License-Identifier: MIT
#pragma once

#include <omp.h>

#include "attest/view.hpp"

namespace attest::openmp {

/// task(t) for t < count, in parallel where `enough` work is at hand: tasks of the team that runs already, or a team of
/// their own. A task does not wait for another, and no two write to one place.
template <class F>
void each_task(Index count, bool enough, F&& task) {
  if (count > 1 && enough && omp_in_parallel()) {  // in a team of one thread omp_in_parallel() is false
#pragma omp taskloop grainsize(1) default(shared)
    for (Index t = 0; t < count; ++t) task(t);
  } else {
#pragma omp parallel for schedule(dynamic) if (count > 1 && enough)
    for (Index t = 0; t < count; ++t) task(t);
  }
}

}  // namespace attest::openmp
