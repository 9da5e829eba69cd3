// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal.hpp"

#include "attest/openmp/linear.hpp"

namespace attest::openmp::linear::causal {

using attest::spec::linear::causal::In;
using attest::spec::linear::causal::Out;

template <class T>
void run(const In<T>& in, const Out<T>& out, engine::Order order) {
  engine::causal(recurrence_of<T>(in, out), order, in.chunk);  // C1, C2
}

template <class T>
void parallel_masked(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::all_pairs);
}
template <class T>
void recurrent(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::token_by_token);
}
template <class T>
void chunked(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::chunked);
}
template <class T>
void scan(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::scan);
}
template <class T>
void two_level(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Order::two_level);
}

template void parallel_masked(const In<float>&, const Out<float>&);
template void parallel_masked(const In<double>&, const Out<double>&);
template void recurrent(const In<float>&, const Out<float>&);
template void recurrent(const In<double>&, const Out<double>&);
template void chunked(const In<float>&, const Out<float>&);
template void chunked(const In<double>&, const Out<double>&);
template void scan(const In<float>&, const Out<float>&);
template void scan(const In<double>&, const Out<double>&);
template void two_level(const In<float>&, const Out<float>&);
template void two_level(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::causal
