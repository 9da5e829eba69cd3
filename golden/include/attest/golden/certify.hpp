// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "attest/golden/profile.hpp"
#include "attest/spec.hpp"

namespace attest::golden {

/// Per channel, one number per element, in the channel's units.
using ChannelValues = std::array<std::vector<float>, reference::kChannels>;

/// A tensor of true values: hi is the true value rounded to binary64, lo the rest rounded to binary32, both correctly.
/// `bound` is a hard bound of any correct kernel's error, rounded up to bfloat16; `rms` the expected size, to nearest.
struct CertifiedTensor {
  std::vector<Index> shape;
  std::vector<double> hi;
  std::vector<float> lo;
  ChannelValues bound, rms;
};

using CertifiedTensors = std::map<std::string, CertifiedTensor>;

/// Everything that is known about one case.
struct Certified {
  CertifiedTensors outputs;                    // "o", ...; "gradient.q", ... where cotangents were given
  std::vector<CertifiedTensors> alternatives;  // the outputs when every decision that is too close to call goes
                                               // another way, one way after the other; else empty
  std::vector<double> margin;                  // certified lower bound of each discrete decision's gap
  std::string units = "narrow";                // "wide": bounds hold for every profile; "narrow": for float32 and finer
  long precision_bits = 0;                     // that decided every element
};

/// A case that no precision up to the limit decides. Names the element.
class Uncertifiable : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct CertifyOptions {
  bool check_witnesses = true;  // every other form and Boost's MPFR must agree, or std::logic_error
  long precision_limit = 8192;  // bits
  bool gradients = true;        // certify_case: vector-Jacobian products as well
};

/// The true outputs of a problem, and its gradients for the given cotangents (none when empty).
Certified certify(const Problem& problem, const Arrays& cotangents, const CertifyOptions& options = {});

/// The error model alone: bounds and rms of every output (and gradient) at the given largest units, the elementwise
/// maximum over the forms that are not numeric. hi and lo stay empty.
CertifiedTensors error_model(const Problem& problem, const Arrays& cotangents,
                             const reference::PerChannel& largest_units,
                             reference::Rounds rounds = reference::Rounds::everywhere);

/// A form exists for these sizes and parameters.
bool applies(const FormDeclaration& form, const Problem& problem);

/// Whether the error model bounds a form's errors for every kernel of the equation: it applies and is not numeric.
bool is_modelled(const FormDeclaration& form, const Problem& problem);

/// The first such form; throws SpecError where there is none.
const FormDeclaration& first_modelled_form(const Problem& problem);

/// The reference in double: one form's outputs; gradients when cotangents are given.
Arrays evaluate_in_double(const Problem& problem, const std::string& form, const Arrays& cotangents);

/// Midpoints and radii of one form over enclosures at a precision: outputs as name -> (middle, radius).
struct Enclosure {
  Arrays middle, radius;
};
Enclosure enclose(const Problem& problem, const std::string& form, long precision_bits);

}  // namespace attest::golden
