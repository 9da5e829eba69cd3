// SPDX-License-Identifier: MIT
#include "attest/judge/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "attest/golden/agreement.hpp"

namespace attest::judge {
namespace {

using golden::CertifiedTensor;

// A zero of an exact family may be a sum of a few weights of e^-1000, each the smallest normal number at least in
// kernels whose exponential clamps its argument.
constexpr float kUnderflowsOfZero = 1024;
// A kernel that contracts l c - (m c) into one rounding gives the weight of the largest logit as 1 + d, with d some
// roundings of the accumulator, and its output as a value times that over that.
constexpr double kRoundingsOfLabel = 8;

/// Judges an element, whose result and place are not written yet: there are millions.
Element judge(const CertifiedTensor& tensor, std::size_t i, double got, const reference::PerChannel& units) {
  Element element;
  element.flat = static_cast<Index>(i);
  element.got = got;
  element.expected = tensor.hi[i];
  element.error = golden::error_of(tensor, i, got);
  if (std::isfinite(tensor.hi[i])) element.bound = golden::bound_of(tensor, i, units);
  return element;
}

/// The same element with its result and place.
Element placed(Element element, const std::string& name, const CertifiedTensor& tensor) {
  element.output = name;
  Index rest = element.flat;
  element.at.assign(tensor.shape.size(), 0);
  for (std::size_t axis = tensor.shape.size(); axis-- > 0; rest /= tensor.shape[axis])
    element.at[axis] = rest % tensor.shape[axis];
  return element;
}

bool within(const Element& element) { return golden::is_within(element.error, element.bound); }

}  // namespace

Comparison compare(const Problem& problem, const golden::Certified& certified, const Arrays& got,
                   const golden::Profile& profile, ErrorMaps* maps) {
  const Spec& spec = *problem.spec;
  Comparison result;
  std::vector<std::string> names;
  for (const auto& output : spec.outputs) names.push_back(output.name);
  for (const auto& input : spec.gradient) names.push_back(golden::gradient_of(input));
  double worst = -1;
  std::vector<Element> elements, alternative;  // of a row
  for (const auto& name : names) {
    const auto expected = certified.outputs.find(name);
    const auto mine = got.find(name);
    if (expected == certified.outputs.end() || mine == got.end()) continue;
    const CertifiedTensor& tensor = expected->second;
    const auto units = profile.units_of(golden::declaration_of(spec, name));
    const std::size_t width =
        tensor.shape.empty() ? 1 : static_cast<std::size_t>(std::max<Index>(tensor.shape.back(), 1));
    ErrorMap* map = maps ? &(*maps)[name] : nullptr;
    for (std::size_t row = 0; row < tensor.hi.size(); row += width) {
      bool all = true;
      elements.clear();
      for (std::size_t i = row; i < row + width; ++i) {
        elements.push_back(judge(tensor, i, mine->second.values[i], units));
        all = all && within(elements.back());
      }
      for (const auto& other : certified.alternatives) {
        if (all) break;
        all = true;
        alternative.clear();
        for (std::size_t i = row; i < row + width; ++i) {
          alternative.push_back(judge(other.at(name), i, mine->second.values[i], units));
          all = all && within(alternative.back());
        }
        if (all) elements.swap(alternative);
      }
      for (const auto& element : elements) {
        ++result.compared;
        if (!within(element)) {
          ++result.failed;
          if (!result.first) result.first = placed(element, name, tensor);
        }
        const double ratio = element.ratio();
        if (ratio > worst) worst = ratio, result.worst = placed(element, name, tensor);
        if (map)
          map->add(static_cast<Index>(row / width), static_cast<Index>(static_cast<std::size_t>(element.flat) - row),
                   ratio);
      }
    }
  }
  return result;
}

std::vector<std::string> exact_outputs(const golden::Case& c) {
  const auto* group = c.spec->group(c.flag);
  if (!group) return {};
  const bool stored = std::any_of(group->entries.begin(), group->entries.end(), [&](const auto& entry) {
    return entry.sizes == c.sizes && entry.parameters == c.parameters;
  });
  return stored ? group->same_bits : std::vector<std::string>{};
}

golden::GoldenCase judged_by(golden::GoldenCase c, const golden::Profile& profile) {
  auto& certified = c.certified;
  if (certified.units == profile.name) return c;  // done before
  const auto& limit = certified.units == "wide" ? golden::wide_units() : golden::narrow_units();
  if (!golden::covers(limit, profile.units)) {
    const auto model = golden::error_model(c.problem, c.cotangents, profile.units);
    const auto bounded = [&](golden::CertifiedTensors& tensors) {
      for (auto& [name, tensor] : tensors) tensor.bound = model.at(name).bound, tensor.rms = model.at(name).rms;
    };
    bounded(certified.outputs);
    for (auto& alternative : certified.alternatives) bounded(alternative);
  }
  const auto exact = exact_outputs(c.name);
  golden::CertifiedTensors divided;
  if (!exact.empty()) divided = golden::error_model(c.problem, {}, profile.units, reference::Rounds::after_division);
  for (const auto& name : exact) {
    auto& tensor = certified.outputs.at(name);
    for (auto* channels : {&tensor.bound, &tensor.rms})
      for (auto& channel : *channels) std::fill(channel.begin(), channel.end(), 0.0f);
    for (std::size_t i = 0; i < tensor.hi.size(); ++i)
      if (tensor.hi[i] == 0)
        tensor.bound[reference::kUnderflow][i] = kUnderflowsOfZero;
      else
        tensor.bound[reference::kAccumulate][i] = static_cast<float>(kRoundingsOfLabel * std::abs(tensor.hi[i]));
    // What follows a division need not be exact. A factor that is nearly the number it should be is rounded to that
    // number, or cut to the one below it.
    const auto& after = divided.at(name).bound;
    for (std::size_t i = 0; i < tensor.hi.size(); ++i) {
      tensor.bound[reference::kAccumulate][i] += after[reference::kAccumulate][i];
      if (profile.cuts) tensor.bound[reference::kOperand][i] = after[reference::kOperand][i];
    }
    std::fill(tensor.lo.begin(), tensor.lo.end(), 0.0f);
  }
  certified.units = profile.name;
  return c;
}

}  // namespace attest::judge
