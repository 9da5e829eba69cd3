// SPDX-License-Identifier: MIT
#include "attest/judge/bank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "attest/golden/agreement.hpp"
#include "case_facts.hpp"
#include "scores.hpp"

namespace attest::judge {
namespace {

constexpr std::size_t kManyCases = 12;       // from which on a fault without effect is one that cannot occur
constexpr std::size_t kMostDistinct = 1000;  // different expected values that are counted
constexpr double kBetrayed = 2;              // error / bound of a fault that an element betrays, whatever rounding adds
constexpr double kMostNan = 0.5;             // share of expected values that are NaN
constexpr Index kFewestDistinct = 3;         // values: two are a pattern that a constant per row may have
constexpr double kFewestDiffer = 0.25;       // share of elements that betray zeros, or the mean

/// Counts expected values and the wrong answers zero and mean; the shares are still numbers of elements.
void add_expected(const std::vector<Expected>& elements, Vacuity& v, std::set<double>& distinct) {
  double mean = 0, finite = 0;
  for (const Expected& e : elements)
    if (std::isfinite(e.hi)) mean += e.hi, finite += 1;
  mean /= std::max(finite, 1.0);
  for (const Expected& e : elements) {
    ++v.elements;
    if (std::isnan(e.hi)) {
      v.nan_share += 1, v.zeros_differ += 1, v.mean_differs += 1;
      continue;
    }
    if (distinct.size() < kMostDistinct) distinct.insert(e.hi);
    v.zeros_differ += std::abs(e.hi) > e.bound;
    v.mean_differs += !(std::abs(mean - e.hi) <= e.bound);
  }
}

std::string too_little(const Vacuity& v, bool has_faults) {
  if (v.elements == 0) return "nothing was compared";
  if (v.nan_share > kMostNan) return "more than half of the expected values are NaN";
  if (v.distinct < kFewestDistinct) return "fewer than three different values are expected";
  if (v.zeros_differ < kFewestDiffer) return "three quarters of the expected values could be zero";
  if (v.mean_differs < kFewestDiffer) return "three quarters of the expected values could be their mean";
  if (v.faults_shown == 0 && has_faults) return "no known fault would show";
  if (2 * v.faults_shown < v.faults) return "fewer than half of the known faults would show";
  return "";
}

std::string key_of(const golden::GoldenCase& c, const Fault& fault, const golden::Profile& profile) {
  return fault.name + " " + golden::query(c.name, profile.name);
}

}  // namespace

const CaseFacts& Bank::facts(const golden::GoldenCase& c) {
  auto& known = facts_[golden::query(c.name, profile_.name)];
  if (!known) known = std::make_shared<CaseFacts>(facts_of(c, spec_, profile_));
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

double Bank::shown(const golden::GoldenCase& c, const Fault& fault) {
  if (!fault.numeric) return facts(c).shown[static_cast<std::size_t>(&fault - spec_.faults.data())];
  // It shows in the arithmetic of the profile only.
  const auto& elements = facts(c).elements;
  const auto values = flatten(c.problem, outputs_of_fault(c, fault));
  double shown = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!std::isfinite(elements[i].hi)) continue;
    const double d = std::abs(elements[i].difference(values[i]));
    if (d != 0)
      shown = std::max(shown, !std::isfinite(d) || elements[i].bound == 0 ? std::numeric_limits<double>::infinity()
                                                                          : d / elements[i].bound);
  }
  return shown;
}

bool Bank::is_vacuous(const golden::GoldenCase& c) {
  const CaseFacts& f = facts(c);
  for (const Expected& e : f.elements)
    if (!(std::abs(e.hi) <= e.bound)) return false;
  for (const auto& fault : spec_.faults)
    if (fault.equivalent.empty() && shown(c, fault) > 1) return false;
  return true;
}

Vacuity Bank::vacuity(const std::vector<const golden::GoldenCase*>& cases) {
  Vacuity v;
  std::set<double> distinct;
  for (const auto* c : cases) add_expected(facts(*c).elements, v, distinct);
  const double elements = std::max<double>(static_cast<double>(v.elements), 1);
  v.distinct = static_cast<Index>(distinct.size());
  v.nan_share /= elements, v.zeros_differ /= elements, v.mean_differs /= elements;
  for (const auto& fault : spec_.faults) {
    if (!fault.equivalent.empty() || fault.hidden.count(profile_.name)) continue;
    if (fault.amplitude > 0) continue;  // betrayed by all elements together: tier T3
    double most = 0;
    for (const auto* c : cases)
      if ((most = std::max(most, shown(*c, fault))) >= kBetrayed) break;
    // Without any effect on many cases, it is excluded by what the kernel declared: no mask, another feature map.
    if (most == 0 && cases.size() >= kManyCases) continue;
    ++v.faults;
    v.faults_shown += most >= kBetrayed;
  }
  v.too_little = too_little(v, !spec_.faults.empty());
  return v;
}

const golden::CertifiedTensors& Bank::as_equation(const golden::GoldenCase& c, const Fault& fault) {
  const std::string key = key_of(c, fault, profile_);
  const auto at = equations_.find(key);
  if (at != equations_.end()) return at->second;
  return equations_.emplace(key, judge::as_equation(c.problem, fault, profile_)).first->second;
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
