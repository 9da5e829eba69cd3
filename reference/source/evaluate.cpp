// SPDX-License-Identifier: MIT
#include "attest/reference/evaluate.hpp"

#include <cstdlib>
#include <new>

#include "attest/reference/binary64.hpp"

namespace attest::reference {

Bundle::Output::Output(Index height, Index row_width, const std::vector<Index>* asked)
    : count(height), width(row_width) {
  if (asked) rows = *asked;
  numbers.reset(static_cast<Number*>(std::calloc(static_cast<std::size_t>(count * width) + 1, sizeof(Number))));
  if (!numbers) throw std::bad_alloc();
}

Bundle::Output::~Output() {
  if (numbers) each([&](std::size_t i) { numbers[i] = Number(); });
}

Bundle::Bundle(const Problem& problem, const Lift& lift, const WantedRows& rows) : problem_(&problem) {
  const Spec& spec = *problem.spec;
  const bool plain = !lift && Evaluation::current->arithmetic->takes_plain_inputs();
  static const double nothing = 0;  // an empty tensor is given all the same: its data is not null
  for (const auto& declared : spec.inputs) {
    const auto given = problem.inputs.find(declared.name);
    if (given == problem.inputs.end()) continue;
    const auto& values = given->second.values;
    if (declared.element == Element::real) {
      if (plain) {
        plain_[declared.name] = values.empty() ? &nothing : values.data();
        continue;
      }
      auto& tensor = lifted_[declared.name];
      tensor.reserve(values.size() + 1);
      for (std::size_t i = 0; i < values.size(); ++i)
        tensor.push_back(lift ? lift(declared, static_cast<Index>(i), values[i]) : Number::input(values[i]));
      if (tensor.empty()) tensor.emplace_back();
    } else if (declared.element == Element::boolean) {
      auto tensor = std::make_unique<bool[]>(values.size() + 1);
      for (std::size_t i = 0; i < values.size(); ++i) tensor[i] = values[i] != 0;
      booleans_[declared.name] = std::move(tensor);
    } else {
      auto& tensor = integers_[declared.name];
      for (const double value : values) tensor.push_back(static_cast<std::int64_t>(value));
      if (tensor.empty()) tensor.push_back(0);
    }
  }
  for (const auto& declared : spec.outputs) {
    const auto shape = shape_of(declared, problem.sizes);
    const Index height = shape.empty() ? 1 : shape[0], all = count(shape);
    const auto asked = declared.shape.empty() ? rows.end() : rows.find(declared.shape[0]);
    outputs_.emplace(declared.name,
                     Output(height, height > 0 ? all / height : 0, asked == rows.end() ? nullptr : &asked->second));
  }
}

namespace {

/// Binary64 that notes what a form names.
class Labels : public Binary64 {
public:
  Handle stage(std::string_view label, Handle a) override {
    if (std::find(found.begin(), found.end(), label) == found.end()) found.emplace_back(label);
    return shared(a);
  }
  bool has_stage(std::string_view) const override { return true; }
  std::vector<std::string> found;
};

}  // namespace

std::vector<std::string> stages_of(const Problem& problem, std::string_view form) {
  Labels labels;
  const Scope scope(labels);
  Bundle bundle(problem);
  evaluate(form, bundle);
  return labels.found;
}

}  // namespace attest::reference
