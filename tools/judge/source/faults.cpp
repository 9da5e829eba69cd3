// SPDX-License-Identifier: MIT
#include "attest/judge/faults.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>

#include "attest/golden/agreement.hpp"
#include "attest/golden/gradients.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/error_model.hpp"

namespace attest::judge {
namespace {

using namespace reference;

constexpr long kFirstBits = 192, kMostBits = 4096;  // of certificates; four times as many where a branch is undecided

Arrays arrays_of(const Problem& problem, Values<double> values, const WantedRows& rows = {}) {
  Arrays arrays;
  for (auto& [name, elements] : values) {
    arrays[name] = {golden::shape_of_result(problem, name), std::move(elements)};
    const auto& shape = golden::declaration_of(*problem.spec, name).shape;
    if (const auto some = shape.empty() ? rows.end() : rows.find(shape[0]); some != rows.end())
      arrays[name].shape[0] = static_cast<Index>(some->second.size());
  }
  return arrays;
}

auto fault_run(const Problem& problem, const Fault& fault, double amplitude) {
  return [run = all_faults().find(problem.spec->id)->second, &fault, amplitude](Bundle& bundle) {
    run(fault.name, amplitude, bundle);
  };
}

/// hi + lo of every result, certified.
golden::CertifiedTensors certified_values(const Problem& problem, const std::function<void(Bundle&)>& run,
                                          const Arrays& cotangents) {
  golden::CertifiedTensors tensors;
  for (long bits = kFirstBits;; bits *= 4) {
    Certificate certificate(bits);
    try {
      for (auto& [name, values] : golden::results_of(certificate, problem, run, cotangents)) {
        auto& tensor = tensors[name];
        for (Ball& ball : values) {
          const double hi = approximate(ball);
          tensor.hi.push_back(hi);
          arb_sub(ball.get(), ball.get(), Ball(hi).get(), bits);
          tensor.lo.push_back(std::isfinite(hi) ? static_cast<float>(approximate(ball)) : 0.0f);
        }
      }
      return tensors;
    } catch (const Undecided& branch) {
      if (bits >= kMostBits)
        throw Undecided(fmt::format("{}: the branch '{}' of a fault is not decided at {} bits, the limit",
                                    problem.spec->id, branch.what(), bits));
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

Arrays gradients_of_fault(const Problem& problem, const Fault& fault, const Kernel& kernel, const Arrays& cotangents) {
  Emulation emulation(kernel);
  return arrays_of(problem,
                   golden::results_of(emulation, problem, fault_run(problem, fault, fault.amplitude), cotangents));
}

Arrays emulated(const Problem& problem, const std::string& form, const Kernel& kernel, const Arrays& cotangents) {
  Emulation emulation(kernel);
  const auto run = [&](Bundle& bundle) { evaluate(form, bundle); };
  return arrays_of(problem, golden::results_of(emulation, problem, run, cotangents));
}

Arrays stored(const Problem& problem, Arrays results, const golden::Profile& profile) {
  for (auto& [name, result] : results) {
    const DType format = golden::declaration_of(*problem.spec, name).state ? profile.state : profile.storage;
    for (double& x : result.values) x = round_to(format, x);
  }
  return results;
}

bool within_range(const Problem& problem, const golden::Profile& profile, const WantedRows& rows) {
  if (profile.storage != DType::f16) return true;
  const auto is_within = [&](const auto& equation) {
    Emulation emulation(kernel_of(profile));
    const auto outputs = outputs_of(emulation, problem, equation, nullptr, rows);
    return !emulation.overflowed() &&
           std::all_of(problem.spec->outputs.begin(), problem.spec->outputs.end(), [&](const auto& output) {
             return output.state ||
                    std::all_of(outputs.at(output.name).begin(), outputs.at(output.name).end(),
                                [](double x) { return !std::isfinite(x) || std::abs(x) <= Emulation::kMostOfHalf; });
           });
  };
  const auto& forms = problem.spec->forms;
  const auto& faults = problem.spec->faults;
  return std::all_of(forms.begin(), forms.end(),
                     [&](const auto& form) {
                       return !golden::is_modelled(form, problem) ||
                              is_within([&](Bundle& bundle) { evaluate(form.name, bundle); });
                     }) &&
         std::all_of(faults.begin(), faults.end(), [&](const Fault& fault) {
           return fault.equivalent.empty() || is_within(fault_run(problem, fault, fault.amplitude));
         });
}

golden::CertifiedTensors as_equation(const Problem& problem, const Fault& fault, const golden::Profile& profile,
                                     const Arrays& cotangents) {
  const auto run = fault_run(problem, fault, fault.amplitude);
  golden::CertifiedTensors tensors = certified_values(problem, run, cotangents);
  ErrorModel model(profile.units);
  const auto errors = golden::results_of(model, problem, run, cotangents);
  for (auto& [name, tensor] : tensors) {
    tensor.shape = golden::shape_of_result(problem, name);
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
