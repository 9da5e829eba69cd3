// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "attest/judge/laws.hpp"
#include "properties/infini/memory_retrieve.hpp"

namespace attest::properties::infini::memory_update_delta {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// The linear update of the same state by the same tokens.
inline golden::Enclosure linear_update(const Problem& problem) {
  Problem linear{&find_spec("infini.memory_update_linear"), problem.sizes, {}, problem.inputs};
  linear.parameters["feature_map"] = *setting(problem, "feature_map");
  return golden::enclose(linear, "matrix", 128);
}

inline Finding compared(const Context& c, const std::string& state, const Outcome& outcome,
                        const golden::Enclosure& expected, const std::string& what) {
  return laws::same(c, state, outcome.values.at(state), outcome.bounds().at(state), expected.middle.at(state),
                    expected.radius.at(state), what);
}

/// With an empty memory there is nothing to subtract: the linear update.
inline Finding first_segment_linear(const Context& c) {
  Problem first = c.problem;
  for (const char* state : {"memory", "z"}) first.inputs.erase(state);
  if (std::get<std::string>(*setting(first, "zero_denominator")) == "nan") return Finding::not_applicable();
  const Outcome outcome = c.evaluate(first);
  const auto expected = linear_update(first);
  const auto finding = compared(c, "memory", outcome, expected, "the linear update of an empty memory");
  return finding.kind == Finding::Kind::broken
             ? finding
             : compared(c, "z", outcome, expected, "the linear update of an empty memory");
}

/// z is the linear update's.
inline Finding z_equals_linear(const Context& c) {
  return compared(c, "z", c.evaluate(c.problem), linear_update(c.problem), "z of the linear update");
}

/// A memory z r^T answers r to every key: storing r again changes nothing of it.
inline Finding bound_pair_is_noop(const Context& c) {
  if (std::get<double>(*setting(c.problem, "eps")) != 0) return Finding::not_applicable();
  if (std::get<std::string>(*setting(c.problem, "feature_map")) == "identity")
    return Finding::not_applicable();  // its denominators may be 0
  const Index d = c.problem.sizes.at("d"), m = c.problem.sizes.at("m"), n = c.problem.sizes.at("n");
  Problem bound = c.problem;
  const Array z = golden::draw_array("integers 1 4", {d}, c.exact, c.seed, "property.z"),
              r = golden::draw_array("integers -3 3", {m}, c.exact, c.seed, "property.r");
  Array memory{{d, m}, {}}, v{{n, m}, {}};
  for (Index a = 0; a < d; ++a)
    for (Index b = 0; b < m; ++b)
      memory.values.push_back(z.values[static_cast<std::size_t>(a)] * r.values[static_cast<std::size_t>(b)]);
  for (Index t = 0; t < n; ++t) v.values.insert(v.values.end(), r.values.begin(), r.values.end());
  if (std::get<std::string>(*setting(c.problem, "feature_map")) == "relu")  // a row of zeros answers 0, not r
    bound.inputs.at("k") = golden::draw_array("integers 1 3", {n, d}, c.exact, c.seed, "property.k");
  bound.inputs["memory"] = memory, bound.inputs["z"] = z, bound.inputs["v"] = v;
  const Outcome outcome = c.evaluate(bound);
  return laws::same(c, "memory", outcome.values.at("memory"), outcome.bounds().at("memory"), memory,
                    Array{memory.shape, std::vector<double>(memory.values.size())}, "storing what the memory answers");
}

/// Segments of one token with one key, an empty memory before the first: the problem with that value, the key's
/// features, and what is to be carried into the next call. Key and values are small integers, so that sums are exact.
struct OneKey {
  Problem write;
  std::vector<double> phi;
  Outcome last;

  static std::optional<OneKey> of(const Context& c) {
    if (std::get<double>(*setting(c.problem, "eps")) != 0) return {};
    OneKey one{c.problem, {}, {}};
    one.write.sizes["n"] = 1;
    one.write.parameters["zero_denominator"] = std::string("zero");
    for (const char* state : {"memory", "z"}) one.write.inputs.erase(state);
    const Array k = golden::draw_array("integers 1 2", {1, c.problem.sizes.at("d")}, c.exact, c.seed, "property.k");
    const auto phi = memory_retrieve::exact_features(std::get<std::string>(*setting(c.problem, "feature_map")), k);
    if (!phi) return {};
    one.write.inputs["k"] = k, one.phi = phi->values;
    return one;
  }
  void store(const Context& c, const Array& v) {
    write.inputs["v"] = v;
    last = c.evaluate(write);
    for (const char* state : {"memory", "z"}) write.inputs[state] = last.values.at(state);
  }
  /// phi^T memory / by, against the row v.
  Finding answers(const Context& c, const Array& v, double by, double slack, const std::string& what) const {
    Array answer = v, bound = v, none = v;
    const auto &memory = last.values.at("memory").values, &allowed = last.bounds().at("memory").values;
    const auto m = v.values.size();
    for (std::size_t b = 0; b < m; ++b) {
      double total = 0, error = 0;
      for (std::size_t a = 0; a < phi.size(); ++a)
        total += phi[a] * memory[a * m + b], error += phi[a] * allowed[a * m + b];
      answer.values[b] = total / by, bound.values[b] = slack * (error / by + 0x1p-48 * std::abs(v.values[b])),
      none.values[b] = 0;
    }
    return laws::same(c, "memory", answer, bound, v, none, what);
  }
};

inline double squared(const std::vector<double>& phi) {
  double total = 0;
  for (const double x : phi) total += x * x;
  return total;
}

/// The same key with another value, one token per segment: the new value is bound to it, phi^T memory = |phi|^2 v'.
inline Finding rebinding(const Context& c) {
  auto one = OneKey::of(c);
  if (!one) return Finding::not_applicable();
  const Index m = c.problem.sizes.at("m");
  const Array v = golden::draw_array("integers -3 3", {1, m}, c.exact, c.seed, "property.v"),
              other = golden::draw_array("integers -3 3", {1, m}, c.exact, c.seed, "property.w");
  one->store(c, v);
  one->store(c, other);
  return one->answers(c, other, squared(one->phi), 2, "the same key with another value");
}

/// One pair stored again and again, one token per segment. The second time the memory answers v, and only z grows: what
/// is read is v / 2. From then on the memory answers v / 2 and grows by the other half, as z does: v / 2 is read for
/// ever, not v.
inline Finding repeat_shrinks_read(const Context& c) {
  auto one = OneKey::of(c);
  if (!one) return Finding::not_applicable();
  const Array v = golden::draw_array("integers 1 3", {1, c.problem.sizes.at("m")}, c.exact, c.seed, "property.v");
  for (int r = 1; r <= 4; ++r) {
    one->store(c, v);
    const auto &z = one->last.values.at("z").values, &allowed = one->last.bounds().at("z").values;
    double denominator = 0, error = 0;
    for (std::size_t a = 0; a < z.size(); ++a) denominator += one->phi[a] * z[a], error += one->phi[a] * allowed[a];
    Array read = v;
    if (r > 1)
      for (double& x : read.values) x /= 2;
    if (const double expected = r * squared(one->phi); !(std::abs(denominator - expected) <= r * error))
      return Finding::broken("z does not grow by phi at every repetition");
    const auto finding =
        one->answers(c, read, r * squared(one->phi), r, "one pair stored " + std::to_string(r) + " times");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"first_segment_linear", first_segment_linear},
          {"z_equals_linear", z_equals_linear},
          {"bound_pair_is_noop", bound_pair_is_noop},
          {"rebinding", rebinding},
          {"repeat_shrinks_read", repeat_shrinks_read}};
}

}  // namespace attest::properties::infini::memory_update_delta
