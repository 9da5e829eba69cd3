// SPDX-License-Identifier: MIT
#include "attest/judge/faults.hpp"

#include <cmath>
#include <functional>
#include <limits>

#include "attest/reference/certificate.hpp"
#include "attest/reference/error_model.hpp"

namespace attest::judge {
namespace {

using namespace reference;

constexpr long kFirstBits = 192, kMostBits = 4096;  // of certificates; four times as many where a branch is undecided

Arrays arrays_of(const Problem& problem, Values<double> values, const WantedRows& rows = {}) {
  Arrays arrays;
  for (const auto& output : problem.spec->outputs) {
    arrays[output.name] = {shape_of(output, problem.sizes), std::move(values.at(output.name))};
    if (const auto some = output.shape.empty() ? rows.end() : rows.find(output.shape[0]); some != rows.end())
      arrays[output.name].shape[0] = static_cast<Index>(some->second.size());
  }
  return arrays;
}

auto fault_run(const Problem& problem, const Fault& fault, double amplitude) {
  return [run = all_faults().find(problem.spec->id)->second, &fault, amplitude](Bundle& bundle) {
    run(fault.name, amplitude, bundle);
  };
}

/// hi + lo of every output, certified.
golden::CertifiedTensors certified_values(const Problem& problem, const std::function<void(Bundle&)>& run) {
  golden::CertifiedTensors tensors;
  for (long bits = kFirstBits;; bits *= 4) {
    Certificate certificate(bits);
    try {
      for (auto& [name, values] : outputs_of(certificate, problem, run)) {
        auto& tensor = tensors[name];
        for (Ball& ball : values) {
          const double hi = approximate(ball);
          tensor.hi.push_back(hi);
          arb_sub(ball.get(), ball.get(), Ball(hi).get(), bits);
          tensor.lo.push_back(std::isfinite(hi) ? static_cast<float>(approximate(ball)) : 0.0f);
        }
      }
      return tensors;
    } catch (const Undecided&) {
      if (bits >= kMostBits) throw;
    }
  }
}

/// Bound and rms of one element by channel, as floats; a bound is rounded up, and infinite where there is none.
void add_error(golden::CertifiedTensor& tensor, const Rounding& error) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(kChannels); ++c) {
    const double bound = error.bound[c], rms = std::sqrt(error.variance[c]);
    float rounded = static_cast<float>(bound);
    if (!(static_cast<double>(rounded) >= bound))
      rounded = std::nextafter(rounded, std::numeric_limits<float>::infinity());
    tensor.bound[c].push_back(bound >= 0 ? rounded : std::numeric_limits<float>::infinity());
    tensor.rms[c].push_back(static_cast<float>(std::isfinite(rms) ? rms : 0));
  }
}

}  // namespace

Kernel kernel_of(const golden::Profile& profile, Order order, std::uint64_t seed) {
  Kernel kernel;
  kernel.order = order;
  kernel.seed = seed;
  kernel.single = profile.units[kAccumulate] > 0x1p-53;
  if (profile.units[kOperand] > profile.units[kAccumulate]) {
    kernel.operand_half = profile.storage == DType::f16;
    kernel.operand_cut = profile.cuts;
    kernel.operand_bits = -std::ilogb(profile.units[kOperand]) + (profile.cuts ? 1 : 0);
  }
  if (profile.units[kStore] > profile.units[kAccumulate]) kernel.storage = profile.storage;
  return kernel;
}

Arrays outputs_of_fault(const Problem& problem, const Fault& fault, const Kernel& kernel, double amplitude) {
  Emulation emulation(kernel);
  return arrays_of(problem, outputs_of(emulation, problem, fault_run(problem, fault, amplitude)));
}

Arrays outputs_of_fault(const Problem& problem, const Fault& fault, const Kernel& kernel, const WantedRows& rows) {
  Emulation emulation(kernel);
  const auto run = fault_run(problem, fault, fault.amplitude);
  return arrays_of(problem, outputs_of(emulation, problem, run, nullptr, rows), rows);
}

Arrays emulated(const Problem& problem, const std::string& form, const Kernel& kernel) {
  Emulation emulation(kernel);
  return arrays_of(problem, outputs_of(emulation, problem, form));
}

Arrays stored(const Problem& problem, Arrays outputs, const golden::Profile& profile) {
  for (const auto& output : problem.spec->outputs)
    for (double& x : outputs.at(output.name).values) x = round_to(output.state ? profile.state : profile.storage, x);
  return outputs;
}

bool within_range(const Problem& problem, const golden::Profile& profile, const WantedRows& rows) {
  if (profile.storage != DType::f16) return true;
  for (const auto& form : problem.spec->forms) {
    if (!golden::is_modelled(form, problem)) continue;
    Emulation emulation(kernel_of(profile));
    const auto outputs = outputs_of(emulation, problem, form.name, nullptr, rows);
    if (emulation.overflowed()) return false;
    for (const auto& output : problem.spec->outputs)
      for (const double x : outputs.at(output.name))
        if (!output.state && std::isfinite(x) && std::abs(x) > Emulation::kMostOfHalf) return false;
  }
  return true;
}

golden::CertifiedTensors as_equation(const Problem& problem, const Fault& fault, const golden::Profile& profile) {
  const auto run = fault_run(problem, fault, fault.amplitude);
  golden::CertifiedTensors tensors = certified_values(problem, run);
  ErrorModel model(profile.units);
  const auto errors = outputs_of(model, problem, run);
  for (auto& [name, tensor] : tensors) {
    tensor.shape = shape_of(*problem.spec->output(name), problem.sizes);
    const auto& roundings = errors.at(name);
    for (std::size_t i = 0; i < roundings.size(); ++i) {
      const bool finite = std::isfinite(roundings[i].value);
      if (!std::isfinite(tensor.hi[i]) && !finite) tensor.hi[i] = roundings[i].value;
      add_error(tensor, finite ? model.stored(roundings[i]) : Rounding());
    }
  }
  return tensors;
}

}  // namespace attest::judge
