// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "attest/jobs/job.hpp"
#include "attest/judge/options.hpp"
#include "attest/judge/packed.hpp"
#include "in_parallel.hpp"

namespace attest::judge {

/// run(0), run(1), ... for all items, in their order: by the job where there is one, whose progress is told then, else
/// here, on all cores. The results are what packed() takes and `unpacked` gives.
template <class Result, class F>
std::vector<Result> results_of(const std::vector<jobs::Item>& items, jobs::Job* job, const Progress& progress, F&& run,
                               Result unpacked(const std::string&)) {
  std::vector<Result> results(items.size());
  if (job) {
    const auto bytes = job->run(items, [&](std::size_t i) { return packed(run(i)); }, true, progress);
    for (std::size_t i = 0; i < items.size(); ++i) results[i] = unpacked(bytes[i]);
  } else {
    in_parallel(items.size(), [&](std::size_t i) { results[i] = run(i); });
  }
  return results;
}

}  // namespace attest::judge
