// SPDX-License-Identifier: MIT
#include "attest/spec/objective/span_penalty.hpp"

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::objective::span_penalty {

using attest::spec::objective::span_penalty::In;
using attest::spec::objective::span_penalty::Out;
using attest::spec::objective::span_penalty::Reduce;

/// A model has few heads: no threads.
template <class T>
void sum(const In<T>& in, const Out<T>& out) {
  const auto spans = vector(in.z).cwiseAbs();
  out.penalty() = static_cast<T>(in.coefficient) * (in.reduce == Reduce::mean ? spans.mean() : spans.sum());
}

template void sum(const In<float>&, const Out<float>&);
template void sum(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::objective::span_penalty
