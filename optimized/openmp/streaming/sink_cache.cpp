// SPDX-License-Identifier: MIT
#include "attest/spec/streaming/sink_cache.hpp"

#include <algorithm>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::streaming::sink_cache {

using attest::spec::streaming::sink_cache::In;
using attest::spec::streaming::sink_cache::Out;

/// The token in row r after `seen` tokens.
template <class T>
Index token(const In<T>& in, Index r, Index seen) {
  return r < in.sinks ? r : r + std::max<Index>(0, seen - in.cache.extent(0));
}

template <class T>
void write_indices(const In<T>& in, const Out<T>& out) {
  const Index rows = in.cache.extent(0), seen = in.seen + in.x.extent(0), filled = std::min(seen, rows);
  for (Index r = 0; r < rows; ++r) {
    if (out.kept) out.kept(r) = r < filled ? static_cast<T>(token(in, r, seen)) : T(-1);
    if (out.positions) out.positions(r) = static_cast<T>(r < filled ? r : -1);
  }
}

/// Each row from where its token was.
template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  const Index rows = in.cache.extent(0), seen = in.seen + in.x.extent(0), left = std::max<Index>(0, in.seen - rows);
  for (Index r = 0; r < rows; ++r) {
    const Index p = token(in, r, seen);
    if (r >= seen)
      vector(out.cache[r]) = vector(in.cache[r]);
    else if (p >= in.seen)
      vector(out.cache[r]) = vector(in.x[p - in.seen]);
    else
      vector(out.cache[r]) = vector(in.cache[p < in.sinks ? p : p - left]);
  }
  write_indices(in, out);
}

/// A full cache moves up behind its sinks for each token.
template <class T>
void incremental(const In<T>& in, const Out<T>& out) {
  const Index rows = in.cache.extent(0);
  auto cache = matrix(out.cache);
  cache = matrix(in.cache);
  for (Index i = 0; i < in.x.extent(0); ++i) {
    if (in.seen + i >= rows)
      for (Index r = in.sinks; r + 1 < rows; ++r) cache.row(r) = cache.row(r + 1);
    cache.row(std::min(in.seen + i, rows - 1)) = vector(in.x[i]).transpose();
  }
  write_indices(in, out);
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void incremental(const In<float>&, const Out<float>&);
template void incremental(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::streaming::sink_cache
