// SPDX-License-Identifier: MIT
#include "attest/spec/rl/gtrxl_block.hpp"

#include <cmath>
#include <vector>

#include "attest/openmp/engine/attend.hpp"
#include "attest/openmp/rl.hpp"
#include "attest/openmp/tasks.hpp"
#include "attest/spec/attention/feed_forward.hpp"
#include "attest/spec/attention/layer_norm.hpp"

namespace attest::openmp::attention {

// Instantiated by the kernels of these equations.
namespace layer_norm {
template <class T>
void two_pass(const attest::spec::attention::layer_norm::In<T>& in,
              const attest::spec::attention::layer_norm::Out<T>& out);
}  // namespace layer_norm
namespace feed_forward {
template <class T>
void dense(const attest::spec::attention::feed_forward::In<T>& in,
           const attest::spec::attention::feed_forward::Out<T>& out);
}  // namespace feed_forward

}  // namespace attest::openmp::attention

namespace attest::openmp::rl::gtrxl_block {

using attest::spec::rl::gtrxl_block::In;
using attest::spec::rl::gtrxl_block::Out;
using Joins = attest::spec::rl::gtrxl_block::Gate;

template <class T>
RowMajor<T> normalised(const In<T>& in, int norm, const RowMajor<T>& x) {
  RowMajor<T> y(x.rows(), x.cols());
  attention::layer_norm::two_pass<T>({.x = view(x),
                                      .gamma = norm == 1 ? in.gamma_1 : in.gamma_2,
                                      .beta = norm == 1 ? in.beta_1 : in.beta_2,
                                      .eps = in.eps},
                                     {.y = view(y)});
  return y;
}

template <class T>
RowMajor<T> network(const In<T>& in, const RowMajor<T>& x) {
  RowMajor<T> y(x.rows(), x.cols());
  attention::feed_forward::dense<T>({.x = view(x), .w_1 = in.w_1, .b_1 = in.b_1, .w_2 = in.w_2, .b_2 = in.b_2},
                                    {.y = view(y)});
  return y;
}

/// Projected keys and values of a head, and its projected distances, the farthest first.
template <class T>
struct Head {
  RowMajor<T> k, v, distances;
};

/// All keys, values and distances that a call needs: of `rows` tokens of the normalised context.
template <class T>
std::vector<Head<T>> heads_of(const In<T>& in, const RowMajor<T>& context) {
  std::vector<Head<T>> heads(static_cast<std::size_t>(in.w_q.extent(0)));
  const RowMajor<T> r = matrix(in.r).topRows(context.rows()).colwise().reverse();  // C2
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const auto index = static_cast<Index>(h);
    heads[h] = {context * matrix(in.w_k[index]), context * matrix(in.w_v[index]), r * matrix(in.w_p[index])};
  }
  return heads;
}

/// Attention of the normalised tokens x, the last of the first `keys` of the context.
template <class T>
RowMajor<T> attended(const In<T>& in, const std::vector<Head<T>>& heads, const RowMajor<T>& x, Index keys) {
  const Index n = x.rows(), m = in.w_v.extent(2), past = keys - n;
  const T scale = T(1) / std::sqrt(static_cast<T>(in.w_q.extent(2)));
  RowMajor<T> all(n, static_cast<Index>(heads.size()) * m), w_o(all.cols(), in.w_o.extent(2));
  each_task(in.w_q.extent(0), n * keys > 256, [&](Index h) {
    const Head<T>& head = heads[static_cast<std::size_t>(h)];
    const RowMajor<T> q = x * matrix(in.w_q[h]), asks_content = q.rowwise() + vector(in.u[h]).transpose(),
                      asks_distance = (q.rowwise() + vector(in.v[h]).transpose()) * scale;
    RowMajor<T> bias = RowMajor<T>::Zero(n, keys), o(n, m);
    for (Index i = 0; i < n; ++i) {
      const Index seen = past + i + 1;
      bias.row(i).head(seen) = asks_distance.row(i) * head.distances.bottomRows(seen).transpose();
    }
    const RowMajor<T> k = head.k.topRows(keys), v = head.v.topRows(keys);
    engine::Problem<T> problem{.q = view(std::as_const(asks_content)), .k = view(k), .v = view(v), .scale = scale};
    problem.bias = view(std::as_const(bias));
    problem.right = 0;
    problem.shift = past;
    engine::attend(problem, {.o = view(o)});
    all.middleCols(h * m, m) = o;
    w_o.middleRows(h * m, m) = matrix(in.w_o[h]);
  });
  return all * w_o;
}

/// gate(x, act(y))
template <class T>
RowMajor<T> joined(const In<T>& in, int number, const RowMajor<T>& x, RowMajor<T> y) {
  if (in.submodule_relu) y = y.cwiseMax(T(0)).eval();
  if (in.gate == Joins::residual) return x + y;
  const Gate<T> gate = number == 1 ? Gate<T>{in.w_r1, in.u_r1, in.w_z1, in.u_z1, in.w_g1, in.u_g1, in.b_g1}
                                   : Gate<T>{in.w_r2, in.u_r2, in.w_z2, in.u_z2, in.w_g2, in.u_g2, in.b_g2};
  return mixed<T>(gated<T>(gate, x, y), x);
}

/// The tokens e, whose attention branch gave `branch`.
template <class T>
RowMajor<T> finish(const In<T>& in, const RowMajor<T>& e, RowMajor<T> branch) {
  const RowMajor<T> y = joined<T>(in, 1, e, std::move(branch));
  return joined<T>(in, 2, y, network<T>(in, normalised<T>(in, 2, y)));
}

/// [M; E], normalised
template <class T>
RowMajor<T> context_of(const In<T>& in) {
  RowMajor<T> all(in.memory.extent(0) + in.e.extent(0), in.e.extent(1));
  all << matrix(in.memory), matrix(in.e);
  return normalised<T>(in, 1, all);
}

template <class T>
void block(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> e = matrix(in.e), context = context_of(in), x = context.bottomRows(e.rows());
  matrix(out.z) = finish<T>(in, e, attended<T>(in, heads_of(in, context), x, context.rows()));
}

/// One token per step, behind the cached keys and values of all before it.
template <class T>
void incremental(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> context = context_of(in);
  const auto heads = heads_of(in, context);
  const Index past = in.memory.extent(0);
  for (Index i = 0; i < in.e.extent(0); ++i) {
    const RowMajor<T> e = matrix(in.e.rows(i, 1)), x = context.middleRows(past + i, 1);
    matrix(out.z.rows(i, 1)) = finish<T>(in, e, attended<T>(in, heads, x, past + i + 1));
  }
}

template void block(const In<float>&, const Out<float>&);
template void block(const In<double>&, const Out<double>&);
template void incremental(const In<float>&, const Out<float>&);
template void incremental(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::rl::gtrxl_block
