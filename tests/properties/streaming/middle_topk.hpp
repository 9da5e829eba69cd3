// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "attest/judge/laws.hpp"

namespace attest::properties::streaming::middle_topk {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Index number(const Problem& problem, const char* name) { return std::get<Index>(*setting(problem, name)); }

/// The problem with as many queries as keys, drawn anew.
inline Problem square(const Context& c) {
  Problem problem = c.problem;
  Array& q = problem.inputs.at("q");
  const Index s = problem.sizes["n"] = problem.sizes.at("s");
  q = golden::draw_array("normal", {q.shape[0], s, q.shape[2]}, c.exact, c.seed, "property.q");
  return problem;
}

/// The rows of one head.
inline Array head(const Array& x, Index h) {
  const std::vector<Index> shape(x.shape.begin() + 1, x.shape.end());
  const auto size = count(shape);
  return {shape, {x.values.begin() + h * size, x.values.begin() + (h + 1) * size}};
}

/// Each head of o is what `expected(h)` encloses.
template <class F>
Finding heads_agree(const Context& c, const Problem& problem, const std::string& what, F&& expected) {
  const Outcome outcome = c.evaluate(problem);
  for (Index h = 0; h < problem.sizes.at("heads"); ++h) {
    const golden::Enclosure plain = expected(h);
    const auto finding = laws::same(c, "o", head(outcome.values.at("o"), h), head(outcome.bounds().at("o"), h),
                                    plain.middle.at("o"), plain.radius.at("o"), what);
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

inline Finding k_zero(const Context& c) {
  Problem none = square(c);
  none.parameters["top"] = Index{0};
  const Index starts = number(none, "starts"), rows = starts + number(none, "window"), d = none.sizes.at("d"),
              m = none.sizes.at("m");
  return heads_agree(c, none, "top = 0", [&](Index h) {
    Problem lambda{&find_spec("streaming.lambda_attention"), {}, {{"starts", starts}}, {}};
    lambda.sizes = {{"n", none.sizes.at("n")}, {"c", rows}, {"d", d}, {"m", m}};
    for (const char* name : {"ceiling", "position", "pairing", "scale"})
      if (const auto set = setting(none, name)) lambda.parameters[name] = *set;
    for (const char* name : {"q", "k", "v"}) lambda.inputs[name] = head(none.inputs.at(name), h);
    lambda.inputs["slope"] = head(none.inputs.at("slopes"), h);
    lambda.inputs["cache_k"] = golden::draw_array("zeros", {rows, d}, c.exact, c.seed, "property.cache_k");
    lambda.inputs["cache_v"] = golden::draw_array("zeros", {rows, m}, c.exact, c.seed, "property.cache_v");
    return golden::enclose(lambda, "mask", 128);
  });
}

inline Finding k_all(const Context& c) {
  Problem all = c.problem;
  const Index s = all.sizes.at("s");
  all.parameters["top"] = s;
  all.parameters["short_middle"] = std::string("all");
  all.parameters["position"] = std::string("none");
  return heads_agree(c, all, "a top that covers the middle", [&](Index h) {
    Problem causal{&find_spec("attention.scaled_dot_product"), {}, {{"causal", true}}, {}};
    causal.sizes = {{"n", all.sizes.at("n")}, {"s", s}, {"d", all.sizes.at("d")}, {"m", all.sizes.at("m")}};
    for (const char* name : {"q", "k", "v"}) causal.inputs[name] = head(all.inputs.at(name), h);
    if (const auto scale = setting(all, "scale")) causal.parameters["scale"] = *scale;
    return golden::enclose(causal, "max_shift", 128);
  });
}

inline double scale_of(const Problem& one) {
  const auto set = setting(one, "scale");
  return set ? std::get<double>(*set) : 1 / std::sqrt(static_cast<double>(one.sizes.at("d")));
}

/// q . k_j of a head, and the numbers of the middle keys from the largest product to the smallest.
struct Scores {
  std::vector<double> products;
  std::vector<std::size_t> order;

  Scores(const Problem& one, Index h) {
    const Index s = one.sizes.at("s"), d = one.sizes.at("d");
    const auto &q = one.inputs.at("q").values, &k = one.inputs.at("k").values;
    for (Index j = 0; j < s; ++j) {
      double product = 0;
      for (Index a = 0; a < d; ++a)
        product += q[static_cast<std::size_t>(h * d + a)] * k[static_cast<std::size_t>((h * s + j) * d + a)];
      products.push_back(product);
    }
    for (Index j = number(one, "starts"); j < s - number(one, "window"); ++j)
      order.push_back(static_cast<std::size_t>(j));
    const double sign = scale_of(one) < 0 ? -1 : 1;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return sign * products[a] > sign * products[b]; });
  }
};

/// The last query alone, on small integers without positions, so that products are exact; nothing where its middle has
/// no more than `top` tokens, none is taken, or two are equal at the border of what is taken.
inline std::optional<Problem> last_query(const Context& c) {
  Problem one = c.problem;
  const Index middle = one.sizes.at("s") - number(one, "starts") - number(one, "window"), top = number(one, "top");
  if (middle <= top || top < 1) return {};
  one.sizes["n"] = 1;
  one.parameters["position"] = std::string("none");
  for (const char* name : {"q", "k"}) {
    Array& x = one.inputs.at(name);
    std::vector<Index> shape = x.shape;
    if (*name == 'q') shape[1] = 1;
    x = golden::draw_array("integers -3 3", shape, c.exact, c.seed, std::string("property.") + name);
  }
  for (Index h = 0; h < one.sizes.at("heads"); ++h) {
    const Scores scores(one, h);
    if (scores.products[scores.order[static_cast<std::size_t>(top - 1)]] ==
        scores.products[scores.order[static_cast<std::size_t>(top)]])
      return {};
  }
  return scale_of(one) == 0 ? std::nullopt : std::optional(one);
}

/// Keys and values of the middle backwards.
inline Finding middle_exchangeable(const Context& c) {
  const auto plain = last_query(c);
  if (!plain) return Finding::not_applicable();
  std::vector<Index> order(static_cast<std::size_t>(plain->sizes.at("s")));
  std::iota(order.begin(), order.end(), Index{0});
  std::reverse(order.begin() + number(*plain, "starts"), order.end() - number(*plain, "window"));
  return laws::agree(c, "o", laws::take_rows(*plain, "s", order), *plain, "the middle backwards");
}

/// The key with the smallest product among those of the middle that are left out, moved farther from the query.
inline Finding unselected_irrelevant(const Context& c) {
  const auto plain = last_query(c);
  if (!plain) return Finding::not_applicable();
  Problem lower = *plain;
  const Index s = plain->sizes.at("s"), d = plain->sizes.at("d");
  for (Index h = 0; h < plain->sizes.at("heads"); ++h) {
    const Scores scores(*plain, h);
    const auto last = scores.order.back();
    const double away = scale_of(*plain) < 0 ? 1 : -1;
    for (Index a = 0; a < d; ++a)
      lower.inputs.at("k").values[static_cast<std::size_t>((h * s + static_cast<Index>(last)) * d + a)] +=
          away * plain->inputs.at("q").values[static_cast<std::size_t>(h * d + a)];
  }
  return laws::agree(c, "o", lower, *plain, "a lower logit of a key that is not selected");
}

/// Attention by plain loops to first tokens, last tokens and those of the largest products.
inline Finding selected_dominate(const Context& c) {
  const auto one = last_query(c);
  if (!one) return Finding::not_applicable();
  const Index s = one->sizes.at("s"), m = one->sizes.at("m"), starts = number(*one, "starts"),
              window = number(*one, "window");
  const auto top = static_cast<std::size_t>(number(*one, "top"));
  const double scale = scale_of(*one);
  const Outcome outcome = c.evaluate(*one);
  Array expected = outcome.values.at("o"), allowed = expected;
  for (Index h = 0; h < one->sizes.at("heads"); ++h) {
    const Scores scores(*one, h);
    std::vector<std::size_t> seen(scores.order.begin(), scores.order.begin() + static_cast<std::ptrdiff_t>(top));
    for (Index j = 0; j < s; ++j)
      if (j < starts || j >= s - window) seen.push_back(static_cast<std::size_t>(j));
    double most = -INFINITY;
    for (const auto j : seen) most = std::max(most, scale * scores.products[j]);
    for (Index e = 0; e < m; ++e) {
      double total = 0, weights = 0, size = 0;
      for (const auto j : seen) {
        const double weight = std::exp(scale * scores.products[j] - most),
                     x = one->inputs.at("v").values[static_cast<std::size_t>((h * s + static_cast<Index>(j)) * m + e)];
        total += weight * x, weights += weight, size = std::max(size, std::abs(x));
      }
      expected.values[static_cast<std::size_t>(h * m + e)] = total / weights;
      allowed.values[static_cast<std::size_t>(h * m + e)] = 0x1p-44 * size;
    }
  }
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected, allowed,
                    "the tokens of the largest products");
}

inline std::vector<laws::Property> properties() {
  return {{"k_zero", k_zero},
          {"k_all", k_all},
          {"middle_exchangeable", middle_exchangeable},
          {"unselected_irrelevant", unselected_irrelevant},
          {"selected_dominate", selected_dominate}};
}

}  // namespace attest::properties::streaming::middle_topk
