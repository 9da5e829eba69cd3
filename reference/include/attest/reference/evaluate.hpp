// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attest/choice.hpp"
#include "attest/reference/vocabulary.hpp"
#include "attest/spec.hpp"

namespace attest::reference {

/// Rows of results that are asked for, in ascending order, by the size that leads the shape of a result ("n": tokens);
/// of results whose leading size is not named, all rows.
using WantedRows = std::map<std::string, std::vector<Index>, std::less<>>;

/// Inputs and outputs of one evaluation. Made, used and gone inside the scope of its arithmetic.
class Bundle {
public:
  /// Turns element `flat` of real input `name` into a number.
  using Lift = std::function<Number(const TensorDeclaration& input, Index flat, double value)>;

  /// Without a lift the inputs are what they are; plain doubles stay where the problem has them, which outlives the
  /// bundle.
  explicit Bundle(const Problem& problem, const Lift& lift = nullptr, const WantedRows& rows = {});
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  template <class, int Rank>
  View<const Number, Rank> input(std::string_view name) const {
    const auto lifted = lifted_.find(name);
    if (lifted != lifted_.end()) return {lifted->second.data(), extents<Rank>(*problem_->spec->input(name))};
    const auto plain = plain_.find(name);
    if (plain != plain_.end()) return {plain->second, extents<Rank>(*problem_->spec->input(name))};
    return {};
  }
  template <int Rank>
  View<const bool, Rank> boolean_input(std::string_view name) const {
    const auto at = booleans_.find(name);
    if (at == booleans_.end()) return {};
    return {at->second.get(), extents<Rank>(*problem_->spec->input(name))};
  }
  template <int Rank>
  View<const std::int64_t, Rank> integer_input(std::string_view name) const {
    const auto at = integers_.find(name);
    if (at == integers_.end()) return {};
    return {at->second.data(), extents<Rank>(*problem_->spec->input(name))};
  }
  template <class, int Rank>
  View<Number, Rank> output(std::string_view name) {
    auto& result = outputs_.find(name)->second;
    return View<Number, Rank>(result.numbers.get(), extents<Rank>(*problem_->spec->output(name)))
        .asking(result.rows ? &*result.rows : nullptr);
  }

  bool boolean_parameter(std::string_view name) const { return std::get<bool>(*setting(*problem_, name)); }
  Index integer_parameter(std::string_view name) const { return std::get<Index>(*setting(*problem_, name)); }
  double real_parameter(std::string_view name) const { return std::get<double>(*setting(*problem_, name)); }
  template <Choice E>
  E choice_parameter(std::string_view name) const {
    return choice_of<E>(name, std::get<std::string>(*setting(*problem_, name)));
  }
  std::optional<Index> optional_integer_parameter(std::string_view name) const { return optional<Index>(name); }
  std::optional<double> optional_real_parameter(std::string_view name) const { return optional<double>(name); }

  const Problem& problem() const { return *problem_; }
  /// visit(x) for every element of an output that is asked for, row-major.
  template <class F>
  void each_element(std::string_view name, F&& visit) const {
    const Output& output = outputs_.find(name)->second;
    output.each([&](std::size_t i) { visit(output.numbers[i]); });
  }
  /// The numbers that an input was lifted to, row-major.
  const std::vector<Number>& lifted(std::string_view name) const { return lifted_.find(name)->second; }

private:
  /// Handles of 0 are numbers, so that memory which was never touched holds zeros; only rows that are asked for are
  /// given back.
  struct Output {
    struct Free {
      void operator()(Number* memory) const { std::free(static_cast<void*>(memory)); }
    };
    Output(Index height, Index row_width, const std::vector<Index>* asked);
    Output(Output&&) = default;
    ~Output();
    template <class F>
    void each(F&& visit) const {
      const auto row = [&](Index r) {
        for (Index i = r * width; i < (r + 1) * width; ++i) visit(static_cast<std::size_t>(i));
      };
      if (rows)
        std::for_each(rows->begin(), rows->end(), row);
      else
        for (Index r = 0; r < count; ++r) row(r);
    }

    Index count, width;
    std::optional<std::vector<Index>> rows;
    std::unique_ptr<Number[], Free> numbers;
  };

  template <int Rank>
  std::array<Index, Rank> extents(const TensorDeclaration& declared) const {
    const auto shape = shape_of(declared, problem_->sizes);
    std::array<Index, Rank> extents{};
    for (std::size_t axis = 0; axis < extents.size(); ++axis) extents[axis] = shape[axis];
    return extents;
  }
  template <class U>
  std::optional<U> optional(std::string_view name) const {
    const auto value = setting(*problem_, name);
    return value ? std::optional<U>(std::get<U>(*value)) : std::nullopt;
  }

  const Problem* problem_;
  std::map<std::string, const double*, std::less<>> plain_;
  std::map<std::string, std::vector<Number>, std::less<>> lifted_;
  std::map<std::string, Output, std::less<>> outputs_;
  std::map<std::string, std::unique_ptr<bool[]>, std::less<>> booleans_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> integers_;
};

/// Runs one form of an equation.
using Run = void (*)(std::string_view form, Bundle& bundle);

[[noreturn]] inline void unknown_form(std::string_view id, std::string_view form) {
  throw SpecError(std::string(id) + " has no form '" + std::string(form) + "'");
}

/// Every equation's forms, by id; generated from specs/.
const std::map<std::string, Run, std::less<>>& all_forms();

/// Runs one form of the bundle's equation in the arithmetic in scope.
inline void evaluate(std::string_view form, Bundle& bundle) {
  all_forms().find(bundle.problem().spec->id)->second(form, bundle);
}

/// All elements of an output that are asked for, row-major, as values of the arithmetic in scope.
template <class Arithmetic>
std::vector<typename Arithmetic::Value> values_of(const Arithmetic& arithmetic, const Bundle& bundle,
                                                  std::string_view output) {
  std::vector<typename Arithmetic::Value> values;
  bundle.each_element(output, [&](const Number& x) { values.push_back(arithmetic.value(x)); });
  return values;
}

template <class Value>
using Values = std::map<std::string, std::vector<Value>>;

/// The outputs of whatever `run(bundle)` computes, in an arithmetic of its own scope.
template <class Arithmetic, std::invocable<Bundle&> F>
Values<typename Arithmetic::Value> outputs_of(Arithmetic& arithmetic, const Problem& problem, F&& run,
                                              Decisions* decisions = nullptr, const WantedRows& rows = {}) {
  const Scope scope(arithmetic, decisions);
  Bundle bundle(problem, nullptr, rows);
  run(bundle);
  Values<typename Arithmetic::Value> values;
  for (const auto& output : problem.spec->outputs) values[output.name] = values_of(arithmetic, bundle, output.name);
  return values;
}

/// The outputs of one form.
template <class Arithmetic>
Values<typename Arithmetic::Value> outputs_of(Arithmetic& arithmetic, const Problem& problem, std::string_view form,
                                              Decisions* decisions = nullptr, const WantedRows& rows = {}) {
  return outputs_of(arithmetic, problem, [&](Bundle& bundle) { evaluate(form, bundle); }, decisions, rows);
}

/// The stages of a form, in the order in which it computes them first.
std::vector<std::string> stages_of(const Problem& problem, std::string_view form);

}  // namespace attest::reference
