// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal_backward.hpp"

#include "attest/mpi/plugin.hpp"
#include "attest/mpi/states.hpp"
#include "attest/openmp/engine/recur.hpp"

namespace attest::mpi::linear::causal_backward {

namespace contract = attest::spec::linear::causal_backward;
namespace engine = openmp::engine;

/// Tokens of a chunk: the equation has no parameter for it.
constexpr Index kChunk = 64;

/// The numerator alone of q, k, v, after a state.
template <class T>
engine::Recurrence<T> sums(View<const T, 2> q, View<const T, 2> k, View<const T, 2> v, View<const T, 2> before) {
  engine::Recurrence<T> recurrence{.q = q, .k = k, .v = v, .S = before};
  recurrence.normalised = false;
  return recurrence;
}

/// One head's part: values [v | 1] and cotangents [G | e].
template <class T>
class Part {
public:
  Part(const contract::In<T>& in, const contract::Out<T>& out)
      : in_(in),
        out_(out),
        values_(1, in.v.extent(0), in.v.extent(1) + 1),
        cotangents_(1, in.v.extent(0), in.v.extent(1) + 1) {
    for (Index i = 0; i < n(); ++i) {
      for (Index b = 0; b < m(); ++b) values_.of(0)(i, b) = in.v(i, b);
      values_.of(0)(i, m()) = 1;
    }
  }

  /// sum_j [v | 1]_j k_j^T of the rank's tokens.
  void total(View<T, 2> S) { total(values(), in_.phi_k, S); }

  /// The cotangents, from the state before the rank's tokens; and their total, sum_i [G | e]_i q_i^T.
  void differentiate(View<T, 2> S, View<T, 2> R) {
    if (n() == 0) return;
    std::vector<T> o(static_cast<std::size_t>(n() * m())), denominators(static_cast<std::size_t>(n()));
    engine::Recurrence<T> forward{.q = in_.phi_q, .k = in_.phi_k, .v = in_.v};
    forward.S = View<const T, 2>(S.data(), {c(), m()}, {1, c()});
    forward.z = S[m()];
    forward.eps = static_cast<T>(in_.eps);
    forward.o = {o.data(), {n(), m()}};
    forward.denominators = {denominators.data(), {n()}};
    engine::causal(forward, engine::Order::chunked, kChunk);
    for (Index i = 0; i < n(); ++i) {
      const T d = denominators[static_cast<std::size_t>(i)];
      T e = 0;
      for (Index b = 0; b < m(); ++b) {
        const T G = d == 0 ? T(0) : in_.grad_o(i, b) / d;  // C1
        cotangents_.of(0)(i, b) = G;
        e -= G * forward.o(i, b);
      }
      cotangents_.of(0)(i, m()) = d == 0 ? T(0) : e;
    }
    total(cotangents(), in_.phi_q, R);
  }

  /// S is the state before the rank's tokens, R that of the cotangents behind them.
  void write(View<T, 2> S, View<T, 2> R) {
    if (n() == 0) return;
    auto queries = sums<T>(cotangents(), values(), in_.phi_k, S);
    queries.o = out_.grad_phi_q;
    auto keys = sums<T>(values().reversed(), cotangents().reversed(), in_.phi_q.reversed(), R);
    keys.o = out_.grad_phi_k.reversed();
    auto of_values = sums<T>(in_.phi_k.reversed(), in_.phi_q.reversed(), cotangents().columns(0, m()).reversed(),
                             View<const T, 2>(R.data(), {c(), m()}, {1, c()}));
    of_values.o = out_.grad_v.reversed();
    for (const auto& one : {queries, keys, of_values}) engine::causal(one, engine::Order::chunked, kChunk);
  }

private:
  Index n() const { return in_.v.extent(0); }
  Index m() const { return in_.v.extent(1); }
  Index c() const { return in_.phi_k.extent(1); }
  View<const T, 2> values() { return values_.of(0); }
  View<const T, 2> cotangents() { return cotangents_.of(0); }

  void total(View<const T, 2> left, View<const T, 2> right, View<T, 2> into) const {
    auto all = sums<T>({}, left, right, {});
    all.S_after = into;
    if (n() > 0) engine::whole(all, engine::Whole::state, 1);
  }

  contract::In<T> in_;
  contract::Out<T> out_;
  States<T> values_, cotangents_;
};

template <class T>
int augmented(const attest_call* call) {
  return on_all_heads(call, [](const std::vector<Head>& heads, const World& world) {
    const auto first = contract::read<T>(heads[0]);
    const Index c = first.phi_k.extent(1), m = first.v.extent(1);
    std::vector<Part<T>> parts;
    for (const auto& head : heads) parts.emplace_back(contract::read<T>(head), contract::write<T>(head));
    States<T> S(heads.size(), m + 1, c), R(heads.size(), m + 1, c);
    for (std::size_t h = 0; h < heads.size(); ++h) parts[h].total(S.of(h));
    S.sum_before(world.forward);
    for (std::size_t h = 0; h < heads.size(); ++h) parts[h].differentiate(S.of(h), R.of(h));
    R.sum_before(world.backward);
    for (std::size_t h = 0; h < heads.size(); ++h) parts[h].write(S.of(h), R.of(h));
  });
}

std::vector<attest_kernel> kernels() {
  constexpr const char *equation = contract::id.data(), *form = "augmented", *can = "ranks >= 1";
  return {kernel<float>(equation, form, can, augmented<float>), kernel<double>(equation, form, can, augmented<double>)};
}

}  // namespace attest::mpi::linear::causal_backward
