// SPDX-License-Identifier: MIT
// Answers the program of `attest bench`: which kernels can be given a case.
#include "unmet_conditions.hpp"

#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "attest/judge/candidate.hpp"

namespace attest::cli {
namespace {

using nlohmann::json;

ParameterSetting setting_of(const ParameterDeclaration& declared, const json& value) {
  using Type = ParameterDeclaration::Type;
  switch (declared.type) {
    case Type::boolean: return value.get<double>() != 0;
    case Type::integer: return value.get<Index>();
    case Type::real: return value.get<double>();
    case Type::choice: return value.get<std::string>();
  }
  throw std::logic_error("unknown type of parameter");
}

Parameters parameters_of(const Spec& spec, const json& values) {
  Parameters parameters;
  for (const auto& [name, value] : values.items()) {
    const auto* declared = spec.parameter(name);
    if (!declared) throw SpecError(spec.id + " has no parameter " + name);
    parameters[name] = setting_of(*declared, value);
  }
  return parameters;
}

}  // namespace

void unmet_conditions(std::istream& question, std::ostream& answer) {
  const json asked = json::parse(question);
  const Spec& spec = find_spec(asked.at("equation").get<std::string>());
  const auto sizes = asked.at("sizes").get<Sizes>();
  const auto parameters = parameters_of(spec, asked.at("parameters"));
  json unmet = json::array();
  for (const auto& capabilities : asked.at("capabilities").get<std::vector<std::string>>()) {
    // Throws where they cannot be read.
    const std::string first = judge::Capabilities(spec, capabilities).unmet(spec, {sizes, parameters, {}});
    unmet.push_back(first.empty() ? json() : json(first));
  }
  answer << unmet.dump() << '\n';
}

}  // namespace attest::cli
