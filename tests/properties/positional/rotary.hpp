// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "attest/judge/laws.hpp"

namespace attest::properties::positional::rotary {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double at(const Array& x, Index row, Index column) {
  return x.values[static_cast<std::size_t>(row * x.shape[1] + column)];
}

/// Columns that are turned.
inline Index width(const Problem& problem) {
  const Index width = std::get<Index>(*setting(problem, "rotary_width"));
  return width == 0 ? problem.sizes.at("d") : width;
}

/// The two columns of pair m.
inline std::pair<Index, Index> pair_of(const Problem& problem, Index m) {
  const bool half = std::get<std::string>(*setting(problem, "pairing")) == "half";
  return half ? std::pair(m, m + width(problem) / 2) : std::pair(2 * m, 2 * m + 1);
}

/// YaRN makes rows longer as well.
inline bool turns_only(const Problem& problem) { return std::get<std::string>(*setting(problem, "scaling")) != "yarn"; }

/// A rotation keeps the length of every pair.
inline Finding keeps_the_length_of_every_pair(const Context& c) {
  if (!turns_only(c.problem)) return Finding::not_applicable();
  const Outcome outcome = c.evaluate(c.problem);
  const Array &x = c.problem.inputs.at("x"), &y = outcome.values.at("y"), &bound = outcome.bounds().at("y");
  Array before{{0}, {}}, after{{0}, {}}, allowed{{0}, {}};
  for (Index i = 0; i < x.shape[0]; ++i)
    for (Index m = 0; m < width(c.problem) / 2; ++m) {
      const auto [a, b] = pair_of(c.problem, m);
      before.values.push_back(at(x, i, a) * at(x, i, a) + at(x, i, b) * at(x, i, b));
      after.values.push_back(at(y, i, a) * at(y, i, a) + at(y, i, b) * at(y, i, b));
      const double e = at(bound, i, a) + at(bound, i, b), size = std::sqrt(before.values.back());
      allowed.values.push_back(2 * size * e + e * e + 0x1p-50 * before.values.back());
    }
  Array zero = before;
  std::fill(zero.values.begin(), zero.values.end(), 0.0);
  return laws::same(c, "|y|^2", after, allowed, before, zero, "the length of a pair");
}

/// (R_p q) . (R_s k) depends on s - p only: moving all positions by one number leaves every product of two rows.
inline Finding products_depend_on_distance(const Context& c) {
  Problem moved = c.problem;
  const double by = static_cast<double>(laws::choose(c, 1, 64));
  for (double& p : moved.inputs.at("positions").values) p += by;
  const Outcome here = c.evaluate(c.problem), there = c.evaluate(moved);
  const Index n = c.problem.sizes.at("n"), d = c.problem.sizes.at("d");
  const auto products = [&](const Outcome& outcome, Array& allowed) {
    const Array &y = outcome.values.at("y"), &bound = outcome.bounds().at("y");
    Array dots{{n, n}, {}};
    allowed = dots;
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        double dot = 0, error = 0;
        for (Index a = 0; a < d; ++a) {
          const double p = at(y, i, a), q = at(y, j, a), e = at(bound, i, a), f = at(bound, j, a);
          dot += p * q;
          error += std::abs(p) * f + std::abs(q) * e + e * f + 0x1p-46 * std::abs(p * q);
        }
        dots.values.push_back(dot);
        allowed.values.push_back(error);
      }
    return dots;
  };
  Array first, second;
  const Array a = products(here, first), b = products(there, second);
  return laws::same(c, "y y^T", a, first, b, second, "positions moved by " + std::to_string(static_cast<int>(by)));
}

/// Position 0 leaves every bit.
inline Finding position_zero_is_the_identity(const Context& c) {
  if (!turns_only(c.problem)) return Finding::not_applicable();
  Problem zero = c.problem;
  for (double& p : zero.inputs.at("positions").values) p = 0;
  const Outcome outcome = c.evaluate(zero);
  const Array &x = c.problem.inputs.at("x"), &y = outcome.values.at("y");
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double slack = c.bitwise ? 0 : outcome.bounds().at("y").values[i];
    if (!(std::abs(x.values[i] - y.values[i]) <= slack))
      return Finding::broken("position 0 changed y[" + std::to_string(i) + "]");
  }
  return {};
}

/// Columns behind the rotated part keep every bit; the part is at least two pairs, as ntk wants it.
inline Finding the_rest_passes(const Context& c) {
  const Index d = c.problem.sizes.at("d");
  if (d < 6) return Finding::not_applicable();
  Problem part = c.problem;
  const Index first = 4 + 2 * laws::choose(c, 1, d / 2 - 2);
  part.parameters["rotary_width"] = first;
  const Outcome outcome = c.evaluate(part);
  const Array &x = part.inputs.at("x"), &y = outcome.values.at("y");
  for (Index i = 0; i < x.shape[0]; ++i)
    for (Index a = first; a < x.shape[1]; ++a)
      if (!(std::abs(at(x, i, a) - at(y, i, a)) <= (c.bitwise ? 0 : at(outcome.bounds().at("y"), i, a))))
        return Finding::broken("y(" + std::to_string(i) + ", " + std::to_string(a) + ") is not x");
  return {};
}

/// Compares outputs that are rotated again, at the positions second(p), with `expected`, which also sets the bound. The
/// error of the first rotation stays in its pair: a rotation keeps lengths.
inline Finding turned_again(const Context& c, const std::function<double(double)>& second,
                            const std::function<Array(Array&)>& expected, const std::string& what) {
  const Outcome once = c.evaluate(c.problem);
  Problem again = c.problem;
  again.inputs.at("x") = once.values.at("y");
  for (double& p : again.inputs.at("positions").values) p = second(p);
  const Outcome twice = c.evaluate(again);
  Array allowed = twice.bounds().at("y");
  const Array& first = once.bounds().at("y");
  for (Index i = 0; i < first.shape[0]; ++i)
    for (Index m = 0; m < width(c.problem) / 2; ++m) {
      const auto [a, b] = pair_of(c.problem, m);
      const double e = at(first, i, a) + at(first, i, b);
      for (const Index column : {a, b}) allowed.values[static_cast<std::size_t>(i * first.shape[1] + column)] += e;
    }
  Array bound;
  const Array right = expected(bound);
  return laws::same(c, "y", twice.values.at("y"), allowed, right, bound, what);
}

/// R_a R_b = R_(a+b)
inline Finding composition(const Context& c) {
  if (!turns_only(c.problem)) return Finding::not_applicable();
  const double by = static_cast<double>(laws::choose(c, 1, 64)) - 32;
  return turned_again(
      c, [by](double) { return by; },
      [&](Array& bound) {
        Problem sum = c.problem;
        for (double& p : sum.inputs.at("positions").values) p += by;
        const Outcome outcome = c.evaluate(sum);
        bound = outcome.bounds().at("y");
        return outcome.values.at("y");
      },
      "turned again by " + std::to_string(static_cast<int>(by)));
}

/// R_(-p) turns back.
inline Finding inverse(const Context& c) {
  if (!turns_only(c.problem)) return Finding::not_applicable();
  return turned_again(
      c, [](double p) { return -p; },
      [&](Array& bound) {
        Array x = c.problem.inputs.at("x");
        bound = {x.shape, std::vector<double>(x.values.size())};
        return x;
      },
      "turned back");
}

/// Half-split pairs are interleaved pairs with the columns in another order.
inline Finding pairings_agree(const Context& c) {
  const bool half = std::get<std::string>(*setting(c.problem, "pairing")) == "half";
  const Index d = c.problem.sizes.at("d");
  Problem other = c.problem;
  other.parameters["pairing"] = std::string(half ? "interleaved" : "half");
  std::vector<Index> order(
      static_cast<std::size_t>(d));  // column t of the other problem is column order[t] of this one
  std::iota(order.begin(), order.end(), Index{0});
  for (Index m = 0; m < width(c.problem) / 2; ++m) {
    const auto [a, b] = pair_of(c.problem, m);
    const auto [e, f] = pair_of(other, m);
    order[static_cast<std::size_t>(e)] = a, order[static_cast<std::size_t>(f)] = b;
  }
  other.inputs.at("x") = laws::take(c.problem.inputs.at("x"), *c.problem.spec->input("x"), "d", order);
  const Outcome plain = c.evaluate(c.problem), permuted = c.evaluate(other);
  const auto moved = [&](const Array& y) { return laws::take(y, *c.problem.spec->output("y"), "d", order); };
  return laws::same(c, "y", permuted.values.at("y"), permuted.bounds().at("y"), moved(plain.values.at("y")),
                    moved(plain.bounds().at("y")), "the other pairing");
}

/// Every pair is turned by a matrix of determinant 1: (1, 0) becomes (cos, sin) and (0, 1) becomes (-sin, cos).
inline Finding determinant(const Context& c) {
  if (!turns_only(c.problem)) return Finding::not_applicable();
  const auto axis = [&](bool second) {
    Problem unit = c.problem;
    Array& x = unit.inputs.at("x");
    std::fill(x.values.begin(), x.values.end(), 0.0);
    for (Index i = 0; i < x.shape[0]; ++i)
      for (Index m = 0; m < width(c.problem) / 2; ++m) {
        const auto [a, b] = pair_of(unit, m);
        x.values[static_cast<std::size_t>(i * x.shape[1] + (second ? b : a))] = 1;
      }
    return c.evaluate(unit);
  };
  const Outcome first = axis(false), second = axis(true);
  const Array &u = first.values.at("y"), &e = first.bounds().at("y"), &w = second.values.at("y"),
              &f = second.bounds().at("y");
  Array got{{u.shape[0] * width(c.problem) / 2}, {}}, allowed = got, one = got, none = got;
  for (Index i = 0; i < u.shape[0]; ++i)
    for (Index m = 0; m < width(c.problem) / 2; ++m) {
      const auto [a, b] = pair_of(c.problem, m);
      got.values.push_back(at(u, i, a) * at(w, i, b) - at(u, i, b) * at(w, i, a));
      allowed.values.push_back(2 * (at(e, i, a) + at(e, i, b) + at(f, i, a) + at(f, i, b)) + 0x1p-50);
      one.values.push_back(1), none.values.push_back(0);
    }
  return laws::same(c, "det R", got, allowed, one, none, "the determinant of a pair");
}

/// No score of two turned rows exceeds the product of their lengths, at any distance.
inline Finding bounded_logit(const Context& c) {
  if (!turns_only(c.problem)) return Finding::not_applicable();
  Problem far = c.problem;
  const double step = static_cast<double>(1 + laws::choose(c, 1, 100000));
  for (std::size_t i = 0; i < far.inputs.at("positions").values.size(); ++i)
    far.inputs.at("positions").values[i] = static_cast<double>(i) * step;
  const Outcome outcome = c.evaluate(far);
  const Array &x = far.inputs.at("x"), &y = outcome.values.at("y"), &bound = outcome.bounds().at("y");
  const Index d = x.shape[1];
  for (Index i = 0; i < x.shape[0]; ++i)
    for (Index j = 0; j < x.shape[0]; ++j) {
      double score = 0, error = 0, p = 0, q = 0;
      for (Index a = 0; a < d; ++a) {
        const double s = at(y, i, a), t = at(y, j, a), e = at(bound, i, a), f = at(bound, j, a);
        score += s * t, error += std::abs(s) * f + std::abs(t) * e + e * f + 0x1p-46 * std::abs(s * t);
        p += at(x, i, a) * at(x, i, a), q += at(x, j, a) * at(x, j, a);
      }
      if (!(std::abs(score) <= std::sqrt(p * q) * (1 + 0x1p-46) + error))
        return Finding::broken("a score of " + std::to_string(score) + " exceeds the product of the lengths, " +
                               std::to_string(std::sqrt(p * q)));
    }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"keeps_the_length_of_every_pair", keeps_the_length_of_every_pair},
          {"products_depend_on_distance", products_depend_on_distance},
          {"position_zero_is_the_identity", position_zero_is_the_identity},
          {"the_rest_passes", the_rest_passes},
          {"composition", composition},
          {"inverse", inverse},
          {"pairings_agree", pairings_agree},
          {"determinant", determinant},
          {"bounded_logit", bounded_logit}};
}

}  // namespace attest::properties::positional::rotary
