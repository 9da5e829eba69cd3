// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal_chunked.hpp"

#include "attest/openmp/linear.hpp"

namespace attest::openmp::linear::causal_chunked {

using attest::spec::linear::causal_chunked::In;
using attest::spec::linear::causal_chunked::Out;

/// The call is one chunk.
template <class T>
void run(const In<T>& in, const Out<T>& out, engine::Order order) {
  engine::causal(recurrence_of<T>(in, out), order, in.v.extent(0));  // C1
}

template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::all_pairs);
}
template <class T>
void steps(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::token_by_token);
}
template <class T>
void augmented(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::all_pairs);
}

template void matrix(const In<float>&, const Out<float>&);
template void matrix(const In<double>&, const Out<double>&);
template void steps(const In<float>&, const Out<float>&);
template void steps(const In<double>&, const Out<double>&);
template void augmented(const In<float>&, const Out<float>&);
template void augmented(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::causal_chunked
