// SPDX-License-Identifier: MIT
#include "attest/spec.hpp"

#include <algorithm>
#include <cctype>

#include "names.hpp"
#include "table.hpp"

namespace attest {
namespace {

bool is_identifier(const std::string& name) {
  return !name.empty() && std::islower(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_'; });
}

/// A file of specs/ as TOML; a syntax error names the line.
toml::table toml_of(std::string_view text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    throw SpecError(fmt::format("specs/{}:{}: {}", path, error.source().begin.line, error.description()));
  }
}

void require_unique(const Table& at, const std::vector<std::string>& names, std::string_view what) {
  std::set<std::string> seen;
  for (const auto& name : names)
    if (!seen.insert(name).second) at.fail(fmt::format("{} '{}' is declared twice", what, name));
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

/// A reason is a sentence, or the name of one: of this spec's [reasons], or of specs/reasons.toml.
std::string reason(Table& at, std::string_view key, const Reasons& reasons) {
  const std::string given = at.string(key, "");
  if (!is_identifier(given)) return given;
  const auto found = reasons.find(given);
  if (found != reasons.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, _] : reasons) names.push_back(name);
  at.fail(fmt::format("'{}' names the reason '{}', which neither [reasons] nor specs/reasons.toml has{}", key, given,
                      near_names(given, names)));
}

void add_reasons(Table at, Reasons& reasons) {
  for (const auto& name : at.keys()) {
    if (!is_identifier(name)) at.fail(fmt::format("reason name '{}' is not an identifier", name));
    if (!reasons.emplace(name, at.string(name)).second) at.fail(fmt::format("reason '{}' is there already", name));
  }
}

/// The role of an input or a parameter: one that its kind can have, and that no other has.
template <class Declaration>
Role role_of(Table& at, const std::vector<std::pair<std::string_view, Role>>& possible,
             const std::vector<Declaration>& others) {
  const auto* given = at.take("role");
  if (!given) return Role::none;
  const Role role = at.word<Role>("role", possible);
  for (const auto& other : others)
    if (other.role == role) at.fail(fmt::format("'{}' has the role '{}' already", other.name, at.string("role")));
  return role;
}

void parse_identity(Table& at, const std::string& path, Spec& spec) {
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
  spec.notes = at.strings("notes");
}

SizeSpec size(Table at) {
  at.only({"name", "range", "tokens", "meaning"});
  SizeSpec size;
  size.name = at.string("name");
  if (!is_identifier(size.name)) at.fail(fmt::format("size name '{}' is not an identifier", size.name));
  size.meaning = at.string("meaning", "");
  size.tokens = at.boolean("tokens", false);
  const auto* range = at.take("range");
  if (!range || !range->is_array() || range->as_array()->size() != 2 || !range->as_array()->get(0)->is_integer() ||
      !range->as_array()->get(1)->is_integer())
    at.fail("'range' must be [smallest, largest]");
  size.smallest = **range->as_array()->get(0)->as_integer();
  size.largest = **range->as_array()->get(1)->as_integer();
  if (size.smallest < 0 || size.smallest > size.largest)
    at.fail("'range' must be [smallest, largest], 0 <= smallest <= largest");
  at.finish();
  return size;
}

/// The keys that inputs and outputs share.
TensorDeclaration tensor(Table& at, const Spec& spec) {
  TensorDeclaration tensor;
  tensor.name = at.string("name");
  const bool letter = tensor.name.size() == 1 && std::isupper(static_cast<unsigned char>(tensor.name[0]));
  if (!is_identifier(tensor.name) && !letter)
    at.fail(
        fmt::format("tensor name '{}' must be lower case letters, digits and _, or one capital letter", tensor.name));
  tensor.meaning = at.string("meaning", "");
  tensor.shape = at.strings("shape");
  for (const auto& extent : tensor.shape)
    if (!spec.size(extent))
      at.fail(fmt::format("shape of '{}' uses '{}', which [[sizes]] does not declare; declared: {}", tensor.name,
                          extent, fmt::join(names_of(spec.sizes), ", ")));
  tensor.element = at.word<Element>(
      "type", {{"real", Element::real}, {"integer", Element::integer}, {"boolean", Element::boolean}}, "real");
  tensor.sharing =
      at.word<Sharing>("per", {{"head", Sharing::head}, {"group", Sharing::group}, {"batch", Sharing::batch}}, "head");
  tensor.state = at.boolean("state", false);
  tensor.optional = at.boolean("optional", false);
  return tensor;
}

TensorDeclaration input(Table at, const Spec& spec) {
  at.only({"name", "meaning", "shape", "type", "per", "state", "optional", "role", "draw", "draws"});
  TensorDeclaration input = tensor(at, spec);
  switch (input.element) {
    case Element::real: input.role = role_of(at, {{"bias", Role::bias}}, spec.inputs); break;
    case Element::boolean: input.role = role_of(at, {{"mask", Role::mask}}, spec.inputs); break;
    case Element::integer: break;
  }
  input.draw = at.string("draw", input.element == Element::real ? "normal" : "");
  if (input.draw.empty()) at.fail(fmt::format("input '{}' needs a 'draw' recipe", input.name));
  for (auto& other : at.tables("draws")) {
    other.only({"when", "draw"});
    input.draws.push_back({other.string("when"), other.string("draw")});
    expression(other, input.draws.back().when);
    other.finish();
  }
  at.finish();
  return input;
}

TensorDeclaration output(Table at, const Spec& spec) {
  at.only({"name", "meaning", "shape", "type", "per", "state", "optional"});
  TensorDeclaration output = tensor(at, spec);
  at.finish();
  return output;
}

ParameterDeclaration parameter(Table at, const Spec& spec) {
  at.only({"name", "meaning", "type", "role", "choices", "default", "default_text"});
  ParameterDeclaration parameter;
  parameter.name = at.string("name");
  if (!is_identifier(parameter.name)) at.fail(fmt::format("parameter name '{}' is not an identifier", parameter.name));
  parameter.meaning = at.string("meaning", "");
  using Type = ParameterDeclaration::Type;
  parameter.type = at.word<Type>(
      "type", {{"boolean", Type::boolean}, {"integer", Type::integer}, {"real", Type::real}, {"choice", Type::choice}});
  switch (parameter.type) {
    case Type::boolean: parameter.role = role_of(at, {{"causal", Role::causal}}, spec.parameters); break;
    case Type::choice: parameter.role = role_of(at, {{"empty row", Role::empty_row}}, spec.parameters); break;
    case Type::integer:
      parameter.role = role_of(at,
                               {{"block length", Role::block_length},
                                {"segment length", Role::segment_length},
                                {"window left", Role::window_left},
                                {"window right", Role::window_right},
                                {"first position", Role::first_position}},
                               spec.parameters);
      break;
    case Type::real: break;
  }
  parameter.choices = at.strings("choices");
  if ((parameter.type == Type::choice) != !parameter.choices.empty())
    at.fail("'choices' belongs to a parameter of type choice, and only there");
  for (const auto& choice : parameter.choices)
    if (!is_identifier(choice)) at.fail(fmt::format("choice '{}' is not an identifier", choice));
  const auto* fallback = at.take("default");
  parameter.fallback_text = at.string("default_text", "");
  if (fallback)
    parameter.fallback = parameter_setting(at, parameter, *fallback);
  else if (parameter.fallback_text.empty())
    at.fail("needs 'default', or 'default_text' when it depends on the sizes");
  at.finish();
  return parameter;
}

/// Sizes, inputs, outputs and parameters.
void parse_interface(Table& at, Spec& spec) {
  for (auto& size_at : at.tables("sizes")) spec.sizes.push_back(size(size_at));
  for (auto& input_at : at.tables("inputs")) spec.inputs.push_back(input(input_at, spec));
  for (auto& output_at : at.tables("outputs")) spec.outputs.push_back(output(output_at, spec));
  if (spec.inputs.empty() || spec.outputs.empty()) at.fail("needs at least one input and one output");
  for (auto& parameter_at : at.tables("parameters")) spec.parameters.push_back(parameter(parameter_at, spec));
  for (const auto& one : spec.inputs)
    for (const auto& other : one.draws)
      for (const auto& name : Expression::parse(other.when).variables())
        if (!spec.size(name) && !spec.parameter(name))
          at.fail(
              fmt::format("'draws' of input '{}' names '{}', which is neither a size nor a parameter", one.name, name));
  std::vector<std::string> names = names_of(spec.sizes);
  for (const auto& parameter : spec.parameters) names.push_back(parameter.name);
  require_unique(at, names, "size or parameter");
  names = names_of(spec.inputs);
  for (const auto& parameter : spec.parameters) names.push_back(parameter.name);
  require_unique(at, names, "input or parameter");
  require_unique(at, names_of(spec.outputs), "output");
}

void parse_forms(Table& at, Spec& spec) {
  for (auto& form_at : at.tables("forms")) {
    form_at.only({"name", "meaning", "numeric", "kernel", "when", "one_step", "maximum"});
    FormDeclaration form;
    form.name = form_at.string("name");
    if (!is_identifier(form.name)) form_at.fail(fmt::format("form name '{}' is not an identifier", form.name));
    form.meaning = form_at.string("meaning", "");
    form.numeric = form_at.boolean("numeric", false);
    form.kernel = form_at.boolean("kernel", true);
    form.when = form_at.string("when", "");
    form.one_step = form_at.string("one_step", "");
    form.maximum = form_at.string("maximum", "");
    if (!form.when.empty()) expression(form_at, form.when);
    form_at.finish();
    spec.forms.push_back(std::move(form));
  }
  if (spec.forms.empty()) at.fail("needs at least one form");
  if (std::all_of(spec.forms.begin(), spec.forms.end(), [](const auto& form) { return form.numeric; }))
    at.fail("every form is numeric; the error model needs one that is not");
  require_unique(at, names_of(spec.forms), "form");
}

void parse_constraints(Table& at, Spec& spec) {
  for (auto& constraint_at : at.tables("constraints")) {
    constraint_at.only({"label", "text", "require"});
    Constraint constraint;
    constraint.label = constraint_at.string("label");
    constraint.text = constraint_at.string("text");
    if (const auto require = constraint_at.string("require", ""); !require.empty())
      constraint.require = expression(constraint_at, require);
    constraint_at.finish();
    if (constraint.require) {
      for (const auto& name : constraint.require->variables())
        if (!spec.size(name) && !spec.parameter(name))
          constraint_at.fail(fmt::format("'{}' is neither a size nor a parameter", name));
      for (const auto& property : constraint.require->properties())
        constraint_at.fail(fmt::format("'{}' is for the capabilities of kernels", property.text()));
    }
    spec.constraints.push_back(std::move(constraint));
  }
}

void parse_laws(Table& at, Spec& spec) {
  for (auto& law_at : at.tables("laws")) {
    law_at.only({"law", "of", "along", "when", "note"});
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
}

VectorGroup::Entry entry(Table at, const Spec& spec) {
  VectorGroup::Entry entry;
  for (const auto& key : at.keys()) {
    const auto& node = *at.take(key);
    if (spec.size(key)) {
      if (!node.is_integer() || **node.as_integer() < 0) at.fail(fmt::format("size '{}' must be an integer >= 0", key));
      entry.sizes[key] = **node.as_integer();
    } else if (const auto* declared = spec.parameter(key)) {
      entry.parameters[key] = parameter_setting(at, *declared, node);
    } else if (key == "seeds") {
      if (!node.is_integer() || **node.as_integer() < 1) at.fail("'seeds' must be an integer >= 1");
      entry.seeds = static_cast<int>(**node.as_integer());
    } else {
      at.fail(fmt::format("'{}' is neither a size, a parameter nor 'seeds'; sizes: {}; parameters: {}", key,
                          fmt::join(names_of(spec.sizes), ", "), fmt::join(names_of(spec.parameters), ", ")));
    }
  }
  try {
    check_sizes(spec, entry.sizes, entry.parameters);
  } catch (const SpecError& error) {
    at.fail(error.what());
  }
  return entry;
}

VectorGroup group(Table at, const Spec& spec) {
  at.only({"flag", "exact", "with", "same_bits", "fill", "cases"});
  VectorGroup group;
  group.flag = at.string("flag");
  if (spec.group(group.flag)) at.fail(fmt::format("flag '{}' has a group already; add its cases there", group.flag));
  group.exact =
      at.word<std::string>("exact", {{"bf16", "bf16"}, {"f16", "f16"}, {"f32", "f32"}, {"f64", "f64"}}, "bf16");
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
  for (auto& entry_at : at.tables("cases")) group.entries.push_back(entry(entry_at, spec));
  if (group.entries.empty()) at.fail(fmt::format("flag '{}' has no cases", group.flag));
  at.finish();
  return group;
}

void parse_cases(Table& at, const Reasons& reasons, Spec& spec) {
  for (auto& group_at : at.tables("vectors")) spec.vectors.push_back(group(group_at, spec));
  if (!spec.group("random")) at.fail("needs a [[vectors]] group with flag 'random'");
  spec.no_exact_family = reason(at, "no_exact_family", reasons);
  const bool exact_family =
      std::any_of(spec.vectors.begin(), spec.vectors.end(), [](const auto& group) { return !group.same_bits.empty(); });
  if (exact_family == !spec.no_exact_family.empty())
    at.fail("needs a [[vectors]] group with 'same_bits', or 'no_exact_family' saying why there is none");
}

Fault fault(Table at, const Reasons& reasons, const Spec& spec) {
  at.only({"name", "change", "seen", "equivalent", "numeric", "gradient", "amplitude", "flag", "hidden"});
  Fault fault;
  fault.name = at.string("name");
  if (!is_identifier(fault.name)) at.fail(fmt::format("fault name '{}' is not an identifier", fault.name));
  fault.change = at.string("change");
  fault.seen = at.strings("seen");
  fault.equivalent = reason(at, "equivalent", reasons);
  fault.numeric = at.boolean("numeric", false);
  fault.gradient = at.boolean("gradient", false);
  if (fault.gradient && spec.gradient.empty())
    at.fail(fmt::format("fault '{}' is one of gradients, and the equation has none", fault.name));
  if (const auto* amplitude = at.take("amplitude")) {
    if (!amplitude->is_floating_point() || !(**amplitude->as_floating_point() > 0))
      at.fail("'amplitude' must be a number above 0");
    fault.amplitude = **amplitude->as_floating_point();
  }
  fault.flag = at.string("flag", "");
  if (fault.flag.empty() != !fault.equivalent.empty())
    at.fail(fmt::format("fault '{}' needs either 'flag', the cases that reveal it, or 'equivalent'", fault.name));
  if (!fault.flag.empty() && !spec.group(fault.flag)) {
    std::vector<std::string> flags;
    for (const auto& group : spec.vectors) flags.push_back(group.flag);
    at.fail(fmt::format("fault '{}': flag '{}' is not the flag of a [[vectors]] group{}; flags: {}", fault.name,
                        fault.flag, near_names(fault.flag, flags), fmt::join(flags, ", ")));
  }
  if (auto hidden = at.table("hidden"))
    for (const auto& profile : hidden->keys()) fault.hidden[profile] = reason(*hidden, profile, reasons);
  at.finish();
  return fault;
}

void parse_faults(Table& at, const Reasons& reasons, Spec& spec) {
  for (auto& fault_at : at.tables("faults")) spec.faults.push_back(fault(fault_at, reasons, spec));
  require_unique(at, names_of(spec.faults), "fault");
  for (auto& not_faults_at : at.tables("not_faults")) {
    not_faults_at.only({"what", "seen", "reason"});
    NotAFault row{not_faults_at.string("what"), not_faults_at.strings("seen"), ""};
    row.reason = reason(not_faults_at, "reason", reasons);
    if (row.reason.empty()) not_faults_at.fail("missing key 'reason'");
    not_faults_at.finish();
    spec.not_faults.push_back(std::move(row));
  }
}

void parse_costs(Table& at, Spec& spec) {
  for (auto& cost_at : at.tables("costs")) {
    cost_at.only({"form", "operation", "count", "when"});
    Cost cost{cost_at.string("form"), cost_at.string("operation"), expression(cost_at, cost_at.string("count")),
              cost_at.string("when", "")};
    if (!spec.form(cost.form)) cost_at.fail(fmt::format("'{}' is not a form", cost.form));
    cost_at.finish();
    spec.costs.push_back(std::move(cost));
  }
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

std::vector<Statement> statements(Table& at, const Reasons& reasons, const Spec& spec, std::string_view key,
                                  std::string_view name, std::string_view meaning) {
  std::vector<Statement> result;
  for (auto& one : at.tables(key)) {
    if (key == "errata")
      one.only({name, meaning, "right", "shown", "reason"});
    else
      one.only({name, meaning, "shown", "reason"});
    Statement statement;
    statement.name = one.string(name);
    statement.meaning = one.string(meaning);
    if (key == "errata") statement.right = one.string("right");
    statement.shown = one.strings("shown");
    statement.reason = reason(one, "reason", reasons);
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

/// Forms left out, invariants, errata and claims: the names of catalogue.toml with their evidence.
void parse_statements(Table& at, const Reasons& reasons, Spec& spec) {
  for (auto& not_taken_at : at.tables("not_taken")) {
    not_taken_at.only({"name", "reason"});
    NotTaken form{not_taken_at.string("name"), reason(not_taken_at, "reason", reasons)};
    if (form.reason.empty()) not_taken_at.fail("missing key 'reason'");
    if (spec.form(form.name)) not_taken_at.fail(fmt::format("'{}' is a form", form.name));
    not_taken_at.finish();
    spec.not_taken.push_back(std::move(form));
  }
  spec.invariants = statements(at, reasons, spec, "invariants", "name", "meaning");
  spec.errata = statements(at, reasons, spec, "errata", "id", "printed");
  spec.claims = statements(at, reasons, spec, "claims", "id", "claim");
}

}  // namespace

Reasons parse_reasons(std::string_view text) {
  const auto root = toml_of(text, "reasons.toml");
  Reasons reasons;
  add_reasons(Table(root, "reasons.toml", ""), reasons);
  return reasons;
}

Spec parse_spec(std::string_view text, const std::string& path, const Reasons& shared) {
  const auto root = toml_of(text, path);
  Table at(root, path, "");
  at.only({"id",        "title",      "about",           "formula",    "source",     "notes",       "reasons",
           "sizes",     "inputs",     "outputs",         "parameters", "forms",      "constraints", "laws",
           "gradient",  "vectors",    "no_exact_family", "faults",     "not_faults", "costs",       "backends",
           "not_taken", "invariants", "errata",          "claims"});
  Spec spec;
  spec.text = text;
  Reasons reasons = shared;
  if (const auto own = at.table("reasons")) add_reasons(*own, reasons);
  parse_identity(at, path, spec);
  parse_interface(at, spec);
  parse_forms(at, spec);
  parse_constraints(at, spec);
  parse_laws(at, spec);
  parse_cases(at, reasons, spec);
  parse_faults(at, reasons, spec);
  parse_costs(at, spec);
  if (auto backends = at.table("backends"))
    for (const auto& name : backends->keys()) spec.backends[name] = backends->strings(name);
  parse_statements(at, reasons, spec);
  at.finish();
  return spec;
}

}  // namespace attest
