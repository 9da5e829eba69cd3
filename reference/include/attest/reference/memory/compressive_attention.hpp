// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/memory/segment_recurrence.hpp"
#include "attest/spec/memory/compressive_attention.hpp"

namespace attest::reference::memory::compressive_attention {

using In = attest::spec::memory::compressive_attention::In<Number>;
using Out = attest::spec::memory::compressive_attention::Out<Number>;
using attention::multi_head::keys;
using attention::multi_head::queries;
using attention::multi_head::values;
using segment_recurrence::attend;
using segment_recurrence::joined;
using segment_recurrence::logits;
using segment_recurrence::Score;

inline Score score_of(const In& in) {
  const bool relative = in.score == attest::spec::memory::compressive_attention::Score::relative;
  return {segment_recurrence::scale_of(in, in.w_q.extent(1)), relative ? in.distances : View<const Number, 2>(), in.u,
          in.v};
}

/// Queries of the segment, keys and values of all rows in the order compressed memory, memory, segment.
struct Projections {
  Matrix q, k, v;
  Index past;

  Projections(const In& in, const View<const Number, 2>& before)
      : Projections(in, joined(before, in.h), before.extent(0)) {}
  Projections(const In& in, const Matrix& all, Index rows)
      : q(queries(in.h, in.w_q)), k(keys(all, in.w_k)), v(values(all, in.w_v)), past(rows) {}
};

/// [compressed; memory], through which no gradient flows.
inline Matrix before(const In& in) {
  const StoppedMatrix compressed(in.compressed), memory(in.memory);
  return joined(compressed, memory);
}

/// o_i = softmax over the rows up to a + b + i.      [Rae et al. 2020, section 3]
inline void concatenate(const In& in, const Out& out) {
  const Projections x(in, before(in));
  const Score score = score_of(in);
  for (const Index i : wanted(out.o)) assign(out.o[i], attend(score, x.q[i], x.k, x.v, x.past + i + 1));
}

/// Each part with its own maximum, sum and weighted values.
inline void three_parts(const In& in, const Out& out) {
  using namespace attention::scaled_dot_product;
  const Projections x(in, before(in));
  const Score score = score_of(in);
  for (const Index i : wanted(out.o)) {
    const Index end = x.past + i + 1;
    const Vector l = logits(score, x.q[i], x.k, end);
    std::vector<Index> rows(static_cast<std::size_t>(end));
    std::iota(rows.begin(), rows.end(), Index{0});
    const Rows v(x.v, rows);
    auto state = partial(l, v, x.past, i + 1);
    if (const Index a = in.memory.extent(0); a > 0) state = merged(state, partial(l, v, x.past - a, a));
    if (const Index b = in.compressed.extent(0); b > 0) state = merged(state, partial(l, v, 0, b));
    for (Index e = 0; e < state.o.extent(); ++e) out.o(i, e) = state.o(e) / state.l;
  }
}

}  // namespace attest::reference::memory::compressive_attention
