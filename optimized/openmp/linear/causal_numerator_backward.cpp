// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal_numerator_backward.hpp"

#include "attest/openmp/engine/recur.hpp"

namespace attest::openmp::linear::causal_numerator_backward {

using attest::spec::linear::causal_numerator_backward::In;
using attest::spec::linear::causal_numerator_backward::Out;

template <class T>
void run(const In<T>& in, const Out<T>& out, engine::Order order) {
  engine::Gradients<T> gradients{.q = in.phi_q, .k = in.phi_k, .v = in.v, .grad_o = in.grad_o, .normalised = false};
  gradients.grad_q = out.grad_phi_q, gradients.grad_k = out.grad_phi_k, gradients.grad_v = out.grad_v;
  engine::causal_backward(gradients, order, in.chunk);  // C1
}

/// S is never taken as the total minus R, which would cancel where the one dwarfs the other.
template <class T>
void two_sweeps(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::token_by_token);
}
template <class T>
void masked_matrices(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::all_pairs);
}
template <class T>
void causal_products(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::two_level);
}
template <class T>
void chunked(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::chunked);
}

template void two_sweeps(const In<float>&, const Out<float>&);
template void two_sweeps(const In<double>&, const Out<double>&);
template void masked_matrices(const In<float>&, const Out<float>&);
template void masked_matrices(const In<double>&, const Out<double>&);
template void causal_products(const In<float>&, const Out<float>&);
template void causal_products(const In<double>&, const Out<double>&);
template void chunked(const In<float>&, const Out<float>&);
template void chunked(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::causal_numerator_backward
