// SPDX-License-Identifier: MIT
#include "attest/spec/objective/ponder_cost.hpp"

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::objective::ponder_cost {

using attest::spec::objective::ponder_cost::In;
using attest::spec::objective::ponder_cost::Out;

/// Steps are added up as whole numbers.
template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  const T steps = static_cast<T>(vector(in.steps).sum());
  out.cost() = static_cast<T>(in.tau) * (steps + vector(in.remainders).sum());
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::objective::ponder_cost
