// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal_step.hpp"

#include "attest/openmp/linear.hpp"

namespace attest::openmp::linear::causal_step {

using attest::spec::linear::causal_step::In;
using attest::spec::linear::causal_step::Out;

template <class T>
void update_then_read(const In<T>& in, const Out<T>& out) {
  engine::step(recurrence_of<T>(in, out), false);  // C1
}
template <class T>
void read_then_correct(const In<T>& in, const Out<T>& out) {
  engine::step(recurrence_of<T>(in, out), true);  // C1
}

template void update_then_read(const In<float>&, const Out<float>&);
template void update_then_read(const In<double>&, const Out<double>&);
template void read_then_correct(const In<float>&, const Out<float>&);
template void read_then_correct(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::causal_step
