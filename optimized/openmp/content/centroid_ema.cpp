// SPDX-License-Identifier: MIT
#include "attest/spec/content/centroid_ema.hpp"

#include <stdexcept>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::content::centroid_ema {

using attest::spec::content::centroid_ema::Empty;
using attest::spec::content::centroid_ema::In;
using attest::spec::content::centroid_ema::Out;
using attest::spec::content::centroid_ema::Reduce;

template <class T>
Index cluster(const In<T>& in, const decltype(In<T>::c_q)& of, Index token) {
  if (of(token) < 0 || of(token) >= in.mu.extent(0)) throw std::invalid_argument("C2: a cluster without a centroid");
  return of(token);
}

/// Sums and counts of all clusters.
template <class T>
struct Side {
  RowMajor<T> sums;
  Column<T> counts;
};

template <class T>
void update(const In<T>& in, const Out<T>& out, const Side<T>& q, const Side<T>& k) {
  const T decay = static_cast<T>(in.decay), rest = static_cast<T>(1 - in.decay);
  for (Index c = 0; c < in.mu.extent(0); ++c) {
    const auto mu = vector(in.mu[c]).transpose();
    auto next = matrix(out.mu_next).row(c);
    const T of_q = q.counts(c), of_k = k.counts(c);
    if (of_q + of_k == 0)
      next = (in.empty == Empty::keep ? T(1) : decay) * mu;
    else if (in.reduce == Reduce::sum)
      next = decay * mu + rest / 2 * (q.sums.row(c) + k.sums.row(c));
    else if (of_q == 0)
      next = decay * mu + rest * (k.sums.row(c) / of_k);
    else if (of_k == 0)
      next = decay * mu + rest * (q.sums.row(c) / of_q);
    else
      next = decay * mu + rest / 2 * (q.sums.row(c) / of_q + k.sums.row(c) / of_k);
  }
}

/// Token after token is added to the sum of its cluster.
template <class T>
Side<T> added(const In<T>& in, View<const T, 2> x, const decltype(In<T>::c_q)& of) {
  const Index c = in.mu.extent(0);
  Side<T> side{RowMajor<T>::Zero(c, x.extent(1)), Column<T>::Zero(c)};
  for (Index i = 0; i < x.extent(0); ++i) {
    side.sums.row(cluster<T>(in, of, i)) += vector(x[i]).transpose();
    side.counts(of(i)) += 1;
  }
  return side;
}

template <class T>
void scatter(const In<T>& in, const Out<T>& out) {
  update(in, out, added<T>(in, in.q, in.c_q), added<T>(in, in.k, in.c_k));
}

/// The product of a matrix that has a one for each token in the row of its cluster.
template <class T>
Side<T> multiplied(const In<T>& in, View<const T, 2> x, const decltype(In<T>::c_q)& of) {
  RowMajor<T> p = RowMajor<T>::Zero(in.mu.extent(0), x.extent(0));
  for (Index i = 0; i < x.extent(0); ++i) p(cluster<T>(in, of, i), i) = 1;
  return {p * matrix(x), p.rowwise().sum()};
}

template <class T>
void one_hot_matrix(const In<T>& in, const Out<T>& out) {
  update(in, out, multiplied<T>(in, in.q, in.c_q), multiplied<T>(in, in.k, in.c_k));
}

template void scatter(const In<float>&, const Out<float>&);
template void scatter(const In<double>&, const Out<double>&);
template void one_hot_matrix(const In<float>&, const Out<float>&);
template void one_hot_matrix(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::content::centroid_ema
