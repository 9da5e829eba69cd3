// SPDX-License-Identifier: MIT
#include "attest/golden/case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace attest::golden {

std::string text_of(const ParameterSetting& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<Index>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  return std::get<std::string>(value);
}

namespace {

template <class N>
N number(std::string_view text, std::string_view key, std::string_view what) {
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw SpecError(fmt::format("query: {}='{}' must be {}", key, text, what));
  return value;
}

ParameterSetting setting_from(const ParameterDeclaration& parameter, std::string_view text) {
  using Type = ParameterDeclaration::Type;
  switch (parameter.type) {
    case Type::boolean:
      if (text == "true") return true;
      if (text == "false") return false;
      throw SpecError(fmt::format("query: {}='{}' must be true or false", parameter.name, text));
    case Type::integer: return number<Index>(text, parameter.name, "an integer");
    case Type::real: return number<double>(text, parameter.name, "a number");
    case Type::choice: break;
  }
  return std::string(text);  // check_sizes knows the choices
}

/// The factor of an input: a power of two keeps every number exact.
double magnitude(std::string_view text, std::string_view key) {
  constexpr auto allowed = "0, or a power of two from 2^-100 to 2^100";
  const auto value = number<double>(text, key, allowed);
  int exponent = 0;
  if (value != 0 && (std::frexp(value, &exponent) != 0.5 || std::abs(exponent - 1) > 100))
    throw SpecError(fmt::format("query: {}='{}' must be {}", key, text, allowed));
  return value;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    pieces.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return pieces;
}

Grid grid_from(std::string_view text) {
  constexpr Index kMost = 1024;  // entries, and heads
  const auto extents = split(text, 'x');
  Grid grid;
  if (extents.size() == 3)
    grid = {number<Index>(extents[0], "grid", "an integer"), number<Index>(extents[1], "grid", "an integer"),
            number<Index>(extents[2], "grid", "an integer")};
  if (extents.size() != 3 || grid.entries < 1 || grid.entries > kMost || grid.heads < 1 || grid.heads > kMost ||
      grid.groups < 1 || grid.heads % grid.groups != 0)
    throw SpecError(fmt::format(
        "query: grid='{}' must be ENTRIESxHEADSxGROUPS, each from 1 to {}, with groups that divide the heads", text,
        kMost));
  return grid;
}

constexpr std::uint64_t kSeedsOfGrid = 1000;  // of one case: more than a regime has problems

}  // namespace

std::vector<Case> problems_of(const Case& c) {
  const Grid grid = c.grid.value_or(Grid{});
  const auto seed = [&](Index number) { return c.seed * kSeedsOfGrid + static_cast<std::uint64_t>(number); };
  std::vector<Case> problems;
  for (Index b = 0; b < grid.entries; ++b)
    for (Index h = 0; h < grid.heads; ++h) {
      Case problem = c;
      problem.grid.reset();
      problem.seed = seed(b * grid.heads + h);
      for (const auto& input : c.spec->inputs) {
        const Index group = b * grid.groups + h * grid.groups / grid.heads;
        if (input.sharing == Sharing::group) problem.seeds[input.name] = seed(group);
        if (input.sharing == Sharing::batch) problem.seeds[input.name] = seed(b);
      }
      problems.push_back(std::move(problem));
    }
  return problems;
}

std::vector<Case> stored_cases(const Spec& spec) {
  std::vector<Case> cases;
  for (const auto& group : spec.vectors) {
    std::uint64_t seed = 1;
    for (const auto& entry : group.entries)
      for (int repeat = 0; repeat < entry.seeds; ++repeat)
        cases.push_back({&spec, entry.sizes, entry.parameters, group.flag, group.exact, group.with, seed++, {}});
  }
  return cases;
}

std::string query(const Case& c, std::string_view profile) {
  std::string text = fmt::format("attest:{}:{}", c.spec->id, profile);
  for (const auto& size : c.spec->sizes) text += fmt::format(";{}={}", size.name, c.sizes.at(size.name));
  for (const auto& parameter : c.spec->parameters)
    if (const auto at = c.parameters.find(parameter.name); at != c.parameters.end())
      text += fmt::format(";{}={}", parameter.name, text_of(at->second));
  text += fmt::format(";flag={}", c.flag);
  const auto* group = c.spec->group(c.flag);
  if (group && c.exact != group->exact) text += fmt::format(";exact={}", c.exact);
  if (group && c.with != group->with) text += fmt::format(";with={}", fmt::join(c.with, "+"));
  text += fmt::format(";seed={}", c.seed);
  for (const auto& [tensor, seed] : c.seeds) text += fmt::format(";seed.{}={}", tensor, seed);
  for (const auto& [tensor, factor] : c.magnitudes) text += fmt::format(";magnitude.{}={}", tensor, factor);
  for (const auto& [tensor, recipe] : c.recipes) text += fmt::format(";draw.{}={}", tensor, recipe);
  if (c.grid) text += fmt::format(";grid={}x{}x{}", c.grid->entries, c.grid->heads, c.grid->groups);
  if (!c.memory.empty()) text += fmt::format(";memory={}", c.memory);
  return text;
}

std::pair<Case, std::string> parse_query(std::string_view text) {
  const auto pieces = split(text, ';');
  const auto head = split(pieces[0], ':');
  if (head.size() != 3 || head[0] != "attest")
    throw SpecError(fmt::format(
        "query: '{}' must start with attest:EQUATION:PROFILE, as in attest:linear.causal:f32;n=5;...", pieces[0]));
  Case c;
  c.spec = &find_spec(head[1]);
  const Spec& spec = *c.spec;
  bool exact_given = false, with_given = false;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const auto equals = pieces[i].find('=');
    if (equals == std::string::npos) throw SpecError(fmt::format("query: '{}' must be key=value", pieces[i]));
    const std::string key = pieces[i].substr(0, equals), value = pieces[i].substr(equals + 1);
    if (spec.size(key)) {
      c.sizes[key] = number<Index>(value, key, "an integer >= 0");
    } else if (const auto* parameter = spec.parameter(key)) {
      c.parameters[key] = setting_from(*parameter, value);
    } else if (key == "flag") {
      c.flag = value;
    } else if (key == "exact") {
      if (value != "bf16" && value != "f16" && value != "f32" && value != "f64")
        throw SpecError(fmt::format("query: exact='{}' must be one of: bf16, f16, f32, f64", value));
      c.exact = value, exact_given = true;
    } else if (key == "with") {
      c.with = value.empty() ? std::vector<std::string>{} : split(value, '+'), with_given = true;
      for (const auto& name : c.with)
        if (const auto* input = spec.input(name); !input || !input->optional)
          throw SpecError(fmt::format("query: with names '{}', which is not an optional input of {}", name, spec.id));
    } else if (key == "seed") {
      c.seed = number<std::uint64_t>(value, key, "an integer >= 0");
    } else if (key.starts_with("seed.") && spec.input(key.substr(5))) {
      c.seeds[key.substr(5)] = number<std::uint64_t>(value, key, "an integer >= 0");
    } else if (const auto* input = key.starts_with("magnitude.") ? spec.input(key.substr(10)) : nullptr;
               input && input->element == Element::real) {
      c.magnitudes[input->name] = magnitude(value, key);
    } else if (key.starts_with("draw.") && spec.input(key.substr(5))) {
      draw_array(value, {1, 1}, DType::f64, 1, "");  // throws where there is no such recipe
      c.recipes[key.substr(5)] = value;
    } else if (key == "grid") {
      c.grid = grid_from(value);
    } else if (key == "memory") {
      if (std::find(kMemories.begin(), kMemories.end(), value) == kMemories.end())
        throw SpecError(fmt::format("query: memory='{}' must be one of: {}", value, fmt::join(kMemories, ", ")));
      c.memory = value;
    } else {
      std::vector<std::string> names{"flag", "exact", "with", "seed", "grid", "memory"};
      for (const auto& size : spec.sizes) names.push_back(size.name);
      for (const auto& known : spec.parameters) names.push_back(known.name);
      throw SpecError(fmt::format("query: unknown key '{}'{}; keys of {}: {}", key, near_names(key, names), spec.id,
                                  fmt::join(names, ", ")));
    }
  }
  const auto* group = spec.group(c.flag);
  if (!group) {
    std::vector<std::string> flags;
    for (const auto& known : spec.vectors) flags.push_back(known.flag);
    throw SpecError(fmt::format("query: {} has no flag '{}'{}; flags: {}", spec.id, c.flag, near_names(c.flag, flags),
                                fmt::join(flags, ", ")));
  }
  if (!exact_given) c.exact = group->exact;
  if (!with_given) c.with = group->with;
  check_sizes(spec, c.sizes, c.parameters);
  for (const auto& [name, size] : c.sizes)
    if (size > (Index{1} << 24)) throw SpecError(fmt::format("query: {}={} is larger than 2^24", name, size));
  return {c, head[2]};
}

bool exact_in(const Problem& problem, DType dtype) {
  for (const auto& [name, array] : problem.inputs) {
    const auto* declared = problem.spec->input(name);
    if (declared->element != Element::real) continue;
    const DType held = declared->state && (dtype == DType::bf16 || dtype == DType::f16) ? DType::f32 : dtype;
    for (const double x : array.values)
      if (!attest::exact_in(held, x)) return false;
  }
  return true;
}

}  // namespace attest::golden
