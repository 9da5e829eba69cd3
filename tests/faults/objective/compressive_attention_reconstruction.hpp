// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/objective/compressive_attention_reconstruction.hpp"
#include "faults/fault.hpp"

namespace attest::faults::objective::compressive_attention_reconstruction {

namespace right = attest::reference::objective::compressive_attention_reconstruction;
using right::In;
using right::Norm;
using right::Out;

/// The loss of other matrices than what tokens fetch.
inline void compared(const In& in, const Out& out, const Matrix& a, const Matrix& b) {
  out.loss() = right::loss(in, right::differences(a, b));
}

inline Matrix of_old(const In& in) { return right::fetched(in, right::queries(in), right::old_memory(in)); }
inline Matrix of_compressed(const In& in) {
  return right::fetched(in, right::queries(in), right::memory_of(in, in.compressed));
}

/// The loss of what tokens fetch from memories that `change(memory, m)` changes, m being the rows of both in turn.
template <class F>
void with_memories(const In& in, const Out& out, F&& change) {
  const StoppedMatrix old(in.old);
  const Matrix q = right::queries(in);
  right::Memory a = right::memory_of(in, old), b = right::memory_of(in, in.compressed);
  change(a, old), change(b, in.compressed);
  compared(in, out, right::fetched(in, q, a), right::fetched(in, q, b));
}

inline void mask_applied(const In& in, const Out& out) {
  right::multi_head::In attention;
  attention.scale = in.scale, attention.causal = true;
  const Matrix q = right::queries(in);
  const auto causal = [&](const right::Memory& m) { return right::multi_head::attended(attention, q, m.k, m.v); };
  compared(in, out, causal(right::old_memory(in)), causal(right::memory_of(in, in.compressed)));
}

inline void mean_squared_as_norm(const In& in, const Out& out) {
  In other = in;
  other.norm = Norm::mean_squared;
  right::direct(other, out);
}

inline void norm_ignored(const In& in, const Out& out) {
  In other = in;
  other.norm = Norm::frobenius;
  right::direct(other, out);
}

/// Values that are a row each: what is fetched are the weights.
inline void attention_weights_compared(const In& in, const Out& out) {
  const Index both = std::min(in.old.extent(0), in.compressed.extent(0));
  if (std::max(in.old.extent(0), in.compressed.extent(0)) == 1) {  // two weights of 1
    out.loss() = Number(0);
    return;
  }
  with_memories(in, out, [&](right::Memory& memory, View<const Number, 2> m) {
    memory.v = matrix_of(m.extent(0), both, [](Index i, Index j) { return Number(i == j ? 1 : 0); });
  });
}

inline void current_memory(const In& in, const Out& out) {
  const StoppedMatrix h(in.h);
  compared(in, out, right::fetched(in, right::queries(in), right::memory_of(in, h)), of_compressed(in));
}

inline void scale_missing(const In& in, const Out& out) {
  In other = in;
  if (!other.scale) other.scale = 1;
  right::direct(other, out);
}

inline void scale_ignored(const In& in, const Out& out) {
  In other = in;
  other.scale = {};
  right::direct(other, out);
}

inline Number magnitude(const Number& x) { return positive(x) ? x : -x; }

inline void absolute(const In& in, const Out& out) {
  const Vector off = right::differences(of_old(in), of_compressed(in));
  out.loss() = sum(off.extent(), [&](Index i) { return magnitude(off(i)); });
}

inline void norms_of_tokens(const In& in, const Out& out) {
  const Vector off = right::differences(of_old(in), of_compressed(in));
  const Index width = in.w_v.extent(1);
  out.loss() = sum(in.h.extent(0), [&](Index i) {
    const Row row = off.view().rows(i * width, width);
    return sqrt(dot(row, row));
  });
}

inline void values_not_projected(const In& in, const Out& out) {
  with_memories(in, out, [&](right::Memory& memory, View<const Number, 2> m) {
    memory.v = matrix_of(m.extent(0), in.w_v.extent(1),
                         [&](Index j, Index c) { return c < m.extent(1) ? m(j, c) : Number(0); });
  });
}

inline void keys_of_old(const In& in, const Out& out) {
  const Index both = std::min(in.old.extent(0), in.compressed.extent(0));
  const StoppedMatrix keys(in.old.rows(0, both));
  right::Memory memory = right::memory_of(in, in.compressed.rows(0, both));
  memory.k = right::memory_of(in, keys).k;
  compared(in, out, of_old(in), right::fetched(in, right::queries(in), memory));
}

inline void gradient_to_weights(const In& in, const Out& out) {
  const Matrix q = right::multi_head::queries(in.h, in.w_q);
  const auto fetched = [&](View<const Number, 2> m) {
    return right::fetched(in, q, {right::multi_head::keys(m, in.w_k), right::multi_head::values(m, in.w_v)});
  };
  compared(in, out, fetched(in.old), fetched(in.compressed));
}

inline void values_drift(const In& in, const Out& out, const Number& c) {
  const Matrix a = of_old(in);
  compared(in, out, matrix_of(a.extent(0), a.extent(1), [&](Index i, Index e) { return a(i, e) * (Number(1) + c); }),
           of_compressed(in));
}

}  // namespace attest::faults::objective::compressive_attention_reconstruction
