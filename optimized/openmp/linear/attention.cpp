// SPDX-License-Identifier: MIT
#include "attest/spec/linear/attention.hpp"

#include "attest/openmp/linear.hpp"

namespace attest::openmp::linear::attention {

using attest::spec::linear::attention::In;
using attest::spec::linear::attention::Out;

template <class T>
void run(const In<T>& in, const Out<T>& out, engine::Whole order) {
  engine::whole(recurrence_of<T>(in, out), order, in.shard);  // C1, C2
}

template <class T>
void quadratic(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Whole::all_pairs);
}
template <class T>
void associative(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Whole::state);
}
template <class T>
void augmented(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Whole::state);
}
template <class T>
void sharded(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Whole::shards);
}

template void quadratic(const In<float>&, const Out<float>&);
template void quadratic(const In<double>&, const Out<double>&);
template void associative(const In<float>&, const Out<float>&);
template void associative(const In<double>&, const Out<double>&);
template void augmented(const In<float>&, const Out<float>&);
template void augmented(const In<double>&, const Out<double>&);
template void sharded(const In<float>&, const Out<float>&);
template void sharded(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::attention
