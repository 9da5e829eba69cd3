// SPDX-License-Identifier: MIT
#include "attest/judge/evidence.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <regex>

#include "attest/golden/agreement.hpp"
#include "attest/golden/files.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/cost.hpp"
#include "attest/reference/evaluate.hpp"

namespace attest::judge {
namespace {

Trial fails(std::string why) { return {Trial::Result::fails, std::move(why)}; }

bool is_random(const golden::Case& c) { return c.flag.starts_with("random"); }

}  // namespace

Trial try_costs(const Spec& spec) {
  for (const Cost& cost : spec.costs) {
    int counted = 0;
    for (const auto& name : golden::stored_cases(spec)) {
      if (!is_random(name)) continue;  // masks and zero denominators thin the count
      const Problem problem = golden::draw(name);
      if (!holds(cost.when, spec, problem.sizes, problem.parameters) ||
          !golden::applies(*spec.form(cost.form), problem))
        continue;
      reference::Cost arithmetic;
      reference::outputs_of(arithmetic, problem, cost.form);
      const auto got = static_cast<double>(arithmetic.counts().by_name().at(cost.operation));
      const double expected = cost.count.evaluate(
          [&](std::string_view variable) { return lookup(spec, problem.sizes, problem.parameters, variable); });
      if (got != expected)
        return fails(fmt::format("{} takes {} {}, not {} = {} ({})", cost.form, got, cost.operation, cost.count.text(),
                                 expected, golden::query(name, "f64")));
      ++counted;
    }
    if (counted == 0) return fails(fmt::format("no random case counts {} of {}", cost.operation, cost.form));
  }
  return {};
}

namespace {

bool has_gradients(const golden::GoldenCase& c) {
  return std::any_of(c.certified.outputs.begin(), c.certified.outputs.end(),
                     [](const auto& result) { return golden::is_gradient(result.first); });
}

/// A step for every element of every input that is differentiated by: small integers, none of them 0.
Arrays direction_of(const Problem& problem) {
  std::mt19937_64 engine(1);
  Arrays direction;
  for (const auto& name : problem.spec->gradient) {
    const auto input = problem.inputs.find(name);
    if (input == problem.inputs.end()) continue;
    auto& steps = direction[name] = input->second;
    for (double& step : steps.values) step = static_cast<double>(engine() % 4 + 1) * (engine() % 2 ? 1 : -1);
  }
  return direction;
}

/// <cotangents, f(inputs + h direction)> for the first form f, in the arithmetic in scope.
reference::Number loss(const golden::GoldenCase& c, const Arrays& direction, const reference::Number& h) {
  using namespace reference;
  Bundle bundle(c.problem, [&](const TensorDeclaration& input, Index i, double x) {
    const Number here = Number::input(x);
    const auto steps = direction.find(input.name);
    return steps == direction.end() ? here
                                    : here + Number::input(steps->second.values[static_cast<std::size_t>(i)]) * h;
  });
  evaluate(c.problem.spec->forms[0].name, bundle);
  Sum total;
  for (const auto& [name, cotangent] : c.cotangents) {
    auto weight = cotangent.values.begin();
    bundle.each_element(name, [&](const Number& y) {
      if (const double w = *weight++; std::isfinite(approximate(y))) total.add(Number::input(w) * y);
    });
  }
  return total.result();
}

/// By how much the stored gradients miss the derivative along a direction, in units of what they may.
double gradient_error(const golden::GoldenCase& c) {
  using namespace reference;
  const Arrays direction = direction_of(c.problem);
  Certificate fine(700);
  const Scope scope(fine);
  Ball tiny(1.0);
  arb_mul_2exp_si(tiny.get(), tiny.get(), -100);
  const Number h = fine.number(tiny);
  Stopped stopped;
  Evaluation::current->stopped = &stopped;
  const Number ahead = loss(c, direction, h);
  stopped.again = true;
  const Number derivative = (ahead - loss(c, direction, -h)) / (2 * h);
  Sum stored;
  double magnitudes = 0;
  for (const auto& [name, steps] : direction) {
    const auto& gradient = c.certified.outputs.at(golden::gradient_of(name));
    for (std::size_t i = 0; i < gradient.hi.size(); ++i) {
      const double step = steps.values[i];
      stored.add((Number::input(gradient.hi[i]) + Number::input(static_cast<double>(gradient.lo[i]))) *
                 Number::input(step));
      magnitudes += std::abs(gradient.hi[i] * step);
    }
  }
  const Ball gap = fine.value(derivative - stored.result());
  return (std::abs(approximate(gap)) + mag_get_d(arb_radref(gap.get()))) / (0x1p-70 * (magnitudes + 0x1p-10));
}

}  // namespace

Trial try_gradients(const std::vector<golden::GoldenCase>& cases) {
  constexpr std::size_t kCases = 3;
  std::vector<const golden::GoldenCase*> small;
  for (const auto& c : cases)
    if (is_random(c.name) && has_gradients(c)) small.push_back(&c);
  const auto elements = [](const golden::GoldenCase* c) {
    Index total = 0;
    for (const auto& [_, array] : c->problem.inputs) total += array.size();
    return total;
  };
  std::stable_sort(small.begin(), small.end(), [&](auto* a, auto* b) { return elements(a) < elements(b); });
  if (small.size() > kCases) small.resize(kCases);
  if (small.empty()) return fails("no random case of the golden file has gradients");
  for (const auto* c : small)
    if (const double error = gradient_error(*c); !(error <= 1))
      return fails(
          fmt::format("the stored gradient is not the derivative of the definition: {:.2g} times the allowance ({})",
                      error, golden::query(c->name, "f64")));
  return {};
}

Trial try_constraint(const Spec& spec, const std::string& label) {
  const auto constraint = std::find_if(spec.constraints.begin(), spec.constraints.end(),
                                       [&](const Constraint& one) { return one.label == label; });
  if (constraint == spec.constraints.end()) return fails(fmt::format("there is no constraint {}", label));
  if (!constraint->require) return {Trial::Result::declared, "a condition on data"};
  bool refused = false;
  for (const auto& name : golden::stored_cases(spec))
    for (const auto& [size, extent] : name.sizes)
      for (const Index change : {-1, 1}) {
        Sizes sizes = name.sizes;
        if ((sizes[size] = extent + change) < 1) continue;
        if (constraint->require->holds(
                [&](std::string_view variable) { return lookup(spec, sizes, name.parameters, variable); }))
          continue;
        const std::string broken = fmt::format("{} = {} breaks {} and is ", size, extent + change, label);
        try {
          check_sizes(spec, sizes, name.parameters);
          return fails(broken + "accepted");
        } catch (const SpecError& error) {  // with this label, unless it breaks another constraint first
          refused |= std::string_view(error.what()).find(fmt::format(" {} is violated", label)) != std::string::npos;
        }
      }
  if (!refused) return fails(fmt::format("no size next to those of a stored case breaks {}", label));
  return {};
}

UnitTests unit_tests(const std::filesystem::path& sources) {
  static const std::regex pattern(R"(TEST(?:_F)?\(\s*(\w+)\s*,\s*(\w+)\s*\))");
  UnitTests tests;
  for (const auto& file : std::filesystem::directory_iterator(sources)) {
    if (file.path().extension() != ".cpp") continue;
    const std::string text = golden::read_file(file.path()), program = "attest_test_" + file.path().stem().string();
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
      tests[(*at)[1].str() + "." + (*at)[2].str()] = program;
  }
  return tests;
}

namespace {

/// The output of a shell command, and its exit status; -1 where it did not exit.
std::pair<std::string, int> output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return {"", -1};
  std::string text;
  std::array<char, 4096> some;
  while (const std::size_t count = std::fread(some.data(), 1, some.size(), pipe)) text.append(some.data(), count);
  const int status = ::pclose(pipe);
  return {text, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

std::string quoted(const std::string& word) {
  return fmt::format("'{}'", std::regex_replace(word, std::regex("'"), "'\\''"));
}

}  // namespace

Trial try_test(const UnitTests& tests, const std::string& name, const std::filesystem::path& programs) {
  const auto of = tests.find(name);
  if (of == tests.end()) return fails("there is no such test");
  const auto program = programs / of->second;
  if (!std::filesystem::exists(program)) return {Trial::Result::declared, of->second + " is not built here"};
  const auto [text, status] = output_of(fmt::format("{} --gtest_filter={} 2>&1", quoted(program.string()), name));
  if (status == 0 && text.find("[  PASSED  ] 1 test.") != std::string::npos) return {};
  if (status == 0 && text.find("[  SKIPPED ]") != std::string::npos)
    return {Trial::Result::declared, "the test skips itself here"};
  return fails(fmt::format("{} does not pass it", of->second));
}

}  // namespace attest::judge
