// SPDX-License-Identifier: MIT
#include "attest/spec/adaptive/dynamic_span.hpp"

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/sigmoid.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::adaptive::dynamic_span {

using attest::spec::adaptive::dynamic_span::In;
using attest::spec::adaptive::dynamic_span::Out;

template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  const T s = static_cast<T>(in.s), b = in.b();
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    const Column<T> l = matrix(in.x.rows(first, count)) * vector(in.v);
    for (Index i = 0; i < count; ++i) out.z(first + i) = s * sigmoid(l(i) + b);
  });
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::adaptive::dynamic_span
