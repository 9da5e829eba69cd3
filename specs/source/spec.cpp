// SPDX-License-Identifier: MIT
#include "attest/spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "names.hpp"

namespace attest {
namespace {

constexpr double kLargestInteger = 0x1p53;  // binary64, as arrays hold it, has gaps beyond

template <class T>
const T* find(const std::vector<T>& items, std::string_view name) {
  const auto at = std::find_if(items.begin(), items.end(), [&](const T& item) { return item.name == name; });
  return at == items.end() ? nullptr : &*at;
}

template <class T>
const T* find(const std::vector<T>& items, Role role) {
  const auto at = std::find_if(items.begin(), items.end(), [&](const T& item) { return item.role == role; });
  return at == items.end() || role == Role::none ? nullptr : &*at;
}

}  // namespace

std::string_view name(Element element) {
  switch (element) {
    case Element::real: return "real";
    case Element::integer: return "integer";
    case Element::boolean: return "boolean";
  }
  return "?";
}

const SizeSpec* Spec::size(std::string_view name) const { return find(sizes, name); }
const TensorDeclaration* Spec::input(std::string_view name) const { return find(inputs, name); }
const TensorDeclaration* Spec::output(std::string_view name) const { return find(outputs, name); }
const ParameterDeclaration* Spec::parameter(std::string_view name) const { return find(parameters, name); }
const FormDeclaration* Spec::form(std::string_view name) const { return find(forms, name); }
const Fault* Spec::fault(std::string_view name) const { return find(faults, name); }
const TensorDeclaration* Spec::input(Role role) const { return find(inputs, role); }
const ParameterDeclaration* Spec::parameter(Role role) const { return find(parameters, role); }
const VectorGroup* Spec::group(std::string_view flag) const {
  const auto at = std::find_if(vectors.begin(), vectors.end(), [&](const auto& group) { return group.flag == flag; });
  return at == vectors.end() ? nullptr : &*at;
}

std::optional<ParameterSetting> setting(const Problem& problem, std::string_view name) {
  if (const auto at = problem.parameters.find(std::string(name)); at != problem.parameters.end()) return at->second;
  const auto* declared = problem.spec->parameter(name);
  return declared ? declared->fallback : std::nullopt;
}

std::optional<ParameterSetting> setting(const Problem& problem, Role role) {
  const auto* declared = problem.spec->parameter(role);
  return declared ? setting(problem, declared->name) : std::nullopt;
}

const Array* given(const Problem& problem, Role role) {
  const auto* declared = problem.spec->input(role);
  if (!declared) return nullptr;
  const auto at = problem.inputs.find(declared->name);
  return at == problem.inputs.end() ? nullptr : &at->second;
}

bool holds(const std::string& when, const Spec& spec, const Sizes& sizes, const Parameters& parameters) {
  return when.empty() ||
         Expression::parse(when).holds([&](std::string_view name) { return lookup(spec, sizes, parameters, name); });
}

const std::string& draw_of(const TensorDeclaration& input, const Spec& spec, const Sizes& sizes,
                           const Parameters& parameters) {
  for (const auto& other : input.draws)
    if (holds(other.when, spec, sizes, parameters)) return other.draw;
  return input.draw;
}

std::optional<Value> lookup(const Spec& spec, const Sizes& sizes, const Parameters& parameters, std::string_view name) {
  if (const auto at = sizes.find(std::string(name)); at != sizes.end()) return Value(static_cast<double>(at->second));
  std::optional<ParameterSetting> value;
  if (const auto at = parameters.find(std::string(name)); at != parameters.end())
    value = at->second;
  else if (const auto* declared = spec.parameter(name))
    value = declared->fallback;
  if (!value) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&*value)) return Value(*text);
  if (const auto* flag = std::get_if<bool>(&*value)) return Value(*flag ? 1.0 : 0.0);
  if (const auto* integer = std::get_if<Index>(&*value)) return Value(static_cast<double>(*integer));
  return Value(std::get<double>(*value));
}

std::vector<Index> shape_of(const TensorDeclaration& tensor, const Sizes& sizes) {
  std::vector<Index> shape;
  for (const auto& extent : tensor.shape) shape.push_back(sizes.at(extent));
  return shape;
}

void check_sizes(const Spec& spec, const Sizes& sizes, const Parameters& parameters) {
  for (const auto& size : spec.sizes) {
    const auto at = sizes.find(size.name);
    if (at == sizes.end()) throw SpecError(fmt::format("{}: size '{}' is not given", spec.id, size.name));
    if (at->second < 0 || (at->second == 0 && size.smallest > 0))
      throw SpecError(
          fmt::format("{}: size {}={} must be at least {}", spec.id, size.name, at->second, size.smallest > 0 ? 1 : 0));
  }
  for (const auto& [name, _] : sizes)
    if (!spec.size(name))
      throw SpecError(fmt::format("{}: unknown size '{}'{}; sizes: {}", spec.id, name,
                                  near_names(name, names_of(spec.sizes)), fmt::join(names_of(spec.sizes), ", ")));
  for (const auto& [name, value] : parameters) {
    const auto* declared = spec.parameter(name);
    if (!declared)
      throw SpecError(fmt::format("{}: unknown parameter '{}'{}; parameters: {}", spec.id, name,
                                  near_names(name, names_of(spec.parameters)),
                                  fmt::join(names_of(spec.parameters), ", ")));
    if (const auto* text = std::get_if<std::string>(&value);
        text && !std::count(declared->choices.begin(), declared->choices.end(), *text))
      throw SpecError(
          fmt::format("{}: {}='{}' must be one of: {}", spec.id, name, *text, fmt::join(declared->choices, ", ")));
    if (const auto* real = std::get_if<double>(&value); real && !std::isfinite(*real))
      throw SpecError(fmt::format("{}: {}={} must be finite", spec.id, name, *real));
  }
  for (const auto& constraint : spec.constraints) {
    if (!constraint.require) continue;
    std::string why = constraint.require->text();
    try {
      if (constraint.require->holds([&](std::string_view name) { return lookup(spec, sizes, parameters, name); }))
        continue;
    } catch (const std::invalid_argument& error) {  // as n % block == 0 of a block of 0
      why = error.what();
    }
    throw SpecError(fmt::format("{}: {} is violated: {} ({})", spec.id, constraint.label, constraint.text, why));
  }
}

void check(const Problem& problem) {
  const Spec& spec = *problem.spec;
  check_sizes(spec, problem.sizes, problem.parameters);
  for (const auto& [name, array] : problem.inputs) {
    const auto* declared = spec.input(name);
    if (!declared)
      throw SpecError(
          fmt::format("{}: unknown input '{}'; inputs: {}", spec.id, name, fmt::join(names_of(spec.inputs), ", ")));
    const auto expected = shape_of(*declared, problem.sizes);
    if (array.shape != expected || array.size() != count(expected))
      throw SpecError(fmt::format("{}: input '{}' has shape [{}], expected [{}]", spec.id, name,
                                  fmt::join(array.shape, ", "), fmt::join(expected, ", ")));
    const bool may_hide = declared->role == Role::bias;
    for (Index i = 0; i < array.size(); ++i) {
      const double x = array.values[static_cast<std::size_t>(i)];
      const bool hides = may_hide && std::isinf(x) && x < 0;
      const bool fits = declared->element == Element::real      ? std::isfinite(x) || hides
                        : declared->element == Element::boolean ? x == 0 || x == 1
                                                                : std::abs(x) <= kLargestInteger && x == std::floor(x);
      if (!fits)
        throw SpecError(fmt::format("{}: input '{}' holds {} at flat index {}; {} values must be finite{}", spec.id,
                                    name, x, i, attest::name(declared->element), may_hide ? " or -inf" : ""));
    }
  }
  for (const auto& input : spec.inputs)
    if (!input.optional && !problem.inputs.count(input.name))
      throw SpecError(fmt::format("{}: input '{}' is not given", spec.id, input.name));
}

std::string near_names(std::string_view wanted, const std::vector<std::string>& names) {
  std::vector<std::pair<std::size_t, std::string>> close;
  for (const auto& name : names) {
    std::vector<std::size_t> row(name.size() + 1);
    for (std::size_t j = 0; j <= name.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= wanted.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= name.size(); ++j) {
        const std::size_t substituted = diagonal + (wanted[i - 1] == name[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
      }
    }
    const bool contains = wanted.size() >= 3 && name.find(wanted) != std::string::npos;
    if (row[name.size()] <= 1 + wanted.size() / 4 || contains) close.emplace_back(row[name.size()], name);
  }
  std::sort(close.begin(), close.end());
  if (close.size() > 3) close.resize(3);
  std::string text;
  for (const auto& [_, name] : close) text += (text.empty() ? "; did you mean '" : " or '") + name + "'";
  return text.empty() ? "" : text + "?";
}

}  // namespace attest
