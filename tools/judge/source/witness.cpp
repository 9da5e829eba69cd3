// SPDX-License-Identifier: MIT
#include "attest/judge/witness.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "attest/golden/profile.hpp"
#include "attest/judge/contract.hpp"
#include "attest/judge/layout.hpp"
#include "attest/judge/select.hpp"

namespace attest::judge {
namespace {

constexpr std::size_t kOfEachMeasure = 2;  // rows
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// How much a row differs.
using Measures = std::array<double, 3>;

double difference(double got, double ours) {
  if (got == ours || (std::isnan(got) && std::isnan(ours))) return 0;
  const double difference = std::abs(got - ours);
  return std::isnan(difference) ? kInfinity : difference;
}

Measures measures_of_row(const double* got, const double* ours, std::size_t width) {
  double absolute = 0, to_element = 0, largest = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const double d = difference(got[i], ours[i]);
    absolute = std::max(absolute, d);
    largest = std::max(largest, std::abs(ours[i]));
    if (d > 0) to_element = std::max(to_element, d / std::abs(ours[i]));
  }
  return {absolute, absolute > 0 ? absolute / largest : 0, to_element};
}

/// Rows that some measure finds the most different.
std::set<Index> most_different_rows(const Array& got, const Array& ours) {
  const auto rows = static_cast<std::size_t>(ours.shape[0]), width = rows == 0 ? 0 : ours.values.size() / rows;
  std::vector<Measures> measures;
  for (std::size_t row = 0; row < rows; ++row)
    measures.push_back(measures_of_row(got.values.data() + row * width, ours.values.data() + row * width, width));
  std::set<Index> most;
  for (std::size_t m = 0; m < Measures().size(); ++m) {
    std::vector<std::pair<double, Index>> order;
    for (std::size_t row = 0; row < rows; ++row)
      if (measures[row][m] > 0) order.emplace_back(-measures[row][m], static_cast<Index>(row));
    const auto kept = std::min(order.size(), kOfEachMeasure);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end());
    for (std::size_t i = 0; i < kept; ++i) most.insert(order[i].second);
  }
  return most;
}

}  // namespace

const Kernel* Witness::kernel_for(const Problem& problem) {
  if (missing_) return nullptr;
  if (!openmp_) try {
      openmp_ = std::make_unique<Candidate>("openmp");
    } catch (const InvalidCandidate&) {  // a build without it
      missing_ = true;
      return nullptr;
    }
  std::vector<std::string> given;
  for (const auto& [name, _] : problem.inputs)
    if (problem.spec->input(name)->optional) given.push_back(name);
  for (const Kernel& kernel : openmp_->kernels())
    if (kernel.spec == problem.spec && kernel.info.dtype == DType::f64 && !kernel.is_gradient() &&
        kernel.ragged_sizes().empty() &&
        kernel.capabilities.allow(*problem.spec, problem.sizes, problem.parameters, given) &&
        form_applies(*problem.spec, kernel.info.form, problem.sizes, problem.parameters))
      return &kernel;
  return nullptr;
}

std::optional<reference::WantedRows> Witness::most_different(const Problem& problem, const Arrays& got,
                                                             const CheckOptions& options) {
  const Kernel* kernel = kernel_for(problem);
  if (!kernel) return std::nullopt;
  const Batch alone{{problem}, {Arrays()}};
  const Request request = assemble(alone, *kernel, golden::profile("f64"));
  const Response response =
      openmp_->call(kernel->index, request, call_options(alone, *kernel, options, Placement::end_at_guard, kPoison[0]));
  if (response.end != Response::End::finished) return std::nullopt;
  const Arrays ours = disassemble(alone, *kernel, request, response.outputs)[0];
  std::map<std::string, std::set<Index>> rows;
  for (const auto& output : problem.spec->outputs) {
    const Array& of_ours = ours.at(output.name);
    if (output.shape.empty() || of_ours.shape[0] == 0) continue;
    rows[output.shape[0]].merge(most_different_rows(got.at(output.name), of_ours));
  }
  reference::WantedRows wanted;
  for (auto& [size, some] : rows) {
    if (some.empty()) some.insert(0);
    wanted[size] = {some.begin(), some.end()};
  }
  return wanted;
}

}  // namespace attest::judge
