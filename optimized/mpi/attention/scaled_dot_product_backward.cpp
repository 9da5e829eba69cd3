// SPDX-License-Identifier: MIT
#include "attest/spec/attention/scaled_dot_product_backward.hpp"

#include "attest/mpi/attention.hpp"
#include "attest/mpi/plugin.hpp"

namespace attest::mpi::attention::scaled_dot_product_backward {

namespace contract = attest::spec::attention::scaled_dot_product_backward;

/// The share of the pairs of two pieces in all gradients. `rows`: [k | v | grad_k | grad_v] of the keys.
template <class T>
void add_pairs(const contract::In<T>& in, const contract::Out<T>& out, const Merged<T>& forward, View<T, 2> rows,
               const Piece& queries, const Piece& keys, Index past) {
  const Index d = in.q.extent(1), m = in.v.extent(1);
  const T scale = openmp::attention::scale_of<T>(in);
  const auto k = rows.columns(0, d), v = rows.columns(d, m), grad_k = rows.columns(d + m, d),
             grad_v = rows.columns(d + m + d, m);
  for (Index i = queries.at; i < queries.at + queries.tokens; ++i) {
    T delta = 0;
    for (Index b = 0; b < m && !forward.is_empty(i); ++b) delta += in.grad_o(i, b) * forward(i, b);
    const Index last = in.causal ? queries.begin + i - queries.at + past : keys.begin + keys.tokens;
    for (Index j = keys.at; j < keys.at + keys.tokens; ++j) {
      const Index key = keys.begin + j - keys.at;
      T bias = in.bias ? in.bias(i, key) : T(0);
      const bool hidden = key > last || (in.mask && !in.mask(i, key)) || bias == -std::numeric_limits<T>::infinity();
      if (hidden) continue;
      T logit = 0, grad_weight = 0;
      for (Index a = 0; a < d; ++a) logit += in.q(i, a) * k(j, a);
      for (Index b = 0; b < m; ++b) grad_weight += in.grad_o(i, b) * v(j, b);
      const T weight = std::exp(scale * logit + bias - forward.lse(i)), grad = weight * (grad_weight - delta);
      for (Index a = 0; a < d; ++a) {
        out.grad_q(i, a) += scale * grad * k(j, a);
        grad_k(j, a) += scale * grad * in.q(i, a);
      }
      for (Index b = 0; b < m; ++b) grad_v(j, b) += weight * in.grad_o(i, b);
      if (out.grad_bias) out.grad_bias(i, key) = grad;
    }
  }
}

template <class T>
void clear(View<T, 2> x) {
  for (Index i = 0; x && i < x.extent(0); ++i)
    for (Index a = 0; a < x.extent(1); ++a) x(i, a) = 0;
}

/// Keys and values go round twice: for the log-sum-exp and output of each query, then with their gradients, to which
/// each rank adds what its queries give.
template <class T>
int recompute(const attest_call* call) {
  return on_all_heads(call, [&](const std::vector<Head>& heads, const World& world) {
    const Parts n(*call, "n", world.size), s(*call, "s", world.size);
    const auto first = contract::read<T>(heads[0]);
    const Index d = first.k.extent(1), m = first.v.extent(1);
    Ring<T> ring(world, s, heads.size(), 2 * (d + m));
    std::vector<Merged<T>> merged(heads.size(), Merged<T>(n.tokens(world.rank), m));
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = contract::read<T>(heads[h]);
      const auto out = contract::write<T>(heads[h]);
      copy<T>(in.k, ring.of(h).columns(0, d));
      copy<T>(in.v, ring.of(h).columns(d, m));
      clear(out.grad_q);
      clear(out.grad_bias);
    }
    for (int turn = 0; turn < world.size; ++turn, ring.turn())
      for (std::size_t h = 0; h < heads.size(); ++h) {
        const auto in = contract::read<T>(heads[h]);
        attend<T>(openmp::attention::problem_of<T>(in), ring.of(h).columns(0, d + m), n.of(world.rank),
                  s.of(ring.owner()), n.total(), s.total(), in.block, merged[h]);
      }
    for (int turn = 0; turn < world.size; ++turn, ring.turn())
      for (std::size_t h = 0; h < heads.size(); ++h)
        each_pair(n.of(world.rank), s.of(ring.owner()), [&](const Piece& queries, const Piece& keys) {
          add_pairs<T>(contract::read<T>(heads[h]), contract::write<T>(heads[h]), merged[h], ring.of(h), queries, keys,
                       s.total() - n.total());
        });
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto out = contract::write<T>(heads[h]);
      copy<T>(ring.of(h).columns(d + m, d), out.grad_k);
      copy<T>(ring.of(h).columns(d + m + d, m), out.grad_v);
    }
  });
}

std::vector<attest_kernel> kernels() {
  constexpr const char *equation = contract::id.data(), *form = "recompute", *can = "ranks >= 1; zigzag == true";
  return {kernel<float>(equation, form, can, recompute<float>), kernel<double>(equation, form, can, recompute<double>)};
}

}  // namespace attest::mpi::attention::scaled_dot_product_backward
