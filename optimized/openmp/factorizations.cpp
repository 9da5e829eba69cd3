// SPDX-License-Identifier: MIT
// Factorizations of matrices by Eigen, for all units of kernels.
#include "attest/openmp/eigen.hpp"

namespace attest::openmp {

template <class T>
RowMajor<T> ridge_solution(const RowMajor<T>& psi, T lambda, RowMajor<T> y) {
  RowMajor<T> a = psi * psi.transpose();
  a.diagonal().array() += lambda;
  a.llt().solveInPlace(y);
  return y;
}

template <class T>
Reflections<T> reflections(const RowMajor<T>& a) {
  const Eigen::HouseholderQR<RowMajor<T>> of(a);
  return {of.householderQ(), of.matrixQR().diagonal()};
}

template <class T>
RowMajor<T> least_squares(const RowMajor<T>& a, const RowMajor<T>& y) {
  return Eigen::HouseholderQR<RowMajor<T>>(a).solve(y);
}

template <class T>
SingularValues<T> singular_values(const RowMajor<T>& a) {
  const Eigen::JacobiSVD<RowMajor<T>> of(a, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return {of.matrixU(), of.matrixV(), of.singularValues()};
}

template RowMajor<float> ridge_solution(const RowMajor<float>&, float, RowMajor<float>);
template RowMajor<double> ridge_solution(const RowMajor<double>&, double, RowMajor<double>);
template Reflections<float> reflections(const RowMajor<float>&);
template Reflections<double> reflections(const RowMajor<double>&);
template RowMajor<float> least_squares(const RowMajor<float>&, const RowMajor<float>&);
template RowMajor<double> least_squares(const RowMajor<double>&, const RowMajor<double>&);
template SingularValues<float> singular_values(const RowMajor<float>&);
template SingularValues<double> singular_values(const RowMajor<double>&);

}  // namespace attest::openmp
