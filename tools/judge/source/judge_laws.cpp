// SPDX-License-Identifier: MIT
#include "attest/judge/judge_laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "attest/judge/judge_cases.hpp"

namespace attest::judge {
namespace {

void add(const LawRun& run, const std::string& name, Row& row) {
  if (run.draws == 0 && !run.broken) {
    ++row.laws.not_applicable;
    return;
  }
  if (run.note && !run.broken && std::count(row.notes.begin(), row.notes.end(), *run.note) == 0)
    row.notes.push_back(*run.note);
  ++row.laws.judged;
  ++row.groups["laws"].judged;
  if (!run.broken) {
    ++row.laws.held;
    ++row.groups["laws"].passed;
    return;
  }
  row.failures.push_back({Status::fail, run.query, fmt::format("law {}: {}", name, *run.broken), "law", "laws"});
}

}  // namespace

void judge_laws(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, const CheckOptions& options,
                LawBounds& bounds, LawSizes& sizes, Row& row) {
  const auto evaluate = evaluate_with(candidate, kernel, profile, options, bounds);
  const auto run_one = [&](laws::Law law, const LawClaim& claim, const std::string& name, int draws) {
    if (draws == 0) return;
    if (ended(options, row)) {
      ++row.early_end.not_run;
      return;
    }
    add(run_law(law, claim, *kernel.spec, kernel.info.form, kernel.capabilities, profile, evaluate,
                kernel.capabilities.deterministic(), draws, options.seed, &sizes),
        name, row);
  };
  for (const auto& claim : kernel.spec->laws) {
    const auto law = laws::all_laws().find(claim.law);
    if (law == laws::all_laws().end())
      throw SpecError(fmt::format("{}: no law is called '{}'", kernel.spec->id, claim.law));
    run_one(law->second, claim, claim.law + (claim.along.empty() ? "" : " along " + claim.along), options.law_draws);
  }
  if (const auto properties = laws::all_properties().find(kernel.spec->id); properties != laws::all_properties().end())
    for (const auto& property : properties->second)
      run_one(property.check, LawClaim{}, property.name, options.property_draws);
}

}  // namespace attest::judge
