// SPDX-License-Identifier: MIT
#include "attest/spec/infini/gate.hpp"

#include "attest/openmp/infini.hpp"

namespace attest::openmp::infini::gate {

using attest::spec::infini::gate::In;
using attest::spec::infini::gate::Out;

/// out.a = mix(a_mem, a_dot), both as arrays of some rows.
template <class T, class F>
void each_rows(const In<T>& in, const Out<T>& out, F&& mix) {
  each_tile(in.a_mem.extent(0), [&](Index first, Index count) {
    matrix(out.a).middleRows(first, count) =
        mix(matrix(in.a_mem).middleRows(first, count).array(), matrix(in.a_dot).middleRows(first, count).array())
            .matrix();
  });
}

/// The weights as written: what 1 - sigma(beta) loses is small beside the other weight.
template <class T>
void convex(const In<T>& in, const Out<T>& out) {
  const T g = sigmoid(in.beta()), rest = 1 - g;
  each_rows(in, out, [&](const auto& mem, const auto& local) { return (g * mem + rest * local).eval(); });
}

/// The local weight from its own exponential: it stays positive where 1 - sigma(beta) has become 0.
template <class T>
void complement(const In<T>& in, const Out<T>& out) {
  const T g = sigmoid(in.beta()), rest = sigmoid(-in.beta());
  each_rows(in, out, [&](const auto& mem, const auto& local) { return (g * mem + rest * local).eval(); });
}

/// One product per element: a step from the local result, whole where both agree.
template <class T>
void lerp(const In<T>& in, const Out<T>& out) {
  const T g = sigmoid(in.beta());
  each_rows(in, out, [&](const auto& mem, const auto& local) { return (local + g * (mem - local)).eval(); });
}

template void convex(const In<float>&, const Out<float>&);
template void convex(const In<double>&, const Out<double>&);
template void complement(const In<float>&, const Out<float>&);
template void complement(const In<double>&, const Out<double>&);
template void lerp(const In<float>&, const Out<float>&);
template void lerp(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infini::gate
