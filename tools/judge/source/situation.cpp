// SPDX-License-Identifier: MIT
#include "attest/judge/situation.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "attest/judge/memory.hpp"

namespace attest::judge {
namespace {

/// Properties of the integer inputs that the case draws.
std::map<std::string, bool> properties_of_case(const golden::Case& name) {
  const auto& inputs = name.spec->inputs;
  if (std::none_of(inputs.begin(), inputs.end(),
                   [](const TensorDeclaration& input) { return input.element == attest::Element::integer; }))
    return {};
  return properties_of(*name.spec,
                       golden::draw_each(name.grid ? golden::problems_of(name) : std::vector<golden::Case>{name}));
}

}  // namespace

Situation situation_of(const golden::Case& name) {
  return {name.sizes,
          name.parameters,
          name.with,
          name.grid.value_or(golden::Grid{}),
          is_contiguous(name.memory),
          properties_of_case(name)};
}

}  // namespace attest::judge
