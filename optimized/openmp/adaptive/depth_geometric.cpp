// SPDX-License-Identifier: MIT
#include "attest/spec/adaptive/depth_geometric.hpp"

#include "attest/openmp/sigmoid.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::adaptive::depth_geometric {

using attest::spec::adaptive::depth_geometric::Given;
using attest::spec::adaptive::depth_geometric::In;
using attest::spec::adaptive::depth_geometric::Out;

template <class T>
T leaves(const In<T>& in, Index t, Index n) {
  return in.given == Given::logits ? sigmoid(in.x(t, n)) : in.x(t, n);
}
template <class T>
T stays(const In<T>& in, Index t, Index n) {
  return in.given == Given::logits ? sigmoid(-in.x(t, n)) : 1 - in.x(t, n);
}

/// token(t) for every token, shared among the threads.
template <class T, class F>
void each_token(const In<T>& in, F&& token) {
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    for (Index t = first; t < first + count; ++t) token(t);
  });
}

/// The products of all layers side by side in the row of the result, a factor at a time.
template <class T>
void product(const In<T>& in, const Out<T>& out) {
  const Index layers = in.x.extent(1);
  each_token(in, [&](Index t) {
    for (Index n = 0; n < layers; ++n) out.q(t, n) = n + 1 < layers ? leaves(in, t, n) : T(1);
    for (Index m = 0; m + 1 < layers; ++m) {
      const T factor = stays(in, t, m);
      for (Index n = m + 1; n < layers; ++n) out.q(t, n) *= factor;
    }
  });
}

template <class T>
void running(const In<T>& in, const Out<T>& out) {
  const Index layers = in.x.extent(1);
  each_token(in, [&](Index t) {
    T left = 1;
    for (Index n = 0; n + 1 < layers; ++n) {
      out.q(t, n) = left * leaves(in, t, n);
      left *= stays(in, t, n);
    }
    out.q(t, layers - 1) = left;
  });
}

template void product(const In<float>&, const Out<float>&);
template void product(const In<double>&, const Out<double>&);
template void running(const In<float>&, const Out<float>&);
template void running(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::adaptive::depth_geometric
