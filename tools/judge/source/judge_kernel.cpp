// SPDX-License-Identifier: MIT
#include "attest/judge/judge_kernel.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "attest/judge/judge_cases.hpp"
#include "attest/judge/judge_laws.hpp"
#include "attest/judge/judge_statistics.hpp"

namespace attest::judge {
namespace {

/// Time for threads that go on after the last call to do their harm: they run at once, unless the machine is crowded.
constexpr std::chrono::milliseconds kPatience{100};

std::string too_few(const Row& row, const Kernel& kernel) {
  if (row.early_end.by.empty())
    return fmt::format(
        "only {} case(s) fit what the kernel says it can do ('{}') in profile {}; at least {} are needed",
        row.cases.judged, kernel.capabilities.text(), row.kernel.profile, kFewestCases);
  return fmt::format("only {} case(s) were judged before the {} ended the run; at least {} are needed",
                     row.cases.judged, row.early_end.by, kFewestCases);
}

}  // namespace

Row row_of(const Kernel& kernel, const golden::Profile& profile) {
  Row row;
  row.kernel = {
      kernel.info.equation, kernel.info.form,   kernel.info.reading,       std::string(name(kernel.info.dtype)),
      profile.name,         kernel.info.layout, kernel.capabilities.text()};
  return row;
}

Row judge_selection(const Kernel& kernel, const golden::Profile& profile, Selection selection, const Source& source,
                    Bank& bank, const CheckOptions& options, double tests) {
  Row row = row_of(kernel, profile);
  if (!kernel.is_gradient()) selection.drop_vacuous_drawn(bank);
  row.cases.stored = selection.stored;
  row.cases.drawn = selection.drawn;
  row.cases.skipped = selection.skipped_cases();
  std::vector<Sample> samples;
  const bool all = judge_cases(kernel, profile, selection, source, options, row, samples);
  const bool few = row.cases.judged < kFewestCases;
  if (all && few) row.failures.push_back({Status::invalid, "", too_few(row, kernel), "vacuity", "contract"});
  if (!kernel.is_gradient() && !few) judge_statistics(bank, samples, tests, row);
  row.conclude();
  return row;
}

Row judge_kernel(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, Selection selection,
                 Bank& bank, Known& known, const CheckOptions& options, double tests) {
  const Source source = calls_of(candidate, kernel, profile, options);
  Row row = judge_selection(kernel, profile, std::move(selection), source, bank, options, tests);
  if (row.failures.empty()) judge_regimes(kernel, profile, source, known, options, row);
  if (!kernel.is_gradient() && row.failures.empty())
    judge_laws(candidate, kernel, profile, options, known.law_bounds, row);
  if (row.early_end.by == "interrupt")
    row.failures.push_back({Status::invalid, "",
                            fmt::format("interrupted; {} cases, regimes and laws were not run", row.early_end.not_run),
                            "T0", "contract"});
  row.conclude();
  return row;
}

void settle(Candidate& candidate, Report& report) {
  if (report.rows.empty()) return;
  Row& row = report.rows.back();
  for (const auto& violation : candidate.host().settle(kPatience))
    row.failures.push_back({Status::fail, "", violation, "T0", "contract"});
  row.conclude();
}

}  // namespace attest::judge
