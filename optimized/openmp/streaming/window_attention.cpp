// SPDX-License-Identifier: MIT
#include "attest/spec/streaming/window_attention.hpp"

#include "attest/openmp/streaming.hpp"

namespace attest::openmp::streaming::window_attention {

using attest::spec::streaming::window_attention::In;
using attest::spec::streaming::window_attention::Out;

/// The window ends with the query's own key.
template <class T>
void run(const In<T>& in, const Out<T>& out, engine::Schedule schedule) {
  const Joined<T> k(in, in.cache_k, in.k), v(in, in.cache_v, in.v);
  engine::attend({.q = in.q,
                  .k = k,
                  .v = v,
                  .scale = attention::scale_of<T>(in),
                  .left = in.cache_k.extent(0) - 1,
                  .right = 0,
                  .shift = k().extent(0) - in.q.extent(0)},
                 {.schedule = schedule, .block = in.block, .o = out.o});
  store<T>(in, out);
}

template <class T>
void mask(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Schedule::whole_row);
}
template <class T>
void banded_blocks(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Schedule::online);
}
template <class T>
void gather(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Schedule::log_sum_exp);
}

/// Each token is written before its query reads the rows as they lie.
template <class T>
void rolling_cache(const In<T>& in, const Out<T>& out) {
  const Policy policy = Policy::of(in);
  RowMajor<T> k = matrix(in.cache_k), v = matrix(in.cache_v);
  const T scale = attention::scale_of<T>(in);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const Index filled = policy.filled(in.seen + i + 1);
    write(policy, in, i, k, v);
    engine::attend({.q = in.q.rows(i, 1),
                    .k = view(std::as_const(k)).rows(0, filled),
                    .v = view(std::as_const(v)).rows(0, filled),
                    .scale = scale},
                   {.o = out.o.rows(i, 1)});
  }
  if (out.cache_k) matrix(out.cache_k) = k;
  if (out.cache_v) matrix(out.cache_v) = v;
}

template void mask(const In<float>&, const Out<float>&);
template void mask(const In<double>&, const Out<double>&);
template void banded_blocks(const In<float>&, const Out<float>&);
template void banded_blocks(const In<double>&, const Out<double>&);
template void gather(const In<float>&, const Out<float>&);
template void gather(const In<double>&, const Out<double>&);
template void rolling_cache(const In<float>&, const Out<float>&);
template void rolling_cache(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::streaming::window_attention
