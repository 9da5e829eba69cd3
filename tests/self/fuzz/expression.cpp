// SPDX-License-Identifier: MIT
// Conditions and counts of specs, capabilities and waivers.
#include "attest/expression.hpp"

#include <stdexcept>

#include "fuzz.hpp"

using namespace attest;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  const auto value = [](std::string_view name) -> std::optional<Value> {
    if (name.size() == 1) return static_cast<double>(name[0] - 'm');
    return name.ends_with('s') ? std::optional<Value>("half") : std::nullopt;
  };
  try {
    for (const Expression& condition : parse_conditions(text)) {
      fuzz::require(condition.variables() == Expression::parse(condition.text()).variables(),
                    "text() is the condition");
      const std::vector<std::string> choices{"half", "whole"};
      bool has_a_meaning = true;
      try {
        condition.check_choices(
            [&](std::string_view name) { return name.size() > 1 && name.ends_with('s') ? &choices : nullptr; });
      } catch (const std::invalid_argument&) {
        has_a_meaning = false;
      }
      for (const auto& property : condition.properties())
        fuzz::require(!property.of.empty(), "a property is of a name");
      try {
        condition.evaluate(value);
      } catch (const std::invalid_argument& error) {
        fuzz::require(!has_a_meaning || std::string_view(error.what()).find("the choice '") == std::string_view::npos,
                      "what passed check_choices() compares choices with choices");
      }
      condition.holds(value);
    }
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
