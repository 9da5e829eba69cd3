// SPDX-License-Identifier: MIT
#include "attest/judge/faults.hpp"

#include <cmath>
#include <limits>

namespace attest::judge {
namespace {

using namespace reference;

const FaultReadings& readings(const Spec& spec) { return *all_faults().find(spec.id)->second; }

Arrays arrays_of(const Problem& problem, const Bundle<Emulated>& bundle) {
  Arrays arrays;
  for (const auto& output : problem.spec->outputs) {
    Array& array = arrays[output.name];
    array.shape = shape_of(output, problem.sizes);
    const auto& values = bundle.values(output.name);
    for (std::size_t i = 0; i + 1 < values.size(); ++i) array.values.push_back(values[i].value());
  }
  return arrays;
}

}  // namespace

Arithmetic arithmetic_of(const golden::Profile& profile, Order order, std::uint64_t seed) {
  Arithmetic how;
  how.order = order;
  how.seed = seed;
  how.single = profile.units[kAccumulate] > 0x1p-53;
  if (profile.units[kOperand] > profile.units[kAccumulate]) {
    how.operand_half = profile.storage == DType::f16;
    how.operand_bits = -std::ilogb(profile.units[kOperand]);
  }
  return how;
}

Arrays planted(const Problem& problem, const Fault& fault, const Arithmetic& how, double amplitude) {
  const ArithmeticScope scope(how);
  Bundle<Emulated> bundle(problem);
  readings(*problem.spec).planted(fault.name, amplitude, bundle);
  return arrays_of(problem, bundle);
}

Arrays planted(const Problem& problem, const Fault& fault, const Arithmetic& how) { return planted(problem, fault, how, fault.amplitude); }

Arrays emulated(const Problem& problem, const std::string& form, const Arithmetic& how) {
  const ArithmeticScope scope(how);
  Bundle<Emulated> bundle(problem);
  evaluate(problem, form, bundle);
  return arrays_of(problem, bundle);
}

Arrays stored(const Problem& problem, Arrays outputs, const golden::Profile& profile) {
  for (const auto& output : problem.spec->outputs)
    for (double& x : outputs.at(output.name).values) x = round_to(output.state ? profile.state : profile.storage, x);
  return outputs;
}

bool within_range(const Problem& problem, const golden::Profile& profile) {
  if (profile.storage != DType::f16) return true;
  for (const auto& form : problem.spec->forms) {
    if (form.numeric || !golden::applies(form, problem)) continue;
    Emulated::overflowed() = false;
    const Arrays outputs = emulated(problem, form.name, arithmetic_of(profile));
    if (Emulated::overflowed()) return false;
    for (const auto& output : problem.spec->outputs)
      for (const double x : outputs.at(output.name).values)
        if (!output.state && std::isfinite(x) && std::abs(x) > Emulated::kMostOfHalf) return false;
  }
  return true;
}

golden::CertifiedTensors as_equation(const Problem& problem, const Fault& fault, const golden::Profile& profile) {
  const auto& runs = readings(*problem.spec);
  golden::CertifiedTensors tensors;
  for (long bits = 192;; bits *= 4) {
    const BallPrecision precision(bits);
    Bundle<Ball> bundle(problem);
    try {
      runs.certified(fault.name, fault.amplitude, bundle);
    } catch (const Undecided&) {
      if (bits < 4096) continue;
      throw;
    }
    for (const auto& output : problem.spec->outputs) {
      auto& tensor = tensors[output.name];
      tensor.shape = shape_of(output, problem.sizes);
      const auto& values = bundle.values(output.name);
      for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        const double hi = approximate(values[i]);
        tensor.hi.push_back(hi);
        tensor.lo.push_back(std::isfinite(hi) ? static_cast<float>(approximate(values[i] - Ball(hi))) : 0.0f);
      }
    }
    break;
  }
  const PerChannel before = std::exchange(Rounding::largest_units(), profile.units);
  Bundle<Rounding> bundle(problem, [](const TensorDeclaration&, Index, double x) { return Rounding::exact(x); });
  runs.error_model(fault.name, fault.amplitude, bundle);
  for (auto& [name, tensor] : tensors) {
    const auto& values = bundle.values(name);
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const Rounding x = std::isfinite(values[i].value()) ? values[i].stored() : Rounding::exact(0);
      for (std::size_t c = 0; c < static_cast<std::size_t>(kChannels); ++c) {
        const double bound = x.bound()[c], rms = std::sqrt(x.variance()[c]);
        float rounded = static_cast<float>(bound);
        if (!(static_cast<double>(rounded) >= bound)) rounded = std::nextafter(rounded, std::numeric_limits<float>::infinity());
        tensor.bound[c].push_back(bound >= 0 ? rounded : std::numeric_limits<float>::infinity());
        tensor.rms[c].push_back(static_cast<float>(std::isfinite(rms) ? rms : 0));
      }
    }
  }
  Rounding::largest_units() = before;
  return tensors;
}

}  // namespace attest::judge
