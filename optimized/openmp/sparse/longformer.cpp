// SPDX-License-Identifier: MIT
#include "attest/spec/sparse/longformer.hpp"

#include <cstdlib>

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::sparse::longformer {

using attest::spec::sparse::longformer::In;
using attest::spec::sparse::longformer::Out;

template <class T>
bool is_global(const In<T>& in, Index i) {
  return in.globals && in.globals(i);
}

template <class T>
bool in_window(const In<T>& in, Index i, Index j) {
  return std::abs(i - j) <= in.radius * in.dilation && (i - j) % in.dilation == 0;
}

/// What a row that is not global sees.
template <class T>
bool sees(const In<T>& in, Index i, Index j) {
  return (!in.causal || j <= i) && (in_window(in, i, j) || (in.symmetric && is_global(in, j)));
}

/// The rows of G, with projections of their own.
template <class T>
void global_rows(const In<T>& in, const Out<T>& out) {
  const auto q = in.q_g ? in.q_g : in.q, k = in.k_g ? in.k_g : in.k, v = in.v_g ? in.v_g : in.v;
  for (Index i = 0; in.globals && i < q.extent(0); ++i) {
    if (!in.globals(i)) continue;
    const Index seen = in.causal ? i + 1 : q.extent(0);
    engine::attend({.q = q.rows(i, 1), .k = k.rows(0, seen), .v = v.rows(0, seen), .scale = attention::scale_of<T>(in)},
                   {.o = out.o.rows(i, 1)});
  }
}

template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  over_mask<T>(in, out, engine::Schedule::whole_row, [&](Index i, Index j) { return sees(in, i, j); });
  global_rows(in, out);
}
template <class T>
void diagonals(const In<T>& in, const Out<T>& out) {
  const Index n = in.q.extent(0);
  over_sets<T>(in, out, engine::Schedule::whole_row, [&](Index i) {
    const Index reach = std::min(in.radius, n / in.dilation) * in.dilation;
    Keys keys;
    for (Index j = i - reach; j <= (in.causal ? i : i + reach); j += in.dilation)
      if (j >= 0 && j < n) keys.push_back(j);
    for (Index j = 0; in.globals && j < n; ++j)
      if (sees(in, i, j) && !in_window(in, i, j)) keys.push_back(j);
    return keys;
  });
  global_rows(in, out);
}
template <class T>
void chunks(const In<T>& in, const Out<T>& out) {
  const Index n = in.q.extent(0), length = std::max<Index>(1, std::min(in.radius, n));
  each_task((n + length - 1) / length, n >= kEnoughRows, [&](Index chunk) {
    const Index start = chunk * length, count = std::min(length, n - start);
    const Index first = std::max<Index>(0, start - in.radius), end = std::min(n, start + count + in.radius);
    over_keys<T>(in, out, consecutive(start, count),
                 keys_of(0, n, [&](Index j) { return (first <= j && j < end) || (in.symmetric && is_global(in, j)); }),
                 [&](Index i, Index j) { return sees(in, i, j); });
  });
  global_rows(in, out);
}

template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);
template void diagonals(const In<float>&, const Out<float>&);
template void diagonals(const In<double>&, const Out<double>&);
template void chunks(const In<float>&, const Out<float>&);
template void chunks(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::sparse::longformer
