// SPDX-License-Identifier: MIT
#include "attest/spec/objective/sliding_window_perplexity.hpp"

#include <algorithm>
#include <cmath>

#include "attest/openmp/engine/attend.hpp"
#include "attest/openmp/objective.hpp"

namespace attest::openmp::objective::sliding_window_perplexity {

using attest::spec::objective::sliding_window_perplexity::In;
using attest::spec::objective::sliding_window_perplexity::Out;

/// Logits for the tokens that follow queries first .. end - 1, which see keys from `from` on.
template <class T>
RowMajor<T> logits_of(const In<T>& in, Index from, Index first, Index end) {
  RowMajor<T> logits(end - first, in.values.extent(1));
  engine::Problem<T> problem{
      .q = in.q.rows(first, end - first), .k = in.k.rows(from, end - from), .v = in.values.rows(from, end - from)};
  problem.scale = T(1) / std::sqrt(static_cast<T>(in.q.extent(1)));
  problem.right = 0;
  problem.shift = first - from;
  engine::attend(problem, {.o = view(logits)});
  return logits;
}

template <class T>
T loss_without_context(const In<T>& in, Index j) {
  return cross_entropy(vector(in.start), in.tokens(j));  // C2
}

template <class T>
void write(const Out<T>& out, const Column<T>& losses) {
  out.nll() = losses.sum() / static_cast<T>(losses.size());
  out.ppl() = std::exp(out.nll());
}

/// Of a window only the queries run whose tokens it scores; those before them are read as keys.
template <class T>
void windows(const In<T>& in, const Out<T>& out) {
  const Index tokens = in.tokens.extent(0);
  Column<T> losses(tokens);
  for (Index scored = 0, end = std::min(in.window, tokens); scored < tokens;
       scored = end, end = std::min(end + in.stride, tokens)) {
    const Index from = std::max<Index>(0, end - in.window);
    if (scored == from) {
      losses(from) = loss_without_context(in, from);
      if (++scored == end) continue;
    }
    const RowMajor<T> logits = logits_of(in, from, scored - 1, end - 1);
    for (Index j = scored; j < end; ++j) losses(j) = cross_entropy(logits.row(j - scored), in.tokens(j));
  }
  write(out, losses);
}

/// One query per token.
template <class T>
void stride_one(const In<T>& in, const Out<T>& out) {
  const Index tokens = in.tokens.extent(0);
  Column<T> losses(tokens);
  each_tile(tokens, [&](Index first, Index count) {
    for (Index j = first; j < first + count; ++j) {
      const Index from = std::max<Index>(0, j + 1 - in.window);
      losses(j) =
          from == j ? loss_without_context(in, j) : cross_entropy(logits_of(in, from, j - 1, j).row(0), in.tokens(j));
    }
  });
  write(out, losses);
}

template void windows(const In<float>&, const Out<float>&);
template void windows(const In<double>&, const Out<double>&);
template void stride_one(const In<float>&, const Out<float>&);
template void stride_one(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::objective::sliding_window_perplexity
