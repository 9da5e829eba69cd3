// SPDX-License-Identifier: MIT
#include "attest/spec/objective/compressive_attention_reconstruction.hpp"

#include <cmath>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/attend.hpp"

namespace attest::openmp::objective::compressive_attention_reconstruction {

using attest::spec::objective::compressive_attention_reconstruction::In;
using attest::spec::objective::compressive_attention_reconstruction::Norm;
using attest::spec::objective::compressive_attention_reconstruction::Out;

/// A memory's projected keys and values.
template <class T>
struct Memory {
  RowMajor<T> k, v;
};

template <class T>
Memory<T> projected(const In<T>& in, View<const T, 2> memory) {
  return {matrix(memory) * matrix(in.w_k), matrix(memory) * matrix(in.w_v)};
}

/// What queries fetch from a memory.
template <class T>
RowMajor<T> fetched(const In<T>& in, const RowMajor<T>& q, const Memory<T>& memory) {
  RowMajor<T> o(q.rows(), memory.v.cols());
  engine::Problem<T> problem{.q = view(q), .k = view(memory.k), .v = view(memory.v)};
  problem.scale = in.scale ? static_cast<T>(*in.scale) : T(1) / std::sqrt(static_cast<T>(q.cols()));
  engine::attend(problem, {.o = view(o)});
  return o;
}

template <class T>
void write(const In<T>& in, const Out<T>& out, T squares) {
  if (in.norm == Norm::frobenius) squares = std::sqrt(squares);
  if (in.norm == Norm::mean_squared) squares /= static_cast<T>(in.h.extent(0) * in.w_v.extent(1));
  out.loss() = squares;
}

template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> q = matrix(in.h) * matrix(in.w_q);
  write(in, out, (fetched(in, q, projected(in, in.old)) - fetched(in, q, projected(in, in.compressed))).squaredNorm());
}

/// Neither result is ever in memory as a whole.
template <class T>
void by_token(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> q = matrix(in.h) * matrix(in.w_q);
  const Memory<T> old = projected(in, in.old), compressed = projected(in, in.compressed);
  T squares = 0;
  for (Index i = 0; i < q.rows(); ++i) {
    const RowMajor<T> one = q.row(i);
    squares += (fetched(in, one, old) - fetched(in, one, compressed)).squaredNorm();
  }
  write(in, out, squares);
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void by_token(const In<float>&, const Out<float>&);
template void by_token(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::objective::compressive_attention_reconstruction
