// SPDX-License-Identifier: MIT
#include "attest/judge/shown.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "attest/golden/agreement.hpp"
#include "attest/judge/faults.hpp"
#include "case_facts.hpp"

namespace attest::judge {
namespace {

constexpr std::size_t kManyCases = 12;       // from which on a fault without effect is one that cannot occur
constexpr std::size_t kMostDistinct = 1000;  // different expected values that are counted
constexpr double kNoEffect = 1e-6;           // largest error / bound of a fault without effect, of rounding in binary64
constexpr double kBetrayed = 2;              // error / bound of a fault that an element betrays, whatever rounding adds
constexpr double kMostNan = 0.5;             // share of expected values that are NaN
constexpr Index kFewestDistinct = 3;         // values: two are a pattern that a constant per row may have
constexpr double kFewestDiffer = 0.25;       // share of elements that betray zeros, or the mean

/// Counts expected values and the wrong answers zero and mean; the shares are still numbers of elements. The mean of
/// one value is right by itself: whether different ones are expected, the cases show together.
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
    v.mean_differs += finite < 2 || !(std::abs(mean - e.hi) <= e.bound);
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

}  // namespace

Shown::Shown(const Spec& spec, const golden::Profile& profile, Capabilities capabilities)
    : spec_(spec), profile_(profile), capabilities_(std::move(capabilities)), most_(spec.faults.size(), 0) {}

bool Shown::counts(const Fault& fault) const {
  // All elements together betray one with an amplitude (tier T3), gradients one that has right outputs.
  return fault.equivalent.empty() && !fault.hidden.count(profile_.name) && fault.amplitude == 0 && !fault.gradient;
}

bool Shown::left_out(const Fault& fault) const {
  const VectorGroup& group = *spec_.group(fault.flag);
  return std::all_of(group.entries.begin(), group.entries.end(), [&](const VectorGroup::Entry& entry) {
    return capabilities_.leave_out(spec_, entry.parameters, group.with);
  });
}

bool Shown::asks_for(std::size_t fault) const { return most_[fault] < kBetrayed && counts(spec_.faults[fault]); }

void Shown::add(const std::vector<Expected>& elements, const std::function<double(const Fault&)>& error) {
  ++cases_;
  add_expected(elements, sums_, distinct_);
  for (std::size_t k = 0; k < most_.size(); ++k)
    if (asks_for(k)) most_[k] = std::max(most_[k], error(spec_.faults[k]));
}

void Shown::add(const Problem& problem, const TrueProblem& truth) {
  std::vector<Expected> elements;
  for (const auto& output : spec_.outputs) {
    const auto& tensor = truth.certified.outputs.at(output.name);
    const auto units = profile_.units_of(output);
    for (std::size_t i = 0; i < tensor.hi.size(); ++i)
      elements.push_back({tensor.hi[i], static_cast<double>(tensor.lo[i]), 0, golden::bound_of(tensor, i, units)});
  }
  const golden::Profile& exact = golden::profile("f64");
  const auto error_of = [&](const Fault& fault) {
    Arrays outputs = outputs_of_fault(problem, fault, kernel_of(fault.numeric ? profile_ : exact), truth.rows);
    if (fault.numeric) outputs = stored(problem, std::move(outputs), profile_);
    std::vector<double> values;
    for (const auto& output : spec_.outputs)
      values.insert(values.end(), outputs.at(output.name).values.begin(), outputs.at(output.name).values.end());
    return largest_error(elements, values);
  };
  std::vector<double> errors(most_.size(), 0);
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t k = 0; k < most_.size(); ++k) {
    try {
      if (asks_for(k)) errors[k] = error_of(spec_.faults[k]);
    } catch (...) {
#pragma omp critical(attest_shown)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  add(elements, [&](const Fault& fault) { return errors[static_cast<std::size_t>(&fault - spec_.faults.data())]; });
}

Vacuity Shown::vacuity() const {
  Vacuity v = sums_;
  const double elements = std::max<double>(static_cast<double>(v.elements), 1);
  v.distinct = static_cast<Index>(distinct_.size());
  // In binary64 a fault's own rounding may take all of the bound.
  const double no_effect = profile_.units[reference::kAccumulate] > 0x1p-40 ? kNoEffect : 1;
  v.nan_share /= elements, v.zeros_differ /= elements, v.mean_differs /= elements;
  for (std::size_t k = 0; k < most_.size(); ++k) {
    const Fault& fault = spec_.faults[k];
    // Without any effect on many cases, it is excluded by what the kernel declared: no mask, another feature map.
    if (!counts(fault) || (most_[k] <= no_effect && cases_ >= kManyCases)) continue;
    if (most_[k] < kBetrayed && left_out(fault)) continue;
    ++v.faults;
    if (most_[k] >= kBetrayed)
      ++v.faults_shown;
    else
      v.hidden.push_back(fault.name);
  }
  v.too_little = too_little(v, !spec_.faults.empty());
  return v;
}

}  // namespace attest::judge
