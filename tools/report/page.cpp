// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "attest/report.hpp"

namespace attest::report {
namespace {

using nlohmann::json;

json tensor(const TensorDeclaration& declared) {
  return {{"name", declared.name},         {"shape", declared.shape}, {"element", name(declared.element)},
          {"optional", declared.optional}, {"state", declared.state}, {"meaning", declared.meaning}};
}

/// One object per item.
template <class Items, class F>
json each(const Items& items, F&& object) {
  json all = json::array();
  for (const auto& item : items) all.push_back(object(item));
  return all;
}

json statement(const Statement& one) {
  return {
      {"name", one.name}, {"meaning", one.meaning}, {"right", one.right}, {"shown", one.shown}, {"reason", one.reason}};
}

}  // namespace

json setting(const ParameterSetting& value) {
  return std::visit([](const auto& x) { return json(x); }, value);
}

json page(const Spec& spec) {
  return {
      {"id", spec.id},
      {"title", spec.title},
      {"about", spec.about},
      {"formula", spec.formula},
      {"source", spec.source},
      {"sizes",
       each(spec.sizes, [](const SizeSpec& size) { return json{{"name", size.name}, {"meaning", size.meaning}}; })},
      {"inputs", each(spec.inputs, tensor)},
      {"outputs", each(spec.outputs, tensor)},
      {"parameters", each(spec.parameters,
                          [](const ParameterDeclaration& parameter) {
                            return json{{"name", parameter.name},
                                        {"default", parameter.fallback ? setting(*parameter.fallback) : json(nullptr)},
                                        {"default_text", parameter.fallback_text},
                                        {"choices", parameter.choices},
                                        {"meaning", parameter.meaning}};
                          })},
      {"forms", each(spec.forms,
                     [](const FormDeclaration& form) {
                       return json{{"name", form.name}, {"meaning", form.meaning}, {"when", form.when}};
                     })},
      {"constraints",
       each(spec.constraints, [](const Constraint& c) { return json{{"label", c.label}, {"text", c.text}}; })},
      {"laws",
       each(spec.laws,
            [](const LawClaim& law) {
              return json{
                  {"law", law.law}, {"of", law.of}, {"along", law.along}, {"when", law.when}, {"note", law.note}};
            })},
      {"faults", each(spec.faults,
                      [](const Fault& fault) {
                        return json{{"name", fault.name},
                                    {"change", fault.change},
                                    {"flag", fault.flag},
                                    {"seen", fault.seen},
                                    {"equivalent", fault.equivalent}};
                      })},
      {"flags", each(spec.vectors, [](const VectorGroup& group) { return json(group.flag); })},
      {"gradient", spec.gradient},
      {"errata", each(spec.errata, statement)},
      {"claims", each(spec.claims, statement)},
      {"notes", spec.notes},
  };
}

}  // namespace attest::report
