// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::positional::shaw_relative {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Finding same_output(const Context& c, const Outcome& a, const Outcome& b, const std::string& what) {
  return laws::same(c, "o", a.values.at("o"), a.bounds().at("o"), b.values.at("o"), b.bounds().at("o"), what);
}

inline Index offset_of(const Problem& problem) {
  const auto given = setting(problem, "offset");
  return given ? std::get<Index>(*given) : problem.sizes.at("s") - problem.sizes.at("n");
}

/// Every row of a table becomes the first.
inline void repeat_first_row(Array& table) {
  for (std::size_t i = 0; i < table.values.size(); ++i)
    table.values[i] = table.values[i % static_cast<std::size_t>(table.shape[1])];
}

/// Tables of zeros leave attention.scaled_dot_product.
inline Finding zero_tables(const Context& c) {
  Problem zero = c.problem;
  for (const char* table : {"p_k", "p_v"})
    std::fill(zero.inputs.at(table).values.begin(), zero.inputs.at(table).values.end(), 0.0);
  Problem attention{&find_spec("attention.scaled_dot_product"), c.problem.sizes, {}, {}};
  attention.sizes.erase("t");
  if (const auto scale = setting(c.problem, "scale")) attention.parameters["scale"] = *scale;
  for (const char* name : {"q", "k", "v", "mask"})
    if (c.problem.inputs.count(name)) attention.inputs[name] = c.problem.inputs.at(name);
  const auto enclosure = golden::enclose(attention, "max_shift", 128);
  const Outcome outcome = c.evaluate(zero);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), enclosure.middle.at("o"),
                    enclosure.radius.at("o"), "plain attention");
}

/// When every key lies c or more ahead, it does not matter how much more.
inline Finding clipping(const Context& c) {
  Problem near = c.problem, far = c.problem;
  const Index beyond = -(c.problem.sizes.at("n") + (c.problem.sizes.at("t") - 1) / 2);
  near.parameters["offset"] = beyond;
  far.parameters["offset"] = beyond - 1 - laws::choose(c, 1, 5);
  return same_output(c, c.evaluate(far), c.evaluate(near), "keys farther ahead than every distance of the tables");
}

/// One token more in front, which nobody sees: every other query finds its keys at the same distances.
inline Finding toeplitz(const Context& c) {
  Problem moved = c.problem;
  const Index n = c.problem.sizes.at("n"), s = c.problem.sizes.at("s");
  moved.sizes["n"] = n + 1, moved.sizes["s"] = s + 1;
  for (const char* name : {"q", "k", "v"}) {
    auto& x = moved.inputs.at(name);
    x.shape[0] += 1;
    x.values.insert(x.values.begin(), static_cast<std::size_t>(x.shape[1]), 1.0);
  }
  Array mask{{n + 1, s + 1}, std::vector<double>(static_cast<std::size_t>((n + 1) * (s + 1)), 0.0)};
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < s; ++j)
      mask.values[static_cast<std::size_t>((i + 1) * (s + 1) + j + 1)] =
          c.problem.inputs.count("mask") ? c.problem.inputs.at("mask").values[static_cast<std::size_t>(i * s + j)] : 1;
  moved.inputs["mask"] = mask;
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(moved);
  std::vector<Index> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Index{1});
  const auto& o = c.problem.spec->outputs[0];
  return laws::same(c, "o", laws::take(other.values.at("o"), o, "n", rows),
                    laws::take(other.bounds().at("o"), o, "n", rows), plain.values.at("o"), plain.bounds().at("o"),
                    "a hidden token in front");
}

/// The same vector added to all keys moves all scores of a query alike.
inline Finding constant_key_table(const Context& c) {
  Problem equal = c.problem, zero = c.problem;
  repeat_first_row(equal.inputs.at("p_k"));
  std::fill(zero.inputs.at("p_k").values.begin(), zero.inputs.at("p_k").values.end(), 0.0);
  return same_output(c, c.evaluate(equal), c.evaluate(zero), "a table p_k of equal rows");
}

/// The same vector added to all values is added to the output of every query that sees something.
inline Finding constant_value_table(const Context& c) {
  Problem equal = c.problem, zero = c.problem;
  auto& table = equal.inputs.at("p_v");
  table = golden::draw_array("integers 1 4", table.shape, c.exact, c.seed, "property.p_v");
  repeat_first_row(table);
  std::fill(zero.inputs.at("p_v").values.begin(), zero.inputs.at("p_v").values.end(), 0.0);
  const Outcome with = c.evaluate(equal), without = c.evaluate(zero);
  Array expected = without.values.at("o"), allowed = without.bounds().at("o");
  const Index n = expected.shape[0], m = expected.shape[1], s = c.problem.sizes.at("s");
  for (Index i = 0; i < n; ++i) {
    bool sees = !c.problem.inputs.count("mask");
    for (Index j = 0; j < s && !sees; ++j)
      sees = c.problem.inputs.at("mask").values[static_cast<std::size_t>(i * s + j)] != 0;
    for (Index e = 0; e < m && sees; ++e) {
      double& o = expected.values[static_cast<std::size_t>(i * m + e)];
      o += table.values[static_cast<std::size_t>(e)];
      allowed.values[static_cast<std::size_t>(i * m + e)] += 0x1p-52 * std::abs(o);
    }
  }
  return laws::same(c, "o", with.values.at("o"), with.bounds().at("o"), expected, allowed, "a table p_v of equal rows");
}

/// Queries, keys and tables in reverse give the outputs in reverse.
inline Finding reversal(const Context& c) {
  Problem reversed = c.problem;
  const auto backwards = [&](const char* size) {
    std::vector<Index> order(static_cast<std::size_t>(c.problem.sizes.at(size)));
    std::iota(order.rbegin(), order.rend(), Index{0});
    return order;
  };
  for (const char* size : {"n", "s", "t"}) reversed = laws::take_rows(reversed, size, backwards(size));
  reversed.parameters["offset"] = c.problem.sizes.at("s") - c.problem.sizes.at("n") - offset_of(c.problem);
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(reversed);
  const auto& o = c.problem.spec->outputs[0];
  return laws::same(c, "o", other.values.at("o"), other.bounds().at("o"),
                    laws::take(plain.values.at("o"), o, "n", backwards("n")),
                    laws::take(plain.bounds().at("o"), o, "n", backwards("n")), "everything in reverse");
}

/// Tables that have a row for every distance, and the same with one more row at each end.
inline Finding wide_clip(const Context& c) {
  const Index reach = c.problem.sizes.at("n") + c.problem.sizes.at("s") + std::abs(offset_of(c.problem));
  Problem wide = c.problem, wider = c.problem;
  wide.sizes["t"] = 2 * reach + 1, wider.sizes["t"] = 2 * reach + 3;
  for (const char* name : {"p_k", "p_v"}) {
    const Index width = c.problem.inputs.at(name).shape[1];
    Array& table = wide.inputs.at(name) =
        golden::draw_array("integers -2 2", {2 * reach + 1, width}, c.exact, c.seed, std::string("property.") + name);
    Array& more = wider.inputs.at(name) = table;
    more.shape[0] += 2;
    more.values.insert(more.values.begin(), static_cast<std::size_t>(width), 3.0);
    more.values.insert(more.values.end(), static_cast<std::size_t>(width), -3.0);
  }
  return same_output(c, c.evaluate(wider), c.evaluate(wide), "rows for distances that do not occur");
}

inline std::vector<laws::Property> properties() {
  return {{"zero_tables", zero_tables},
          {"clipping", clipping},
          {"toeplitz", toeplitz},
          {"constant_key_table", constant_key_table},
          {"constant_value_table", constant_value_table},
          {"reversal", reversal},
          {"wide_clip", wide_clip}};
}

}  // namespace attest::properties::positional::shaw_relative
