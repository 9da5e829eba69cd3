// SPDX-License-Identifier: MIT
#include "attest/spec/content/chunked_feed_forward.hpp"

#include "attest/openmp/feed_forward.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::content::chunked_feed_forward {

using attest::spec::content::chunked_feed_forward::In;
using attest::spec::content::chunked_feed_forward::Out;

template <class T>
void rows(const In<T>& in, const Out<T>& out, Index first, Index count) {
  matrix(out.y_2.rows(first, count)) =
      matrix(in.x_2.rows(first, count)) + feed_forward<T>(in, matrix(in.y_1.rows(first, count)));
}

/// Chunk after chunk: the hidden units of one chunk are all that is ever in memory.
template <class T>
void chunks(const In<T>& in, const Out<T>& out) {
  const auto start = [&](Index a) { return a * in.x_2.extent(0) / in.chunks; };  // C1
  for (Index a = 0; a < in.chunks; ++a)
    if (start(a) < start(a + 1)) rows(in, out, start(a), start(a + 1) - start(a));
}

template <class T>
void whole(const In<T>& in, const Out<T>& out) {
  each_tile(in.x_2.extent(0), [&](Index first, Index count) { rows(in, out, first, count); });
}

template void chunks(const In<float>&, const Out<float>&);
template void chunks(const In<double>&, const Out<double>&);
template void whole(const In<float>&, const Out<float>&);
template void whole(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::content::chunked_feed_forward
