// SPDX-License-Identifier: MIT
#include "attest/spec/adaptive/depth_oracle.hpp"

#include <cmath>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::adaptive::depth_oracle {

using attest::spec::adaptive::depth_oracle::In;
using attest::spec::adaptive::depth_oracle::Level;
using attest::spec::adaptive::depth_oracle::Out;
using attest::spec::adaptive::depth_oracle::Target;

/// A row for each token.
template <class T>
RowMajor<T> values(const In<T>& in) {
  const auto [layers, tokens] = in.log_p.extents();
  if (in.target == Target::likelihood) return openmp::matrix(in.log_p).transpose();
  RowMajor<T> f(tokens, layers);
  for (Index t = 0; t < tokens; ++t)
    for (Index n = 0; n < layers; ++n) {
      Index found = 0;
      for (Index w = 1; w < in.logits.extent(2); ++w)
        if (in.logits(n, t, w) > in.logits(n, t, found)) found = w;
      f(t, n) = found == in.words(t) ? T(1) : T(0);  // C2
    }
  return f;
}

/// kappa of tokens at that distance.
template <class T>
T weight(const In<T>& in, Index distance) {
  return std::exp(-static_cast<T>(distance * distance) / static_cast<T>(in.sigma));
}

/// The layer of the largest score less its price, counted from 0.
template <class T, class Row>
Index best(const In<T>& in, const Row& scores) {
  Index layer = 0;
  T most = scores(0) - static_cast<T>(in.penalty);
  for (Index n = 1; n < scores.size(); ++n) {
    const T score = scores(n) - static_cast<T>(in.penalty) * static_cast<T>(n + 1);
    if (score > most) most = score, layer = n;
  }
  return layer;
}

template <class T>
void leave(const Out<T>& out, Index t, Index layer) {
  out.exits(t) = static_cast<T>(layer + 1);
  auto q = vector(out.q_star[t]);
  q.setZero();
  q(layer) = 1;
}

/// scores(f, first, count) for tiles of tokens, or one decision for all.
template <class T, class S>
void decide(const In<T>& in, const Out<T>& out, S&& scores) {
  const RowMajor<T> f = values(in);
  if (in.level == Level::sequence) {
    const Index layer = best(in, f.colwise().sum().eval());
    for (Index t = 0; t < f.rows(); ++t) leave(out, t, layer);
    return;
  }
  each_tile(f.rows(), [&](Index first, Index count) {
    const RowMajor<T> of_tile = scores(f, first, count);
    for (Index i = 0; i < count; ++i) leave(out, first + i, best(in, of_tile.row(i)));
  });
}

/// Each pair of tokens has its weight computed where it is used.
template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  decide(in, out, [&](const RowMajor<T>& f, Index first, Index count) {
    RowMajor<T> scores = RowMajor<T>::Zero(count, f.cols());
    for (Index i = 0; i < count; ++i)
      for (Index u = 0; u < f.rows(); ++u) scores.row(i) += weight(in, first + i - u) * f.row(u);
    return scores;
  });
}

/// One weight for each distance, and a product of matrices.
template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  Column<T> kappa(in.log_p.extent(1));
  for (Index d = 0; d < kappa.size(); ++d) kappa(d) = weight(in, d);
  decide(in, out, [&](const RowMajor<T>& f, Index first, Index count) {
    RowMajor<T> weights(count, f.rows());
    for (Index i = 0; i < count; ++i)
      for (Index u = 0; u < f.rows(); ++u) weights(i, u) = kappa(std::abs(first + i - u));
    return RowMajor<T>(weights * f);
  });
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void matrix(const In<float>&, const Out<float>&);
template void matrix(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::adaptive::depth_oracle
