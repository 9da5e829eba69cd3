// SPDX-License-Identifier: MIT
#include "attest/judge/evaluate.hpp"

#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>

#include "attest/golden/agreement.hpp"
#include "attest/judge/contract.hpp"
#include "attest/judge/layout.hpp"
#include "golden_members.hpp"

namespace attest::judge {
namespace {

/// The same for the same problem of an equation and profile only.
std::string key_of(const Problem& problem, const golden::Profile& profile) {
  ByteWriter key;
  key.put(profile.name);
  key.put(problem.sizes);
  key.put(problem.parameters.size());
  for (const auto& [name, setting] : problem.parameters) {
    key.put(name);
    key.put(setting.index());
    std::visit([&](const auto& value) { key.put(value); }, setting);
  }
  key.put(problem.inputs);
  return key.take();
}

}  // namespace

const Arrays& LawBounds::of(const Problem& problem, const golden::Profile& profile) {
  if (std::exchange(spec_, problem.spec) != problem.spec) known_.clear();
  std::string key = key_of(problem, profile);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  Arrays bounds;
  for (const auto& [name, tensor] : golden::error_model(problem, {}, profile.units))
    bounds[name] = golden::bounds_of(tensor, profile.units_of(golden::declaration_of(*problem.spec, name)));
  return known_.emplace(std::move(key), std::move(bounds)).first->second;
}

laws::Evaluate evaluate_with(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                             const CheckOptions& options, LawBounds& bounds) {
  return [&candidate, &kernel, &profile, options, &bounds](const Problem& problem) {
    const Batch batch{{problem}, {{}}, 1, 1, 1};
    const Request request = assemble(batch, kernel, profile);
    const Response response = candidate.call(kernel.index, request,
                                             call_options(batch, kernel, options, Placement::end_at_guard, kPoison[0]));
    if (response.end == Response::End::refused || response.end == Response::End::kernel_error)
      throw laws::Refused(response.message);
    if (response.end != Response::End::finished) throw std::runtime_error(response.message);
    if (!response.violations.empty()) throw std::runtime_error(response.violations[0]);
    laws::Outcome outcome;
    outcome.values = disassemble(batch, kernel, request, response.outputs)[0];
    outcome.bounds = [&bounds, &profile, owned = std::make_shared<Problem>(problem)]() -> const Arrays& {
      return bounds.of(*owned, profile);
    };
    return outcome;
  };
}

laws::Evaluate over_enclosures(const std::string& form, long precision_bits) {
  return [form, precision_bits](const Problem& problem) {
    auto enclosure = std::make_shared<golden::Enclosure>(golden::enclose(problem, form, precision_bits));
    laws::Outcome outcome;
    outcome.values = enclosure->middle;
    outcome.bounds = [enclosure]() -> const Arrays& { return enclosure->radius; };
    return outcome;
  };
}

}  // namespace attest::judge
