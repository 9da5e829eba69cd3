// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::streaming::window_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Index seen_of(const Problem& problem) { return std::get<Index>(*setting(problem, "seen")); }

/// The problem after `seen` tokens, with caches of so many rows drawn anew.
inline Problem with_cache(const Context& c, const Problem& from, Index seen, Index rows) {
  Problem problem = from;
  problem.parameters["seen"] = seen;
  for (const char* name : {"cache_k", "cache_v"}) {
    Array& x = problem.inputs.at(name);
    problem.sizes[problem.spec->input(name)->shape[0]] = rows;
    x = golden::draw_array("normal", {rows, x.shape[1]}, c.exact, c.seed, std::string("property.") + name);
  }
  return problem;
}

/// The row of a cache of the first `sinks` tokens and the last `recent` that holds the token at position p.
inline Index row_in_cache(const Problem& problem, Index p, Index sinks, Index recent) {
  const bool ring = std::get<std::string>(*setting(problem, "cache_order")) == "ring";
  if (p < sinks) return p;
  return ring ? sinks + (p - sinks) % recent : p - std::max<Index>(0, seen_of(problem) - sinks - recent);
}

/// Rows first .. of the output o.
inline Outcome rows_of_o(const Context& c, const Outcome& outcome, Index first, Index count) {
  std::vector<Index> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  const auto some = [&c, rows](const Array& o) { return laws::take(o, *c.problem.spec->output("o"), "n", rows); };
  Outcome part;
  part.values["o"] = some(outcome.values.at("o"));
  part.bounds = [some, all = outcome.bounds, bounds = Arrays()]() mutable -> const Arrays& {
    bounds["o"] = some(all().at("o"));
    return bounds;
  };
  return part;
}

/// The same rows of o from both.
inline Finding agree(const Context& c, const Outcome& a, const Outcome& b, const std::string& what) {
  return laws::same(c, "o", a.values.at("o"), a.bounds().at("o"), b.values.at("o"), b.bounds().at("o"), what);
}

/// Rows of an array moved: row r goes to row to(r).
template <class F>
Array moved_rows(const Array& x, F&& to) {
  Array moved = x;
  const Index width = x.shape[1];
  for (Index r = 0; r < x.shape[0]; ++r)
    std::copy_n(x.values.begin() + r * width, width, moved.values.begin() + to(r) * width);
  return moved;
}

/// Attention.scaled_dot_product of the call alone, causal, over enclosures.
inline Finding full_limit(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  const Problem wide = with_cache(c, c.problem, 0, n + laws::choose(c, 1, 3));
  Problem causal{&find_spec("attention.scaled_dot_product"), {}, {{"causal", true}}, {}};
  causal.sizes = {{"n", n}, {"s", n}, {"d", wide.sizes.at("d")}, {"m", wide.sizes.at("m")}};
  for (const char* name : {"q", "k", "v"}) causal.inputs[name] = wide.inputs.at(name);
  if (const auto scale = setting(wide, "scale")) causal.parameters["scale"] = *scale;
  const auto plain = golden::enclose(causal, "max_shift", 128);
  const Outcome outcome = c.evaluate(wide);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), plain.middle.at("o"),
                    plain.radius.at("o"), "a window as long as the sequence");
}

/// A window of one token: o = v, of numbers that no format of operands rounds.
inline Finding unit_window(const Context& c) {
  const Problem problem = with_cache(c, laws::with_drawn(c, {"v"}, "integers -9 9"), seen_of(c.problem), 1);
  const Outcome outcome = c.evaluate(problem);
  Outcome expected;
  expected.values["o"] = problem.inputs.at("v");
  expected.bounds = outcome.bounds;
  return laws::identical(c, "o", outcome, expected, "a window of one token");
}

/// Whatever a query does not see of the tokens before it leaves its row: it sees the first `sinks` and the last
/// `recent`.
inline Finding unseen_irrelevant(const Context& c, Index sinks, Index recent) {
  const Index seen = seen_of(c.problem), row = laws::choose(c, 1, c.problem.sizes.at("n")), last = seen + row - recent;
  if (last < sinks) return Finding::not_applicable();
  Problem changed = c.problem;
  const auto redraw = [&](const char* name, Index from) {
    auto& x = changed.inputs.at(name);
    const Index width = x.shape[1];
    const Array fresh = laws::redrawn(c, name, 2);
    std::copy_n(fresh.values.begin() + from * width, width, x.values.begin() + from * width);
  };
  for (Index p = std::max(sinks, seen - recent); p <= last; ++p)
    for (const char* name : {"k", "v"}) {
      if (p >= seen)
        redraw(name, p - seen);
      else
        redraw(name == std::string("k") ? "cache_k" : "cache_v", row_in_cache(c.problem, p, sinks, recent));
    }
  return laws::identical(c, "o", rows_of_o(c, c.evaluate(c.problem), row, 1), rows_of_o(c, c.evaluate(changed), row, 1),
                         "changing tokens that query " + std::to_string(row) + " does not see");
}

inline Finding locality(const Context& c) { return unseen_irrelevant(c, 0, c.problem.sizes.at("w")); }

/// w tokens before the sequence: the same rows from the w-th on.
inline Finding shift(const Context& c) {
  const Index n = c.problem.sizes.at("n"), w = c.problem.sizes.at("w");
  if (n < w) return Finding::not_applicable();
  const Outcome plain = c.evaluate(with_cache(c, c.problem, 0, w)), later = c.evaluate(with_cache(c, c.problem, w, w));
  return agree(c, rows_of_o(c, later, w - 1, n - w + 1), rows_of_o(c, plain, w - 1, n - w + 1),
               "tokens before the sequence");
}

/// A full cache that begins in another row of its ring, and one in order.
inline Finding cache_order(const Context& c) {
  const Index w = c.problem.sizes.at("w"), seen = w * (1 + laws::choose(c, 1, 3)), turn = laws::choose(c, 2, w);
  Problem plain = with_cache(c, c.problem, seen, w), turned = plain, ordered = plain;
  plain.parameters["cache_order"] = turned.parameters["cache_order"] = std::string("ring");
  ordered.parameters["cache_order"] = std::string("oldest_first");  // position `seen` - w lies in row 0 of either
  turned.parameters["seen"] = seen + turn;
  for (const char* name : {"cache_k", "cache_v"})
    turned.inputs.at(name) = moved_rows(plain.inputs.at(name), [&](Index r) { return (r + turn) % w; });
  const Outcome outcome = c.evaluate(plain);
  const auto finding = agree(c, c.evaluate(turned), outcome, "a ring that begins elsewhere");
  return finding.kind == Finding::Kind::broken
             ? finding
             : agree(c, c.evaluate(ordered), outcome, "a cache in order of its tokens");
}

inline std::vector<laws::Property> properties() {
  return {{"full_limit", full_limit},
          {"unit_window", unit_window},
          {"locality", locality},
          {"shift", shift},
          {"cache_order", cache_order}};
}

}  // namespace attest::properties::streaming::window_attention
