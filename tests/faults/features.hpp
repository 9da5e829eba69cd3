// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/feature_map.hpp"
#include "faults/fault.hpp"

/// Wrong features of linear attention: the inputs as a mistaken map leaves them, for a form of the reference.
namespace attest::faults::features {

using reference::linear::feature_map::feature;
using reference::linear::feature_map::Mapped;
using reference::linear::feature_map::named;

template <class Inputs>
using MapOf = decltype(Inputs::features);

/// The map that is asked for, but phi(x) in place of the one of that name.
template <class Inputs, class F>
Mapped<Inputs> in_place_of(MapOf<Inputs> name, const Inputs& in, F&& phi) {
  return {in, [&](const Number& x, const Row&) { return in.features == name ? phi(x) : feature(in.features, x); }};
}

inline Number unmapped(const Number& x, const Row&) { return x; }

template <class Inputs>
Mapped<Inputs> map_missing_on_queries(const Inputs& in) {
  return {in, unmapped, named(in.features)};
}

template <class Inputs>
Mapped<Inputs> map_missing_on_keys(const Inputs& in) {
  return {in, named(in.features), unmapped};
}

template <class Inputs>
Mapped<Inputs> elu_without_one(const Inputs& in) {
  return in_place_of(MapOf<Inputs>::elu_plus_one, in, [](const Number& x) { return positive(x) ? x : exp(x) - 1; });
}

template <class Inputs>
Mapped<Inputs> expm1_features(const Inputs& in) {
  return in_place_of(MapOf<Inputs>::elu_plus_one, in,
                     [](const Number& x) { return positive(x) ? x + 1 : (exp(x) - 1) + 1; });
}

template <class Inputs>
Mapped<Inputs> relu_plus_epsilon(const Inputs& in) {
  return in_place_of(MapOf<Inputs>::relu, in,
                     [](const Number& x) { return (positive(x) ? x : Number(0)) + rational(1, 1000); });
}

/// e^(x - the largest of the key): that factor would cancel in queries, but keys are no longer weighed as they should.
template <class Inputs>
Mapped<Inputs> keys_shifted(const Inputs& in) {
  return {in, named(in.features), [&](const Number& x, const Row& key) {
            if (in.features != MapOf<Inputs>::exp) return feature(in.features, x);
            return exp(x - pivot_max(key.extent(0), [&](Index a) { return key(a); }));
          }};
}

/// Queries and keys over the fourth root of c, as the features of softmax attention want them.
template <class Inputs>
Mapped<Inputs> prescaled(const Inputs& in) {
  return {in,
          [&](const Number& x, const Row& row) { return feature(in.features, x / sqrt(sqrt(Number(row.extent(0))))); }};
}

template <class Inputs>
Mapped<Inputs> features_ignored(const Inputs& in) {
  return {in, named(MapOf<Inputs>::elu_plus_one)};
}

}  // namespace attest::faults::features
