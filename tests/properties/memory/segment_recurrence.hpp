// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::memory::segment_recurrence {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Index segment_of(const Problem& problem) {
  const auto segment = setting(problem, "segment");
  return segment ? std::get<Index>(*segment) : problem.sizes.at("n");
}

/// o of two problems, of those tokens.
inline Finding same_outputs(const Context& c, const Problem& a, const Problem& b, const std::vector<Index>& tokens,
                            const char* what) {
  const Outcome x = c.evaluate(a), y = c.evaluate(b);
  const auto rows = [&](const Array& o) { return laws::take(o, *c.problem.spec->output("o"), "n", tokens); };
  return laws::same(c, "o", rows(x.values.at("o")), rows(x.bounds().at("o")), rows(y.values.at("o")),
                    rows(y.bounds().at("o")), what);
}

/// Without a memory the tokens of other segments are nothing to a segment.
inline Finding no_memory(const Context& c) {
  Problem alone = laws::take_rows(c.problem, "r", {});
  alone.sizes["c"] = 0;
  const Index n = alone.sizes.at("n"), segment = segment_of(alone);
  if (n <= segment) return Finding::not_applicable();
  const Index first = segment * laws::choose(c, 1, (n + segment - 1) / segment);
  std::vector<Index> tokens;
  for (Index i = first; i < std::min(first + segment, n); ++i) tokens.push_back(i);
  Problem changed = alone;
  const Array fresh = laws::redrawn(c, "h", 2);
  for (Index i = 0; i < fresh.size(); ++i)
    if (const Index token = i / fresh.shape[1]; token < first || token >= first + segment)
      changed.inputs.at("h").values[static_cast<std::size_t>(i)] = fresh.values[static_cast<std::size_t>(i)];
  return same_outputs(c, alone, changed, tokens, "changing every other segment");
}

/// A memory that keeps everything: the segments are nothing to the outputs.
inline Finding full_memory(const Context& c) {
  Problem segments = c.problem;
  const Index n = segments.sizes.at("n"), all = segments.sizes.at("r") + n;
  if (segment_of(segments) >= n || segments.sizes.at("p") < all + n) return Finding::not_applicable();
  segments.sizes["c"] = all;
  Problem whole = segments;
  whole.parameters.erase("segment");
  std::vector<Index> tokens(static_cast<std::size_t>(n));
  std::iota(tokens.begin(), tokens.end(), Index{0});
  return same_outputs(c, segments, whole, tokens, "one segment in place of several");
}

/// The first layer remembers the tokens themselves, after what it remembered before.
inline Finding memory_is_input_level(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const Index f = c.problem.sizes.at("f"), kept = c.problem.sizes.at("c");
  std::vector<double> all = c.problem.inputs.at("memory").values;
  all.resize(static_cast<std::size_t>(c.problem.sizes.at("r") * f));  // of the first layer
  const auto& h = c.problem.inputs.at("h").values;
  all.insert(all.end(), h.begin(), h.end());
  const auto first_layer = [&](const Array& memory) {
    Array first{{kept, f}, memory.values};
    first.values.resize(static_cast<std::size_t>(kept * f));
    return first;
  };
  const Array expected{{kept, f}, {all.end() - kept * f, all.end()}},
      none{{kept, f}, std::vector<double>(static_cast<std::size_t>(kept * f))};
  return laws::same(c, "memory", first_layer(outcome.values.at("memory")), first_layer(outcome.bounds().at("memory")),
                    expected, none, "the tokens in the memory of the first layer");
}

inline std::vector<laws::Property> properties() {
  return {{"no_memory", no_memory}, {"full_memory", full_memory}, {"memory_is_input_level", memory_is_input_level}};
}

}  // namespace attest::properties::memory::segment_recurrence
