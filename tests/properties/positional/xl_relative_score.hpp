// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::positional::xl_relative_score {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline void fill(Array& array, double value) { std::fill(array.values.begin(), array.values.end(), value); }

/// Rows from .. to - 1 and columns from `column` on, so that what two problems share can be compared.
inline Array block(const Array& x, Index from, Index to, Index column) {
  Array y{{to - from, x.shape[1] - column}, {}};
  for (Index i = from; i < to; ++i)
    for (Index j = column; j < x.shape[1]; ++j)
      y.values.push_back(x.values[static_cast<std::size_t>(i * x.shape[1] + j)]);
  return y;
}

/// Without u, v and w_r: positional.xl_expanded_score of tokens that have no positions, times the scale.
inline Finding content_only(const Context& c) {
  Problem content = c.problem;
  for (const char* name : {"u", "v", "w_r"}) fill(content.inputs.at(name), 0);
  content.parameters["scale"] = 1.0;
  const auto& in = content.inputs;
  Problem expanded{&find_spec("positional.xl_expanded_score"), c.problem.sizes, {}, {}};
  expanded.inputs = {{"x_q", in.at("x_q")}, {"p_q", in.at("x_q")}, {"x_k", in.at("x_k")},
                     {"p_k", in.at("x_k")}, {"w_q", in.at("w_q")}, {"w_k", in.at("w_e")}};
  fill(expanded.inputs.at("p_q"), 0), fill(expanded.inputs.at("p_k"), 0);
  auto enclosure = golden::enclose(expanded, "factored", 128);
  const Index n = c.problem.sizes.at("n"), s = c.problem.sizes.at("s");
  if (!in.count("r_ahead"))  // C2
    for (Index i = 0; i < n; ++i)
      for (Index j = i + s - n + 1; j < s; ++j)
        enclosure.middle.at("a").values[static_cast<std::size_t>(i * s + j)] =
            enclosure.radius.at("a").values[static_cast<std::size_t>(i * s + j)] = 0;
  const Outcome outcome = c.evaluate(content);
  return laws::same(c, "a", outcome.values.at("a"), outcome.bounds().at("a"), enclosure.middle.at("a"),
                    enclosure.radius.at("a"), "content alone");
}

/// Queries and keys moved by one place, a token in front of both: what was at (i, j) is at (i + 1, j + 1).
inline Finding translation(const Context& c) {
  Problem longer = c.problem;
  const Index n = longer.sizes.at("n")++, f = longer.sizes.at("f");
  longer.sizes.at("s") += 1;
  for (const char* name : {"x_q", "x_k", "r", "r_ahead"}) {
    if (!longer.inputs.count(name)) continue;
    auto& x = longer.inputs.at(name);
    x.shape[0] += 1;
    x.values.insert(name[0] == 'x' ? x.values.begin() : x.values.end(), static_cast<std::size_t>(f), 2.0);
  }
  const Outcome plain = c.evaluate(c.problem), moved = c.evaluate(longer);
  return laws::same(c, "a", block(moved.values.at("a"), 1, n + 1, 1), block(moved.bounds().at("a"), 1, n + 1, 1),
                    plain.values.at("a"), plain.bounds().at("a"), "all tokens moved by one place");
}

/// The first token of the segment belongs to the memory instead: the other rows stay.
inline Finding memory_offset(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  if (n < 2) return Finding::not_applicable();
  const Index cut = 1 + laws::choose(c, 1, n - 1);
  Problem segment = c.problem;
  auto& x = segment.inputs.at("x_q");
  segment.sizes["n"] = x.shape[0] = n - cut;
  x.values.erase(x.values.begin(), x.values.begin() + cut * x.shape[1]);
  const Outcome whole = c.evaluate(c.problem), part = c.evaluate(segment);
  return laws::same(c, "a", part.values.at("a"), part.bounds().at("a"), block(whole.values.at("a"), cut, n, 0),
                    block(whole.bounds().at("a"), cut, n, 0), "tokens moved from the segment to the memory");
}

/// The share of the bias of that name in the scores, and its bound: the scores with the bias minus those without.
inline std::pair<Array, Array> share(const Context& c, const char* bias) {
  Problem without = c.problem;
  fill(without.inputs.at(bias), 0);
  const Outcome all = c.evaluate(c.problem), rest = c.evaluate(without);
  Array difference = all.values.at("a"), allowed = all.bounds().at("a");
  for (std::size_t i = 0; i < difference.values.size(); ++i) {
    difference.values[i] -= rest.values.at("a").values[i];
    allowed.values[i] += rest.bounds().at("a").values[i] +
                         0x1p-52 * (std::abs(all.values.at("a").values[i]) + std::abs(rest.values.at("a").values[i]));
  }
  return {difference, allowed};
}

/// The share of row i + 1, column j + step, where row i has a score in column j.
inline Finding next_row_repeats(const Context& c, const char* bias, Index step, const std::string& what) {
  const Index n = c.problem.sizes.at("n"), s = c.problem.sizes.at("s");
  if (n < 2) return Finding::not_applicable();
  const auto [added, allowed] = share(c, bias);
  Array here{{0}, {}}, there{{0}, {}}, here_bound{{0}, {}}, there_bound{{0}, {}};
  for (Index i = 0; i + 1 < n; ++i)
    for (Index j = 0; j + step < s && (c.problem.inputs.count("r_ahead") || j <= i + s - n); ++j) {
      const auto at = static_cast<std::size_t>(i * s + j), next = static_cast<std::size_t>((i + 1) * s + j + step);
      here.values.push_back(added.values[at]), here_bound.values.push_back(allowed.values[at]);
      there.values.push_back(added.values[next]), there_bound.values.push_back(allowed.values[next]);
    }
  here.shape = there.shape = here_bound.shape = there_bound.shape = {static_cast<Index>(here.values.size())};
  return laws::same(c, "a", here, here_bound, there, there_bound, what);
}

/// u adds the same number to a key's scores for all queries.
inline Finding u_is_key_bias(const Context& c) { return next_row_repeats(c, "u", 0, "what u adds for two queries"); }

/// v adds the same number along a diagonal.
inline Finding v_is_toeplitz(const Context& c) { return next_row_repeats(c, "v", 1, "what v adds along a diagonal"); }

inline std::vector<laws::Property> properties() {
  return {{"content_only", content_only},
          {"translation", translation},
          {"u_is_key_bias", u_is_key_bias},
          {"v_is_toeplitz", v_is_toeplitz},
          {"memory_offset", memory_offset}};
}

}  // namespace attest::properties::positional::xl_relative_score
