// SPDX-License-Identifier: MIT
#include "attest/spec/infty/sticky_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "attest/openmp/tiles.hpp"

namespace attest::openmp::infty::sticky_sampling {

using attest::spec::infty::sticky_sampling::In;
using attest::spec::infty::sticky_sampling::Out;

/// Half of erfc(z / sqrt(2)): what a standard normal number exceeds z by chance.
template <class T>
T tail(T z) {
  return std::erfc(z * static_cast<T>(1 / std::numbers::sqrt2)) / 2;
}

/// The histogram from the share of each bin, then a search in its cumulative sums for each number in ascending order.
template <class T, class F>
void sample(const In<T>& in, const Out<T>& out, F&& share) {
  const Index bins = out.p.extent(0), m = in.w.extent(0);
  std::vector<T> cumulative(static_cast<std::size_t>(bins)), w(static_cast<std::size_t>(m));
  const auto edge = [&](Index b) {
    const T e = static_cast<T>(b) / static_cast<T>(bins), outward = static_cast<T>(in.outward);
    return b == 0 ? e - outward : b == bins ? e + outward : e;
  };
  each_tile(bins, [&](Index first, Index count) {
    for (Index b = first; b < first + count; ++b) {
      T total = 0;
      for (Index i = 0; i < in.mu.extent(0); ++i)
        total += share((edge(b) - in.mu(i)) / in.sigma(i), (edge(b + 1) - in.mu(i)) / in.sigma(i));
      out.p(b) = total;
    }
  });
  T total = 0;
  for (Index b = 0; b < bins; ++b) total += out.p(b);
  T sum = 0;
  for (Index b = 0; b < bins; ++b) {
    out.p(b) /= total;
    cumulative[static_cast<std::size_t>(b)] = sum += out.p(b);
  }
  for (Index j = 0; j < m; ++j) w[static_cast<std::size_t>(j)] = in.w(j);
  std::sort(w.begin(), w.end());
  for (Index j = 0; j < m; ++j) {
    const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), w[static_cast<std::size_t>(j)]);
    out.u(j) = static_cast<T>(std::min<Index>(at - cumulative.begin(), bins - 1)) / static_cast<T>(bins);
  }
}

template <class T>
void cdf_difference(const In<T>& in, const Out<T>& out) {
  sample(in, out, [](T from, T to) { return tail(-to) - tail(-from); });
}

/// Far from the mean both tails are small, and their difference loses nothing.
template <class T>
void erfc(const In<T>& in, const Out<T>& out) {
  sample(in, out, [](T from, T to) {
    if (from >= 0) return tail(from) - tail(to);
    if (to <= 0) return tail(-to) - tail(-from);
    return 1 - (tail(-from) + tail(to));
  });
}

template void cdf_difference(const In<float>&, const Out<float>&);
template void cdf_difference(const In<double>&, const Out<double>&);
template void erfc(const In<float>&, const Out<float>&);
template void erfc(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infty::sticky_sampling
