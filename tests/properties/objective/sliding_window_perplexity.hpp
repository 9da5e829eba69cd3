// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::objective::sliding_window_perplexity {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Problem with(Problem problem, Index window, Index stride) {
  problem.parameters["window"] = window, problem.parameters["stride"] = stride;
  return problem;
}

inline Index length_of(const Problem& problem) { return problem.sizes.at("t"); }

/// The stride of the problem. A form may ask for 1.
inline Index stride_of(const Context& c) { return std::get<Index>(*setting(c.problem, "stride")); }

inline double nll_of(const Outcome& outcome) { return outcome.values.at("nll").values[0]; }
inline double error_of(const Outcome& outcome) { return outcome.bounds().at("nll").values[0]; }

/// `count` tokens of the text.
inline Problem some_tokens(const Problem& problem, Index first, Index count) {
  std::vector<Index> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  return laws::take_rows(problem, "t", rows);
}

/// Where logits are the same everywhere, a token costs what its class costs. One token of another class costs 1 more:
/// the mean says that it is counted once.
inline Finding each_once(const Context& c) {
  const Index v = c.problem.sizes.at("v"), tokens = length_of(c.problem);
  if (v < 2) return Finding::not_applicable();
  Problem flat = c.problem;
  for (const char* name : {"values", "start"}) {  // class 0 is likelier by a factor e
    auto& values = flat.inputs.at(name).values;
    std::fill(values.begin(), values.end(), 0.0);
    for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(v)) values[i] = 1;
  }
  const Index odd = laws::choose(c, 1, tokens);
  auto& text = flat.inputs.at("tokens").values;
  std::fill(text.begin(), text.end(), 0.0);
  text[static_cast<std::size_t>(odd)] = 1;
  const double z = std::log(std::exp(1.0) + static_cast<double>(v - 1)),
               expected = z - 1 + 1.0 / static_cast<double>(tokens);
  const Outcome outcome = c.evaluate(flat);
  return laws::same(c, "nll", outcome.values.at("nll"), outcome.bounds().at("nll"), {{}, {expected}},
                    {{}, {0x1p-46 * (1 + z)}}, "one token of another class");
}

/// A window of all tokens: moved on by whatever, and one of more tokens, give the same.
inline Finding full(const Context& c) {
  const Index tokens = length_of(c.problem), stride = stride_of(c);
  const Outcome exact = c.evaluate(with(c.problem, std::max(tokens, stride), stride)),
                more = c.evaluate(with(c.problem, tokens + stride + 5, stride));
  return laws::same(c, "nll", exact.values.at("nll"), exact.bounds().at("nll"), more.values.at("nll"),
                    more.bounds().at("nll"), "a window of all tokens");
}

/// s = w: the mean of the blocks on their own, of a text that they fill.
inline Finding block(const Context& c) {
  const Index w = stride_of(c), tokens = length_of(c.problem) / w * w;
  if (tokens == 0) return Finding::not_applicable();
  const Outcome whole = c.evaluate(with(some_tokens(c.problem, 0, tokens), w, w));
  double total = 0, error = 0;
  for (Index first = 0; first < tokens; first += w) {
    const Outcome one = c.evaluate(with(some_tokens(c.problem, first, w), w, w));
    total += nll_of(one) * static_cast<double>(w), error += error_of(one) * static_cast<double>(w);
  }
  const auto n = static_cast<double>(tokens);
  return laws::same(c, "nll", whole.values.at("nll"), whole.bounds().at("nll"), {{}, {total / n}},
                    {{}, {error / n + 0x1p-48 * std::abs(total)}}, "the mean of blocks");
}

/// Tokens that a later window scores depend on nothing that lies w or more before them, and on the w - s before them at
/// least: the last token's loss is the same when all but the last w tokens are cut off.
inline Finding context(const Context& c) {
  const Index tokens = length_of(c.problem), stride = stride_of(c), w = stride + 2;
  if (tokens <= w + stride) return Finding::not_applicable();
  // All tokens, less all but the last step, leaves what the last window scores; so does that window on its own less the
  // tokens that it only reads.
  const Index last = (tokens - w) % stride == 0 ? stride : (tokens - w) % stride;
  const auto sum = [&](const Problem& problem, double& error) {
    const Outcome outcome = c.evaluate(with(problem, w, stride));
    const auto n = static_cast<double>(length_of(problem));
    error += n * (error_of(outcome) + 0x1p-50 * std::abs(nll_of(outcome)));
    return n * nll_of(outcome);
  };
  double whole_error = 0, part_error = 0;
  const double whole = sum(c.problem, whole_error) - sum(some_tokens(c.problem, 0, tokens - last), whole_error);
  const Problem window = some_tokens(c.problem, tokens - w, w);
  const double part = sum(window, part_error) - sum(some_tokens(window, 0, w - last), part_error);
  return laws::same(c, "nll", {{}, {whole}}, {{}, {whole_error}}, {{}, {part}}, {{}, {part_error}},
                    "what the last window scores");
}

inline std::vector<laws::Property> properties() {
  return {{"each_once", each_once}, {"full", full}, {"block", block}, {"context", context}};
}

}  // namespace attest::properties::objective::sliding_window_perplexity
