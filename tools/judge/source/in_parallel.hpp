// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <exception>

namespace attest::judge {

/// run(0) .. run(jobs - 1) on all cores; what one of them throws is thrown when all have ended.
template <class F>
void in_parallel(std::size_t jobs, F&& run) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic) if (jobs > 1)
  for (std::size_t j = 0; j < jobs; ++j) {
    try {
      run(j);
    } catch (...) {
#pragma omp critical(attest_in_parallel)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attest::judge
