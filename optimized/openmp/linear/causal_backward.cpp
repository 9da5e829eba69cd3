// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal_backward.hpp"

#include "attest/openmp/engine/recur.hpp"

namespace attest::openmp::linear::causal_backward {

using attest::spec::linear::causal_backward::In;
using attest::spec::linear::causal_backward::Out;

/// Tokens of a chunk: the equation has no parameter for it.
constexpr Index kChunk = 64;

template <class T>
void run(const In<T>& in, const Out<T>& out, bool augmented) {
  engine::Gradients<T> gradients{.q = in.phi_q, .k = in.phi_k, .v = in.v, .grad_o = in.grad_o};
  gradients.eps = static_cast<T>(in.eps), gradients.augmented = augmented;
  gradients.grad_q = out.grad_phi_q, gradients.grad_k = out.grad_phi_k, gradients.grad_v = out.grad_v;
  engine::causal_backward(gradients, engine::Order::chunked, kChunk);  // C1
}

template <class T>
void closed(const In<T>& in, const Out<T>& out) {
  run(in, out, false);
}
template <class T>
void augmented(const In<T>& in, const Out<T>& out) {
  run(in, out, true);
}

template void closed(const In<float>&, const Out<float>&);
template void closed(const In<double>&, const Out<double>&);
template void augmented(const In<float>&, const Out<float>&);
template void augmented(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::causal_backward
