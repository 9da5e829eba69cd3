// SPDX-License-Identifier: MIT
#include "attest/spec/memory/knn_lm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::memory::knn_lm {

using attest::spec::memory::knn_lm::Distance;
using attest::spec::memory::knn_lm::In;
using attest::spec::memory::knn_lm::Out;

template <class T>
std::vector<T> distances(const In<T>& in) {
  std::vector<T> d(static_cast<std::size_t>(in.keys.extent(0)));
  const Column<T> f = vector(in.f);
  each_tile(in.keys.extent(0), [&](Index first, Index count) {
    for (Index i = first; i < first + count; ++i) {
      const T squared = (vector(in.keys[i]) - f).squaredNorm();
      d[static_cast<std::size_t>(i)] = in.distance == Distance::l2 ? std::sqrt(squared) : squared;
    }
  });
  return d;
}

/// Entries, and their weights before the denominator: the nearest of them has 1.
template <class T>
struct Neighbours {
  std::vector<Index> entries;
  std::vector<T> e;
  T denominator = 0;

  Neighbours(const std::vector<T>& d, std::vector<Index> of) : entries(std::move(of)) {
    T least = std::numeric_limits<T>::infinity();
    for (const Index i : entries) least = std::min(least, d[static_cast<std::size_t>(i)]);
    for (const Index i : entries) {
      e.push_back(std::exp(least - d[static_cast<std::size_t>(i)]));
      denominator += e.back();
    }
  }
};

template <class T>
Neighbours<T> everything(const In<T>& in) {
  std::vector<Index> all(static_cast<std::size_t>(in.keys.extent(0)));
  std::iota(all.begin(), all.end(), Index{0});
  return {distances(in), std::move(all)};
}

/// A partial sort finds the smallest distances; equal ones go by index, so that the choice does not depend on the sort.
template <class T>
Neighbours<T> nearest(const In<T>& in) {
  const auto d = distances(in);
  std::vector<Index> order(d.size());
  std::iota(order.begin(), order.end(), Index{0});
  const auto split = order.begin() + std::min(in.top, in.keys.extent(0));
  std::partial_sort(order.begin(), split, order.end(), [&](Index a, Index b) {
    const T x = d[static_cast<std::size_t>(a)], y = d[static_cast<std::size_t>(b)];
    return x < y || (x == y && a < b);
  });
  order.erase(split, order.end());
  return {d, std::move(order)};
}

/// What the neighbours give each word, before the denominator.
template <class T>
Column<T> by_word(const In<T>& in, const Neighbours<T>& t) {
  Column<T> sums = Column<T>::Zero(in.p_lm.extent(0));
  for (std::size_t n = 0; n < t.entries.size(); ++n) sums(in.words(t.entries[n])) += t.e[n];  // C3
  return sums;
}

template <class T>
void mix(const In<T>& in, const Out<T>& out, const Neighbours<T>& t) {
  const T share = static_cast<T>(in.share);
  vector(out.p) = (1 - share) * vector(in.p_lm) + share * (by_word(in, t) / t.denominator);
}

template <class T>
void shifted(const In<T>& in, const Out<T>& out) {
  mix(in, out, nearest(in));
}

/// No search.
template <class T>
void full(const In<T>& in, const Out<T>& out) {
  mix(in, out, everything(in));
}

template void shifted(const In<float>&, const Out<float>&);
template void shifted(const In<double>&, const Out<double>&);
template void full(const In<float>&, const Out<float>&);
template void full(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::memory::knn_lm
