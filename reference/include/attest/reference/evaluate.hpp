// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "attest/reference/ball.hpp"
#include "attest/reference/counted.hpp"
#include "attest/reference/emulated.hpp"
#include "attest/reference/influence.hpp"
#include "attest/reference/real.hpp"
#include "attest/reference/rounding.hpp"
#include "attest/reference/tape.hpp"
#include "attest/spec.hpp"

namespace attest::reference {

/// Inputs and outputs of one evaluation in number type T.
template <class T>
class Bundle {
public:
  /// Turns element `flat` of real input `name` into a T; the default makes a constant of it.
  using Lift = std::function<T(const TensorDeclaration& input, Index flat, double value)>;

  explicit Bundle(const Problem& problem, const Lift& lift = [](const TensorDeclaration&, Index, double x) { return T(x); })
      : problem_(&problem) {
    const Spec& spec = *problem.spec;
    for (const auto& declared : spec.inputs) {
      const auto given = problem.inputs.find(declared.name);
      if (given == problem.inputs.end()) continue;
      const auto& values = given->second.values;
      if (declared.element == Element::real) {
        auto& tensor = reals_[declared.name];
        tensor.reserve(values.size() + 1);
        for (std::size_t i = 0; i < values.size(); ++i) tensor.push_back(lift(declared, static_cast<Index>(i), values[i]));
        if (tensor.empty()) tensor.push_back(T(0));  // an empty tensor is given all the same: its data is not null
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
    for (const auto& declared : spec.outputs)
      outputs_[declared.name].resize(static_cast<std::size_t>(count(shape_of(declared, problem.sizes))) + 1);
  }

  template <class U, int Rank>
  View<const T, Rank> input(std::string_view name) {
    const auto at = reals_.find(name);
    if (at == reals_.end()) return {};
    return {at->second.data(), extents<Rank>(*problem_->spec->input(name))};
  }
  template <int Rank>
  View<const bool, Rank> boolean_input(std::string_view name) {
    const auto at = booleans_.find(name);
    if (at == booleans_.end()) return {};
    return {at->second.get(), extents<Rank>(*problem_->spec->input(name))};
  }
  template <int Rank>
  View<const std::int64_t, Rank> integer_input(std::string_view name) {
    const auto at = integers_.find(name);
    if (at == integers_.end()) return {};
    return {at->second.data(), extents<Rank>(*problem_->spec->input(name))};
  }
  template <class U, int Rank>
  View<T, Rank> output(std::string_view name) {
    return {outputs_.find(name)->second.data(), extents<Rank>(*problem_->spec->output(name))};
  }

  bool boolean_parameter(std::string_view name) const { return std::get<bool>(*setting(*problem_, name)); }
  Index integer_parameter(std::string_view name) const { return std::get<Index>(*setting(*problem_, name)); }
  double real_parameter(std::string_view name) const { return std::get<double>(*setting(*problem_, name)); }
  std::string choice_parameter(std::string_view name) const { return std::get<std::string>(*setting(*problem_, name)); }
  std::optional<Index> optional_integer_parameter(std::string_view name) const { return optional<Index>(name); }
  std::optional<double> optional_real_parameter(std::string_view name) const { return optional<double>(name); }

  /// Elements of an output, row-major (one more than it has; ignore the last).
  const std::vector<T>& values(std::string_view name) const { return outputs_.find(name)->second; }
  const std::vector<T>& inputs(std::string_view name) const { return reals_.find(name)->second; }

private:
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
  std::map<std::string, std::vector<T>, std::less<>> reals_, outputs_;
  std::map<std::string, std::unique_ptr<bool[]>, std::less<>> booleans_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> integers_;
};

template <class T>
using Run = void (*)(std::string_view form, Bundle<T>& bundle);

/// One equation in every reading.
using Readings = std::tuple<Run<double>, Run<Real>, Run<Ball>, Run<Rounding>, Run<Counted>, Run<Influence>,
                            Run<Tape<double>>, Run<Tape<Ball>>, Run<Tape<Rounding>>, Run<Emulated>>;

template <class Forms>
constexpr Readings readings_of() {
  return {Forms::template run<double>,       Forms::template run<Real>,       Forms::template run<Ball>,
          Forms::template run<Rounding>,     Forms::template run<Counted>,    Forms::template run<Influence>,
          Forms::template run<Tape<double>>, Forms::template run<Tape<Ball>>, Forms::template run<Tape<Rounding>>,
          Forms::template run<Emulated>};
}

[[noreturn]] inline void unknown_form(std::string_view id, std::string_view form) {
  throw SpecError(std::string(id) + " has no form '" + std::string(form) + "'");
}

/// Every equation's readings, by id; generated from specs/.
const std::map<std::string, const Readings*, std::less<>>& all_readings();

/// Runs one form of the bundle's equation.
template <class T>
void evaluate(const Problem& problem, std::string_view form, Bundle<T>& bundle) {
  std::get<Run<T>>(*all_readings().find(problem.spec->id)->second)(form, bundle);
}

}  // namespace attest::reference
