// SPDX-License-Identifier: MIT
#include "attest/spec/infini/memory_update_linear.hpp"

#include "attest/openmp/infini.hpp"

namespace attest::openmp::infini::memory_update_linear {

using attest::spec::infini::memory_update_linear::In;
using attest::spec::infini::memory_update_linear::Out;

template <class T>
engine::Recurrence<T> update_of(const In<T>& in, const Out<T>& out) {
  auto memory = recurrence_of<T>(in, ZeroDenominator::zero, T(0));
  memory.k = in.k, memory.v = in.v;
  memory.S_after = out.memory, memory.z_after = out.z;
  return memory;
}

template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  engine::whole(update_of(in, out), engine::Whole::state, 1);
}
template <class T>
void tokens(const In<T>& in, const Out<T>& out) {
  engine::causal(update_of(in, out), engine::Order::token_by_token, 1);
}
/// Blocks of tokens on their own, then their sums in order, the carried state first (C1).
template <class T>
void scan(const In<T>& in, const Out<T>& out) {
  engine::whole(update_of(in, out), engine::Whole::shards, in.block);
}

template void matrix(const In<float>&, const Out<float>&);
template void matrix(const In<double>&, const Out<double>&);
template void tokens(const In<float>&, const Out<float>&);
template void tokens(const In<double>&, const Out<double>&);
template void scan(const In<float>&, const Out<float>&);
template void scan(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infini::memory_update_linear
