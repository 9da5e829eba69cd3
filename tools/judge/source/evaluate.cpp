// SPDX-License-Identifier: MIT
#include "attest/judge/evaluate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>

#include "attest/golden/agreement.hpp"
#include "attest/golden/files.hpp"
#include "attest/judge/contract.hpp"
#include "attest/judge/layout.hpp"

namespace attest::judge {
namespace {

/// The same for the same problem and profile only, but for collisions of SHA-256.
std::string fingerprint(const Problem& problem, const golden::Profile& profile) {
  std::string content = profile.name;
  for (const auto& [name, size] : problem.sizes) content += fmt::format(";{}={}", name, size);
  for (const auto& [name, setting] : problem.parameters) {
    content += fmt::format(";{}=", name);
    std::visit([&](const auto& value) { content += fmt::format("{}", value); }, setting);
  }
  for (const auto& [name, array] : problem.inputs) {
    content += fmt::format(";{} {}:", name, fmt::join(array.shape, " "));
    content.append(reinterpret_cast<const char*>(array.values.data()), array.values.size() * sizeof(double));
  }
  return golden::sha256(content);
}

}  // namespace

const Arrays& LawBounds::of(const Problem& problem, const golden::Profile& profile) {
  if (std::exchange(spec_, problem.spec) != problem.spec) known_.clear();
  const std::string key = fingerprint(problem, profile);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  Arrays bounds;
  for (const auto& [name, tensor] : golden::error_model(problem, {}, profile.units))
    bounds[name] = golden::bounds_of(tensor, profile.units_of(golden::declaration_of(*problem.spec, name)));
  return known_.emplace(key, std::move(bounds)).first->second;
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
