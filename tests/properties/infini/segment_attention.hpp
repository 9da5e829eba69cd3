// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "attest/judge/laws.hpp"
#include "properties/infini/memory_retrieve.hpp"

namespace attest::properties::infini::segment_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// A gate of beta -> -infinity leaves causal attention inside each segment.
inline Finding closed_gate_is_local_attention(const Context& c) {
  Problem closed = c.problem;
  if (std::get<std::string>(*setting(closed, "position")) != "none") return Finding::not_applicable();
  if (std::get<std::string>(*setting(closed, "zero_denominator")) == "nan")
    return Finding::not_applicable();  // NaN times any gate
  closed.inputs.at("beta").values[0] = -256;
  const Outcome outcome = c.evaluate(closed);
  const Index n = closed.sizes.at("n");
  const auto segment = setting(closed, "segment");
  const Index length = segment ? std::get<Index>(*segment) : n;
  Array expected{outcome.values.at("o").shape, {}}, radius = expected;
  for (Index first = 0; first < n; first += length) {
    std::vector<Index> rows(static_cast<std::size_t>(std::min(length, n - first)));
    std::iota(rows.begin(), rows.end(), first);
    const Problem part = laws::take_rows(closed, "n", rows);
    const auto size = static_cast<Index>(rows.size());
    Problem local{&find_spec("attention.scaled_dot_product"),
                  {{"n", size}, {"s", size}, {"d", closed.sizes.at("d")}, {"m", closed.sizes.at("m")}},
                  {{"causal", true}},
                  {{"q", part.inputs.at("q")}, {"k", part.inputs.at("k")}, {"v", part.inputs.at("v")}}};
    if (const auto scale = setting(closed, "scale")) local.parameters["scale"] = *scale;
    const auto enclosure = golden::enclose(local, "dense", 128);
    const auto append = [](Array& to, const Array& from) {
      to.values.insert(to.values.end(), from.values.begin(), from.values.end());
    };
    append(expected, enclosure.middle.at("o"));
    append(radius, enclosure.radius.at("o"));
  }
  for (double& x : radius.values) x += 0x1p-340;  // sigma(-256) of the memory's answer is left
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected, radius, "beta = -256");
}

inline std::string text_of(const Problem& problem, const char* parameter) {
  return std::get<std::string>(*setting(problem, parameter));
}

inline Index segment_of(const Problem& problem) {
  const auto segment = setting(problem, "segment");
  return segment ? std::get<Index>(*segment) : problem.sizes.at("n");
}

/// Segments of one token with linear updates, an open gate, no memory before: sigma(256) is 1 in every format. Queries
/// and keys are small positive integers, so that their features are exact.
struct UnitSegments {
  Problem problem, causal;  // causal: linear.causal of the features

  static std::optional<UnitSegments> of(const Context& c) {
    if (text_of(c.problem, "zero_denominator") == "nan" || text_of(c.problem, "update") != "linear") return {};
    UnitSegments unit{c.problem, {&find_spec("linear.causal"), {}, {}, {}}};
    Problem& open = unit.problem;
    for (const char* state : {"memory", "z"}) open.inputs.erase(state);
    open.parameters["segment"] = Index{1};
    open.inputs.at("beta").values[0] = 256;
    for (const char* name : {"q", "k"}) {
      auto& x = open.inputs.at(name);
      x = golden::draw_array("integers 1 3", x.shape, c.exact, c.seed, std::string("property.") + name);
      const auto phi = memory_retrieve::exact_features(text_of(open, "feature_map"), x);
      if (!phi) return {};
      unit.causal.inputs[std::string("phi_") + name] = *phi;
    }
    unit.causal.inputs["v"] = open.inputs.at("v");
    unit.causal.sizes = {{"n", open.sizes.at("n")}, {"c", open.sizes.at("d")}, {"m", open.sizes.at("m")}};
    return unit;
  }
};

/// Then a token reads what was stored before it: linear attention over j < i, which is causal linear attention with
/// keys and values one token later.
inline Finding memory_limit_unit(const Context& c) {
  auto unit = UnitSegments::of(c);
  if (!unit) return Finding::not_applicable();
  for (const char* name : {"phi_k", "v"}) {
    Array& x = unit->causal.inputs.at(name);
    x.values.insert(x.values.begin(), static_cast<std::size_t>(x.shape[1]), 0.0);
    x.values.resize(x.values.size() - static_cast<std::size_t>(x.shape[1]));
  }
  auto expected = golden::enclose(unit->causal, "recurrent", 128);
  for (double& x : expected.radius.at("o").values) x += 0x1p-340;  // sigma(-256) of the local branch is left
  const Outcome outcome = c.evaluate(unit->problem);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected.middle.at("o"),
                    expected.radius.at("o"), "linear attention over earlier tokens");
}

/// And the token itself is what is missing to causal linear attention: (o d + p v) / (d + p), d what the memory was
/// divided by and p = phi(q_i) . phi(k_i).
inline Finding inclusive_relation(const Context& c) {
  const auto unit = UnitSegments::of(c);
  if (!unit) return Finding::not_applicable();
  const auto expected = golden::enclose(unit->causal, "recurrent", 128);
  const Outcome outcome = c.evaluate(unit->problem);
  Array o = outcome.values.at("o"), bound = outcome.bounds().at("o");
  const auto &phi_q = unit->causal.inputs.at("phi_q").values, &phi_k = unit->causal.inputs.at("phi_k").values,
             &v = unit->problem.inputs.at("v").values;
  const auto d = static_cast<std::size_t>(unit->problem.sizes.at("d")),
             m = static_cast<std::size_t>(unit->problem.sizes.at("m"));
  std::vector<double> z(d);
  for (std::size_t i = 0; i * d < phi_q.size(); ++i) {
    double below = 0, p = 0;
    for (std::size_t a = 0; a < d; ++a) {
      below += phi_q[i * d + a] * z[a], p += phi_q[i * d + a] * phi_k[i * d + a];
      z[a] += phi_k[i * d + a];
    }
    for (std::size_t b = i * m; b < (i + 1) * m; ++b) {
      bound.values[b] = bound.values[b] * below / (below + p) + 0x1p-48 * (std::abs(o.values[b]) + std::abs(v[b]));
      o.values[b] = (o.values[b] * below + p * v[b]) / (below + p);
    }
  }
  return laws::same(c, "o", o, bound, expected.middle.at("o"), expected.radius.at("o"),
                    "causal linear attention with the token itself");
}

/// Linear updates: the final state is that of all keys and values at once, whatever the segments.
inline Finding final_state(const Context& c) {
  if (text_of(c.problem, "update") != "linear") return Finding::not_applicable();
  const Outcome outcome = c.evaluate(c.problem);
  if (!outcome.values.count("memory") || !outcome.values.count("z")) return Finding::not_applicable();
  const auto& sizes = c.problem.sizes;
  Problem update{&find_spec("infini.memory_update_linear"),
                 sizes,
                 {{"feature_map", *setting(c.problem, "feature_map")}},
                 c.problem.inputs};
  for (const char* name : {"q", "beta"}) update.inputs.erase(name);
  const auto expected = golden::enclose(update, "matrix", 128);
  for (const char* state : {"memory", "z"}) {
    const auto finding = laws::same(c, state, outcome.values.at(state), outcome.bounds().at(state),
                                    expected.middle.at(state), expected.radius.at(state), "one update with all tokens");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// A single segment with an empty memory: (1 - sigma(beta)) times causal attention.
inline Finding single_segment(const Context& c) {
  if (text_of(c.problem, "position") != "none" || text_of(c.problem, "zero_denominator") == "nan")
    return Finding::not_applicable();
  Problem single = c.problem;
  for (const char* state : {"memory", "z"}) single.inputs.erase(state);
  single.parameters.erase("segment");
  const Index n = single.sizes.at("n");
  Problem local{&find_spec("attention.scaled_dot_product"),
                {{"n", n}, {"s", n}, {"d", single.sizes.at("d")}, {"m", single.sizes.at("m")}},
                {{"causal", true}},
                {{"q", single.inputs.at("q")}, {"k", single.inputs.at("k")}, {"v", single.inputs.at("v")}}};
  if (const auto scale = setting(single, "scale")) local.parameters["scale"] = *scale;
  auto expected = golden::enclose(local, "dense", 128);
  const double share = 1 / (1 + std::exp(single.inputs.at("beta").values[0]));
  Array &o = expected.middle.at("o"), &radius = expected.radius.at("o");
  for (std::size_t i = 0; i < o.values.size(); ++i) {
    o.values[i] *= share;
    radius.values[i] = share * radius.values[i] + 0x1p-50 * std::abs(o.values[i]);
  }
  const Outcome outcome = c.evaluate(single);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), o, radius,
                    "the local share of a single segment");
}

/// A token sees earlier segments through the state only: the order of their tokens changes nothing.
inline Finding past_only_through_state(const Context& c) {
  const Index n = c.problem.sizes.at("n"), segment = segment_of(c.problem);
  if (text_of(c.problem, "position") != "none" || n <= segment || segment < 2) return Finding::not_applicable();
  const Index first = segment * laws::choose(c, 1, (n - 1) / segment);
  std::vector<Index> order(static_cast<std::size_t>(n)), later;
  std::iota(order.begin(), order.end(), Index{0});
  later.assign(order.begin() + first + segment, order.end());
  std::reverse(order.begin() + first, order.begin() + first + segment);
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(laws::take_rows(c.problem, "n", order));
  const auto rows = [&](const Array& o) { return laws::take(o, *c.problem.spec->output("o"), "n", later); };
  return laws::same(c, "o", rows(plain.values.at("o")), rows(plain.bounds().at("o")), rows(other.values.at("o")),
                    rows(other.bounds().at("o")), "an earlier segment backwards");
}

/// The first token reaches the last one through the memory, however many segments lie between.
inline Finding reaches_the_first_token(const Context& c) {
  if (text_of(c.problem, "update") != "linear" || text_of(c.problem, "feature_map") != "elu_plus_one")
    return Finding::not_applicable();
  Problem open = c.problem, changed;
  const Index n = open.sizes.at("n");
  if (n <= segment_of(open) || n < 2) return Finding::not_applicable();
  for (const char* state : {"memory", "z"}) open.inputs.erase(state);
  open.inputs.at("beta").values[0] = 1;
  for (const char* name : {"q", "k"}) {
    auto& x = open.inputs.at(name);
    x = golden::draw_array("integers 1 3", x.shape, c.exact, c.seed, std::string("property.") + name);
  }
  changed = open;
  changed.inputs.at("v").values[0] = 4096;  // no rounding of the others hides it, in no profile
  const Outcome plain = c.evaluate(open), other = c.evaluate(changed);
  const auto last = static_cast<std::size_t>((n - 1) * open.sizes.at("m"));
  const double allowed = plain.bounds().at("o").values[last] + other.bounds().at("o").values[last];
  if (!(other.values.at("o").values[last] - plain.values.at("o").values[last] > allowed))
    return Finding::broken("the last token does not see the value of the first");
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"closed_gate_is_local_attention", closed_gate_is_local_attention},
          {"memory_limit_unit", memory_limit_unit},
          {"inclusive_relation", inclusive_relation},
          {"final_state", final_state},
          {"single_segment", single_segment},
          {"past_only_through_state", past_only_through_state},
          {"reaches_the_first_token", reaches_the_first_token}};
}

}  // namespace attest::properties::infini::segment_attention
