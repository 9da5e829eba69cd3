// SPDX-License-Identifier: MIT
#include "case_facts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attest/golden/agreement.hpp"
#include "attest/judge/faults.hpp"

namespace attest::judge {
namespace {

using reference::kOrders;
using reference::kUnderflow;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Product of sizes beyond which every fourth order of summation is run, to save time.
constexpr double kLargeCase = 2e5;
constexpr std::size_t kStepOfLargeCase = 4;

// Underflow beyond this share of the expected error may be all of an element's error, which then says nothing of
// rounding.
constexpr double kUnderflowShare = 0.1;

/// error / bound; infinite where either leaves nothing to divide.
double ratio(double error, double bound) {
  const double quotient = error / bound;
  return quotient >= 0 ? quotient : kInfinity;
}

std::vector<Expected> expected_of(const golden::GoldenCase& c, const golden::Profile& profile) {
  std::vector<Expected> elements;
  const bool two_answers = !c.certified.alternatives.empty();
  for (const auto& output : c.problem.spec->outputs) {
    const auto& tensor = c.certified.outputs.at(output.name);
    const auto units = profile.units_of(output);
    for (std::size_t i = 0; i < tensor.hi.size(); ++i) {
      Expected e{tensor.hi[i], static_cast<double>(tensor.lo[i]), sigma_of(tensor, i, units),
                 golden::bound_of(tensor, i, units)};
      const double underflow = units[kUnderflow] * static_cast<double>(tensor.bound[kUnderflow][i]);
      if (!std::isfinite(e.hi) || two_answers || e.bound == 0 || underflow > kUnderflowShare * e.sigma) e.sigma = 0;
      elements.push_back(e);
    }
  }
  return elements;
}

/// Adds the effect of the fault, evaluated in binary64.
void add_fault(CaseFacts& facts, const golden::GoldenCase& c, const Fault& fault) {
  const auto values = flatten(c.problem, outputs_of_fault(c.problem, fault, kernel_of(golden::profile("f64"))));
  auto& direction = facts.direction.emplace_back(facts.elements.size(), 0.0);
  double norm = 0;
  for (std::size_t i = 0; i < facts.elements.size(); ++i) {
    const Expected& e = facts.elements[i];
    const double d = e.difference(values[i]);
    if (std::isfinite(e.hi) && std::isfinite(d) && e.sigma > 0 && !fault.numeric)
      direction[i] = d / e.sigma, norm += direction[i] * direction[i];
  }
  facts.shown.push_back(largest_error(facts.elements, values));
  facts.norm.push_back(norm);
}

/// The sums of one correct kernel with those outputs. Its worst error is not that of a case with two right answers.
NullSums sums_of(const CaseFacts& facts, const golden::GoldenCase& c, const std::vector<double>& values) {
  NullSums sums;
  sums.score.assign(facts.direction.size(), 0);
  const bool two_answers = !c.certified.alternatives.empty();
  for (std::size_t i = 0; i < facts.elements.size(); ++i) {
    const Expected& e = facts.elements[i];
    const double d = std::abs(e.difference(values[i]));
    if (!std::isfinite(e.hi)) {
      if (!golden::agrees_with_convention(e.hi, values[i])) sums.worst = kInfinity;
    } else if (d != 0 && !two_answers) {
      sums.worst = std::max(sums.worst, ratio(d, e.bound));
    }
    const double r = e.residual(values[i]);
    if (!std::isfinite(r)) continue;
    ++sums.elements;
    sums.squares += r * r;
    sums.signed_sum += std::copysign(r, r * e.hi);
    for (std::size_t k = 0; k < sums.score.size(); ++k) sums.score[k] += r * facts.direction[k][i];
  }
  return sums;
}

/// Correct kernels of the profile: every form that is correct within its bounds, and every equivalent fault, in many
/// orders of summation.
void add_correct_kernels(CaseFacts& facts, const golden::GoldenCase& c, const Spec& spec,
                         const golden::Profile& profile) {
  const auto add = [&](const std::string& name, const Arrays& outputs) {
    facts.null.emplace(name, sums_of(facts, c, flatten(c.problem, stored(c.problem, outputs, profile))));
  };
  double work = 1;
  for (const auto& [_, size] : c.problem.sizes) work *= static_cast<double>(std::max<Index>(size, 1));
  const std::size_t step = work > kLargeCase ? kStepOfLargeCase : 1;
  for (std::size_t o = 0; o < kOrders.size(); o += step) {
    const auto kernel = kernel_of(profile, kOrders[o].order, c.name.seed);
    const std::string order(kOrders[o].name);
    for (const auto& form : spec.forms)
      if (golden::is_modelled(form, c.problem)) add(order + " " + form.name, emulated(c.problem, form.name, kernel));
    for (const auto& fault : spec.faults)
      if (!fault.equivalent.empty()) add(order + " " + fault.name, outputs_of_fault(c.problem, fault, kernel));
  }
}

}  // namespace

double largest_error(const std::vector<Expected>& elements, const std::vector<double>& values) {
  double largest = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Expected& e = elements[i];
    const double d = std::abs(e.difference(values[i]));
    if (!std::isfinite(e.hi) ? !golden::agrees_with_convention(e.hi, values[i]) : !std::isfinite(d)) return kInfinity;
    if (std::isfinite(e.hi) && d != 0) largest = std::max(largest, ratio(d, e.bound));
  }
  return largest;
}

double Expected::residual(double got) const {
  return sigma > 0 ? difference(got) / sigma : std::numeric_limits<double>::quiet_NaN();
}

void NullSums::add(const NullSums& other) {
  score.resize(other.score.size(), 0);
  for (std::size_t k = 0; k < score.size(); ++k) score[k] += other.score[k];
  squares += other.squares, signed_sum += other.signed_sum, elements += other.elements;
  worst = std::max(worst, other.worst);
}

double NullSums::mean_square() const { return elements > 0 ? squares / static_cast<double>(elements) : 0; }

double NullSums::bias() const { return elements > 0 ? signed_sum / static_cast<double>(elements) : 0; }

CaseFacts facts_of(const golden::GoldenCase& c, const Spec& spec, const golden::Profile& profile) {
  CaseFacts facts;
  facts.elements = expected_of(c, profile);
  for (const auto& fault : spec.faults) add_fault(facts, c, fault);
  add_correct_kernels(facts, c, spec, profile);
  return facts;
}

Problem with_block(Problem problem, std::optional<Index> block) {
  if (block) problem.parameters[problem.spec->parameter(Role::block_length)->name] = *block;
  return problem;
}

std::vector<double> flatten(const Problem& problem, const Arrays& arrays) {
  std::vector<double> values;
  for (const auto& output : problem.spec->outputs) {
    const auto at = arrays.find(output.name);
    const auto size = static_cast<std::size_t>(count(shape_of(output, problem.sizes)));
    if (at == arrays.end())
      values.insert(values.end(), size, std::numeric_limits<double>::quiet_NaN());
    else
      values.insert(values.end(), at->second.values.begin(), at->second.values.end());
  }
  return values;
}

double sigma_of(const golden::CertifiedTensor& tensor, std::size_t i, const reference::PerChannel& units) {
  double variance = 0;
  for (std::size_t c = 0; c < units.size(); ++c)
    variance += std::pow(units[c] * static_cast<double>(tensor.rms[c][i]), 2);
  return std::sqrt(variance);
}

}  // namespace attest::judge
