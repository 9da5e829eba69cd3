// SPDX-License-Identifier: MIT
#include "attest/judge/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "attest/golden/agreement.hpp"
#include "attest/golden/profile.hpp"

namespace attest::laws {

Array take(const Array& array, const TensorDeclaration& declared, const std::string& along,
           const std::vector<Index>& order) {
  Array result = array;
  for (std::size_t axis = 0; axis < declared.shape.size(); ++axis) {
    if (declared.shape[axis] != along) continue;
    const Array source = result;
    const std::vector<Index> head(source.shape.begin(), source.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    const std::vector<Index> tail(source.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, source.shape.end());
    const Index outer = count(head), inner = count(tail), extent = source.shape[axis];
    result.shape[axis] = static_cast<Index>(order.size());
    result.values.clear();
    for (Index o = 0; o < outer; ++o)
      for (const Index row : order)
        for (Index i = 0; i < inner; ++i)
          result.values.push_back(source.values[static_cast<std::size_t>((o * extent + row) * inner + i)]);
  }
  return result;
}

Problem take_rows(const Problem& problem, const std::string& along, const std::vector<Index>& order) {
  Problem result = problem;
  for (auto& [name, array] : result.inputs) array = take(array, *problem.spec->input(name), along, order);
  result.sizes[along] = static_cast<Index>(order.size());
  return result;
}

Array redrawn(const Context& context, const std::string& input, std::uint64_t salt) {
  const auto& declared = *context.problem.spec->input(input);
  const auto shape = context.problem.inputs.count(input) ? context.problem.inputs.at(input).shape
                                                         : shape_of(declared, context.problem.sizes);
  const std::string& draw = draw_of(declared, *context.problem.spec, context.problem.sizes, context.problem.parameters);
  return golden::draw_array(draw, shape, context.exact, context.seed * 1000 + salt, "law." + input);
}

Problem with_drawn(const Context& context, std::initializer_list<const char*> inputs, const std::string& recipe,
                   double unit) {
  Problem problem = context.problem;
  for (const char* name : inputs) {
    auto& x = problem.inputs.at(name);
    x = golden::draw_array(recipe, x.shape, context.exact, context.seed, std::string("property.") + name);
    for (double& entry : x.values) entry *= unit;
  }
  return problem;
}

std::pair<Problem, Problem> turned(const Context& context, std::initializer_list<const char*> inputs, Index width,
                                   double unit) {
  Problem plain = with_drawn(context, inputs, "integers -2 2", unit), turned = plain;
  for (const char* name : inputs) {
    auto &x = plain.inputs.at(name).values, &y = turned.inputs.at(name).values;
    for (std::size_t row = 0; row < x.size(); row += static_cast<std::size_t>(width)) {
      const double a = x[row], b = x[row + 1];  // times 5/8, so that the rotation by (3/5, 4/5) is exact
      x[row] = 0.625 * a, x[row + 1] = 0.625 * b;
      y[row] = 0.125 * (3 * a - 4 * b), y[row + 1] = 0.125 * (4 * a + 3 * b);
    }
  }
  return {plain, turned};
}

Finding agree(const Context& context, const std::string& output, const Problem& a, const Problem& b,
              const std::string& what) {
  const Outcome first = context.evaluate(a), second = context.evaluate(b);
  return same(context, output, first.values.at(output), first.bounds().at(output), second.values.at(output),
              second.bounds().at(output), what);
}

Finding columns_apart(const Context& context, const std::string& input, const std::string& output,
                      const std::string& along) {
  const Index d = context.problem.sizes.at(along);
  if (d < 2) return Finding::not_applicable();
  const Index column = choose(context, 1, d);
  Problem changed = context.problem;
  auto& x = changed.inputs.at(input);
  const Array fresh = redrawn(context, input, 2);
  for (Index i = 0; i < x.size(); ++i)
    if (i % d != column) x.values[static_cast<std::size_t>(i)] = fresh.values[static_cast<std::size_t>(i)];
  const Outcome plain = context.evaluate(context.problem), other = context.evaluate(changed);
  const auto mine = [&](const Array& array) {
    return take(array, *context.problem.spec->output(output), along, {column});
  };
  return same(context, output, mine(plain.values.at(output)), mine(plain.bounds().at(output)),
              mine(other.values.at(output)), mine(other.bounds().at(output)), "changing every other column");
}

bool is_carried(const Spec& spec, const TensorDeclaration& output) {
  const auto* input = spec.input(output.name);
  return input && (input->shape == output.shape || (input->state && output.state));
}

Stale::Stale(const Context& context)
    : filling_(context.hidden_nan.value_or(true) ? choose(context, 3, 3) : 0),
      promised_(context.hidden_nan.has_value()) {}

double Stale::operator()(double finite) const {
  return filling_ == 0   ? finite
         : filling_ == 1 ? std::numeric_limits<double>::quiet_NaN()
                         : std::copysign(std::numeric_limits<double>::infinity(), finite);
}

std::optional<Outcome> Stale::evaluated(const Context& context, const Problem& problem) const {
  try {
    return context.evaluate(problem);
  } catch (const Refused&) {
    if (filling_ == 0) throw;
    return std::nullopt;
  }
}

Finding Stale::judged(Finding finding) const {
  if (finding.kind != Finding::Kind::broken || filling_ == 0 || promised_) return finding;
  return {Finding::Kind::noted,
          "NaN or infinity in what is hidden reaches the outputs; declare hidden_nan == false where callers never "
          "leave it there, true to be held to it"};
}

bool averages_hidden_values(const Problem& problem) {
  if (setting(problem, Role::empty_row) != ParameterSetting(std::string("mean"))) return false;
  const Array *mask = given(problem, Role::mask), *bias = given(problem, Role::bias);
  if (!mask && !bias) return false;
  const bool causal = setting(problem, Role::causal) == ParameterSetting(true);
  const auto length = [&](Role role) {
    const auto set = setting(problem, role);
    return set ? std::get<Index>(*set) : -1;
  };
  const Index left = length(Role::window_left), right = length(Role::window_right);
  const auto& shape = (mask ? mask : bias)->shape;
  const Index queries = shape[0], keys = shape[1];
  for (Index i = 0; i < queries; ++i) {
    const Index own = i + keys - queries;
    const Index first = left < 0 ? 0 : std::max<Index>(0, own - left);
    const Index last = causal ? own : right < 0 ? keys - 1 : std::min(keys - 1, own + right);
    bool sees = false;
    for (Index j = first; j <= last; ++j) {
      const auto at = static_cast<std::size_t>(i * keys + j);
      sees |=
          (!mask || mask->values[at] != 0) && (!bias || bias->values[at] != -std::numeric_limits<double>::infinity());
    }
    if (!sees) return true;
  }
  return false;
}

Index choose(const Context& context, std::uint64_t salt, Index n) {
  std::mt19937_64 engine(context.seed * 1000 + salt);
  engine.discard(4);
  return static_cast<Index>(engine() % static_cast<std::uint64_t>(n));
}

Arrays carrying_allowances(const Context& context) {
  const auto& units = golden::profile("f64").units;
  Arrays allowances;
  for (const auto& [output, tensor] : golden::error_model(context.problem, {}, units)) {
    Array& allowance = allowances[output] = golden::bounds_of(tensor, units);
    for (double& x : allowance.values) x *= 4;
  }
  return allowances;
}

Finding same(const Context&, const std::string& output, const Array& a, const Array& a_bound, const Array& b,
             const Array& b_bound, const std::string& what) {
  if (a.values.size() != b.values.size())
    return Finding::broken(
        fmt::format("{}: {} has {} elements, expected {}", what, output, a.values.size(), b.values.size()));
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double x = a.values[i], y = b.values[i];
    if (std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (std::isnan(x) && std::isnan(y)) ||
        (std::isinf(x) && x == y))
      continue;
    const double allowed = a_bound.values[i] + b_bound.values[i];
    if (!(std::abs(x - y) <= allowed))
      return Finding::broken(fmt::format("{}: {}[{}] is {:.9g} against {:.9g}, {:.3g} apart, allowed {:.3g}", what,
                                         output, i, x, y, std::abs(x - y), allowed));
  }
  return {};
}

Finding identical(const Context& context, const std::string& output, const Outcome& a, const Outcome& b,
                  const std::string& what) {
  const auto x = a.values.find(output), y = b.values.find(output);
  if (x == a.values.end() || y == b.values.end()) return Finding::not_applicable();
  if (!context.bitwise)
    return same(context, output, x->second, a.bounds().at(output), y->second, b.bounds().at(output), what);
  if (x->second.values.size() != y->second.values.size()) return Finding::broken(what + ": sizes differ");
  for (std::size_t i = 0; i < x->second.values.size(); ++i) {
    const double p = x->second.values[i], q = y->second.values[i];
    if (p == q || (std::isnan(p) && std::isnan(q))) continue;
    return Finding::broken(
        fmt::format("{}: {}[{}] changed from {:.17g} to {:.17g}; the bits must stay", what, output, i, p, q));
  }
  return {};
}

}  // namespace attest::laws
