// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <string>

#include "attest/judge/laws.hpp"

namespace attest::properties::content::lsh_hash {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Whether the two largest |y| of each token, and the largest from 0, are far apart for any precision.
inline std::vector<bool> clear(const Problem& problem) {
  const auto n = static_cast<std::size_t>(problem.sizes.at("n")), d = static_cast<std::size_t>(problem.sizes.at("d")),
             c = static_cast<std::size_t>(problem.sizes.at("c"));
  const auto &x = problem.inputs.at("x").values, &r = problem.inputs.at("r").values;
  std::vector<bool> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    double best = 0, second = 0, size = 0;
    for (std::size_t t = 0; t < c; ++t) {
      double y = 0;
      for (std::size_t a = 0; a < d; ++a) {
        y += x[i * d + a] * r[a * c + t];
        size += std::abs(x[i * d + a] * r[a * c + t]);
      }
      if (std::abs(y) > best)
        second = best, best = std::abs(y);
      else
        second = std::max(second, std::abs(y));
    }
    all[i] = best - second > size / 32;
  }
  return all;
}

/// The buckets of `changed` are name(bucket) of those of the problem, for tokens whose bucket is clear.
template <class F>
Finding renamed(const Context& c, const Problem& changed, F&& name, const std::string& what) {
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(changed);
  const auto &h = plain.values.at("h").values, &g = other.values.at("h").values;
  const auto sure = clear(c.problem);
  for (std::size_t i = 0; i < h.size(); ++i)
    if (sure[i] && g[i] != static_cast<double>(name(static_cast<Index>(h[i]))))
      return Finding::broken("token " + std::to_string(i) + " is in bucket " + std::to_string(g[i]) + ", and in " +
                             std::to_string(h[i]) + " before: " + what);
  return {};
}

inline Finding antipode(const Context& c) {
  Problem changed = c.problem;
  for (double& x : changed.inputs.at("x").values) x = -x;
  const Index half = c.problem.sizes.at("c");
  return renamed(c, changed, [half](Index h) { return (h + half) % (2 * half); }, "tokens of the other sign");
}

/// The first two features (a, b) become (-b, a), of tokens and of directions.
inline Finding quarter_turn(const Context& c) {
  const auto d = static_cast<std::size_t>(c.problem.sizes.at("d")),
             half = static_cast<std::size_t>(c.problem.sizes.at("c"));
  if (d < 2) return Finding::not_applicable();
  Problem changed = c.problem;
  auto &x = changed.inputs.at("x").values, &r = changed.inputs.at("r").values;
  const auto turn = [](double& a, double& b) { std::swap(a, b), a = -a; };
  for (std::size_t i = 0; i < x.size(); i += d) turn(x[i], x[i + 1]);
  for (std::size_t t = 0; t < half; ++t) turn(r[t], r[half + t]);
  return renamed(c, changed, [](Index h) { return h; }, "tokens and directions turned together");
}

inline Finding column_permutation(const Context& c) {
  const Index half = c.problem.sizes.at("c");
  std::vector<Index> order;
  for (Index t = half; t-- > 0;) order.push_back(t);
  return renamed(
      c, laws::take_rows(c.problem, "c", order), [half](Index h) { return half - 1 - h % half + h / half * half; },
      "directions in reverse order");
}

/// The first direction alone: the sign of x . r.
inline Finding two_buckets(const Context& c) {
  const Problem one = laws::take_rows(c.problem, "c", {0});
  const auto n = static_cast<std::size_t>(one.sizes.at("n")), d = static_cast<std::size_t>(one.sizes.at("d"));
  const auto &x = one.inputs.at("x").values, &r = one.inputs.at("r").values;
  const Outcome outcome = c.evaluate(one);
  const auto sure = clear(one);
  for (std::size_t i = 0; i < n; ++i) {
    double y = 0;
    for (std::size_t a = 0; a < d; ++a) y += x[i * d + a] * r[a];
    if (sure[i] && outcome.values.at("h").values[i] != (y < 0 ? 1 : 0))
      return Finding::broken("token " + std::to_string(i) + " is not in the bucket of its sign");
  }
  return {};
}

/// All tokens are the first.
inline Finding equal_tokens(const Context& c) {
  const auto n = static_cast<std::size_t>(c.problem.sizes.at("n"));
  const Outcome outcome = c.evaluate(laws::take_rows(c.problem, "n", std::vector<Index>(n, 0)));
  const auto& h = outcome.values.at("h").values;
  for (const double bucket : h)
    if (bucket != h[0]) return Finding::broken("equal tokens are in different buckets");
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"antipode", antipode},
          {"quarter_turn", quarter_turn},
          {"column_permutation", column_permutation},
          {"two_buckets", two_buckets},
          {"equal_tokens", equal_tokens}};
}

}  // namespace attest::properties::content::lsh_hash
