// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attest/golden/certify.hpp"
#include "attest/spec.hpp"

/// When a result agrees with a certified value, and what results are called. These rules stand here alone.
namespace attest::golden {

/// The largest error of a correct kernel with those units: the sum over the channels of unit x bound. A channel without
/// a bound adds nothing, whatever its unit.
double bound_of(const CertifiedTensor& tensor, std::size_t i, const reference::PerChannel& units);

/// bound_of every element, in the tensor's shape.
Array bounds_of(const CertifiedTensor& tensor, const reference::PerChannel& units);

/// Where a convention of the equation gives an infinity or NaN, that and nothing else agrees.
bool agrees_with_convention(double expected, double got);

/// |got - (hi + lo)|; NaN for NaN. Where a convention decides, 0 or infinity.
double error_of(const CertifiedTensor& tensor, std::size_t i, double got);

/// Whether a correct kernel may have that error. NaN is none that it may have, unless its error has no bound: a
/// denominator that underflows may give 0 / 0.
bool is_within(double error, double bound);

/// Whether a correct kernel with those units may give that element.
bool agrees(const CertifiedTensor& tensor, std::size_t i, double got, const reference::PerChannel& units);

/// Results are outputs by their names, and gradients: what that of an input is called.
std::string gradient_of(std::string_view input);

bool is_gradient(std::string_view result);

/// The declaration that gives a result its shape and format: of the output, or of the input that a gradient is of.
const TensorDeclaration& declaration_of(const Spec& spec, std::string_view result);

std::vector<Index> shape_of_result(const Problem& problem, std::string_view result);

}  // namespace attest::golden
