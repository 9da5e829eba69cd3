// SPDX-License-Identifier: MIT
#include "attest/spec/streaming/sink_attention.hpp"

#include <algorithm>

#include "attest/openmp/sinks.hpp"

namespace attest::openmp::streaming::sink_attention {

using attest::spec::streaming::sink_attention::In;
using attest::spec::streaming::sink_attention::Out;

/// Sinks that the window does not reach stand at their positions, and queries at theirs in the cache.
template <class T>
auto stream(const In<T>& in) {
  const Index last = in.cache_k.extent(0) - 1;
  const auto far = [last](Index position) { return std::min(position, last); };
  const auto own = [](Index key) { return key; };
  return Stream<T, In<T>, decltype(far), decltype(own)>(in, in.cache_k.extent(0) - in.sinks, far, own);
}

/// A key is turned once for the window, and once more as a sink.
template <class T>
void rotate_at_use(const In<T>& in, const Out<T>& out) {
  stream(in).two_branches(out);
}
template <class T>
void masked_full(const In<T>& in, const Out<T>& out) {
  stream(in).masked(out);
}
template <class T>
void relative(const In<T>& in, const Out<T>& out) {
  const Index last = in.cache_k.extent(0) - 1;
  from_cache<T>(in, out, [&](Index position, Index key) {
    return key < in.sinks ? std::min(position, last) - key : position - key;
  });
}

template void rotate_at_use(const In<float>&, const Out<float>&);
template void rotate_at_use(const In<double>&, const Out<double>&);
template void masked_full(const In<float>&, const Out<float>&);
template void masked_full(const In<double>&, const Out<double>&);
template void relative(const In<float>&, const Out<float>&);
template void relative(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::streaming::sink_attention
