// SPDX-License-Identifier: MIT
#include "attest/spec/sparse/factorized_attention.hpp"

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::sparse::factorized_attention {

using attest::spec::sparse::factorized_attention::In;
using attest::spec::sparse::factorized_attention::Mode;
using attest::spec::sparse::factorized_attention::Out;

/// One head, as the kernels of sets take it.
template <class T>
struct Head {
  View<const T, 2> q, k, v;
  std::optional<double> scale;
};
template <class T>
struct HeadOut {
  View<T, 2> o;
};

template <class T>
bool sees(const In<T>& in, Index h, Index i, Index j) {
  const Index p = in.patterns.extent(0);
  if (in.mode != Mode::merged) return in.patterns((in.mode == Mode::multi_head ? h : in.layer) % p, i, j);
  for (Index m = 0; m < p; ++m)
    if (in.patterns(m, i, j)) return true;
  return false;
}

/// Head after head: attend(h, {q, k, v, scale}, {o}), then its block of W_O.
template <class T, class F>
void each_head(const In<T>& in, const Out<T>& out, F&& attend) {
  const Index n = in.x.extent(0), heads = in.w_o.extent(0), m = in.w_o.extent(1);
  RowMajor<T> all(n, heads * m), w_o(heads * m, in.w_o.extent(2));
  for (Index h = 0; h < heads; ++h) {
    const RowMajor<T> q = matrix(in.x) * matrix(in.w_q[h]), k = matrix(in.x) * matrix(in.w_k[h]),
                      v = matrix(in.x) * matrix(in.w_v[h]);
    RowMajor<T> o(n, m);
    attend(h, Head<T>{view(q), view(k), view(v), in.scale}, HeadOut<T>{view(o)});
    all.middleCols(h * m, m) = o;
    w_o.middleRows(h * m, m) = matrix(in.w_o[h]);
  }
  matrix(out.o) = all * w_o;
}

template <class T>
void sets(const In<T>& in, const Out<T>& out) {
  each_head(in, out, [&](Index h, const Head<T>& one, const HeadOut<T>& head) {
    over_sets<T>(one, head, engine::Schedule::whole_row,
                 [&](Index i) { return keys_of(0, i + 1, [&](Index j) { return sees(in, h, i, j); }); });
  });
}
template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  each_head(in, out, [&](Index h, const Head<T>& one, const HeadOut<T>& head) {
    over_mask<T>(one, head, engine::Schedule::whole_row, [&](Index i, Index j) { return j <= i && sees(in, h, i, j); });
  });
}

template void sets(const In<float>&, const Out<float>&);
template void sets(const In<double>&, const Out<double>&);
template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::sparse::factorized_attention
