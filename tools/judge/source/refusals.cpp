// SPDX-License-Identifier: MIT
#include "attest/judge/refusals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "attest/judge/separate.hpp"

namespace attest::judge {
namespace {

constexpr std::size_t kMostConditions = 3;  // that are proposed together
constexpr std::size_t kMostMembers = 6;     // of a set in a condition

/// What can be said of calls in the language of capabilities: each condition and, as a capability is, its opposite.
class Language {
public:
  /// The first calls are those that were refused.
  Language(const Spec& spec, const std::vector<Situation>& calls, std::size_t refused)
      : spec_(spec), calls_(calls), refused_(refused) {
    for (const auto& input : spec.inputs)
      if (input.optional) add_either(input.name);
    for (const auto& parameter : spec.parameters) add_parameter(parameter);
    add(fmt::format("not {}", kContiguous), kContiguous);
    for (const auto& [property, _] : calls[0].properties) add("not " + property, property);
    add_extents();
    for (const auto& size : spec.sizes)
      for (const auto& other : spec.sizes)
        if (&size < &other) add_order(size.name, other.name);
    for (const auto& size : spec.sizes) add_multiples(size);
    for (const auto& size : spec.sizes) add_numbers(size.name);
  }

  const std::vector<Literal>& literals() const { return literals_; }

  /// The capability that excludes calls for which all of them hold.
  std::string without(const Literals& literals) const {
    std::vector<std::string> texts, opposites;
    for (const Literal* literal : literals)
      texts.push_back(literal->text), opposites.push_back(opposite_.at(literal->text));
    const bool negative =
        std::any_of(texts.begin(), texts.end(), [](const auto& text) { return text.starts_with("not "); });
    return negative || texts.size() == 1 ? fmt::format("{}", fmt::join(opposites, " or "))
                                         : fmt::format("not ({})", fmt::join(texts, " and "));
  }

private:
  /// Of conditions that hold for the same calls the first stays.
  void add(const std::string& text, const std::string& opposite) {
    const Expression condition = Expression::parse(text);
    Literal literal{text, {}};
    for (const Situation& call : calls_) literal.holds.push_back(holds_in(condition, spec_, call));
    const auto some = std::count(literal.holds.begin(), literal.holds.end(), 1);
    if (some == 0 || static_cast<std::size_t>(some) == calls_.size()) return;
    if (!known_.insert(literal.holds).second) return;
    opposite_.emplace(text, opposite);
    literals_.push_back(std::move(literal));
  }

  void add_either(const std::string& name) {
    add(name, name + " == false");
    add("not " + name, name + " == true");
  }

  void add_parameter(const ParameterDeclaration& parameter) {
    using Type = ParameterDeclaration::Type;
    if (parameter.type == Type::boolean) add_either(parameter.name);
    for (const auto& choice : parameter.choices) {
      add(fmt::format("{} == '{}'", parameter.name, choice), fmt::format("{} != '{}'", parameter.name, choice));
      add(fmt::format("{} != '{}'", parameter.name, choice), fmt::format("{} == '{}'", parameter.name, choice));
    }
    if (parameter.type != Type::integer && parameter.type != Type::real) return;
    add(parameter.name + " != default", parameter.name + " == default");
    add(parameter.name + " == default", parameter.name + " != default");
    add_numbers(parameter.name);
  }

  void add_extents() {
    for (const auto* name : kGridNames)
      if (spec_.size(name) || spec_.parameter(name)) return;
    add("groups != heads", "groups == heads");
    for (const auto* name : kGridNames) add_numbers(name, false);
  }

  void add_order(const std::string& one, const std::string& other) {
    for (const auto& [sign, opposite] : {std::pair("!=", "=="), {">", "<="}, {"<", ">="}})
      add(fmt::format("{} {} {}", one, sign, other), fmt::format("{} {} {}", one, opposite, other));
  }

  void add_multiples(const SizeSpec& size) {
    const auto add_multiple = [&](const auto& of) {
      add(fmt::format("{} % {} != 0", size.name, of), fmt::format("{} % {} == 0", size.name, of));
    };
    for (int of = 2; of <= 64; of *= 2) add_multiple(of);
    for (const Role role : {Role::block_length, Role::segment_length})
      if (const auto* length = spec_.parameter(role); length && size.tokens) add_multiple(length->name);
  }

  /// Limits at the values that calls have, or at powers of two between them, which the next check visits as sizes that
  /// a condition names; single values; few of them.
  void add_numbers(const std::string& name, bool powers = true) {
    std::set<double> values, answered;
    for (std::size_t call = 0; call < calls_.size(); ++call)
      if (const auto number = number_of(name, calls_[call])) {
        values.insert(*number);
        if (call >= refused_) answered.insert(*number);
      }
    if (values.size() < 2) return;
    std::vector<double> limits;
    for (double power = 1; powers && power <= *values.rbegin(); power *= 2) limits.push_back(power);
    limits.insert(limits.end(), values.begin(), values.end());
    const auto compare = [&](const char* sign, double number, const char* opposite) {
      add(fmt::format("{} {} {}", name, sign, number), fmt::format("{} {} {}", name, opposite, number));
    };
    for (const double limit : limits) {
      // "heads == 1" rather than "heads <= 1"
      compare(">", limit, limit == *values.begin() ? "==" : "<=");
      compare("<", limit, limit == *values.rbegin() ? "==" : ">=");
    }
    for (const double number : values) {
      compare("==", number, "!=");
      compare("!=", number, "==");
    }
    if (answered.size() > kMostMembers) return;
    const std::string of_these = fmt::format("{} in {{{}}}", name, fmt::join(answered, ", "));
    add("not " + of_these, of_these);
  }

  std::optional<double> number_of(const std::string& name, const Situation& call) const {
    const auto value = value_in(spec_, call, name);
    if (!value || !std::holds_alternative<double>(*value)) return std::nullopt;
    return std::get<double>(*value);
  }

  const Spec& spec_;
  const std::vector<Situation>& calls_;
  const std::size_t refused_;
  std::vector<Literal> literals_;
  std::map<std::string, std::string> opposite_;
  std::set<std::vector<char>> known_;
};

}  // namespace

std::string capability_without(const std::vector<Situation>& refused, const std::vector<Situation>& answered,
                               const Spec& spec) {
  if (refused.empty() || answered.empty()) return "";
  std::vector<Situation> calls = refused;
  calls.insert(calls.end(), answered.begin(), answered.end());
  std::vector<std::size_t> wanted(refused.size()), others(answered.size());
  std::iota(wanted.begin(), wanted.end(), 0u);
  std::iota(others.begin(), others.end(), refused.size());
  const Language language(spec, calls, refused.size());
  std::vector<std::string> conditions;
  for (const Literals& some : cover_by_pairs(language.literals(), wanted, others, kMostConditions))
    conditions.push_back(language.without(some));
  if (!conditions.empty()) return fmt::format("{}", fmt::join(conditions, "; "));
  Literals common = common_to(language.literals(), wanted, others);
  if (common.empty()) common = nearest_pair(language.literals(), wanted, others);
  const auto excluded = std::count_if(others.begin(), others.end(), [&](std::size_t o) { return hold(common, o); });
  return common.empty() || 2 * static_cast<std::size_t>(excluded) > others.size() ? "" : language.without(common);
}

void propose(const std::vector<Situation>& refused, const std::vector<Situation>& answered, const Spec& spec,
             Refusals& refusals) {
  refusals.condition = capability_without(refused, answered, spec);
  if (refusals.condition.empty()) return;
  const Capabilities said(spec, refusals.condition);
  const auto allows = [&](const Situation& call) { return said.takes(call.given) && said.allow(spec, call); };
  refusals.left = static_cast<int>(std::count_if(refused.begin(), refused.end(), allows));
  refusals.excluded =
      static_cast<int>(answered.size()) - static_cast<int>(std::count_if(answered.begin(), answered.end(), allows));
}

}  // namespace attest::judge
