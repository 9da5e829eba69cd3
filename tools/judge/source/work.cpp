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

double CostOfTruth::operations(const Spec& spec, const Sizes& sizes) const {
  const double work = work_of(spec, sizes, {});
  return std::min(by_work * work, by_work_or_pairs * work_or_pairs(spec, sizes, work));
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
    const double whole = operations(problem, also);
    cost.by_work = std::max(cost.by_work, whole / cases[i].first);
    cost.by_work_or_pairs = std::max(cost.by_work_or_pairs, whole / work_or_pairs(spec, problem.sizes, cases[i].first));
    reference::WantedRows last;
    Index rows = 1;
    for (const auto& size : row_sizes(spec))
      if (const Index n = problem.sizes.at(size); n > 1) rows = std::max(rows, n), last[size] = {n - 1};
    if (rows < kManyRows) continue;
    const double of_last = operations(problem, also, last), of_each = (whole - of_last) / static_cast<double>(rows - 1);
    cost.shared = std::max(cost.shared, std::min((of_last - of_each) / whole, 1.0));
  }
  return cost;
}

ScaledCost::Cost ScaledCost::of_small(const Sizes& sizes) const {
  golden::Case c;
  c.spec = spec_;
  c.flag = spec_->vectors.front().flag;
  c.sizes = sizes;
  const Problem problem = golden::draw(c);
  reference::WantedRows last, two;
  for (const auto& size : row_sizes(*spec_)) {
    const Index n = sizes.at(size);
    if (n < 2) continue;
    last[size] = {n - 1};
    two[size] = {n / 2 - 1, n - 1};
  }
  const double of_last = judge::operations(problem, also_, last);
  return {of_last, last.empty() ? 0 : std::max(judge::operations(problem, also_, two) - of_last, 1.0)};
}

ScaledCost::Growth ScaledCost::growth(const Sizes& small) const {
  Growth growth{of_small(small), {}};
  for (const auto& [name, size] : small) {
    Sizes twice = small;
    twice[name] = 2 * size;
    try {
      const Cost cost = of_small(twice);
      growth.powers[name] = {std::log2(cost.last / growth.small.last),
                             growth.small.each > 0 ? std::log2(cost.each / growth.small.each) : 0};
    } catch (const SpecError&) {
      growth.powers[name] = {1, 1};  // it cannot grow alone
    }
  }
  return growth;
}

double ScaledCost::operations(const Sizes& sizes, std::size_t rows) const {
  constexpr Index kTokens = 32, kWidth = 8;
  Sizes small;
  for (const auto& size : spec_->sizes)
    small[size.name] = std::min(sizes.at(size.name), size.tokens ? kTokens : kWidth);
  auto known = known_.find(small);
  if (known == known_.end()) {
    try {
      known = known_.emplace(small, growth(small)).first;
    } catch (const SpecError&) {
      return std::numeric_limits<double>::infinity();
    }
  }
  auto [last, each] = known->second.small;
  for (const auto& [name, powers] : known->second.powers) {
    const double factor = static_cast<double>(sizes.at(name)) / static_cast<double>(std::max<Index>(small.at(name), 1));
    last *= std::pow(factor, powers.first);
    each *= std::pow(factor, powers.second);
  }
  Index most = 1;
  for (const auto& size : row_sizes(*spec_)) most = std::max(most, sizes.at(size));
  return last + each * static_cast<double>(std::min<Index>(most, static_cast<Index>(rows)) - 1);
}

}  // namespace attest::judge
