// SPDX-License-Identifier: MIT
#include "attest/judge/capabilities.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

#include "attest/golden/profile.hpp"

namespace attest::judge {
namespace {

constexpr Index kLargestSize = 4096;

bool is_grid_name(std::string_view name) {
  return std::find(kGridNames.begin(), kGridNames.end(), name) != kGridNames.end();
}

bool is_optional_input(const Spec& spec, std::string_view name) {
  const auto* input = spec.input(name);
  return input && input->optional;
}

std::set<std::string> variables_of(const Expression& expression) {
  const auto names = names_in(expression);
  return {names.begin(), names.end()};
}

constexpr std::string_view kDefault = "default";

/// The value of a default that depends on sizes; nothing where its text is a formula for readers alone.
std::optional<Value> default_in(const ParameterDeclaration& parameter, const Spec& spec, const Sizes& sizes) try {
  return Expression::parse(parameter.fallback_text).evaluate([&](std::string_view name) {
    return lookup(spec, sizes, {}, name);
  });
} catch (const std::invalid_argument&) {
  return std::nullopt;
}

bool is_default(const Spec& spec, const Parameters& parameters, const std::string& name) {
  const auto set = parameters.find(name);
  return set == parameters.end() || spec.parameter(name)->fallback == set->second;
}

/// Throws SpecError where a property is not of what it can be of.
void check_property(const Spec& spec, const Expression& condition, const Expression::Property& property) {
  const auto fail = [&](const std::string& why) {
    throw SpecError(fmt::format("capabilities of {}: '{}': {}", spec.id, condition.text(), why));
  };
  if (property.word == kDefault) {
    std::vector<std::string> parameters;
    for (const auto& parameter : spec.parameters) parameters.push_back(parameter.name);
    if (!spec.parameter(property.of))
      fail(fmt::format("only a parameter has a default, and '{}' is none; parameters: {}", property.of,
                       fmt::join(parameters, ", ")));
    return;
  }
  std::vector<std::string> integers;
  for (const auto& input : spec.inputs)
    if (input.element == attest::Element::integer) integers.push_back(input.name);
  if (std::find(integers.begin(), integers.end(), property.of) == integers.end())
    fail(fmt::format("'{}' is about an input of integers, and '{}' is none; there {}", property.text(), property.of,
                     integers.empty() ? "are none" : fmt::format("is {}", fmt::join(integers, ", "))));
}

/// Values worth trying for a parameter: what the spec allows, and the constants that the condition mentions.
std::vector<ParameterSetting> settings_to_try(const ParameterDeclaration& parameter, const Expression& condition) {
  using Type = ParameterDeclaration::Type;
  std::vector<ParameterSetting> settings;
  if (parameter.type == Type::boolean) settings = {false, true};
  if (parameter.type == Type::choice) settings.assign(parameter.choices.begin(), parameter.choices.end());
  if (parameter.type == Type::integer)
    for (Index value = 0; value <= kLargestSize; ++value) settings.emplace_back(value);
  if (parameter.type == Type::real) {
    const std::string& text = condition.text();
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (!std::isdigit(static_cast<unsigned char>(text[at])) && text[at] != '-') continue;
      std::size_t used = 0;
      try {
        settings.emplace_back(std::stod(text.substr(at), &used));
      } catch (const std::exception&) {
      }
      at += used;
    }
  }
  return settings;
}

/// Lengths of pages that meet the condition: those that libraries use, or the least one.
std::vector<Index> page_lengths_in(const Spec& spec, const Expression& condition) {
  std::vector<Index> lengths;
  const auto meets = [&](Index length) {
    return condition.holds([&](std::string_view) { return std::optional<Value>(static_cast<double>(length)); });
  };
  for (const Index length : {16, 1, 64, 256, 32, 128})
    if (meets(length)) lengths.push_back(length);
  for (Index length = 1; lengths.empty() && length <= kLargestSize; ++length)
    if (meets(length)) lengths.push_back(length);
  if (lengths.empty())
    throw SpecError(fmt::format("capabilities of {}: '{}' allows no length of a page from 1 to {}", spec.id,
                                condition.text(), kLargestSize));
  return lengths;
}

/// The name in "profile == 'NAME'".
std::string profile_in(const Spec& spec, const Expression& condition) {
  const std::string& text = condition.text();
  const auto first = text.find('\''), last = text.rfind('\'');
  const std::string word = first < last ? text.substr(first + 1, last - first - 1) : "";
  const auto meant = [&](std::string_view name) {
    return name == "profile" ? std::optional<Value>(word) : std::nullopt;
  };
  if (first >= last || condition.variables().size() != 1 || !condition.holds(meant))
    throw SpecError(fmt::format("capabilities of {}: '{}': 'profile' is for profile == 'NAME'", spec.id, text));
  std::vector<std::string> known;
  for (const auto& profile : golden::profiles()) known.push_back(profile.name);
  if (std::find(known.begin(), known.end(), word) == known.end())
    throw SpecError(fmt::format("capabilities of {}: no profile is called '{}'{}; profiles: {}", spec.id, word,
                                near_names(word, known), fmt::join(known, ", ")));
  return word;
}

}  // namespace

std::vector<std::string> names_in_default(const ParameterDeclaration& parameter) try {
  return Expression::parse(parameter.fallback_text).variables();
} catch (const std::invalid_argument&) {
  return {};
}

std::map<std::string, bool> properties_of(const Spec& spec, const std::vector<Problem>& batch) {
  std::map<std::string, bool> properties;
  for (const auto& input : spec.inputs) {
    if (input.element != attest::Element::integer || !batch.at(0).inputs.count(input.name)) continue;
    const auto& first = batch[0].inputs.at(input.name).values;
    bool consecutive = true, sorted = true, shared = true;
    for (const Problem& problem : batch) {
      const auto& values = problem.inputs.at(input.name).values;
      for (std::size_t i = 1; i < values.size(); ++i) {
        consecutive = consecutive && values[i] == values[i - 1] + 1;
        sorted = sorted && values[i] >= values[i - 1];
      }
      const auto both = static_cast<std::ptrdiff_t>(std::min(values.size(), first.size()));
      shared = shared && std::equal(first.begin(), first.begin() + both, values.begin());
    }
    properties[Expression::Property{"consecutive", input.name}.text()] = consecutive;
    properties[Expression::Property{"sorted", input.name}.text()] = sorted;
    properties[Expression::Property{"shared", input.name}.text()] = shared;
  }
  return properties;
}

std::vector<std::string> names_in(const Expression& condition) {
  std::vector<std::string> names = condition.variables();
  for (const auto& property : condition.properties())
    if (std::find(names.begin(), names.end(), property.of) == names.end()) names.push_back(property.of);
  return names;
}

std::optional<Value> value_in(const Spec& spec, const Situation& situation, std::string_view name) {
  const auto& [sizes, parameters, given, grid, contiguous, properties] = situation;
  if (const auto size = sizes.find(std::string(name)); size != sizes.end()) return static_cast<double>(size->second);
  if (name.ends_with(')')) {
    const auto open = name.find('(');
    if (name.substr(0, open) == kDefault)
      return is_default(spec, parameters, std::string(name.substr(open + 1, name.size() - open - 2))) ? 1.0 : 0.0;
    const auto known = properties.find(std::string(name));
    return known == properties.end() || known->second ? 1.0 : 0.0;
  }
  if (name == kContiguous) return contiguous ? 1.0 : 0.0;
  if (is_grid_name(name) && !spec.size(name) && !spec.parameter(name))
    return static_cast<double>(name == kGridNames[0] ? grid.entries : name == kGridNames[1] ? grid.heads : grid.groups);
  if (is_optional_input(spec, name))
    return static_cast<double>(std::find(given.begin(), given.end(), name) != given.end());
  const auto value = lookup(spec, sizes, parameters, name);
  const auto* parameter = spec.parameter(name);
  return value || !parameter || parameter->fallback ? value : default_in(*parameter, spec, sizes);
}

namespace {

/// Whether a condition holds with those values; one that has none does not.
template <class F>
bool holds_where(const Expression& condition, F&& value_of) {
  try {
    return condition.holds(value_of);
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace

bool holds_in(const Expression& condition, const Spec& spec, const Situation& situation) {
  return holds_where(condition, [&](std::string_view name) { return value_in(spec, situation, name); });
}

Capabilities::Capabilities(const Spec& spec, const std::string& text) try : text_(text) {
  for (const auto& condition : parse_conditions(text)) {
    const auto names = variables_of(condition);
    const auto properties = condition.properties();
    for (const auto& property : properties) check_property(spec, condition, property);
    const auto holds_with = [&](const std::string& name, double value) {
      return condition.holds(
          [&](std::string_view wanted) { return wanted == name ? std::optional<Value>(value) : std::nullopt; });
    };
    if (names == std::set<std::string>{"align"}) {
      for (std::size_t bytes = 1; bytes <= 4096; bytes *= 2)
        if (holds_with("align", static_cast<double>(bytes))) alignment_ = bytes;
    } else if (names == std::set<std::string>{"deterministic"}) {
      deterministic_ = holds_with("deterministic", 1);
    } else if (names == std::set<std::string>{"any_thread"}) {
      any_thread_ = holds_with("any_thread", 1);
    } else if (names == std::set<std::string>{"hidden_nan"}) {
      hidden_nan_ = holds_with("hidden_nan", 1);
    } else if (names == std::set<std::string>{"page"}) {
      page_lengths_ = page_lengths_in(spec, condition);
    } else if (names == std::set<std::string>{"ranks"}) {
      ranks_ = condition;
    } else if (names == std::set<std::string>{"zigzag"}) {
      zigzag_ = holds_with("zigzag", 1);
    } else if (names.count("profile")) {
      profile_ = profile_in(spec, condition);
    } else if (names.size() == 1 && properties.empty() && !spec.size(*names.begin()) &&
               !spec.parameter(*names.begin()) &&
               ((spec.output(*names.begin()) && spec.output(*names.begin())->optional) ||
                (spec.input(*names.begin()) && spec.input(*names.begin())->optional))) {
      if (!holds_with(*names.begin(), 1))
        missing_.push_back(*names.begin());
      else if (is_optional_input(spec, *names.begin()))
        conditions_.push_back(condition);  // "mask == true": it is given always
    } else {
      for (const auto& name : condition.variables())
        if (!spec.size(name) && !spec.parameter(name) && !is_grid_name(name) && !is_optional_input(spec, name) &&
            name != kContiguous)
          throw SpecError(fmt::format(
              "capabilities of {}: '{}' is neither a size, a parameter, an optional tensor, 'batch', "
              "'heads', 'groups', 'contiguous', "
              "'align', 'deterministic', 'any_thread', 'hidden_nan', 'page', 'ranks', 'zigzag' nor 'profile'",
              spec.id, name));
      condition.check_choices([&](std::string_view name) {
        const auto* parameter = spec.parameter(name);
        return parameter && !parameter->choices.empty() ? &parameter->choices : nullptr;
      });
      conditions_.push_back(condition);
    }
  }
} catch (const std::invalid_argument& error) {  // of a condition that cannot be read, or has no value
  throw SpecError(fmt::format("capabilities of {}: {}", spec.id, error.what()));
}

bool Capabilities::runs_on(Index ranks) const {
  return ranks_ && ranks_->holds([&](std::string_view) { return std::optional<Value>(static_cast<double>(ranks)); });
}

bool Capabilities::gives(const std::string& output) const {
  return std::find(missing_.begin(), missing_.end(), output) == missing_.end();
}

bool Capabilities::takes(const std::vector<std::string>& inputs) const {
  return std::all_of(inputs.begin(), inputs.end(), [&](const std::string& input) { return gives(input); });
}

bool Capabilities::allow(const Spec& spec, const Sizes& sizes, const Parameters& parameters,
                         const std::vector<std::string>& given, const golden::Grid& grid) const {
  return allow(spec, {sizes, parameters, given, grid});
}

bool Capabilities::allow(const Spec& spec, const Situation& situation) const {
  return std::all_of(conditions_.begin(), conditions_.end(),
                     [&](const Expression& condition) { return holds_in(condition, spec, situation); });
}

std::string Capabilities::unmet(const Spec& spec, const Situation& situation) const {
  for (const auto& input : situation.given)
    if (!gives(input)) return input + " == false";
  for (const auto& condition : conditions_)
    if (!holds_in(condition, spec, situation)) return condition.text();
  return "";
}

bool Capabilities::leave_out(const Spec& spec, const Parameters& parameters,
                             const std::vector<std::string>& given) const {
  if (!takes(given)) return true;
  const auto excluded = [&](const std::string& name, const Situation& situation) {
    return value_in(spec, situation, name) &&
           std::any_of(conditions_.begin(), conditions_.end(), [&](const Expression& condition) {
             return names_in(condition) == std::vector{name} && !holds_in(condition, spec, situation);
           });
  };
  return std::any_of(parameters.begin(), parameters.end(), [&](const auto& parameter) {
    const auto& [name, value] = parameter;
    return spec.parameter(name)->fallback != value && excluded(name, {{}, {{name, value}}, {}}) && !excluded(name, {});
  });
}

std::optional<std::pair<Sizes, Parameters>> Capabilities::adapted(const Spec& spec, const Sizes& from_sizes,
                                                                  const Parameters& from_parameters,
                                                                  const std::vector<std::string>& given) const {
  Situation now{from_sizes, from_parameters, given};
  Sizes& sizes = now.sizes;
  Parameters& parameters = now.parameters;
  const auto valid = [&](const Expression& condition) { return holds_in(condition, spec, now); };
  std::vector<Expression> all;
  const auto add = [&](const Expression& condition) {
    for (auto& part : condition.conjuncts()) all.push_back(std::move(part));
  };
  for (const auto& condition : conditions_) add(condition);
  for (const auto& constraint : spec.constraints)
    if (constraint.require) add(*constraint.require);
  // Conditions mostly concern one variable each; a few rounds settle those that tie two together.
  for (int round = 0; round < 4; ++round) {
    if (std::all_of(all.begin(), all.end(), valid)) return std::pair(sizes, parameters);
    for (const Expression& condition : all) {
      if (valid(condition)) continue;
      bool settled = false;
      for (const auto& name : variables_of(condition)) {
        if (!spec.size(name) && !spec.parameter(name)) continue;
        if (const auto* parameter = spec.parameter(name)) {
          const auto before = parameters;
          parameters.erase(name);
          settled = valid(condition);
          for (const auto& setting : settings_to_try(*parameter, condition)) {
            if (settled) break;
            parameters[name] = setting;
            settled = valid(condition);
          }
          if (!settled) parameters = before;
        } else {
          std::vector<const Expression*> of_it;
          for (const Expression& other : all)
            if (variables_of(other) == std::set<std::string>{name}) of_it.push_back(&other);
          const Index before = sizes.at(name);
          const auto fits = [&](Index size) {
            // Those of this size alone first, without a look at anything else: a search may try thousands of sizes.
            const auto holds = [&](const Expression* other) {
              return holds_where(*other, [&](std::string_view) { return static_cast<double>(size); });
            };
            if (!std::all_of(of_it.begin(), of_it.end(), holds)) return false;
            sizes[name] = size;
            return valid(condition);
          };
          for (Index size = before; !settled && size <= kLargestSize; ++size) settled = fits(size);
          for (Index size = before; !settled && size >= 0; --size) settled = fits(size);
          if (!settled) sizes[name] = before;
        }
        if (settled) break;
      }
    }
  }
  return std::nullopt;
}

}  // namespace attest::judge
