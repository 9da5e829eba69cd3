// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::positional::distance_aware {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double scalar(const Context& c, const char* name) { return c.problem.inputs.at(name).values[0]; }

/// f and its bounds where the kernel gives them: holds(i, j, f, bound) has to be true everywhere.
struct Factors {
  Outcome outcome;
  Index n, s;

  explicit Factors(const Context& c, const Problem& problem)
      : outcome(c.evaluate(problem)), n(problem.sizes.at("n")), s(problem.sizes.at("s")) {}
  bool given() const { return outcome.values.count("f") > 0; }
  double f(Index i, Index j) const { return outcome.values.at("f").values[static_cast<std::size_t>(i * s + j)]; }
  double bound(Index i, Index j) const { return outcome.bounds().at("f").values[static_cast<std::size_t>(i * s + j)]; }

  template <class F>
  Finding everywhere(const char* what, F&& holds) const {
    if (!given()) return Finding::not_applicable();
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < s; ++j)
        if (!holds(i, j, f(i, j), bound(i, j)))
          return Finding::broken(std::string("f[") + std::to_string(i) + "," + std::to_string(j) + "] is not " + what);
    return {};
  }
};

inline Finding one_on_the_diagonal(const Context& c) {
  return Factors(c, c.problem).everywhere("1 on the diagonal", [](Index i, Index j, double f, double bound) {
    return i != j || std::abs(f - 1) <= bound;
  });
}

inline Finding factors_are_bounded(const Context& c) {
  const double highest = 1 + std::exp(scalar(c, "beta"));
  return Factors(c, c.problem).everywhere("between 0 and 1 + e^beta", [&](Index, Index, double f, double bound) {
    return f >= -bound && f <= highest * (1 + 0x1p-46) + bound;
  });
}

/// f grows with R = alpha |i - j|: from the diagonal outwards for alpha > 0, towards it for alpha < 0.
inline Finding factors_grow_with_r(const Context& c) {
  const double alpha = scalar(c, "alpha");
  const Factors factors(c, c.problem);
  return factors.everywhere("on the right side of its neighbour", [&](Index i, Index j, double f, double bound) {
    if (j == 0 || alpha == 0) return true;
    const bool farther = j > i;  // than key j - 1
    const double step = f - factors.f(i, j - 1);
    return ((alpha > 0) == farther ? step : -step) >= -(bound + factors.bound(i, j - 1));
  });
}

/// Far from the diagonal f is 0 for a very negative alpha and 1 + e^beta for a large one.
inline Finding limits(const Context& c) {
  Problem far = c.problem;
  const double sign = laws::choose(c, 1, 2) ? 1 : -1;
  far.inputs.at("alpha").values[0] = sign * 1024;
  far.inputs.at("beta").values[0] = static_cast<double>(laws::choose(c, 2, 9) - 4);
  const double limit = sign > 0 ? 1 + std::exp(far.inputs.at("beta").values[0]) : 0;
  return Factors(c, far).everywhere("at its limit", [&](Index i, Index j, double f, double bound) {
    return i == j || std::abs(f - limit) <= bound + 0x1p-46 * limit;
  });
}

inline Finding factors_know_the_distance_only(const Context& c) {
  const Factors factors(c, c.problem);
  return factors.everywhere("that of its distance", [&](Index i, Index j, double f, double bound) {
    const Index r = std::abs(i - j);  // the same distance in row 0 or in column 0
    const bool row = r < factors.s;
    const Index a = row ? 0 : r, b = row ? r : 0;
    return std::abs(f - factors.f(a, b)) <= bound + factors.bound(a, b);
  });
}

/// alpha = 0: attention.scaled_dot_product with the logits max(q . k, 0), which integers make exact.
inline Finding alpha_zero_is_attention_on_relu(const Context& c) {
  Problem flat = c.problem;
  flat.inputs.at("alpha").values[0] = 0;
  flat.parameters["scale"] = 1.0;
  for (const char* name : {"q", "k"})
    flat.inputs[name] = golden::draw_array("integers -2 2", flat.inputs.at(name).shape, c.exact, c.seed,
                                           std::string("property.") + name);
  const Index n = flat.sizes.at("n"), s = flat.sizes.at("s"), d = flat.sizes.at("d");
  const auto &q = flat.inputs.at("q").values, &k = flat.inputs.at("k").values;
  Array bias{{n, s}, {}};
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < s; ++j) {
      double product = 0;
      for (Index a = 0; a < d; ++a)
        product += q[static_cast<std::size_t>(i * d + a)] * k[static_cast<std::size_t>(j * d + a)];
      bias.values.push_back(std::max(product, 0.0));
    }
  Problem attention{&find_spec("attention.scaled_dot_product"), flat.sizes, {{"scale", 0.0}}, {}};
  attention.inputs = {
      {"q", flat.inputs.at("q")}, {"k", flat.inputs.at("k")}, {"v", flat.inputs.at("v")}, {"bias", bias}};
  const auto plain = golden::enclose(attention, "max_shift", 128);
  const Outcome outcome = c.evaluate(flat);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), plain.middle.at("o"),
                    plain.radius.at("o"), "alpha = 0");
}

inline std::vector<laws::Property> properties() {
  return {{"one_on_the_diagonal", one_on_the_diagonal},
          {"factors_are_bounded", factors_are_bounded},
          {"factors_grow_with_r", factors_grow_with_r},
          {"limits", limits},
          {"factors_know_the_distance_only", factors_know_the_distance_only},
          {"alpha_zero_is_attention_on_relu", alpha_zero_is_attention_on_relu}};
}

}  // namespace attest::properties::positional::distance_aware
