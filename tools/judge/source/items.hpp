// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attest/jobs/job.hpp"
#include "attest/judge/options.hpp"
#include "attest/judge/packed.hpp"
#include "in_parallel.hpp"

namespace attest::judge {

/// run(0) .. run(count - 1), in their order: by the job where there is one, with what `items` gives and told to
/// `progress`, else here, on all cores. The results are what packed() takes and `unpacked` gives.
template <class Result, class Items, class F>
std::vector<Result> results_of(std::size_t count, jobs::Job* job, Items&& items, const Progress& progress, F&& run,
                               Result unpacked(const std::string&)) {
  std::vector<Result> results(count);
  if (job) {
    const auto packed_run = [&](std::size_t i) { return packed(run(i)); };
    const auto bytes = job->run(items(), packed_run, true, progress);
    for (std::size_t i = 0; i < count; ++i) results[i] = unpacked(bytes[i]);
  } else {
    in_parallel(count, [&](std::size_t i) { results[i] = run(i); });
  }
  return results;
}

}  // namespace attest::judge
