// SPDX-License-Identifier: MIT
#include "attest/spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <set>

namespace attest {
namespace {

/// A TOML table whose keys must all be known: what is not taken is an error.
class Table {
public:
  Table(const toml::table& table, std::string path, std::string place)
      : table_(table), path_(std::move(path)), place_(std::move(place)) {}

  [[noreturn]] void fail(const std::string& message) const {
    const auto line = table_.source().begin.line;
    throw SpecError(fmt::format("specs/{}:{}: {}{}", path_, line, place_.empty() ? "" : place_ + ": ", message));
  }

  std::string string(std::string_view key) {
    const auto* node = take(key);
    if (!node) fail(fmt::format("missing key '{}'", key));
    return text(*node, key);
  }
  std::string string(std::string_view key, std::string fallback) {
    const auto* node = take(key);
    return node ? text(*node, key) : fallback;
  }
  bool boolean(std::string_view key, bool fallback) {
    const auto* node = take(key);
    if (!node) return fallback;
    if (!node->is_boolean()) fail(fmt::format("'{}' must be true or false", key));
    return **node->as_boolean();
  }
  std::vector<std::string> strings(std::string_view key) {
    std::vector<std::string> result;
    const auto* node = take(key);
    if (!node) return result;
    if (!node->is_array()) fail(fmt::format("'{}' must be an array of strings", key));
    for (const auto& item : *node->as_array()) result.push_back(text(item, key));
    return result;
  }
  std::vector<Table> tables(std::string_view key) {
    std::vector<Table> result;
    const auto* node = take(key);
    if (!node) return result;
    if (!node->is_array()) fail(fmt::format("'{}' must be an array of tables", key));
    int index = 0;
    for (const auto& item : *node->as_array()) {
      if (!item.is_table()) fail(fmt::format("'{}' must be an array of tables", key));
      result.emplace_back(*item.as_table(), path_, fmt::format("{}[{}]", key, index++));
    }
    return result;
  }
  std::optional<Table> table(std::string_view key) {
    const auto* node = take(key);
    if (!node) return std::nullopt;
    if (!node->is_table()) fail(fmt::format("'{}' must be a table", key));
    return Table(*node->as_table(), path_, place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key));
  }
  const toml::node* take(std::string_view key) {
    taken_.insert(std::string(key));
    return table_.get(key);
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> result;
    for (const auto& [key, _] : table_) result.emplace_back(key.str());
    return result;
  }
  /// Every key must have been taken.
  void finish() const {
    for (const auto& [key, _] : table_) {
      if (taken_.count(std::string(key.str()))) continue;
      fail(fmt::format("unknown key '{}'; allowed: {}", key.str(), fmt::join(taken_, ", ")));
    }
  }

private:
  std::string text(const toml::node& node, std::string_view key) const {
    if (!node.is_string()) fail(fmt::format("'{}' must be a string", key));
    return **node.as_string();
  }

  const toml::table& table_;
  std::string path_, place_;
  std::set<std::string> taken_;
};

template <class T>
std::vector<std::string> names_of(const std::vector<T>& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

template <class T>
const T* find(const std::vector<T>& items, std::string_view name) {
  const auto at = std::find_if(items.begin(), items.end(), [&](const T& item) { return item.name == name; });
  return at == items.end() ? nullptr : &*at;
}

bool is_identifier(const std::string& name) {
  return !name.empty() && std::islower(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_'; });
}

ParameterSetting parameter_setting(const Table& at, const ParameterDeclaration& parameter, const toml::node& node) {
  using Type = ParameterDeclaration::Type;
  switch (parameter.type) {
    case Type::boolean:
      if (node.is_boolean()) return **node.as_boolean();
      at.fail(fmt::format("parameter '{}' must be true or false", parameter.name));
    case Type::integer:
      if (node.is_integer()) return Index{**node.as_integer()};
      at.fail(fmt::format("parameter '{}' must be an integer", parameter.name));
    case Type::real:
      if (node.is_floating_point()) return **node.as_floating_point();
      if (node.is_integer()) return static_cast<double>(**node.as_integer());
      at.fail(fmt::format("parameter '{}' must be a number", parameter.name));
    case Type::choice:
      if (node.is_string() && std::count(parameter.choices.begin(), parameter.choices.end(), **node.as_string()))
        return std::string(**node.as_string());
      at.fail(fmt::format("parameter '{}' must be one of: {}", parameter.name, fmt::join(parameter.choices, ", ")));
  }
  at.fail("unreachable");
}

Expression expression(const Table& at, const std::string& text) {
  try {
    return Expression::parse(text);
  } catch (const std::invalid_argument& error) {
    at.fail(error.what());
  }
}

TensorDeclaration tensor(Table at, const Spec& spec, bool is_input) {
  TensorDeclaration tensor;
  tensor.name = at.string("name");
  if (!is_identifier(tensor.name) && !(tensor.name == "S" || tensor.name == "Z" || tensor.name == "M"))
    at.fail(fmt::format("tensor name '{}' must be lower case letters, digits and _", tensor.name));
  tensor.meaning = at.string("meaning", "");
  tensor.shape = at.strings("shape");
  for (const auto& extent : tensor.shape)
    if (!spec.size(extent))
      at.fail(fmt::format("shape of '{}' uses '{}', which [[sizes]] does not declare; declared: {}", tensor.name,
                          extent, fmt::join(names_of(spec.sizes), ", ")));
  const std::string type = at.string("type", "real");
  if (type == "real")
    tensor.element = Element::real;
  else if (type == "integer")
    tensor.element = Element::integer;
  else if (type == "boolean")
    tensor.element = Element::boolean;
  else
    at.fail(fmt::format("type '{}' must be one of: real, integer, boolean", type));
  const std::string per = at.string("per", "head");
  if (per == "head")
    tensor.sharing = Sharing::head;
  else if (per == "group")
    tensor.sharing = Sharing::group;
  else if (per == "batch")
    tensor.sharing = Sharing::batch;
  else
    at.fail(fmt::format("per '{}' must be one of: head, group, batch", per));
  tensor.state = at.boolean("state", false);
  tensor.optional = at.boolean("optional", false);
  if (is_input) {
    tensor.draw = at.string("draw", tensor.element == Element::real ? "normal" : "");
    if (tensor.draw.empty()) at.fail(fmt::format("input '{}' needs a 'draw' recipe", tensor.name));
  }
  at.finish();
  return tensor;
}

ParameterDeclaration parameter(Table at) {
  ParameterDeclaration parameter;
  parameter.name = at.string("name");
  if (!is_identifier(parameter.name)) at.fail(fmt::format("parameter name '{}' is not an identifier", parameter.name));
  parameter.meaning = at.string("meaning", "");
  const std::string type = at.string("type");
  using Type = ParameterDeclaration::Type;
  if (type == "boolean")
    parameter.type = Type::boolean;
  else if (type == "integer")
    parameter.type = Type::integer;
  else if (type == "real")
    parameter.type = Type::real;
  else if (type == "choice")
    parameter.type = Type::choice;
  else
    at.fail(fmt::format("type '{}' must be one of: boolean, integer, real, choice", type));
  parameter.choices = at.strings("choices");
  if ((parameter.type == Type::choice) != !parameter.choices.empty())
    at.fail("'choices' belongs to a parameter of type choice, and only there");
  const auto* fallback = at.take("default");
  parameter.fallback_text = at.string("default_text", "");
  if (fallback)
    parameter.fallback = parameter_setting(at, parameter, *fallback);
  else if (parameter.fallback_text.empty())
    at.fail("needs 'default', or 'default_text' when it depends on the sizes");
  at.finish();
  return parameter;
}

VectorGroup group(Table at, const Spec& spec) {
  VectorGroup group;
  group.flag = at.string("flag");
  if (spec.group(group.flag)) at.fail(fmt::format("flag '{}' has a group already; add its cases there", group.flag));
  group.exact = at.string("exact", "bf16");
  if (group.exact != "bf16" && group.exact != "f16" && group.exact != "f32" && group.exact != "f64")
    at.fail(fmt::format("exact '{}' must be one of: bf16, f16, f32, f64", group.exact));
  group.with = at.strings("with");
  for (const auto& name : group.with)
    if (const auto* input = spec.input(name); !input || !input->optional)
      at.fail(fmt::format("'with' names '{}', which is not an optional input", name));
  group.same_bits = at.strings("same_bits");
  for (const auto& name : group.same_bits)
    if (!spec.output(name)) at.fail(fmt::format("'same_bits' names '{}', which is not an output", name));
  if (auto fill = at.table("fill")) {
    for (const auto& name : fill->keys()) {
      if (!spec.input(name)) fill->fail(fmt::format("'{}' is not an input", name));
      group.fill[name] = fill->string(name);
    }
  }
  for (auto& entry_at : at.tables("cases")) {
    VectorGroup::Entry entry;
    for (const auto& key : entry_at.keys()) {
      const auto& node = *entry_at.take(key);
      if (spec.size(key)) {
        if (!node.is_integer() || **node.as_integer() < 0)
          entry_at.fail(fmt::format("size '{}' must be an integer >= 0", key));
        entry.sizes[key] = **node.as_integer();
      } else if (const auto* declared = spec.parameter(key)) {
        entry.parameters[key] = parameter_setting(entry_at, *declared, node);
      } else if (key == "seeds") {
        if (!node.is_integer() || **node.as_integer() < 1) entry_at.fail("'seeds' must be an integer >= 1");
        entry.seeds = static_cast<int>(**node.as_integer());
      } else {
        entry_at.fail(fmt::format("'{}' is neither a size, a parameter nor 'seeds'; sizes: {}; parameters: {}", key,
                                  fmt::join(names_of(spec.sizes), ", "), fmt::join(names_of(spec.parameters), ", ")));
      }
    }
    try {
      check_sizes(spec, entry.sizes, entry.parameters);
    } catch (const SpecError& error) {
      entry_at.fail(error.what());
    }
    group.entries.push_back(std::move(entry));
  }
  if (group.entries.empty()) at.fail(fmt::format("flag '{}' has no cases", group.flag));
  at.finish();
  return group;
}

Fault fault(Table at, const Spec& spec) {
  Fault fault;
  fault.name = at.string("name");
  if (!is_identifier(fault.name)) at.fail(fmt::format("fault name '{}' is not an identifier", fault.name));
  fault.change = at.string("change");
  fault.seen = at.strings("seen");
  fault.equivalent = at.string("equivalent", "");
  fault.numeric = at.boolean("numeric", false);
  if (const auto* amplitude = at.take("amplitude")) {
    if (!amplitude->is_floating_point() || !(**amplitude->as_floating_point() > 0))
      at.fail("'amplitude' must be a number above 0");
    fault.amplitude = **amplitude->as_floating_point();
  }
  fault.flag = at.string("flag", "");
  if (fault.flag.empty() != !fault.equivalent.empty())
    at.fail(fmt::format("fault '{}' needs either 'flag', the cases that reveal it, or 'equivalent'", fault.name));
  if (!fault.flag.empty() && !spec.group(fault.flag))
    at.fail(fmt::format("flag '{}' is not the flag of a [[vectors]] group", fault.flag));
  if (auto hidden = at.table("hidden"))
    for (const auto& profile : hidden->keys()) fault.hidden[profile] = hidden->string(profile);
  at.finish();
  return fault;
}

void require_unique(const Table& at, const std::vector<std::string>& names, std::string_view what) {
  std::set<std::string> seen;
  for (const auto& name : names)
    if (!seen.insert(name).second) at.fail(fmt::format("{} '{}' is declared twice", what, name));
}

/// Whether an evidence names something of this spec. Properties and tests are not the spec's: coverage looks for them.
bool stands(const std::string& evidence, const Spec& spec) {
  const auto space = evidence.find(' ');
  const std::string kind = evidence.substr(0, space),
                    name = space == std::string::npos ? "" : evidence.substr(space + 1);
  if (kind == "cost") return name.empty() && !spec.costs.empty();
  if (kind == "gradient") return name.empty() && !spec.gradient.empty();
  if (kind == "form") return spec.form(name);
  if (kind == "fault") return spec.fault(name) && spec.fault(name)->equivalent.empty();
  if (kind == "vectors") return spec.group(name);
  if (kind == "bits")
    return std::any_of(spec.vectors.begin(), spec.vectors.end(),
                       [&](const auto& group) { return group.flag == name && !group.same_bits.empty(); });
  if (kind == "law")
    return std::any_of(spec.laws.begin(), spec.laws.end(), [&](const auto& claim) { return claim.law == name; });
  if (kind == "constraint")
    return std::any_of(spec.constraints.begin(), spec.constraints.end(),
                       [&](const auto& constraint) { return constraint.label == name; });
  return (kind == "property" || kind == "test") && !name.empty();
}

std::vector<Statement> statements(Table& at, const Spec& spec, std::string_view key, std::string_view name,
                                  std::string_view meaning) {
  std::vector<Statement> result;
  for (auto& one : at.tables(key)) {
    Statement statement;
    statement.name = one.string(name);
    statement.meaning = one.string(meaning);
    if (key == "errata") statement.right = one.string("right");
    statement.shown = one.strings("shown");
    statement.reason = one.string("reason", "");
    one.finish();
    if (statement.shown.empty() == statement.reason.empty())
      one.fail("needs either 'shown', the evidence, or 'reason', why there is none");
    for (const auto& evidence : statement.shown)
      if (!stands(evidence, spec))
        one.fail(
            fmt::format("'shown' names '{}', which this spec does not have; evidence is one of: law NAME, property "
                        "NAME, form NAME, fault NAME, "
                        "vectors FLAG, bits FLAG, constraint LABEL, test Suite.Name, cost, gradient",
                        evidence));
    result.push_back(std::move(statement));
  }
  require_unique(at, names_of(result), std::string(key));
  return result;
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
const VectorGroup* Spec::group(std::string_view flag) const {
  const auto at = std::find_if(vectors.begin(), vectors.end(), [&](const auto& group) { return group.flag == flag; });
  return at == vectors.end() ? nullptr : &*at;
}

Spec parse_spec(std::string_view text, const std::string& path) {
  toml::table root;
  try {
    root = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    throw SpecError(fmt::format("specs/{}:{}: {}", path, error.source().begin.line, error.description()));
  }
  Table at(root, path, "");
  Spec spec;
  spec.text = text;
  spec.id = at.string("id");
  std::string expected = path.substr(0, path.rfind(".toml"));
  std::replace(expected.begin(), expected.end(), '/', '.');
  if (spec.id != expected)
    at.fail(fmt::format("id '{}' does not match its path, which spells '{}'", spec.id, expected));
  if (std::count(spec.id.begin(), spec.id.end(), '.') != 1 || !is_identifier(spec.family()) ||
      !is_identifier(spec.stem()))
    at.fail(fmt::format("id '{}' must be family.name in lower case letters, digits and _", spec.id));
  spec.title = at.string("title");
  spec.about = at.string("about", "");
  spec.formula = at.string("formula");
  spec.source = at.strings("source");
  if (spec.source.empty()) at.fail("'source' must name the document and place of the equation");
  for (auto& size_at : at.tables("sizes")) {
    SizeSpec size;
    size.name = size_at.string("name");
    if (!is_identifier(size.name)) size_at.fail(fmt::format("size name '{}' is not an identifier", size.name));
    size.meaning = size_at.string("meaning", "");
    size.tokens = size_at.boolean("tokens", false);
    const auto* range = size_at.take("range");
    if (!range || !range->is_array() || range->as_array()->size() != 2 || !range->as_array()->get(0)->is_integer() ||
        !range->as_array()->get(1)->is_integer())
      size_at.fail("'range' must be [smallest, largest]");
    size.smallest = **range->as_array()->get(0)->as_integer();
    size.largest = **range->as_array()->get(1)->as_integer();
    if (size.smallest < 0 || size.smallest > size.largest)
      size_at.fail("'range' must be [smallest, largest], 0 <= smallest <= largest");
    size_at.finish();
    spec.sizes.push_back(std::move(size));
  }
  for (auto& input_at : at.tables("inputs")) spec.inputs.push_back(tensor(input_at, spec, true));
  for (auto& output_at : at.tables("outputs")) spec.outputs.push_back(tensor(output_at, spec, false));
  if (spec.inputs.empty() || spec.outputs.empty()) at.fail("needs at least one input and one output");
  for (auto& parameter_at : at.tables("parameters")) spec.parameters.push_back(parameter(parameter_at));
  std::vector<std::string> names = names_of(spec.sizes);
  for (const auto& parameter : spec.parameters) names.push_back(parameter.name);
  require_unique(at, names, "size or parameter");
  names = names_of(spec.inputs);
  for (const auto& parameter : spec.parameters) names.push_back(parameter.name);
  require_unique(at, names, "input or parameter");
  require_unique(at, names_of(spec.outputs), "output");
  for (auto& form_at : at.tables("forms")) {
    FormDeclaration form;
    form.name = form_at.string("name");
    if (!is_identifier(form.name)) form_at.fail(fmt::format("form name '{}' is not an identifier", form.name));
    form.meaning = form_at.string("meaning", "");
    form.numeric = form_at.boolean("numeric", false);
    form.kernel = form_at.boolean("kernel", true);
    form.when = form_at.string("when", "");
    if (!form.when.empty()) expression(form_at, form.when);
    form_at.finish();
    spec.forms.push_back(std::move(form));
  }
  if (spec.forms.empty()) at.fail("needs at least one form");
  if (std::all_of(spec.forms.begin(), spec.forms.end(), [](const auto& form) { return form.numeric; }))
    at.fail("every form is numeric; the error model needs one that is not");
  require_unique(at, names_of(spec.forms), "form");
  for (auto& constraint_at : at.tables("constraints")) {
    Constraint constraint;
    constraint.label = constraint_at.string("label");
    constraint.text = constraint_at.string("text");
    if (const auto require = constraint_at.string("require", ""); !require.empty())
      constraint.require = expression(constraint_at, require);
    constraint_at.finish();
    if (constraint.require)
      for (const auto& name : constraint.require->variables())
        if (!spec.size(name) && !spec.parameter(name))
          constraint_at.fail(fmt::format("'{}' is neither a size nor a parameter", name));
    spec.constraints.push_back(std::move(constraint));
  }
  for (auto& law_at : at.tables("laws")) {
    LawClaim law;
    law.law = law_at.string("law");
    law.of = law_at.strings("of");
    law.along = law_at.string("along", "");
    law.when = law_at.string("when", "");
    law.note = law_at.string("note", "");
    for (const auto& name : law.of)
      if (!spec.input(name) && !spec.parameter(name))
        law_at.fail(fmt::format("'of' names '{}', which is no input or parameter", name));
    if (!law.along.empty() && !spec.size(law.along))
      law_at.fail(fmt::format("'along' names '{}', which is no size", law.along));
    if (!law.when.empty()) expression(law_at, law.when);
    law_at.finish();
    spec.laws.push_back(std::move(law));
  }
  spec.gradient = at.strings("gradient");
  for (const auto& name : spec.gradient)
    if (const auto* input = spec.input(name); !input || input->element != Element::real)
      at.fail(fmt::format("'gradient' names '{}', which is not a real input", name));
  for (auto& group_at : at.tables("vectors")) spec.vectors.push_back(group(group_at, spec));
  if (!spec.group("random")) at.fail("needs a [[vectors]] group with flag 'random'");
  spec.no_exact_family = at.string("no_exact_family", "");
  const bool exact_family =
      std::any_of(spec.vectors.begin(), spec.vectors.end(), [](const auto& group) { return !group.same_bits.empty(); });
  if (exact_family == !spec.no_exact_family.empty())
    at.fail("needs a [[vectors]] group with 'same_bits', or 'no_exact_family' saying why there is none");
  for (auto& fault_at : at.tables("faults")) spec.faults.push_back(fault(fault_at, spec));
  require_unique(at, names_of(spec.faults), "fault");
  for (auto& not_planted_at : at.tables("not_planted")) {
    spec.not_planted.push_back(
        {not_planted_at.string("what"), not_planted_at.strings("seen"), not_planted_at.string("reason")});
    not_planted_at.finish();
  }
  for (auto& cost_at : at.tables("costs")) {
    Cost cost{cost_at.string("form"), cost_at.string("operation"), expression(cost_at, cost_at.string("count")),
              cost_at.string("when", "")};
    if (!spec.form(cost.form)) cost_at.fail(fmt::format("'{}' is not a form", cost.form));
    cost_at.finish();
    spec.costs.push_back(std::move(cost));
  }
  if (auto backends = at.table("backends"))
    for (const auto& name : backends->keys()) spec.backends[name] = backends->strings(name);
  for (auto& not_taken_at : at.tables("not_taken")) {
    spec.not_taken.push_back({not_taken_at.string("name"), not_taken_at.string("reason")});
    if (spec.form(spec.not_taken.back().name))
      not_taken_at.fail(fmt::format("'{}' is a form", spec.not_taken.back().name));
    not_taken_at.finish();
  }
  spec.invariants = statements(at, spec, "invariants", "name", "meaning");
  spec.errata = statements(at, spec, "errata", "id", "printed");
  spec.claims = statements(at, spec, "claims", "id", "claim");
  spec.notes = at.strings("notes");
  at.finish();
  return spec;
}

std::optional<ParameterSetting> setting(const Problem& problem, std::string_view name) {
  if (const auto at = problem.parameters.find(std::string(name)); at != problem.parameters.end()) return at->second;
  const auto* declared = problem.spec->parameter(name);
  return declared ? declared->fallback : std::nullopt;
}

bool holds(const std::string& when, const Spec& spec, const Sizes& sizes, const Parameters& parameters) {
  return when.empty() ||
         Expression::parse(when).holds([&](std::string_view name) { return lookup(spec, sizes, parameters, name); });
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
  for (const auto& constraint : spec.constraints)
    if (constraint.require &&
        !constraint.require->holds([&](std::string_view name) { return lookup(spec, sizes, parameters, name); }))
      throw SpecError(fmt::format("{}: {} is violated: {} ({})", spec.id, constraint.label, constraint.text,
                                  constraint.require->text()));
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
    const bool may_hide = name == "bias";  // -inf in an additive bias hides a key
    for (Index i = 0; i < array.size(); ++i) {
      const double x = array.values[static_cast<std::size_t>(i)];
      const bool hides = may_hide && std::isinf(x) && x < 0;
      const bool fits = declared->element == Element::real      ? std::isfinite(x) || hides
                        : declared->element == Element::boolean ? x == 0 || x == 1
                                                                : std::isfinite(x) && x == std::floor(x);
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
