// SPDX-License-Identifier: MIT
#include "attest/spec/adaptive/ltt_threshold.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::adaptive::ltt_threshold {

using attest::spec::adaptive::ltt_threshold::In;
using attest::spec::adaptive::ltt_threshold::Out;

/// 2 n max(0, delta - r)^2 of every candidate, shared among the threads; what passes is a matter of one comparison
/// each.
template <class T, class F>
void choose(const In<T>& in, const Out<T>& out, F&& passes) {
  const Index candidates = in.losses.extent(0);
  Column<T> x(candidates);
  each_tile(candidates, [&](Index first, Index count) {
    const T samples = static_cast<T>(in.losses.extent(1));
    const Column<T> risks = matrix(in.losses.rows(first, count)).rowwise().sum() / samples;
    x.segment(first, count) = 2 * samples * (static_cast<T>(in.delta) - risks.array()).max(T(0)).square();
  });
  const Column<T> p = (-x.array()).exp();
  if (out.p) vector(out.p) = p;
  Index accepted = 0;
  while (accepted < candidates && passes(x(accepted), p(accepted))) ++accepted;
  out.accepted() = static_cast<T>(accepted);
  out.threshold() = accepted == 0 ? std::numeric_limits<T>::infinity() : in.candidates(accepted - 1);
}

template <class T>
void sequential(const In<T>& in, const Out<T>& out) {
  choose(in, out, [&](T, T p) { return p <= static_cast<T>(in.eps); });
}

template <class T>
void log_domain(const In<T>& in, const Out<T>& out) {
  const T least = -std::log(static_cast<T>(in.eps));
  choose(in, out, [&](T x, T) { return x >= least; });
}

template void sequential(const In<float>&, const Out<float>&);
template void sequential(const In<double>&, const Out<double>&);
template void log_domain(const In<float>&, const Out<float>&);
template void log_domain(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::adaptive::ltt_threshold
