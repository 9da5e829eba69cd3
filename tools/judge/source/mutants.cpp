// SPDX-License-Identifier: MIT
#include "attest/judge/mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "attest/judge/glob.hpp"
#include "attest/judge/judge_kernel.hpp"
#include "attest/judge/regimes.hpp"
#include "attest/judge/true_values.hpp"
#include "attest/judge/work.hpp"
#include "in_parallel.hpp"
#include "items.hpp"
#include "steps.hpp"

namespace attest::judge {
namespace {

constexpr int kCasesOfACheck = 40;  // drawn cases whose scores are taken together, as in one check

Mutant judged(Candidate& candidate, const Kernel& kernel, const Fault& fault, const golden::Profile& profile,
              const Selection& selection, Bank& bank, Known& known, const CheckOptions& options) {
  Mutant mutant;
  mutant.equation = kernel.info.equation;
  mutant.fault = fault.name;
  mutant.profile = profile.name;
  if (const auto at = fault.hidden.find(profile.name); at != fault.hidden.end()) mutant.hidden = at->second;
  for (const auto& c : selection.cases)
    if (c.name.flag == fault.flag) mutant.shown = std::max(mutant.shown, bank.shown(c, fault));
  const Row row = judge_kernel(candidate, kernel, profile, selection, bank, known, options,
                               static_cast<double>(bank.spec().faults.size()));
  mutant.killed = row.status == Status::fail || row.status == Status::crashed;
  for (const char* tier : {"law", "T3", "T2", "T1", "T0"})
    if (std::any_of(row.failures.begin(), row.failures.end(),
                    [&](const Finding& finding) { return finding.tier == tier; }))
      mutant.tier = tier;
  for (std::size_t i = 0; i < row.diagnosis.names.size(); ++i)
    if (row.diagnosis.names[i].fault == fault.name) mutant.rank = static_cast<int>(i) + 1;
  if (!row.diagnosis.names.empty()) mutant.named = row.diagnosis.names[0].fault;
  return mutant;
}

/// Correct kernels on cases of other seeds, as many at a time as a check has.
MutantsReport::Orders accused(const Spec& spec, const golden::Profile& profile, int seeds) {
  MutantsReport::Orders orders;
  orders.equation = spec.id;
  orders.profile = profile.name;
  const auto names = golden::stored_cases(spec);
  const int checks = (seeds + kCasesOfACheck - 1) / kCasesOfACheck;
  const double tests = static_cast<double>(spec.faults.size()) * checks;
  in_parallel(static_cast<std::size_t>(checks), [&](std::size_t check) {
    const int first = static_cast<int>(check) * kCasesOfACheck;
    Bank bank(spec, profile);
    std::vector<golden::GoldenCase> cases;
    for (int s = first; s < std::min(seeds, first + kCasesOfACheck); ++s) {
      golden::Case c = names[static_cast<std::size_t>(s) % names.size()];
      c.seed = 5000 + static_cast<std::uint64_t>(s);
      try {
        auto certified = golden::certify_case(c, {.check_witnesses = false, .gradients = false});
        if (golden::exact_in(certified.problem, profile.storage) && within_range(certified.problem, profile))
          cases.push_back(judged_by(std::move(certified), profile));
      } catch (const SpecError&) {
        // another seed breaks a condition on data
      } catch (const golden::Uncertifiable&) {
        // a value midway between two numbers, such as the mean of six values: no precision decides how it is stored
      }
    }
    std::vector<const golden::GoldenCase*> pointers;
    for (const auto& c : cases) pointers.push_back(&c);
    const Alarms alarms = bank.alarms(pointers, tests);
#pragma omp critical(attest_mutants)
    {
      orders.cases += static_cast<Index>(cases.size());
      orders.alarms.judged += alarms.judged;
      orders.alarms.raised += alarms.raised;
      orders.alarms.largest_z = std::max(orders.alarms.largest_z, alarms.largest_z);
      orders.alarms.z_squares += alarms.z_squares;
      orders.alarms.scores += alarms.scores;
      if (orders.alarms.first.empty()) orders.alarms.first = alarms.first;
    }
  });
  return orders;
}

/// Kernels of any shape and layout bhnd that are off under conditions: where a check would judge them, as
/// judge_regimes does.
MutantsReport::Conditions off_under_conditions(const Spec& spec, const golden::Profile& profile, int strength,
                                               const std::filesystem::path& cache_folder) {
  constexpr std::size_t kMostNamed = 10;
  MutantsReport::Conditions report;
  report.equation = spec.id, report.profile = profile.name;
  const Kernel kernel{0, {spec.id, "", "value", profile.storage, "cpu", "bhnd", ""}, &spec, Capabilities(spec, "")};
  const Regimes regimes(kernel, profile, SizesJudged::small, strength, 1);
  std::vector<Setting> settings;
  std::vector<WhatIsOff> shows;
  Cache cache(cache_folder);
  TrueValues values(&cache);
  VisitedSettings visited(regimes, strength);
  for (auto next = regimes.covering().settings; !next.empty(); next = visited.again(1)) {
    std::vector<golden::Case> cases;
    for (const auto& setting : next)
      cases.push_back(regimes.case_of(setting, 1 + settings.size() + cases.size(), profile.storage));
    values.prepare(cases, kernel, profile);
    for (std::size_t s = 0; s < next.size(); ++s) {
      const auto truth = values.of(cases[s], kernel, profile);
      shows.push_back(truth ? what_is_off(*truth, spec, profile) : WhatIsOff::zeros);
      settings.push_back(next[s]);
      visited.add(next[s], shows.back() == WhatIsOff::shown);
    }
  }
  for (int together = 1; together <= strength; ++together)
    for (const auto& combination : combinations_of(regimes.axes(), together)) {
      auto best = WhatIsOff::zeros;
      for (std::size_t s = 0; s < settings.size() && best != WhatIsOff::shown; ++s)
        if (has(settings[s], combination)) best = std::max(best, shows[s]);
      report.kernels += best != WhatIsOff::zeros, report.killed += best == WhatIsOff::shown;
      if (best == WhatIsOff::within_bounds && report.survived.size() < kMostNamed)
        report.survived.push_back(regimes.text_of(combination));
    }
  return report;
}

bool is_wanted(const MutantsOptions& options, const Spec& spec, const Fault& fault) {
  return matches(options.only, spec.id) || matches(options.only, spec.id + "." + fault.name);
}

/// An equation in a profile.
struct Piece {
  const Spec* spec;
  std::string profile;
};

/// Judges the mutants of an equation in a profile, and correct kernels of it.
MutantsReport judged(const Piece& piece, Candidate& candidate, const MutantsOptions& options, Steps& steps) {
  const Spec& spec = *piece.spec;
  const golden::Profile& profile = golden::profile(piece.profile);
  CheckOptions check_options;
  check_options.strength = 0;
  check_options.probes = false;
  check_options.golden = options.golden;
  MutantsReport report;
  const auto stored = golden::load_golden(spec, options.golden);
  Known known({});  // regimes are judged of few of them
  const Selection selection = select(spec, "", {}, profile, stored);
  std::optional<Selection> with_gradients;
  Bank bank(spec, profile);
  for (const Kernel& kernel : candidate.kernels()) {
    if (kernel.spec != &spec || kernel.info.dtype != profile.storage) continue;
    const Fault& fault = *spec.fault(kernel.info.form.substr(6));
    if (!is_wanted(options, spec, fault)) continue;
    steps.next(fmt::format("{}.{} {}", spec.id, fault.name, profile.name));
    if (!fault.equivalent.empty()) continue;
    if (fault.gradient && !with_gradients) with_gradients = select(spec, "", {}, profile, stored, 1, true);
    report.mutants.push_back(judged(candidate, kernel, fault, profile, fault.gradient ? *with_gradients : selection,
                                    bank, known, check_options));
  }
  steps.next(fmt::format("{} correct kernels {}", spec.id, profile.name));
  if (options.seeds > 0) report.orders.push_back(accused(spec, profile, options.seeds));
  if (options.strength > 0 && matches(options.only, spec.id))
    report.conditions.push_back(off_under_conditions(spec, profile, options.strength, options.cache));
  return report;
}

std::vector<jobs::Item> items_of(const std::vector<Piece>& pieces) {
  std::vector<jobs::Item> items;
  for (const auto& [spec, profile] : pieces)
    items.push_back(
        {fmt::format("{} {}", spec->id, profile), static_cast<double>(spec->faults.size() + 1) * work_of_cases(*spec)});
  return items;
}

}  // namespace

bool MutantsReport::passed() const {
  double named = 0, fine = 0, off = 0, off_killed = 0;
  for (const Mutant& mutant : mutants) {
    if (mutant.hidden.empty() && !mutant.killed) return false;
    if (!mutant.hidden.empty() || (mutant.profile != "f32" && mutant.profile != "f64")) continue;
    fine += 1;
    named += mutant.rank == 1;
  }
  for (const Conditions& one : conditions) {
    if (one.profile != "f32" && one.profile != "f64") continue;
    off += static_cast<double>(one.kernels), off_killed += static_cast<double>(one.killed);
  }
  return named >= 0.95 * fine &&
         std::all_of(orders.begin(), orders.end(),
                     [](const Orders& order) { return order.alarms.raised == 0 && order.alarms.judged > 0; }) &&
         off_killed >= 0.99 * off;
}

MutantsReport mutants(const MutantsOptions& options, const Progress& progress) {
  std::vector<Piece> pieces;
  std::size_t total = 0;
  for (const auto& [_, spec] : specs()) {
    std::size_t faults = 0;
    for (const Fault& fault : spec.faults) faults += is_wanted(options, spec, fault);
    if (faults == 0) continue;
    for (const auto& profile : options.profiles) pieces.push_back({&spec, profile});
    total += options.profiles.size() * (faults + 1);
  }
  if (pieces.empty()) return {};
  Steps steps(progress, total, options.job);
  // Side by side, each thread with a process of its own; of a single one the correct kernels are.
  Own<Candidate> candidates;
  const auto run = [&](std::size_t i) {
    Candidate& candidate = candidates.here([] { return std::make_unique<Candidate>("fault:*"); });
    return judged(pieces[i], candidate, options, steps);
  };
  auto parts = results_of<MutantsReport>(
      pieces.size(), options.job, [&] { return items_of(pieces); }, progress, run, unpacked_mutants);
  MutantsReport report;
  for (auto& part : parts) {
    std::move(part.mutants.begin(), part.mutants.end(), std::back_inserter(report.mutants));
    std::move(part.orders.begin(), part.orders.end(), std::back_inserter(report.orders));
    std::move(part.conditions.begin(), part.conditions.end(), std::back_inserter(report.conditions));
  }
  steps.finish();
  return report;
}

}  // namespace attest::judge
