// SPDX-License-Identifier: MIT
#include "attest/judge/select.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "attest/golden/agreement.hpp"
#include "attest/judge/faults.hpp"
#include "attest/judge/verdict.hpp"
#include "attest/reference/emulation.hpp"

namespace attest::judge {
namespace {

// Work is the product of a case's sizes; certifying takes about a second of processor time for each million.
constexpr int kEnough = 12;            // cases: beyond these, only what is cheap or of a new flag is drawn
constexpr double kLittleWork = 1.0e6;  // of all drawn cases together, beyond those of new flags
constexpr double kMostWork = 2.0e7;    // of one case that is certified on the fly, and of all drawn cases together
constexpr int kFresh = 3;              // cases with inputs that are in no file: enough to see that files are read
constexpr std::uint64_t kFreshSeed = 1000003,
                        kSeedStep = 17;  // beyond the seeds of stored cases; those of a check apart

double work(const Sizes& sizes) {
  double product = 1;
  for (const auto& [_, size] : sizes) product *= static_cast<double>(std::max<Index>(size, 1));
  return product;
}

/// False when the profile's bounds are so wide that zeros would pass although something else is due.
bool tells_from_zero(const golden::GoldenCase& c, const golden::Profile& profile) {
  bool any = false;
  for (const auto& [name, tensor] : c.certified.outputs) {
    const auto units = profile.units_of(golden::declaration_of(*c.problem.spec, name));
    for (std::size_t i = 0; i < tensor.hi.size(); ++i) {
      any = any || tensor.hi[i] != 0;
      if (!golden::agrees(tensor, i, 0, units)) return true;
    }
  }
  return !any;
}

constexpr std::string_view kCapability = "capability ";
const std::string kShowsNothing = "zeros would pass";

/// The call with that case.
Situation situation_of(const golden::GoldenCase& c) {
  const Spec& spec = *c.problem.spec;
  return {c.problem.sizes, c.problem.parameters, c.name.with, {}, true, properties_of(spec, {c.problem})};
}

/// Why a stored case cannot be given to a kernel as it is; empty where it can.
std::string why_not(const golden::GoldenCase& c, const std::string& form, const Capabilities& capabilities,
                    const golden::Profile& profile, bool gradients) {
  const Problem& problem = c.problem;
  const Spec& spec = *problem.spec;
  if (!form_applies(spec, form, problem.sizes, problem.parameters)) return "form " + spec.form(form)->when;
  if (!golden::exact_in(problem, profile.storage) || !within_range(problem, profile)) return "precision";
  if (gradients && !has_gradient(c.certified.outputs, profile)) return "no gradient";
  const std::string unmet = capabilities.unmet(spec, situation_of(c));
  return unmet.empty() ? "" : std::string(kCapability) + unmet;
}

bool same_inputs(const Problem& a, const Problem& b) {
  return std::all_of(a.inputs.begin(), a.inputs.end(),
                     [&](const auto& input) { return input.second.values == b.inputs.at(input.first).values; });
}

/// Whether the kernel can be called with the inputs of that problem.
bool allows(const Capabilities& capabilities, const Spec& spec, const golden::GoldenCase& c) {
  return capabilities.allow(spec, situation_of(c));
}

/// A kernel that was fitted to the golden files, or reads them, knows the selected cases. It does not know these: the
/// first selected case of some flags, drawn from a seed of this check.
void add_fresh(Selection& selection, const Spec& spec, const Capabilities& capabilities, const golden::Profile& profile,
               std::uint64_t seed, bool gradients) {
  std::set<std::string> flags;
  std::vector<golden::GoldenCase> fresh;
  for (const auto& c : selection.cases) {
    if (fresh.size() == kFresh) break;
    if (flags.count(c.name.flag) || work(c.name.sizes) == 1) continue;  // a single number shows little
    golden::Case again = c.name;
    again.seed = kFreshSeed + seed * kSeedStep + fresh.size();
    auto certified = certified_now(again, profile, gradients);
    if (!certified || same_inputs(certified->problem, c.problem) || !allows(capabilities, spec, *certified)) continue;
    flags.insert(c.name.flag);
    fresh.push_back(std::move(*certified));
  }
  selection.drawn += static_cast<int>(fresh.size());
  std::move(fresh.begin(), fresh.end(), std::back_inserter(selection.cases));
}

/// Moves cases that the kernel cannot do as stored to the nearest sizes and parameters that it can do: first a case of
/// each flag that is not there yet, so that what is drawn stresses what the stored cases stress.
void add_moved(Selection& selection, const std::vector<const golden::GoldenCase*>& unfit, const Spec& spec,
               const std::string& form, const Capabilities& capabilities, const golden::Profile& profile,
               bool gradients) {
  std::set<std::string> seen;
  std::map<std::string, int> of_flag;
  for (const auto& c : selection.cases) seen.insert(golden::query(c.name, "")), ++of_flag[c.name.flag];
  std::vector<std::pair<int, const golden::GoldenCase*>> order;
  for (const auto* c : unfit) order.emplace_back(of_flag[c->name.flag]++, c);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  double spent = 0;
  for (const auto& [rank, c] : order) {
    golden::Case moved = c->name;
    const auto adapted = capabilities.adapted(spec, moved.sizes, moved.parameters, moved.with);
    if (!adapted || work(adapted->first) > kMostWork) continue;
    const bool enough = selection.stored + selection.drawn >= kEnough;
    if (enough && spent + work(adapted->first) > (rank == 0 ? kMostWork : kLittleWork)) continue;
    spent += work(adapted->first);
    std::tie(moved.sizes, moved.parameters) = *adapted;
    if (!form_applies(spec, form, moved.sizes, moved.parameters) || !seen.insert(golden::query(moved, "")).second)
      continue;
    auto certified = certified_now(moved, profile, gradients);
    if (!certified || !allows(capabilities, spec, *certified)) continue;
    selection.cases.push_back(std::move(*certified));
    ++selection.drawn;
  }
}

}  // namespace

bool form_applies(const Spec& spec, const std::string& form, const Sizes& sizes, const Parameters& parameters) {
  const auto* declared = spec.form(form);
  return !declared || holds(declared->when, spec, sizes, parameters);
}

bool has_gradient(const golden::CertifiedTensors& results, const golden::Profile& profile) {
  for (const auto& [name, tensor] : results) {
    const bool is_gradient = golden::is_gradient(name), narrow = is_gradient && profile.storage == DType::f16;
    for (const double x : tensor.hi)
      if ((!is_gradient && std::isnan(x)) || (narrow && std::abs(x) > reference::Emulation::kMostOfHalf)) return false;
  }
  return true;
}

std::optional<golden::GoldenCase> certified_now(const golden::Case& c, const golden::Profile& profile, bool gradients) {
  try {
    auto certified = golden::certify_case(c, {.check_witnesses = false, .gradients = gradients});
    if (golden::exact_in(certified.problem, profile.storage) && within_range(certified.problem, profile) &&
        (!gradients || has_gradient(certified.certified.outputs, profile)))
      return certified;
  } catch (const SpecError&) {
  } catch (const golden::Uncertifiable&) {
  }
  return std::nullopt;
}

void Selection::keep_if(const std::string& reason, const std::function<bool(const golden::GoldenCase&)>& keep) {
  std::vector<golden::GoldenCase> kept;
  const auto from_file = static_cast<std::size_t>(stored);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (keep(cases[i])) {
      kept.push_back(std::move(cases[i]));
    } else {
      ++skipped[cases[i].name.flag], ++left_out[reason];
      --(i < from_file ? stored : drawn);
    }
  }
  cases = std::move(kept);
}

void Selection::limit(int most) {
  std::map<std::string, int> of_flag;
  std::vector<std::pair<int, std::size_t>> order;
  for (std::size_t i = 0; i < cases.size(); ++i) order.emplace_back(of_flag[cases[i].name.flag]++, i);
  std::sort(order.begin(), order.end());
  std::set<const golden::GoldenCase*> kept;
  for (std::size_t i = 0; i < order.size() && kept.size() < static_cast<std::size_t>(most); ++i)
    kept.insert(&cases[order[i].second]);
  keep_if("limit of cases", [&](const golden::GoldenCase& c) { return kept.count(&c) > 0; });
}

void Selection::drop_vacuous_drawn(Bank& bank) {
  const auto* first_drawn = cases.data() + stored;
  keep_if(kShowsNothing, [&](const golden::GoldenCase& c) { return &c < first_drawn || !bank.is_vacuous(c); });
}

Selection select(const Spec& spec, const std::string& form, const Capabilities& capabilities,
                 const golden::Profile& profile, const std::vector<golden::GoldenCase>& stored, std::uint64_t seed,
                 bool gradients) {
  Selection selection;
  std::vector<const golden::GoldenCase*> unfit;
  for (const auto& c : stored) {
    const std::string reason = why_not(c, form, capabilities, profile, gradients);
    if (reason.empty()) {
      selection.cases.push_back(c);
      ++selection.stored;
    } else {
      ++selection.skipped[c.name.flag], ++selection.left_out[reason];
      if (reason.starts_with(kCapability) && capabilities.takes(c.name.with)) unfit.push_back(&c);
    }
  }
  add_moved(selection, unfit, spec, form, capabilities, profile, gradients);
  add_fresh(selection, spec, capabilities, profile, seed, gradients);
  for (auto& c : selection.cases) c = judged_by(std::move(c), profile);
  selection.keep_if(kShowsNothing, [&](const golden::GoldenCase& c) { return tells_from_zero(c, profile); });
  return selection;
}

}  // namespace attest::judge
