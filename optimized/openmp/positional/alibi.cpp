// SPDX-License-Identifier: MIT
#include "attest/spec/positional/alibi.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/attend.hpp"
#include "attest/openmp/tasks.hpp"

namespace attest::openmp::positional::alibi {

using attest::spec::positional::alibi::In;
using attest::spec::positional::alibi::Out;

/// All slopes at once. With c = bit_floor(heads), head h < c has 2^(-8(h+1)/c) and head c + r has 2^(-4(2r+1)/c).
template <class T>
Column<T> slopes(const In<T>& in) {
  const Index heads = in.q.extent(0), c = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  if (in.slopes) return vector(in.slopes);
  Column<T> a(heads);
  for (Index h = 0; h < heads; ++h) {
    const Index quarters = h < c ? 2 * (h + 1) : 2 * (h - c) + 1;
    a(h) = static_cast<T>(std::exp2(-4.0 * static_cast<double>(quarters) / static_cast<double>(c)));
  }
  return a;
}

/// Every form: `prepare(problem, a, attend)` puts the bias of a head of slope a into its logits and calls attend(). The
/// position of a query is its row + problem.shift. Every query sees a key (C1).
template <class T, class F>
void each_head(const In<T>& in, const Out<T>& out, F&& prepare) {
  const Index heads = in.q.extent(0), n = in.q.extent(1), s = in.k.extent(1);
  const T scale = in.scale ? static_cast<T>(*in.scale) : 1 / std::sqrt(static_cast<T>(in.q.extent(2)));
  const Column<T> a = slopes(in);
  each_task(heads, heads * n * s > 256, [&](Index h) {
    engine::Problem<T> problem{.q = in.q[h], .k = in.k[h], .v = in.v[h], .scale = scale};
    problem.shift = s - n + in.query_offset;
    if (!in.symmetric) problem.right = 0;
    prepare(problem, a(h), [&] { engine::attend(problem, {.o = out.o[h]}); });
  });
}

/// The distance of each pair, times the slope.
template <class T>
void distance(const In<T>& in, const Out<T>& out) {
  each_head(in, out, [](engine::Problem<T>& problem, T a, auto&& attend) {
    problem.edit = [&](const engine::Tile<T>& l) {
      l.each([&](T& logit, Index i, Index j) { logit -= a * static_cast<T>(std::abs(i + problem.shift - j)); });
    };
    attend();
  });
}

/// The indices of the keys, times the slope: the same for every query.
template <class T>
void key_index(const In<T>& in, const Out<T>& out) {
  each_head(in, out, [](engine::Problem<T>& problem, T a, auto&& attend) {
    problem.edit = [&](const engine::Tile<T>& l) {
      l.each([&](T& logit, Index, Index j) { logit += a * static_cast<T>(j); });
    };
    attend();
  });
}

/// A matrix of biases for each head, -inf where invisible, then ordinary attention over all keys.
template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  each_head(in, out, [](engine::Problem<T>& problem, T a, auto&& attend) {
    RowMajor<T> bias(problem.q.extent(0), problem.k.extent(0));
    for (Index i = 0; i < bias.rows(); ++i)
      for (Index j = 0; j < bias.cols(); ++j) {
        const Index behind = i + problem.shift - j;
        bias(i, j) =
            problem.right && behind < 0 ? -std::numeric_limits<T>::infinity() : -a * static_cast<T>(std::abs(behind));
      }
    problem.right.reset();
    problem.bias = view(std::as_const(bias));
    attend();
  });
}

template void distance(const In<float>&, const Out<float>&);
template void distance(const In<double>&, const Out<double>&);
template void key_index(const In<float>&, const Out<float>&);
template void key_index(const In<double>&, const Out<double>&);
template void matrix(const In<float>&, const Out<float>&);
template void matrix(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::alibi
