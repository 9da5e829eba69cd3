// SPDX-License-Identifier: MIT
#include "attest/spec/rl/returns_to_go.hpp"

namespace attest::openmp::rl::returns_to_go {

using attest::spec::rl::returns_to_go::In;
using attest::spec::rl::returns_to_go::Out;

/// One addition per step, from the last one back; the memory is what takes time.
template <class T>
void suffix_sum(const In<T>& in, const Out<T>& out) {
  T total = 0;
  for (Index t = in.r.extent(0); t-- > 0;) out.returns(t) = total += in.r(t);
}

template void suffix_sum(const In<float>&, const Out<float>&);
template void suffix_sum(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::rl::returns_to_go
