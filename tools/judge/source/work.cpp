// SPDX-License-Identifier: MIT
#include "attest/judge/work.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/golden/case.hpp"
#include "attest/golden/certify.hpp"
#include "attest/reference/cost.hpp"

namespace attest::judge {

double work_of(const Spec& spec, const Sizes& sizes, const Parameters& parameters) {
  // A length that is left to a default which depends on the sizes is mostly that of the whole sequence.
  Index longest = 1;
  for (const auto& size : spec.sizes)
    if (size.tokens) longest = std::max(longest, sizes.at(size.name));
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

double operations(const Problem& problem, const reference::WantedRows& rows) {
  constexpr double kOther = 8;
  double sum = 0;
  for (const auto& form : problem.spec->forms) {
    if (!golden::is_modelled(form, problem)) continue;
    reference::Cost cost;
    outputs_of(cost, problem, form.name, nullptr, rows);
    double all = 0;
    for (const auto& [_, count] : cost.counts().by_name()) all += static_cast<double>(count);
    const auto macs = static_cast<double>(cost.counts().mac);
    sum += macs + kOther * (all - macs);
  }
  return sum;
}

double operations_by_work(const Spec& spec) {
  constexpr double kMostWork = 1.0e5;
  constexpr std::size_t kCases = 8;
  std::vector<std::pair<double, golden::Case>> cases;
  for (auto& c : golden::stored_cases(spec)) {
    const double work = work_of(spec, c.sizes, c.parameters);
    if (work <= kMostWork) cases.emplace_back(work, std::move(c));
  }
  std::stable_sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  double most = 1;
  for (std::size_t i = 0; i < cases.size(); i += 1 + cases.size() / kCases)
    most = std::max(most, operations(golden::draw(cases[i].second)) / cases[i].first);
  return most;
}

}  // namespace attest::judge
