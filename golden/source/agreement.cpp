// SPDX-License-Identifier: MIT
#include "attest/golden/agreement.hpp"

#include <cmath>
#include <limits>

namespace attest::golden {
namespace {

constexpr std::string_view kGradientPrefix = "gradient.";

}  // namespace

double bound_of(const CertifiedTensor& tensor, std::size_t i, const reference::PerChannel& units) {
  double bound = 0;
  for (std::size_t c = 0; c < units.size(); ++c)
    if (tensor.bound[c][i] != 0) bound += units[c] * static_cast<double>(tensor.bound[c][i]);
  return bound;
}

Array bounds_of(const CertifiedTensor& tensor, const reference::PerChannel& units) {
  Array bounds{tensor.shape, std::vector<double>(tensor.bound[0].size())};
  for (std::size_t i = 0; i < bounds.values.size(); ++i) bounds.values[i] = bound_of(tensor, i, units);
  return bounds;
}

bool agrees_with_convention(double expected, double got) {
  return std::isnan(expected) ? std::isnan(got) : got == expected;
}

double error_of(const CertifiedTensor& tensor, std::size_t i, double got) {
  if (std::isfinite(tensor.hi[i])) return std::abs((got - tensor.hi[i]) - static_cast<double>(tensor.lo[i]));
  return agrees_with_convention(tensor.hi[i], got) ? 0 : std::numeric_limits<double>::infinity();
}

bool is_within(double error, double bound) { return error <= bound || std::isinf(bound); }

bool agrees(const CertifiedTensor& tensor, std::size_t i, double got, const reference::PerChannel& units) {
  return is_within(error_of(tensor, i, got), std::isfinite(tensor.hi[i]) ? bound_of(tensor, i, units) : 0);
}

std::string gradient_of(std::string_view input) { return std::string(kGradientPrefix).append(input); }

bool is_gradient(std::string_view result) { return result.starts_with(kGradientPrefix); }

const TensorDeclaration& declaration_of(const Spec& spec, std::string_view result) {
  return is_gradient(result) ? *spec.input(result.substr(kGradientPrefix.size())) : *spec.output(result);
}

std::vector<Index> shape_of_result(const Problem& problem, std::string_view result) {
  return shape_of(declaration_of(*problem.spec, result), problem.sizes);
}

}  // namespace attest::golden
