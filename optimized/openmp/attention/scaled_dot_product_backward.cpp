// SPDX-License-Identifier: MIT
#include "attest/spec/attention/scaled_dot_product_backward.hpp"

#include "attest/openmp/attention.hpp"

namespace attest::openmp::attention::scaled_dot_product_backward {

using attest::spec::attention::scaled_dot_product_backward::In;
using attest::spec::attention::scaled_dot_product_backward::Out;

template <class T>
void run(const In<T>& in, const Out<T>& out, engine::Gradient gradient) {
  engine::attend_backward(problem_of<T>(in), {.gradient = gradient,
                                              .block = in.block,
                                              .grad_o = in.grad_o,
                                              .grad_q = out.grad_q,
                                              .grad_k = out.grad_k,
                                              .grad_v = out.grad_v,
                                              .grad_bias = out.grad_bias});
}

template <class T>
void materialised(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Gradient::weights_kept);
}
template <class T>
void recompute(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Gradient::recomputed);
}
template <class T>
void delta_from_output(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Gradient::recomputed_delta_from_output);
}

template void materialised(const In<float>&, const Out<float>&);
template void materialised(const In<double>&, const Out<double>&);
template void delta_from_output(const In<float>&, const Out<float>&);
template void delta_from_output(const In<double>&, const Out<double>&);
template void recompute(const In<float>&, const Out<float>&);
template void recompute(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::scaled_dot_product_backward
