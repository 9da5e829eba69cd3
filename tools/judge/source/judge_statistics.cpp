// SPDX-License-Identifier: MIT
#include "attest/judge/judge_statistics.hpp"

#include <fmt/format.h>

namespace attest::judge {

void judge_statistics(Bank& bank, const std::vector<Sample>& samples, double tests, Row& row) {
  if (samples.empty()) return;
  for (const Sample& sample : samples)
    if (bank.is_vacuous(*sample.c))
      row.failures.push_back({Status::invalid, golden::query(sample.c->name, bank.profile().name),
                              "neither zeros nor any known fault would be beyond a bound in this case", "vacuity",
                              sample.c->name.flag});
  row.statistics = bank.statistics(samples, tests);
  if (row.failures.empty())
    for (const Fit& fit : row.statistics.rejected)
      row.failures.push_back({Status::fail, "",
                              fmt::format("every element is within its bound, but all together show {} ({}): {}",
                                          fit.fault, bank.spec().fault(fit.fault)->change, fit.text()),
                              "T3", "statistics"});
  row.groups["statistics"].judged = 1;
  row.groups["statistics"].passed = row.statistics.rejected.empty();
}

}  // namespace attest::judge
