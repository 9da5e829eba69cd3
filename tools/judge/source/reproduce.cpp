// SPDX-License-Identifier: MIT
#include "attest/judge/reproduce.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attest/judge/check.hpp"
#include "attest/judge/judge_cases.hpp"
#include "attest/judge/judge_kernel.hpp"
#include "attest/judge/judge_regimes.hpp"
#include "attest/judge/probe.hpp"
#include "attest/judge/select.hpp"
#include "attest/judge/situation.hpp"

namespace attest::judge {
namespace {

bool does(const Kernel& kernel, const golden::Case& name) {
  if (!kernel.capabilities.allow(*name.spec, situation_of(name)) || !kernel.capabilities.takes(name.with)) return false;
  if (name.grid && name.grid->entries * name.grid->heads > 1 && !kernel.batched()) return false;
  return form_applies(*name.spec, kernel.info.form, name.sizes, name.parameters);
}

}  // namespace

Report reproduce(Candidate& candidate, const std::string& query, const CheckOptions& options) {
  const auto parsed = golden::parse_query(query);
  const golden::Case& c = parsed.first;
  const golden::Profile& profile = golden::profile(parsed.second);
  std::optional<golden::GoldenCase> certified;
  if (!c.grid) certified = judged_by(golden::certify_case(c), profile);
  Known known({});  // certified again
  const auto of_equation = [&](const Kernel& kernel) {
    return kernel.info.equation == c.spec->id && can_claim(kernel, profile);
  };
  const auto of_profile = [&](const Kernel& kernel) {
    return of_equation(kernel) && kernel.profile().name == profile.name;
  };
  const bool some = std::any_of(candidate.kernels().begin(), candidate.kernels().end(), of_profile);
  Report report{candidate.host().name(), candidate.host().version(), {}};
  for (const auto& kernel : candidate.kernels()) {
    if (!(some ? of_profile(kernel) : of_equation(kernel)) || !does(kernel, c)) continue;
    Row row = row_of(kernel, profile);
    row.cases.drawn = 1;
    std::vector<Sample> samples;
    const Source source = calls_of(candidate, kernel, profile, options);
    if (certified)
      judge_cases(kernel, profile, {{*certified}, 0, 1}, source, options, row, samples);
    else
      judge_grid(c, kernel, profile, source, known, options, row);
    row.conclude();
    probe(candidate, kernel, profile, known, options, row);
    report.rows.push_back(std::move(row));
  }
  if (!report.rows.empty()) settle(candidate, report.rows.back());
  return report;
}

}  // namespace attest::judge
