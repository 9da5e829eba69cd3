// SPDX-License-Identifier: MIT
#include "attest/spec/attention/scaled_dot_product.hpp"

#include "attest/mpi/attention.hpp"
#include "attest/mpi/plugin.hpp"

namespace attest::mpi::attention::scaled_dot_product {

namespace contract = attest::spec::attention::scaled_dot_product;

/// Keys and values go round; what each rank's queries make of those that are there is merged by its log-sum-exp.
template <class T>
int online_blocked(const attest_call* call) {
  return on_all_heads(call, [&](const std::vector<Head>& heads, const World& world) {
    const Parts n(*call, "n", world.size), s(*call, "s", world.size);
    const auto first = contract::read<T>(heads[0]);
    const Index d = first.k.extent(1), m = first.v.extent(1);
    Ring<T> ring(world, s, heads.size(), d + m);
    std::vector<Merged<T>> merged(heads.size(), Merged<T>(n.tokens(world.rank), m));
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = contract::read<T>(heads[h]);
      copy<T>(in.k, ring.of(h).columns(0, d));
      copy<T>(in.v, ring.of(h).columns(d, m));
    }
    for (int turn = 0; turn < world.size; ++turn, ring.turn())
      for (std::size_t h = 0; h < heads.size(); ++h) {
        const auto in = contract::read<T>(heads[h]);
        attend<T>(openmp::attention::problem_of<T>(in), ring.of(h), n.of(world.rank), s.of(ring.owner()), n.total(),
                  s.total(), in.block, merged[h]);
      }
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = contract::read<T>(heads[h]);
      const auto out = contract::write<T>(heads[h]);
      const T empty = in.empty_row == contract::EmptyRow::nan ? std::numeric_limits<T>::quiet_NaN() : T(0);  // C3
      for (Index i = 0; i < n.tokens(world.rank); ++i) {
        if (in.sink) merged[h].take_sink(i, in.sink());
        for (Index b = 0; b < m; ++b) out.o(i, b) = merged[h].is_empty(i) ? empty : merged[h](i, b);
      }
    }
  });
}

std::vector<attest_kernel> kernels() {
  constexpr const char *equation = contract::id.data(), *form = "online_blocked",
                       *can = "ranks >= 1; zigzag == true; hidden_nan == true; empty_row != 'mean'";
  return {kernel<float>(equation, form, can, online_blocked<float>),
          kernel<double>(equation, form, can, online_blocked<double>)};
}

}  // namespace attest::mpi::attention::scaled_dot_product
