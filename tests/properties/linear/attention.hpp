// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <numeric>

#include "laws/convex.hpp"

namespace attest::properties::linear::attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double eps_of(const Problem& problem) { return std::get<double>(*setting(problem, "eps")); }

inline bool given(const Problem& problem) { return std::get<std::string>(*setting(problem, "features")) == "given"; }

inline Problem with_positive_features(const Context& c) {
  Problem positive = c.problem;
  for (const char* name : {"phi_q", "phi_k"})
    for (double& x : positive.inputs.at(name).values) x = std::abs(x);
  return positive;
}

/// Features that are not negative average the values: no output leaves their range.
inline Finding positive_features_average(const Context& c) {
  if (eps_of(c.problem) != 0) return Finding::not_applicable();
  const Problem positive = with_positive_features(c);
  return laws::convex({{"convex", {"v"}, "s", "", ""}, positive, c.evaluate, c.seed, c.exact, c.bitwise});
}

/// A key whose features are all zero is no key.
inline Finding null_key_is_nothing(const Context& c) {
  if (!given(c.problem)) return Finding::not_applicable();
  const Outcome plain = c.evaluate(c.problem);
  Problem longer = c.problem;
  longer.sizes["s"] += 1;
  for (auto& [name, array] : longer.inputs) {
    if (name == "phi_q") continue;
    const auto width = static_cast<std::size_t>(array.size() / array.shape[0]);
    array.shape[0] += 1;
    array.values.insert(array.values.end(), width, name == "phi_k" ? 0.0 : name == "v" ? 64.0 : 1.0);
  }
  const Outcome with = c.evaluate(longer);
  return laws::same(c, "o", with.values.at("o"), with.bounds().at("o"), plain.values.at("o"), plain.bounds().at("o"),
                    "a key of zero features");
}

/// An orthogonal matrix on all features changes no dot product: half a Hadamard matrix on four of them, small integers
/// as features, so that the rotated features are exact.
inline Finding features_may_be_rotated(const Context& c) {
  if (c.problem.sizes.at("c") < 4 || !given(c.problem)) return Finding::not_applicable();
  Problem integers = c.problem, rotated;
  for (const char* name : {"phi_q", "phi_k"}) {
    auto& array = integers.inputs.at(name);
    array = golden::draw_array("integers 1 4", array.shape, c.exact, c.seed, std::string("law.") + name);
  }
  rotated = integers;
  for (const char* name : {"phi_q", "phi_k"}) {
    auto& array = rotated.inputs.at(name);
    const auto width = static_cast<std::size_t>(array.shape[1]);
    for (std::size_t row = 0; row < array.values.size(); row += width) {
      double* x = &array.values[row];
      const double p = x[0] + x[1], q = x[0] - x[1], r = x[2] + x[3], t = x[2] - x[3];
      x[0] = (p + r) / 2, x[1] = (q + t) / 2, x[2] = (p - r) / 2, x[3] = (q - t) / 2;
    }
  }
  const Outcome plain = c.evaluate(integers), turned = c.evaluate(rotated);
  return laws::same(c, "o", turned.values.at("o"), turned.bounds().at("o"), plain.values.at("o"),
                    plain.bounds().at("o"), "rotated features");
}

/// The last token of causal attention sees everything: with as many copies of the last query as there are keys, the
/// last row of linear.causal is this equation's.
inline Finding equals_the_last_causal_row(const Context& c) {
  if (c.problem.inputs.count("mask")) return Finding::not_applicable();
  const Index n = c.problem.sizes.at("n"), s = c.problem.sizes.at("s"), m = c.problem.sizes.at("m");
  Problem causal{&find_spec("linear.causal"),
                 {{"n", s}, {"c", c.problem.sizes.at("c")}, {"m", m}},
                 c.problem.parameters,
                 c.problem.inputs};
  causal.parameters.erase("shard");
  const std::vector<Index> last(static_cast<std::size_t>(s), n - 1);
  causal.inputs["phi_q"] = laws::take(c.problem.inputs.at("phi_q"), *c.problem.spec->input("phi_q"), "n", last);
  const auto expected = golden::enclose(causal, "recurrent", 128);
  const Outcome outcome = c.evaluate(c.problem);
  const auto row = [m](const Array& o) { return Array{{m}, {o.values.end() - m, o.values.end()}}; };
  return laws::same(c, "o", row(outcome.values.at("o")), row(outcome.bounds().at("o")), row(expected.middle.at("o")),
                    row(expected.radius.at("o")), "the last row of causal attention");
}

/// (T, z) of a whole is the sum over its shards: the answers of two shards, weighted by their denominators, make the
/// answer of all keys.
inline Finding shards_add_up(const Context& c) {
  const Index s = c.problem.sizes.at("s"), width = c.problem.sizes.at("c"), m = c.problem.sizes.at("m");
  if (s < 2 || eps_of(c.problem) != 0 || c.problem.inputs.count("mask") || !given(c.problem))
    return Finding::not_applicable();
  const Problem whole = with_positive_features(c);
  const Index split = 1 + laws::choose(c, 1, s - 1);
  std::vector<Index> keys(static_cast<std::size_t>(s));
  std::iota(keys.begin(), keys.end(), Index{0});
  const auto part = [&](Index first, Index last) {
    return laws::take_rows(whole, "s", {keys.begin() + first, keys.begin() + last});
  };
  const auto weights = [&](const Problem& problem) {  // phi_q_i . z
    const auto &q = problem.inputs.at("phi_q").values, &k = problem.inputs.at("phi_k").values;
    std::vector<double> z(static_cast<std::size_t>(width)), d;
    for (std::size_t i = 0; i < k.size(); ++i) z[i % z.size()] += k[i];
    for (std::size_t i = 0; i < q.size(); i += z.size())
      d.push_back(std::inner_product(z.begin(), z.end(), q.begin() + static_cast<std::ptrdiff_t>(i), 0.0));
    return d;
  };
  const Problem a = part(0, split), b = part(split, s);
  const auto da = weights(a), db = weights(b);
  const Outcome all = c.evaluate(whole), of_a = c.evaluate(a), of_b = c.evaluate(b);
  Array joined = of_a.values.at("o"), bound = joined;
  for (std::size_t i = 0; i < joined.values.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(m);
    if (da[row] == 0 || db[row] == 0) return Finding::not_applicable();
    const double share = da[row] / (da[row] + db[row]), x = of_a.values.at("o").values[i],
                 y = of_b.values.at("o").values[i];
    joined.values[i] = share * x + (1 - share) * y;
    bound.values[i] = share * of_a.bounds().at("o").values[i] + (1 - share) * of_b.bounds().at("o").values[i] +
                      0x1p-44 * (std::abs(x) + std::abs(y));
  }
  return laws::same(c, "o", joined, bound, all.values.at("o"), all.bounds().at("o"), "two shards together");
}

/// It is attention with the similarity phi(q) . phi(k): on features that are not negative relu is no map at all.
inline Finding equals_generalized(const Context& c) {
  if (eps_of(c.problem) != 0 || !given(c.problem)) return Finding::not_applicable();
  const Problem positive = with_positive_features(c);
  const Index n = positive.sizes.at("n"), s = positive.sizes.at("s");
  Problem general{
      &find_spec("attention.generalized"),
      {{"n", n}, {"s", s}, {"d", positive.sizes.at("c")}, {"m", positive.sizes.at("m")}},
      {{"sim", std::string("feature_dot")},
       {"phi", std::string("relu")},
       {"varphi", std::string("relu")},
       {"zero_denominator", *setting(positive, "zero_denominator")}},
      {{"q", positive.inputs.at("phi_q")}, {"k", positive.inputs.at("phi_k")}, {"v", positive.inputs.at("v")}}};
  if (const auto mask = positive.inputs.find("mask"); mask != positive.inputs.end()) {
    Array& all = general.inputs["mask"] = {{n, s}, {}};
    for (Index i = 0; i < n; ++i)
      all.values.insert(all.values.end(), mask->second.values.begin(), mask->second.values.end());
  }
  const auto expected = golden::enclose(general, "weights", 128);
  const Outcome outcome = c.evaluate(positive);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected.middle.at("o"),
                    expected.radius.at("o"), "the general similarity");
}

inline std::vector<laws::Property> properties() {
  return {{"equals_generalized", equals_generalized},
          {"positive_features_average", positive_features_average},
          {"null_key_is_nothing", null_key_is_nothing},
          {"features_may_be_rotated", features_may_be_rotated},
          {"equals_the_last_causal_row", equals_the_last_causal_row},
          {"shards_add_up", shards_add_up}};
}

}  // namespace attest::properties::linear::attention
