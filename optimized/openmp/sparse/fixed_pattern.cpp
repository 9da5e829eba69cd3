// SPDX-License-Identifier: MIT
#include "attest/spec/sparse/fixed_pattern.hpp"

#include "attest/openmp/sparse.hpp"

namespace attest::openmp::sparse::fixed_pattern {

using attest::spec::sparse::fixed_pattern::In;
using attest::spec::sparse::fixed_pattern::Out;
using attest::spec::sparse::fixed_pattern::Part;

template <class T>
bool sees(const In<T>& in, Index i, Index j) {
  if (j > i) return false;
  return (in.part != Part::second && j / in.period == i / in.period) ||
         (in.part != Part::first && j % in.period >= in.period - in.summary);
}

template <class T>
void sets(const In<T>& in, const Out<T>& out) {
  over_sets<T>(in, out, engine::Schedule::whole_row,
               [&](Index i) { return keys_of(0, i + 1, [&](Index j) { return sees(in, i, j); }); });
}
template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  over_mask<T>(in, out, engine::Schedule::whole_row, [&](Index i, Index j) { return sees(in, i, j); });
}

template void sets(const In<float>&, const Out<float>&);
template void sets(const In<double>&, const Out<double>&);
template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::sparse::fixed_pattern
