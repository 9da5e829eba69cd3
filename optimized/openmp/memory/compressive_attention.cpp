// SPDX-License-Identifier: MIT
#include "attest/spec/memory/compressive_attention.hpp"

#include <cmath>

#include "attest/openmp/memory.hpp"

namespace attest::openmp::memory::compressive_attention {

using attest::spec::memory::compressive_attention::In;
using attest::spec::memory::compressive_attention::Out;

/// The rows of all three parts times w.
template <class T>
RowMajor<T> projected(const In<T>& in, View<const T, 2> w) {
  const Index b = in.compressed.extent(0), a = in.memory.extent(0), n = in.h.extent(0);
  RowMajor<T> y(b + a + n, w.extent(1));
  y.topRows(b).noalias() = matrix(in.compressed) * matrix(w);
  y.middleRows(b, a).noalias() = matrix(in.memory) * matrix(w);
  y.bottomRows(n).noalias() = matrix(in.h) * matrix(w);
  return y;
}

template <class T>
void run(const In<T>& in, const Out<T>& out, const engine::Forward<T>& forward) {
  const T scale = in.scale ? static_cast<T>(*in.scale) : T(1) / std::sqrt(static_cast<T>(in.w_q.extent(1)));
  const RowMajor<T> q = matrix(in.h) * matrix(in.w_q), k = projected(in, in.w_k), v = projected(in, in.w_v);
  const bool relative = in.score == attest::spec::memory::compressive_attention::Score::relative;
  attend<T>({.scale = scale, .distances = relative ? in.distances : View<const T, 2>(), .u = in.u, .v = in.v}, view(q),
            view(k), view(v), out.o, {}, forward);
}

template <class T>
void concatenate(const In<T>& in, const Out<T>& out) {
  run<T>(in, out, {.schedule = engine::Schedule::whole_row});
}

/// Parts of the rows on their own, merged: the engine chooses where they end.
template <class T>
void three_parts(const In<T>& in, const Out<T>& out) {
  run<T>(in, out, {.schedule = engine::Schedule::split});
}

template void concatenate(const In<float>&, const Out<float>&);
template void concatenate(const In<double>&, const Out<double>&);
template void three_parts(const In<float>&, const Out<float>&);
template void three_parts(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::memory::compressive_attention
