// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp {

/// phi of every element, in place, by the name of the map; nothing for any other name: identity, given. Below 0 it is
/// e^x itself: expm1(x) + 1 would turn the small features into 0.
template <class Map, class T>
void map_features(Map map, Eigen::Ref<RowMajor<T>> x) {
  if (map == Map::relu) {
    x = x.cwiseMax(T(0));
  } else if (const bool everywhere = map == Map::exp; everywhere || map == Map::elu_plus_one) {
    each_tile(x.rows(), [&](Index first, Index count) {
      for (Index t = first; t < first + count; ++t)
        for (Index a = 0; a < x.cols(); ++a) x(t, a) = everywhere || x(t, a) <= 0 ? std::exp(x(t, a)) : x(t, a) + 1;
    });
  }
}

/// The features of some rows.
template <class T, class Map>
RowMajor<T> features(Map map, const View<const T, 2>& x) {
  RowMajor<T> phi = matrix(x);
  map_features<Map, T>(map, phi);
  return phi;
}

/// The features of one row.
template <class T, class Map>
Column<T> features(Map map, const View<const T, 1>& x) {
  RowMajor<T> phi = vector(x).transpose();
  map_features<Map, T>(map, phi);
  return phi.transpose();
}

}  // namespace attest::openmp
