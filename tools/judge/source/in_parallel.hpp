// SPDX-License-Identifier: MIT
#pragma once

#include <omp.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <vector>

namespace attest::judge {

/// run(0) .. run(jobs - 1) on all cores, or one after the other where `side_by_side` is false; what one of them throws
/// is thrown when those under way have ended.
template <class F>
void in_parallel(std::size_t jobs, F&& run, bool side_by_side = true) {
  std::exception_ptr failure;
  std::atomic<bool> failed = false;
#pragma omp parallel for schedule(dynamic) if (jobs > 1 && side_by_side)
  for (std::size_t j = 0; j < jobs; ++j) {
    if (failed) continue;
    try {
      run(j);
    } catch (...) {
      failed = true;
#pragma omp critical(attest_in_parallel)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// What each thread has of its own, made when it is needed first.
template <class T>
class Own {
public:
  template <class Make>
  T& here(Make&& make) {
    auto& own = all_[static_cast<std::size_t>(omp_get_thread_num())];
    if (!own) own = make();
    return *own;
  }
  /// Those that were made; to be asked when no thread runs.
  template <class F>
  void each(F&& visit) {
    for (const auto& own : all_)
      if (own) visit(*own);
  }

private:
  std::vector<std::unique_ptr<T>> all_ =
      std::vector<std::unique_ptr<T>>(static_cast<std::size_t>(omp_get_max_threads()));
};

}  // namespace attest::judge
