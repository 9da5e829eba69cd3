// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::adaptive::span_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// What a problem says of its pairs.
struct Pairs {
  Index n, s, span, shift;
  bool self;
  double ramp;
  const std::vector<double>& z;

  explicit Pairs(const Problem& problem)
      : n(problem.sizes.at("n")),
        s(problem.sizes.at("s")),
        span(std::get<Index>(*setting(problem, "span"))),
        shift(std::get<Index>(*setting(problem, "distance_shift"))),
        self(std::get<bool>(*setting(problem, "include_self"))),
        ramp(std::get<double>(*setting(problem, "ramp"))),
        z(problem.inputs.at("z").values) {}

  Index position(Index i) const { return i + s - n; }
  bool in_window(Index i, Index j) const {
    const Index back = position(i) - j;
    return back <= span && back >= (self ? 0 : 1);
  }
  double distance(Index i, Index j) const { return static_cast<double>(position(i) - j - shift); }
  bool seen(Index i, Index j) const {
    return in_window(i, j) && distance(i, j) < z[static_cast<std::size_t>(i)] + ramp;
  }
};

/// 0 <= m <= 1, 1 up to the span, 0 from the end of the ramp on, no larger for what lies further back; and no smaller
/// for a longer span.
inline Finding mask_shape(const Context& c) {
  Problem longer = c.problem;
  for (double& z : longer.inputs.at("z").values) z += 1;
  const Outcome outcome = c.evaluate(c.problem), other = c.evaluate(longer);
  if (!outcome.values.count("mask")) return Finding::not_applicable();
  const Pairs pairs(c.problem);
  const auto &m = outcome.values.at("mask").values, &more = other.values.at("mask").values;
  const auto &bound = outcome.bounds().at("mask").values, &more_bound = other.bounds().at("mask").values;
  for (Index i = 0; i < pairs.n; ++i)
    for (Index j = 0; j < pairs.s; ++j) {
      const auto at = static_cast<std::size_t>(i * pairs.s + j);
      const double z = pairs.z[static_cast<std::size_t>(i)], x = pairs.distance(i, j);
      const auto broken = [&](const char* what) {
        return Finding::broken("the mask of a key at distance " + std::to_string(x) + " is " + std::to_string(m[at]) +
                               " for a span of " + std::to_string(z) + ": " + what);
      };
      if (!(m[at] >= -bound[at] && m[at] <= 1 + bound[at])) return broken("outside of 0 .. 1");
      if (!pairs.in_window(i, j)) continue;
      if (x <= z && !(std::abs(m[at] - 1) <= bound[at])) return broken("it is nearer than the span");
      if (x >= z + pairs.ramp && m[at] != 0) return broken("it lies behind the ramp");
      if (j > 0 && pairs.in_window(i, j - 1) && !(m[at - 1] <= m[at] + bound[at] + bound[at - 1]))
        return broken("a key further back has a larger one");
      if (!(more[at] >= m[at] - bound[at] - more_bound[at])) return broken("a longer span makes it smaller");
    }
  return {};
}

/// Spans as long as the window: plain attention to it, whatever the ramp.
inline Finding full_span(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["eps"] = 0.0, problem.parameters["scale"] = 1.0;
  auto& z = problem.inputs.at("z").values;
  std::fill(z.begin(), z.end(), static_cast<double>(std::get<Index>(*setting(problem, "span"))));
  for (const char* name : {"q", "k"})
    problem.inputs.at(name) = golden::draw_array("integers -2 2", problem.inputs.at(name).shape, c.exact, c.seed, name);
  const Pairs pairs(problem);
  const auto &q = problem.inputs.at("q").values, &k = problem.inputs.at("k").values, &v = problem.inputs.at("v").values;
  const Index d = problem.sizes.at("d"), width = problem.sizes.at("m");
  const Outcome outcome = c.evaluate(problem);
  Array expected = outcome.values.at("o"), allowed = expected;
  for (Index i = 0; i < pairs.n; ++i) {
    std::vector<double> l(static_cast<std::size_t>(pairs.s));
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (Index j = 0; j < pairs.s; ++j)
      if (pairs.in_window(i, j)) {
        double& x = l[static_cast<std::size_t>(j)];
        for (Index a = 0; a < d; ++a)
          x += q[static_cast<std::size_t>(i * d + a)] * k[static_cast<std::size_t>(j * d + a)];
        most = std::max(most, x);
      }
    for (Index j = 0; j < pairs.s; ++j)
      if (pairs.in_window(i, j)) sum += std::exp(l[static_cast<std::size_t>(j)] - most);
    for (Index a = 0; a < width; ++a) {
      double o = 0, size = 0;
      for (Index j = 0; j < pairs.s; ++j)
        if (pairs.in_window(i, j)) {
          const double term =
              std::exp(l[static_cast<std::size_t>(j)] - most) / sum * v[static_cast<std::size_t>(j * width + a)];
          o += term, size += std::abs(term);
        }
      expected.values[static_cast<std::size_t>(i * width + a)] = o;
      allowed.values[static_cast<std::size_t>(i * width + a)] = 0x1p-40 * size;
    }
  }
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected, allowed,
                    "plain attention to the window");
}

/// Other keys and values where no query sees them: one key, and the queries that do not see it.
inline Finding unseen_irrelevant(const Context& c) {
  const Pairs pairs(c.problem);
  Problem plain = c.problem;
  plain.parameters["eps"] = 0.0;
  const Index key = laws::choose(c, 1, pairs.s);
  Problem changed = plain;
  for (const char* name : {"k", "v"}) {
    auto& array = changed.inputs.at(name);
    const Index width = array.shape[1];
    const Array fresh = laws::redrawn(c, name, 5);
    for (Index a = 0; a < width; ++a) {
      const auto at = static_cast<std::size_t>(key * width + a);
      array.values[at] = fresh.values[at];
    }
  }
  std::vector<Index> rows;
  for (Index i = 0; i < pairs.n; ++i)
    if (!pairs.seen(i, key)) rows.push_back(i);
  if (rows.empty()) return Finding::not_applicable();
  const auto& declared = c.problem.spec->outputs[0];
  const auto kept = [&](const Outcome& outcome, Arrays& bounds) {
    bounds = {{"o", laws::take(outcome.bounds().at("o"), declared, "n", rows)}};
    Outcome some;
    some.values["o"] = laws::take(outcome.values.at("o"), declared, "n", rows);
    some.bounds = [&]() -> const Arrays& { return bounds; };
    return some;
  };
  Arrays before, after;
  const Outcome a = c.evaluate(plain), b = c.evaluate(changed);
  return laws::identical(c, "o", kept(a, before), kept(b, after), "another key that the query does not see");
}

/// The same vector added to all keys: the logits of a query move by one number.
inline Finding logit_shift(const Context& c) {
  Problem plain = c.problem;
  plain.parameters["scale"] = 1.0;
  for (const char* name : {"q", "k"})
    plain.inputs.at(name) = golden::draw_array("integers -2 2", plain.inputs.at(name).shape, c.exact, c.seed, name);
  Problem shifted = plain;
  auto& k = shifted.inputs.at("k").values;
  const auto d = static_cast<std::size_t>(c.problem.sizes.at("d"));
  for (std::size_t i = 0; i < k.size(); ++i) k[i] += static_cast<double>(i % d % 3) - 1;
  const Outcome a = c.evaluate(plain), b = c.evaluate(shifted);
  return laws::same(c, "o", a.values.at("o"), a.bounds().at("o"), b.values.at("o"), b.bounds().at("o"),
                    "a vector added to all keys");
}

inline std::vector<laws::Property> properties() {
  return {{"mask_shape", mask_shape},
          {"full_span", full_span},
          {"unseen_irrelevant", unseen_irrelevant},
          {"logit_shift", logit_shift}};
}

}  // namespace attest::properties::adaptive::span_attention
