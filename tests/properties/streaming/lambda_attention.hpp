// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "properties/streaming/window_attention.hpp"

namespace attest::properties::streaming::lambda_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;
using window_attention::agree;
using window_attention::moved_rows;
using window_attention::seen_of;
using window_attention::with_cache;

inline std::string position_of(const Problem& problem) { return std::get<std::string>(*setting(problem, "position")); }

/// Rows turned by positions 0, 1, ..
inline Array turned(const Problem& problem, const Array& x) {
  Problem rotary{&find_spec("positional.rotary"), {{"n", x.shape[0]}, {"d", x.shape[1]}}, {}, {{"x", x}}};
  if (const auto pairing = setting(problem, "pairing")) rotary.parameters["pairing"] = *pairing;
  Array positions{{x.shape[0]}, std::vector<double>(static_cast<std::size_t>(x.shape[0]))};
  std::iota(positions.values.begin(), positions.values.end(), 0.0);
  rotary.inputs["positions"] = positions;
  return golden::enclose(rotary, "pairs", 128).middle.at("y");
}

/// Causal attention of the call alone, with its positions, over enclosures; `bias` is added to the logits.
inline Finding is_causal_attention(const Context& c, const Problem& problem, const std::string& what,
                                   const std::optional<Array>& bias = {}) {
  const Index n = problem.sizes.at("n");
  Problem causal{&find_spec("attention.scaled_dot_product"), {}, {{"causal", true}}, {}};
  causal.sizes = {{"n", n}, {"s", n}, {"d", problem.sizes.at("d")}, {"m", problem.sizes.at("m")}};
  const bool rotary = position_of(problem) == "rotary";
  for (const char* name : {"q", "k", "v"})
    causal.inputs[name] = rotary && *name != 'v' ? turned(problem, problem.inputs.at(name)) : problem.inputs.at(name);
  if (const auto scale = setting(problem, "scale")) causal.parameters["scale"] = *scale;
  if (bias) causal.inputs["bias"] = *bias;
  const auto plain = golden::enclose(causal, "max_shift", 128);
  Array allowed = plain.radius.at("o");
  for (double& x : allowed.values) x += 0x1p-40;  // turned rows are the nearest doubles
  const Outcome outcome = c.evaluate(problem);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), plain.middle.at("o"), allowed, what);
}

/// -slope distance(i, j) in binary64: exact for a slope of 1/4.
template <class D>
Array biases(Index n, D&& distance) {
  Array bias{{n, n}, {}};
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) bias.values.push_back(-0.25 * static_cast<double>(distance(i, j)));
  return bias;
}

/// A stream of one call that a cache of n rows or more holds, whose first tokens are `first`.
inline Finding causal_where_all_fits(const Context& c, const Problem& from, Index rows) {
  Problem problem = with_cache(c, from, 0, rows);
  problem.inputs.at("slope").values[0] = 0.25;
  const auto far = [](Index i, Index j) { return std::max<Index>(0, i - j); };
  return is_causal_attention(
      c, problem, "a stream that is all seen",
      position_of(problem) == "alibi" ? std::optional(biases(problem.sizes.at("n"), far)) : std::nullopt);
}

/// Without first tokens and positions it is streaming.window_attention.
inline Finding without_sinks(const Context& c, const char* sinks) {
  Problem plain = c.problem;
  plain.parameters[sinks] = Index{0};
  plain.parameters["position"] = std::string("none");
  Problem window{&find_spec("streaming.window_attention"), plain.sizes, {}, plain.inputs};
  window.sizes["w"] = window.sizes.extract("c").mapped();
  window.inputs.erase("slope");
  for (const char* name : {"scale", "seen", "cache_order"})
    if (const auto set = setting(plain, name)) window.parameters[name] = *set;
  const auto expected = golden::enclose(window, "mask", 128);
  const Outcome outcome = c.evaluate(plain);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected.middle.at("o"),
                    expected.radius.at("o"), "no first tokens");
}

/// The same cache after 200 million tokens more: the window has gone round its ring many times.
inline Finding any_length_of(const Context& c, const char* sinks) {
  const Index rows = c.problem.sizes.at("c"), recent = rows - std::get<Index>(*setting(c.problem, sinks));
  const Index seen = rows + laws::choose(c, 1, 9);
  const Problem plain = with_cache(c, c.problem, seen, rows);
  Problem later = plain;
  later.parameters["seen"] = seen + 200000000 / recent * recent;
  return agree(c, c.evaluate(later), c.evaluate(plain), "200 million tokens more");
}

inline Index starts_of(const Problem& problem) { return std::get<Index>(*setting(problem, "starts")); }
inline Index ceiling_of(const Problem& problem) {
  const Index ceiling = std::get<Index>(*setting(problem, "ceiling"));
  return ceiling > 0 ? ceiling : problem.sizes.at("c") - starts_of(problem);
}

/// The window as long as the call, the ceiling out of reach.
inline Finding short_input(const Context& c) {
  Problem problem = c.problem;
  problem.parameters.erase("ceiling");
  return causal_where_all_fits(c, problem, starts_of(problem) + problem.sizes.at("n") + laws::choose(c, 1, 3));
}

/// All first tokens as far away as can be told.
inline Finding far_starts_exchangeable(const Context& c) {
  const Index rows = c.problem.sizes.at("c"), starts = starts_of(c.problem);
  if (starts < 2) return Finding::not_applicable();
  const Problem plain = with_cache(c, c.problem, rows + std::max(ceiling_of(c.problem), rows), rows);
  Problem permuted = plain;
  for (const char* name : {"cache_k", "cache_v"})
    permuted.inputs.at(name) =
        moved_rows(plain.inputs.at(name), [&](Index r) { return r < starts ? (r + 1) % starts : r; });
  return agree(c, c.evaluate(permuted), c.evaluate(plain), "first tokens in another order");
}

inline Finding middle_irrelevant(const Context& c) {
  const Index starts = starts_of(c.problem);
  return window_attention::unseen_irrelevant(c, starts, c.problem.sizes.at("c") - starts);
}

inline Finding zero_starts(const Context& c) { return without_sinks(c, "starts"); }

/// Every token is a first token.
inline Finding all_starts(const Context& c) {
  const Index n = c.problem.sizes.at("n"), ceiling = 1 + laws::choose(c, 1, 4);
  Problem problem = c.problem;
  problem.parameters["starts"] = n;
  problem.parameters["ceiling"] = ceiling;
  problem.parameters["position"] = std::string("alibi");
  problem = with_cache(c, problem, 0, n + 1 + laws::choose(c, 2, 3));
  problem.inputs.at("slope").values[0] = 0.25;
  return is_causal_attention(c, problem, "all tokens among the first",
                             biases(n, [&](Index i, Index j) { return std::clamp<Index>(i - j, 0, ceiling); }));
}

inline Finding any_length(const Context& c) { return any_length_of(c, "starts"); }

inline std::vector<laws::Property> properties() {
  return {{"short_input", short_input},
          {"far_starts_exchangeable", far_starts_exchangeable},
          {"middle_irrelevant", middle_irrelevant},
          {"zero_starts", zero_starts},
          {"all_starts", all_starts},
          {"any_length", any_length}};
}

}  // namespace attest::properties::streaming::lambda_attention
