// SPDX-License-Identifier: MIT
#include "attest/judge/work.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/golden/case.hpp"
#include "attest/golden/certify.hpp"
#include "attest/reference/cost.hpp"

namespace attest::judge {

namespace {

Index longest_of(const Spec& spec, const Sizes& sizes) {
  Index longest = 1;
  for (const auto& size : spec.sizes)
    if (size.tokens) longest = std::max(longest, sizes.at(size.name));
  return longest;
}

double work_or_pairs(const Spec& spec, const Sizes& sizes, double work) {
  const auto longest = static_cast<double>(longest_of(spec, sizes));
  return std::max(work, longest * longest);
}

}  // namespace

double work_of_cases(const Spec& spec) {
  double work = 0;
  for (const auto& c : golden::stored_cases(spec)) work += work_of(spec, c.sizes, c.parameters);
  return work;
}

double work_of(const Spec& spec, const Sizes& sizes, const Parameters& parameters) {
  // A length that is left to a default which depends on the sizes is mostly that of the whole sequence.
  const Index longest = longest_of(spec, sizes);
  const auto value = [&](std::string_view name) -> std::optional<Value> {
    const auto known = lookup(spec, sizes, parameters, name);
    return known || !spec.parameter(name) ? known : Value(static_cast<double>(longest));
  };
  double most = 1;
  for (const auto& cost : spec.costs) {
    try {
      most = std::max(most, cost.count.evaluate(value));
    } catch (const std::invalid_argument&) {
      // a count that is not defined there
    }
  }
  for (const auto* tensors : {&spec.inputs, &spec.outputs})
    for (const auto& tensor : *tensors) most = std::max(most, static_cast<double>(count(shape_of(tensor, sizes))));
  return most;
}

bool is_large(const Spec& spec, const Sizes& sizes, const Parameters& parameters) {
  constexpr double kLarge = 2.0e7;
  return work_of(spec, sizes, parameters) > kLarge;
}

double operations(const Problem& problem, const std::string& also, const reference::WantedRows& rows) {
  constexpr double kOther = 8;
  double sum = 0;
  for (const auto& form : problem.spec->forms) {
    if (!golden::is_modelled(form, problem) && form.name != also) continue;
    reference::Cost cost;
    outputs_of(cost, problem, form.name, nullptr, rows);
    double all = 0;
    for (const auto& [_, count] : cost.counts().by_name()) all += static_cast<double>(count);
    const auto macs = static_cast<double>(cost.counts().mac);
    sum += macs + kOther * (all - macs);
  }
  return sum;
}

std::vector<std::string> row_sizes(const Spec& spec) {
  std::vector<std::string> sizes;
  for (const auto& output : spec.outputs)
    if (!output.shape.empty() && std::find(sizes.begin(), sizes.end(), output.shape[0]) == sizes.end())
      sizes.push_back(output.shape[0]);
  return sizes;
}

Index rows_of(const Spec& spec, const Sizes& sizes) {
  Index rows = 1;
  for (const auto& size : row_sizes(spec)) rows = std::max(rows, sizes.at(size));
  return rows;
}

namespace {

/// Of the problem of a case.
CostOfRows cost_of(const golden::Case& c, const std::string& also) {
  const Problem problem = golden::draw(c);
  reference::WantedRows last, two;
  for (const auto& size : row_sizes(*c.spec)) {
    const Index n = c.sizes.at(size);
    if (n < 2) continue;
    last[size] = {n - 1};
    two[size] = {n / 2 - 1, n - 1};
  }
  const double of_last = operations(problem, also, last);
  return {of_last, last.empty() ? 0 : std::max(operations(problem, also, two) - of_last, 1.0)};
}

}  // namespace

Growth growth_of(golden::Case from, const std::string& also) {
  constexpr Index kManyTokens = 64, kWide = 32;  // where what grows the fastest shows
  Growth growth{from.sizes, cost_of(from, also)};
  for (const auto& [name, size] : growth.from) {
    from.sizes = growth.from;
    from.sizes[name] = std::max(2 * size, from.spec->size(name)->tokens ? kManyTokens : kWide);
    const double factor =
        std::log2(static_cast<double>(from.sizes[name]) / static_cast<double>(std::max<Index>(size, 1)));
    const auto power = [&](double grown, double cost) { return cost > 0 ? std::log2(grown / cost) / factor : 0; };
    try {
      const CostOfRows grown = cost_of(from, also);
      growth.powers[name] = {power(grown.last, growth.cost.last), power(grown.each, growth.cost.each)};
    } catch (const SpecError&) {
      growth.powers[name] = {1, 1};  // it cannot grow alone
    }
  }
  return growth;
}

CostOfRows Growth::of(const Sizes& sizes) const {
  CostOfRows grown = cost;
  for (const auto& [name, power] : powers) {
    const double factor = static_cast<double>(sizes.at(name)) / static_cast<double>(std::max<Index>(from.at(name), 1));
    grown.last *= std::pow(factor, power.last);
    grown.each *= std::pow(factor, power.each);
  }
  return grown;
}

double CostOfTruth::operations(const Spec& spec, const Sizes& sizes, double work, Index rows) const {
  const double whole = std::min(by_work * work, by_work_or_pairs * work_or_pairs(spec, sizes, work));
  const Index all = rows_of(spec, sizes);
  const double part = static_cast<double>(std::min(rows, all)) / static_cast<double>(all);
  double most = whole * (shared + (1 - shared) * part);
  for (const Growth& growth : growths) most = std::max(most, growth.of(sizes).of(std::min(rows, all)));
  return most;
}

CostOfTruth cost_of_truth(const Spec& spec, const std::string& also) {
  constexpr double kMostWork = 1.0e5;
  constexpr std::size_t kCases = 8;
  constexpr Index kManyRows = 8;  // of fewer, one row says little of the others
  std::vector<std::pair<double, golden::Case>> cases;
  for (auto& c : golden::stored_cases(spec)) {
    const double work = work_of(spec, c.sizes, c.parameters);
    if (work <= kMostWork) cases.emplace_back(work, std::move(c));
  }
  std::stable_sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  CostOfTruth cost;
  for (std::size_t i = 0; i < cases.size(); i += 1 + cases.size() / kCases) {
    const Problem problem = golden::draw(cases[i].second);
    cost.growths.push_back(growth_of(cases[i].second, also));
    const double whole = operations(problem, also);
    cost.by_work = std::max(cost.by_work, whole / cases[i].first);
    cost.by_work_or_pairs = std::max(cost.by_work_or_pairs, whole / work_or_pairs(spec, problem.sizes, cases[i].first));
    reference::WantedRows last;
    for (const auto& size : row_sizes(spec))
      if (const Index n = problem.sizes.at(size); n > 1) last[size] = {n - 1};
    const Index rows = rows_of(spec, problem.sizes);
    if (rows < kManyRows) continue;
    const double of_last = operations(problem, also, last), of_each = (whole - of_last) / static_cast<double>(rows - 1);
    cost.shared = std::max(cost.shared, std::min((of_last - of_each) / whole, 1.0));
  }
  return cost;
}

double ScaledCost::operations(const Sizes& sizes, std::size_t rows) const {
  constexpr Index kTokens = 32, kWidth = 8;
  golden::Case small;
  small.spec = spec_;
  small.flag = spec_->vectors.front().flag;
  for (const auto& size : spec_->sizes)
    small.sizes[size.name] = std::min(sizes.at(size.name), size.tokens ? kTokens : kWidth);
  auto known = known_.find(small.sizes);
  if (known == known_.end()) {
    try {
      known = known_.emplace(small.sizes, growth_of(small, also_)).first;
    } catch (const SpecError&) {
      return std::numeric_limits<double>::infinity();
    }
  }
  return known->second.of(sizes).of(std::min(rows_of(*spec_, sizes), static_cast<Index>(rows)));
}

}  // namespace attest::judge
