// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::lowrank::linformer {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline std::string sharing(const Context& c) { return std::get<std::string>(*setting(c.problem, "sharing")); }
inline bool pools(const Context& c) { return sharing(c) == "mean_pool" || sharing(c) == "max_pool"; }

/// The problem with projections of that many slots, both zero.
inline Problem with_slots(const Context& c, Index slots) {
  Problem problem = c.problem;
  problem.sizes["r"] = slots;
  const Index s = problem.sizes.at("s");
  for (const char* name : {"e", "f"})
    problem.inputs[name] = {{slots, s}, std::vector<double>(static_cast<std::size_t>(slots * s))};
  return problem;
}

/// The output against exact rows.
inline Finding expect(const Context& c, const Problem& problem, const Array& o, const char* what) {
  const Outcome outcome = c.evaluate(problem);
  const Array none{o.shape, std::vector<double>(o.values.size())};
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), o, none, what);
}

/// E = F = I is attention over all keys.
inline Finding identity_projection(const Context& c) {
  if (pools(c)) return Finding::not_applicable();
  const Index s = c.problem.sizes.at("s");
  Problem problem = with_slots(c, s);
  for (const char* name : {"e", "f"})
    for (Index j = 0; j < s; ++j) problem.inputs.at(name).values[static_cast<std::size_t>(j * s + j)] = 1;
  Problem full{&find_spec("attention.scaled_dot_product"), problem.sizes, {}, problem.inputs};
  full.sizes.erase("r");
  for (const char* name : {"e", "f"}) full.inputs.erase(name);
  if (const auto scale = problem.parameters.find("scale"); scale != problem.parameters.end())
    full.parameters.insert(*scale);
  const auto expected = golden::enclose(full, "max_shift", 128);
  const Outcome outcome = c.evaluate(problem);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected.middle.at("o"),
                    expected.radius.at("o"), "attention over all keys");
}

/// With one slot every output is F v, here of small integers.
inline Finding rank_one(const Context& c) {
  if (sharing(c) != "none") return Finding::not_applicable();
  Problem problem = with_slots(c, 1);
  for (const char* name : {"f", "v"}) {
    auto& x = problem.inputs.at(name);
    x = golden::draw_array("integers -2 2", x.shape, c.exact, c.seed, std::string("property.") + name);
  }
  const auto &f = problem.inputs.at("f").values, &v = problem.inputs.at("v").values;
  const auto n = static_cast<std::size_t>(problem.sizes.at("n")), m = static_cast<std::size_t>(problem.sizes.at("m"));
  Array o{{problem.sizes.at("n"), problem.sizes.at("m")}, std::vector<double>(n * m)};
  for (std::size_t i = 0; i < o.values.size(); ++i)
    for (std::size_t j = 0; j < f.size(); ++j) o.values[i] += f[j] * v[j * m + i % m];
  return expect(c, problem, o, "one slot");
}

/// Slots that all hold the first value: weights that sum to 1 give it back.
inline Finding weights_sum(const Context& c) {
  if (sharing(c) != "none") return Finding::not_applicable();
  Problem problem = with_slots(c, c.problem.sizes.at("r"));
  problem.inputs["e"] = golden::draw_array("normal 0.5", problem.inputs.at("e").shape, c.exact, c.seed, "property.e");
  const Index s = problem.sizes.at("s"), m = problem.sizes.at("m");
  auto& f = problem.inputs.at("f").values;
  for (std::size_t t = 0; t < f.size(); t += static_cast<std::size_t>(s)) f[t] = 1;
  Array o{{problem.sizes.at("n"), m}, {}};
  for (Index i = 0; i < o.shape[0] * m; ++i)
    o.values.push_back(problem.inputs.at("v").values[static_cast<std::size_t>(i % m)]);
  return expect(c, problem, o, "slots that hold one value");
}

/// The last token reaches the first output: with F all ones, adding 64 to its values adds 64.
inline Finding not_causal(const Context& c) {
  if (sharing(c) != "none") return Finding::not_applicable();
  Problem plain = with_slots(c, c.problem.sizes.at("r"));
  std::fill(plain.inputs.at("f").values.begin(), plain.inputs.at("f").values.end(), 1.0);
  auto& v = plain.inputs.at("v");
  v = golden::draw_array("integers -2 2", v.shape, c.exact, c.seed, "property.v");
  Problem other = plain;
  const auto m = static_cast<std::size_t>(plain.sizes.at("m"));
  auto& changed = other.inputs.at("v").values;
  for (std::size_t t = changed.size() - m; t < changed.size(); ++t) changed[t] += 64;
  const Outcome before = c.evaluate(plain), after = c.evaluate(other);
  const double rise = after.values.at("o").values[0] - before.values.at("o").values[0],
               allowed = after.bounds().at("o").values[0] + before.bounds().at("o").values[0] + 0x1p-40;
  if (std::abs(rise - 64) <= allowed) return {};
  return Finding::broken("the last token adds " + std::to_string(rise) + " in place of 64 to the first output");
}

/// E (k w) is (E k) w, and q . (E k w) is (q w^T) . (E k): one matrix w of small integers on keys or on queries.
inline Finding associativity(const Context& c) {
  if (pools(c)) return Finding::not_applicable();
  Problem keys = laws::with_drawn(c, {"q", "k"}, "integers -1 1"), queries = keys;
  const auto d = static_cast<std::size_t>(c.problem.sizes.at("d"));
  const Array w = golden::draw_array("integers -1 1", {static_cast<Index>(d), static_cast<Index>(d)}, c.exact, c.seed,
                                     "property.w");
  const auto times = [&](Array& x, bool transposed) {
    const Array before = x;
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      x.values[i] = 0;
      for (std::size_t b = 0; b < d; ++b)
        x.values[i] += before.values[i / d * d + b] * w.values[transposed ? i % d * d + b : b * d + i % d];
    }
  };
  times(keys.inputs.at("k"), false);
  times(queries.inputs.at("q"), true);
  return laws::agree(c, "o", keys, queries, "one matrix on keys or on queries");
}

inline std::vector<laws::Property> properties() {
  return {{"identity_projection", identity_projection},
          {"rank_one", rank_one},
          {"weights_sum", weights_sum},
          {"not_causal", not_causal},
          {"associativity", associativity}};
}

}  // namespace attest::properties::lowrank::linformer
