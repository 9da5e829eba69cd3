// SPDX-License-Identifier: MIT
#include "attest/spec/linear/feature_map.hpp"

#include <cmath>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::linear::feature_map {

using attest::spec::linear::feature_map::In;
using attest::spec::linear::feature_map::Kind;
using attest::spec::linear::feature_map::Out;

/// Calls row(i) for every row, rows in parallel.
template <class T, class F>
void each_row(const In<T>& in, F&& row) {
  const Index n = in.x.extent(0), d = in.x.extent(1);
#pragma omp parallel for schedule(static) if (n * d > 4096)
  for (Index i = 0; i < n; ++i) row(i);
}

template <class T, class F>
void map_elements(const In<T>& in, const Out<T>& out, F&& phi) {
  each_row(in, [&](Index i) { vector(out.phi[i]) = vector(in.x[i]).unaryExpr(phi); });
}

/// One element, one case. For x <= 0 the value is e^x and never expm1(x) + 1: e^-20 is a feature, and adding 1 to
/// something close to -1 would leave nothing of it.
template <class T>
void branch(const In<T>& in, const Out<T>& out) {
  if (in.kind == Kind::identity) return map_elements(in, out, [](T x) { return x; });
  if (in.kind == Kind::exp) return map_elements(in, out, [](T x) { return std::exp(x); });
  if (in.kind == Kind::relu) return map_elements(in, out, [](T x) { return x > 0 ? x : T(0); });
  map_elements(in, out, [](T x) { return x > 0 ? x + 1 : std::exp(x); });
}

/// No branch: the positive and the negative part of a whole row, in packets.
template <class T>
void max_min(const In<T>& in, const Out<T>& out) {
  using Row = Eigen::Array<T, Eigen::Dynamic, 1>;
  each_row(in, [&](Index i) {
    const Row x = vector(in.x[i]).array();
    const Row most = x.max(T(0)), least = x.min(T(0));
    Row phi;
    switch (in.kind) {
      case Kind::elu_plus_one: phi = most + least.exp(); break;
      case Kind::relu: phi = most; break;
      case Kind::identity: phi = most + least; break;
      case Kind::exp: phi = most.exp() * least.exp(); break;  // one factor is 1
    }
    vector(out.phi[i]) = phi.matrix();
  });
}

template void branch(const In<float>&, const Out<float>&);
template void branch(const In<double>&, const Out<double>&);
template void max_min(const In<float>&, const Out<float>&);
template void max_min(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::feature_map
