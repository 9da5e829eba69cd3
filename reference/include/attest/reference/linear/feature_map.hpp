// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/linear/feature_map.hpp"

namespace attest::reference::linear::feature_map {

using In = attest::spec::linear::feature_map::In<Number>;
using Out = attest::spec::linear::feature_map::Out<Number>;
using attest::spec::linear::feature_map::Kind;

/// phi(x) by the name of its map; x itself for any other name: identity, given.
template <class Map>
Number feature(Map map, const Number& x) {
  if (map == Map::exp) return exp(x);
  if (map == Map::relu) return positive(x) ? x : Number(0);
  if (map == Map::elu_plus_one) return positive(x) ? x + 1 : exp(x);
  return x;
}

/// phi(element, its row) of every element.
template <class F>
Vector elements(const Row& x, F&& phi) {
  return tabulate(x.extent(0), [&](Index a) { return phi(x(a), x); });
}
template <class F>
Matrix elements(const View<const Number, 2>& x, F&& phi) {
  Matrix y(x.extent(0), x.extent(1));
  for (Index t = 0; t < x.extent(0); ++t)
    for (Index a = 0; a < x.extent(1); ++a) y(t, a) = phi(x(t, a), x[t]);
  return y;
}

/// The map of that name, for `elements`.
template <class Map>
auto named(Map map) {
  return [map](const Number& x, const Row&) { return feature(map, x); };
}

template <class Map>
Matrix features(Map map, View<const Number, 2> x) {
  return stage("features", elements(x, named(map)));
}

/// The inputs of linear attention, phi_q and phi_k being the features that `features` makes of them. Copies share them.
template <class Inputs>
class Mapped : public Inputs {
public:
  using Map = decltype(Inputs::features);

  Mapped(const Inputs& in) : Mapped(in, named(in.features)) {}
  template <class F>
  Mapped(const Inputs& in, F&& phi) : Mapped(in, phi, phi) {}
  /// With a map of the queries and one of the keys, where features are not given.
  template <class Q, class K>
  Mapped(const Inputs& in, Q&& of_queries, K&& of_keys) : Inputs(in) {
    if (in.features == Map::given) return;
    replace(this->phi_q, of_queries);
    replace(this->phi_k, of_keys);
    this->features = Map::given;
  }

private:
  /// A kernel may hold features as it holds the factors that they are. NaN stands where a mask hides.
  template <class V, class F>
  void replace(V& x, F& phi) {
    const auto mapped = [&](const Number& element, const Row& row) {
      return std::isnan(approximate(element)) ? element : as_multiplied(stage("features", phi(element, row)));
    };
    const auto made = std::make_shared<const decltype(elements(x, mapped))>(elements(x, mapped));
    x = made->view();
    kept_.push_back(made);
  }

  std::vector<std::shared_ptr<const void>> kept_;
};

template <class F>
void each_element(const In& in, const Out& out, F&& phi) {
  const auto [n, d] = in.x.extents();
  for (const Index i : wanted(out.phi))
    for (Index c = 0; c < d; ++c) out.phi(i, c) = phi(in.x(i, c));
}

/// phi(x) = elu(x) + 1: x + 1 for x > 0, e^x for x <= 0      [Katharopoulos et al. 2020, eq. 7]
inline void branch(const In& in, const Out& out) {
  each_element(in, out, [&](const Number& x) { return feature(in.kind, x); });
}

/// phi(x) = max(x, 0) + e^min(x, 0); the other maps from the same two parts.
inline void max_min(const In& in, const Out& out) {
  each_element(in, out, [&](const Number& x) {
    const bool above = positive(x);
    const Number most = above ? x : Number(0), least = above ? Number(0) : x;
    const auto exponential = [](const Number& u) { return stage("exponentials", exp(u)); };
    if (in.kind == Kind::identity) return most + least;
    if (in.kind == Kind::exp) return exponential(most) * exponential(least);
    if (in.kind == Kind::relu) return most;
    return most + exponential(least);
  });
}

}  // namespace attest::reference::linear::feature_map
