// SPDX-License-Identifier: MIT
#include "attest/spec/lowrank/rfa_exp_estimator.hpp"

#include "attest/openmp/lowrank.hpp"

namespace attest::openmp::lowrank::rfa_exp_estimator {

using attest::spec::lowrank::rfa_exp_estimator::In;
using attest::spec::lowrank::rfa_exp_estimator::Norms;
using attest::spec::lowrank::rfa_exp_estimator::Out;

/// phi(x) . phi(y) of a tile of pairs, times factors(|x|^2 / (2 sigma^2), |y|^2 / (2 sigma^2)).
template <class T, class F>
void run(const In<T>& in, const Out<T>& out, F&& factors) {
  const T sigma = static_cast<T>(in.sigma);
  const RowMajor<T> w = matrix(in.w);
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    const auto rows = [&](View<const T, 2> all, auto& exponents) {
      const RowMajor<T> x = matrix(all.rows(first, count));
      if (in.norms == Norms::unit)
        exponents.setConstant(count, 1 / (2 * sigma * sigma));
      else
        exponents = x.rowwise().squaredNorm() / (2 * sigma * sigma);
      return waves<T>((x * w.transpose()) / sigma);
    };
    Column<T> of_x, of_y;
    const RowMajor<T> x = rows(in.x, of_x), y = rows(in.y, of_y);
    vector(out.est.rows(first, count)) =
        factors(of_x.array(), of_y.array()) * x.cwiseProduct(y).rowwise().sum().array();
  });
}

template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  run(in, out, [](const auto& x, const auto& y) { return (x.exp() * y.exp()).eval(); });
}
template <class T>
void log_norms(const In<T>& in, const Out<T>& out) {
  run(in, out, [](const auto& x, const auto& y) { return (x + y).exp().eval(); });
}
template <class T>
void unit(const In<T>& in, const Out<T>& out) {
  log_norms(in, out);
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void log_norms(const In<float>&, const Out<float>&);
template void log_norms(const In<double>&, const Out<double>&);
template void unit(const In<float>&, const Out<float>&);
template void unit(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::lowrank::rfa_exp_estimator
