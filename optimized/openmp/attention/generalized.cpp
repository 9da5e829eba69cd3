// SPDX-License-Identifier: MIT
#include "attest/spec/attention/generalized.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attest/openmp/attention.hpp"
#include "attest/openmp/eigen.hpp"

namespace attest::openmp::attention::generalized {

using attest::spec::attention::generalized::In;
using attest::spec::attention::generalized::Out;
using attest::spec::attention::generalized::Phi;
using attest::spec::attention::generalized::Sim;
using attest::spec::attention::generalized::ZeroDenominator;

/// phi of every element; below 0 the small features are e^x itself.
template <class T>
RowMajor<T> features(Phi map, View<const T, 2> x) {
  return matrix(x).unaryExpr([&](T t) {
    return map == Phi::relu ? std::max(t, T(0)) : map == Phi::exp || t <= 0 ? std::exp(t) : t + 1;
  });
}

template <class T>
engine::Forward<T> forward_of(const In<T>& in, const Out<T>& out) {
  return {.empty = in.zero_denominator == ZeroDenominator::nan ? engine::Empty::nan : engine::Empty::zero,  // C5
          .o = out.o};
}

template <class T>
void stable(const In<T>& in, const Out<T>& out) {
  auto problem = attention::problem_of<T>(in);
  if (in.sim != Sim::exp_dot) problem.scale = 1;
  const T gamma = static_cast<T>(in.gamma), offset = static_cast<T>(in.offset);
  if (in.sim == Sim::rbf)
    problem.edit = [&](const engine::Tile<T>& l) {
      l.each([&](T& logit, Index i, Index j) { logit = -gamma * (vector(in.k[j]) - vector(in.q[i])).squaredNorm(); });
    };
  if (in.sim == Sim::polynomial) {
    problem.exponential = false;
    problem.edit = [&](const engine::Tile<T>& l) {
      l.each([&](T& w, Index, Index) {
        const T x = w + offset;
        w = x;
        for (Index t = 1; t < in.power; ++t) w *= x;  // C2
      });
    };
  }
  RowMajor<T> phi_q, phi_k;
  if (in.sim == Sim::feature_dot) {
    problem.exponential = false;
    phi_q = features(in.phi, in.q);
    phi_k = features(in.varphi, in.k);
    problem.q = view(std::as_const(phi_q));
    problem.k = view(std::as_const(phi_k));
  }
  engine::attend(problem, forward_of(in, out));
}

/// No distances are computed: a softmax kernel with a bias per key.
template <class T>
void rbf_as_softmax(const In<T>& in, const Out<T>& out) {
  auto problem = attention::problem_of<T>(in);
  const T gamma = static_cast<T>(in.gamma);
  const Column<T> size = matrix(in.k).rowwise().squaredNorm();
  problem.scale = 2 * gamma;
  problem.edit = [&](const engine::Tile<T>& l) { l.each([&](T& logit, Index, Index j) { logit -= gamma * size(j); }); };
  engine::attend(problem, forward_of(in, out));
}

template void stable(const In<float>&, const Out<float>&);
template void stable(const In<double>&, const Out<double>&);
template void rbf_as_softmax(const In<float>&, const Out<float>&);
template void rbf_as_softmax(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::generalized
