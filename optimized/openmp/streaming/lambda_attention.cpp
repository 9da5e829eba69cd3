// SPDX-License-Identifier: MIT
#include "attest/spec/streaming/lambda_attention.hpp"

#include <algorithm>

#include "attest/openmp/sinks.hpp"

namespace attest::openmp::streaming::lambda_attention {

using attest::spec::streaming::lambda_attention::In;
using attest::spec::streaming::lambda_attention::Out;

template <class T>
Index ceiling_of(const In<T>& in) {
  return in.ceiling > 0 ? in.ceiling : in.cache_k.extent(0) - in.starts;
}

/// From the ceiling on, keys are not turned, and queries by the ceiling.
template <class T>
auto stream(const In<T>& in) {
  const Index ceiling = ceiling_of(in);
  const auto far = [ceiling](Index) { return ceiling; };
  const auto own = [](Index) { return Index{0}; };
  return Stream<T, In<T>, decltype(far), decltype(own)>(in, ceiling, far, own);
}

template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  stream(in).masked(out);
}
template <class T>
void two_branches(const In<T>& in, const Out<T>& out) {
  stream(in).two_branches(out);
}
template <class T>
void decode(const In<T>& in, const Out<T>& out) {
  const Index ceiling = ceiling_of(in);
  from_cache<T>(in, out, [&](Index position, Index key) { return std::min(position - key, ceiling); });
}

template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);
template void two_branches(const In<float>&, const Out<float>&);
template void two_branches(const In<double>&, const Out<double>&);
template void decode(const In<float>&, const Out<float>&);
template void decode(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::streaming::lambda_attention
