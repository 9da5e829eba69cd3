// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::positional::sinusoidal {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double at(const Array& x, Index row, Index column) {
  return x.values[static_cast<std::size_t>(row * x.shape[1] + column)];
}

inline Index start_of(const Problem& problem) { return std::get<Index>(*setting(problem, "start")); }

/// Rows start .. start + n - 1 of the table: the equation on tokens of zeros.
inline Outcome table(const Context& c, Index n, Index start) {
  Problem bare = c.problem;
  const Index d = bare.sizes.at("d");
  bare.sizes.at("n") = n;
  bare.parameters["start"] = start;
  bare.inputs["x"] = {{n, d}, std::vector<double>(static_cast<std::size_t>(n * d))};
  return c.evaluate(bare);
}

/// The columns of pair m.
inline std::pair<Index, Index> pair_of(const Problem& problem, Index m) {
  const Index d = problem.sizes.at("d");
  return std::get<std::string>(*setting(problem, "layout")) == "half" ? std::pair(m, d - d / 2 + m)
                                                                      : std::pair(2 * m, 2 * m + 1);
}

/// f(value, bound) of the sine and of the cosine of every pair of every row, in arrays [n, 2 pairs].
template <class F>
Array each_pair(const Context& c, Index n, F&& f) {
  const Index pairs = c.problem.sizes.at("d") / 2;
  Array result{{n, 2 * pairs}, {}};
  for (Index i = 0; i < n; ++i)
    for (Index m = 0; m < pairs; ++m) {
      const auto [a, b] = pair_of(c.problem, m);
      const auto [first, second] = f(i, a, b);
      result.values.insert(result.values.end(), {first, second});
    }
  return result;
}

inline Finding pairs_have_length_one(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  const Outcome rows = table(c, n, start_of(c.problem));
  const Array &y = rows.values.at("y"), &bound = rows.bounds().at("y");
  const Array squares = each_pair(c, n, [&](Index i, Index a, Index b) {
    return std::pair(at(y, i, a) * at(y, i, a) + at(y, i, b) * at(y, i, b), 1.0);
  });
  const Array allowed = each_pair(c, n, [&](Index i, Index a, Index b) {
    const double e = at(bound, i, a) + at(bound, i, b);
    return std::pair(2 * e + e * e + 0x1p-48, 0.0);
  });
  Array one = squares, none = squares;
  std::fill(one.values.begin(), one.values.end(), 1.0);
  std::fill(none.values.begin(), none.values.end(), 0.0);
  return laws::same(c, "sin^2 + cos^2", squares, allowed, one, none, "the length of a pair");
}

/// P_p . P_s over whole pairs, and how far it may be off.
inline std::pair<Array, Array> products(const Context& c, const Outcome& rows) {
  const Array &y = rows.values.at("y"), &bound = rows.bounds().at("y");
  const Index n = y.shape[0];
  Array dots{{n, n}, {}}, allowed = dots;
  for (Index p = 0; p < n; ++p)
    for (Index s = 0; s < n; ++s) {
      double dot = 0, error = 0;
      for (Index m = 0; m < c.problem.sizes.at("d") / 2; ++m) {
        const auto [a, b] = pair_of(c.problem, m);
        for (const Index column : {a, b}) {
          const double e = at(bound, p, column), f = at(bound, s, column);
          dot += at(y, p, column) * at(y, s, column);
          error += e + f + e * f + 0x1p-46;
        }
      }
      dots.values.push_back(dot);
      allowed.values.push_back(error);
    }
  return {dots, allowed};
}

inline Finding products_depend_on_distance(const Context& c) {
  const Index n = c.problem.sizes.at("n"), start = start_of(c.problem), by = 1 + laws::choose(c, 1, 64);
  const auto [here, slack] = products(c, table(c, n, start));
  const auto [there, other_slack] = products(c, table(c, n, start + by));
  return laws::same(c, "P P^T", here, slack, there, other_slack, "positions moved by " + std::to_string(by));
}

/// sin and cos of p + k from those of p and of k: the same rotation for every row.
inline Finding shift_is_a_rotation(const Context& c) {
  const Index n = c.problem.sizes.at("n"), start = start_of(c.problem), k = 1 + laws::choose(c, 1, 64);
  const Outcome rows = table(c, n, start), later = table(c, n, start + k), turn = table(c, 1, k);
  const Array &y = rows.values.at("y"), &e = rows.bounds().at("y"), &r = turn.values.at("y"),
              &f = turn.bounds().at("y");
  const Array &z = later.values.at("y"), &g = later.bounds().at("y");
  const Array turned = each_pair(c, n, [&](Index i, Index a, Index b) {
    return std::pair(at(y, i, a) * at(r, 0, b) + at(y, i, b) * at(r, 0, a),
                     at(y, i, b) * at(r, 0, b) - at(y, i, a) * at(r, 0, a));
  });
  const Array allowed = each_pair(c, n, [&](Index i, Index a, Index b) {
    const double row = at(e, i, a) + at(e, i, b), step = at(f, 0, a) + at(f, 0, b),
                 both = row + step + row * step + 0x1p-48;
    return std::pair(both, both);
  });
  const Array direct = each_pair(c, n, [&](Index i, Index a, Index b) { return std::pair(at(z, i, a), at(z, i, b)); });
  const Array bound = each_pair(c, n, [&](Index i, Index a, Index b) { return std::pair(at(g, i, a), at(g, i, b)); });
  return laws::same(c, "P", direct, bound, turned, allowed, "rows turned by " + std::to_string(k) + " positions");
}

inline Finding parity(const Context& c) {
  const Index n = c.problem.sizes.at("n"), start = start_of(c.problem);
  const Outcome rows = table(c, n, start), mirrored = table(c, n, -(start + n - 1));
  const auto both = [&](const Array& x, bool forward, double sign) {
    return each_pair(c, n, [&, sign](Index i, Index a, Index b) {
      const Index row = forward ? i : n - 1 - i;
      return std::pair(sign * at(x, row, a), at(x, row, b));
    });
  };
  return laws::same(c, "P", both(rows.values.at("y"), true, 1), both(rows.bounds().at("y"), true, 1),
                    both(mirrored.values.at("y"), false, -1), both(mirrored.bounds().at("y"), false, 1),
                    "negated positions");
}

inline Finding entries_lie_in_range(const Context& c) {
  const Outcome rows = table(c, c.problem.sizes.at("n"), start_of(c.problem));
  const Array &y = rows.values.at("y"), &bound = rows.bounds().at("y");
  for (std::size_t i = 0; i < y.values.size(); ++i)
    if (!(std::abs(y.values[i]) <= 1 + bound.values[i]))
      return Finding::broken("an entry of the table lies outside [-1, 1]");
  return {};
}

/// A later start: the rows from there on.
inline Finding start_is_a_slice(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  if (n < 2) return Finding::not_applicable();
  const Index from = 1 + laws::choose(c, 1, n - 1);
  std::vector<Index> order(static_cast<std::size_t>(n - from));
  std::iota(order.begin(), order.end(), from);
  Problem rest = laws::take_rows(c.problem, "n", order);
  rest.parameters["start"] = start_of(c.problem) + from;
  const Outcome all = c.evaluate(c.problem), part = c.evaluate(rest);
  const auto& declared = c.problem.spec->outputs[0];
  return laws::same(
      c, "y", part.values.at("y"), part.bounds().at("y"), laws::take(all.values.at("y"), declared, "n", order),
      laws::take(all.bounds().at("y"), declared, "n", order), "started " + std::to_string(from) + " rows later");
}

/// The last pair turns once in base^(1 - 2/d) 2 pi positions, at the endpoint time scale once in base 2 pi.
inline Finding longest_wavelength(const Context& c) {
  const Index d = c.problem.sizes.at("d");
  if (d < 4 || d % 2 == 1) return Finding::not_applicable();
  const bool endpoint = std::get<std::string>(*setting(c.problem, "timescale")) == "endpoint";
  const double w =
      std::pow(std::get<double>(*setting(c.problem, "base")), endpoint ? -1 : 2.0 / static_cast<double>(d) - 1);
  const Outcome row = table(c, 1, 1);
  const auto [a, b] = pair_of(c.problem, d / 2 - 1);
  const auto last = [&, a = a, b = b](const Array& x) { return Array{{2}, {at(x, 0, a), at(x, 0, b)}}; };
  return laws::same(c, "P", last(row.values.at("y")), last(row.bounds().at("y")), {{2}, {std::sin(w), std::cos(w)}},
                    {{2}, {0x1p-46, 0x1p-46}}, "the slowest wave");
}

inline std::vector<laws::Property> properties() {
  return {
      {"pairs_have_length_one", pairs_have_length_one}, {"products_depend_on_distance", products_depend_on_distance},
      {"shift_is_a_rotation", shift_is_a_rotation},     {"parity", parity},
      {"entries_lie_in_range", entries_lie_in_range},   {"start_is_a_slice", start_is_a_slice},
      {"longest_wavelength", longest_wavelength}};
}

}  // namespace attest::properties::positional::sinusoidal
