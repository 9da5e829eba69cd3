// SPDX-License-Identifier: MIT
#include "attest/judge/bank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "attest/golden/agreement.hpp"
#include "attest/golden/files.hpp"
#include "attest/judge/faults.hpp"
#include "case_facts.hpp"
#include "golden_members.hpp"
#include "kept.hpp"
#include "scores.hpp"

namespace attest::judge {

ATTEST_MEMBERS(Expected, hi, lo, sigma, bound)
ATTEST_MEMBERS(NullSums, score, squares, signed_sum, worst, elements)
ATTEST_MEMBERS(CaseFacts, elements, direction, norm, shown, null)

namespace {

std::string key_of(const golden::GoldenCase& c, const Fault& fault, const golden::Profile& profile) {
  return fault.name + " " + golden::query(c.name, profile.name);
}

}  // namespace

std::string Bank::kept_as(const golden::GoldenCase& c, const golden::Profile& profile) {
  return fmt::format("facts of {};{}", golden::query(c.name, profile.name),
                     golden::sha256(bytes_of(std::pair(c.problem.inputs, c.certified))));
}

const CaseFacts& Bank::facts(const golden::GoldenCase& c) {
  auto& known = facts_[golden::query(c.name, profile_.name)];
  if (!known)
    known = std::make_shared<CaseFacts>(
        kept(cache_, [&] { return kept_as(c, profile_); }, [&] { return facts_of(c, spec_, profile_); }));
  return *known;
}

Statistics Bank::statistics(const std::vector<Sample>& samples, double tests) {
  Scores scores(spec_, profile_);
  for (const Sample& sample : samples) scores.add(facts(*sample.c), sample);
  return scores.statistics(tests);
}

Alarms Bank::alarms(const std::vector<const golden::GoldenCase*>& cases, double tests) {
  Alarms alarms;
  Null null;
  std::vector<double> norm(spec_.faults.size(), 0);
  const auto raise = [&](const std::string& kernel, const std::string& what) {
    ++alarms.raised;
    if (alarms.first.empty()) alarms.first = kernel + ": " + what;
  };
  for (const auto* c : cases) {
    const CaseFacts& f = facts(*c);
    for (std::size_t k = 0; k < norm.size(); ++k) norm[k] += f.norm[k];
    for (const auto& [name, one] : f.null) {
      ++alarms.judged;
      if (!(one.worst <= 1)) raise(name, "an element is beyond its bound in " + golden::query(c->name, profile_.name));
      null[name].add(one);
    }
  }
  for (std::size_t k = 0; k < norm.size(); ++k) {
    const Fault& fault = spec_.faults[k];
    if (fault.amplitude == 0 || norm[k] == 0) continue;
    const double spread = spread_of(null, k, norm[k]);
    for (const auto& [name, one] : null) {
      const Fit fit = fit_of(fault.name, one.score[k] / norm[k], one.mean_square() / norm[k] + spread, tests);
      alarms.largest_z = std::max(alarms.largest_z, std::abs(fit.z));
      alarms.z_squares += fit.z * fit.z, ++alarms.scores;
      if (rejects(fault, fit, profile_)) raise(name, "the score test finds " + fault.name);
    }
  }
  return alarms;
}

namespace {

/// The largest error of the fault's gradients, in units of their bounds; 0 where the case has none.
double shown_by_gradients(const golden::GoldenCase& c, const Fault& fault, const golden::Profile& profile) {
  if (c.cotangents.empty()) return 0;
  double largest = 0;
  for (const auto& [name, got] :
       gradients_of_fault(c.problem, fault, kernel_of(golden::profile("f64")), c.cotangents)) {
    const auto truth = c.certified.outputs.find(name);
    if (!golden::is_gradient(name) || truth == c.certified.outputs.end()) continue;
    const auto units = profile.units_of(golden::declaration_of(*c.problem.spec, name));
    for (std::size_t i = 0; i < got.values.size(); ++i) {
      const double error = golden::error_of(truth->second, i, got.values[i]);
      if (error > 0) largest = std::max(largest, error / golden::bound_of(truth->second, i, units));
    }
  }
  return largest;
}

}  // namespace

double Bank::shown(const golden::GoldenCase& c, const Fault& fault) {
  if (fault.gradient) return shown_by_gradients(c, fault, profile_);
  if (!fault.numeric) return facts(c).shown[static_cast<std::size_t>(&fault - spec_.faults.data())];
  // It shows in the arithmetic of the profile only.
  return largest_error(facts(c).elements, flatten(c.problem, outputs_of_fault(c, fault)));
}

bool Bank::is_vacuous(const golden::GoldenCase& c) {
  const CaseFacts& f = facts(c);
  for (const Expected& e : f.elements)
    if (!(std::abs(e.hi) <= e.bound)) return false;
  for (const auto& fault : spec_.faults)
    if (fault.equivalent.empty() && shown(c, fault) > 1) return false;
  return true;
}

void Bank::show(const golden::GoldenCase& c, Shown& shown) {
  shown.add(facts(c).elements, [&](const Fault& fault) { return this->shown(c, fault); });
}

const golden::CertifiedTensors* Bank::as_equation(const Sample& sample, const Fault& fault,
                                                  std::optional<Index> block) {
  const bool gradients = !sample.got.empty() && golden::is_gradient(sample.got.begin()->first);
  const std::string key =
      key_of(*sample.c, fault, profile_) + (gradients ? " gradient" : "") + (block ? std::to_string(*block) : "");
  const auto [at, fresh] = equations_.try_emplace(key);
  if (fresh) try {
      at->second = judge::as_equation(with_block(sample.c->problem, block), fault, profile_,
                                      gradients ? sample.c->cotangents : Arrays());
    } catch (const reference::Undecided&) {  // its scores tie where those of the equation do not
    }
  return at->second ? &*at->second : nullptr;
}

bool Bank::allows_block(const Sample& sample, Index block) const {
  const Problem problem = with_block(sample.c->problem, block);
  try {
    check_sizes(spec_, problem.sizes, problem.parameters);
  } catch (const SpecError&) {
    return false;
  }
  return true;
}

Arrays Bank::outputs_in_binary64(const golden::GoldenCase& c, const Fault& fault, std::optional<Index> block) const {
  return judge::outputs_of_fault(with_block(c.problem, block), fault, kernel_of(golden::profile("f64")));
}

double Bank::explained(const std::vector<const Sample*>& samples, const std::vector<Fit>& fits) {
  double left = 0, counted = 0;
  for (const Sample* sample : samples) {
    const CaseFacts& f = facts(*sample->c);
    const auto values = flatten(sample->c->problem, sample->got);
    double before = 0, after = 0;
    for (std::size_t i = 0; i < f.elements.size(); ++i) {
      double r = f.elements[i].residual(values[i]);
      if (!std::isfinite(r)) continue;
      before += r * r;
      for (const Fit& fit : fits) {
        const auto k = static_cast<std::size_t>(spec_.fault(fit.fault) - spec_.faults.data());
        if (f.norm[k] > 0) r -= fit.c * f.direction[k][i];
      }
      after += r * r;
    }
    if (before > 0) left += std::min(after / before, 2.0), counted += 1;
  }
  return counted > 0 ? 1 - left / counted : 0;
}

const Arrays& Bank::outputs_of_fault(const golden::GoldenCase& c, const Fault& fault) {
  const std::string key = key_of(c, fault, profile_);
  const auto at = outputs_.find(key);
  if (at != outputs_.end()) return at->second;
  return outputs_
      .emplace(key, stored(c.problem, judge::outputs_of_fault(c.problem, fault, kernel_of(profile_)), profile_))
      .first->second;
}

}  // namespace attest::judge
