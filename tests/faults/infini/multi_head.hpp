// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/multi_head.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infini::multi_head {

namespace right = attest::reference::infini::multi_head;
using right::In;
using right::Out;
using right::product;
using Head = attest::reference::infini::segment_attention::In;
using attest::spec::infini::multi_head::Position;
using attest::spec::infini::multi_head::Update;

inline Index heads(const In& in) { return in.beta.extent(0); }

using Heads = std::vector<Matrix>;

/// All heads, `change(head, g)` before each runs.
template <class F>
Heads changed_heads(const In& in, const Out& out, F&& change) {
  Heads a;
  for (Index g = 0; g < heads(in); ++g) {
    const auto q = product(in.x, in.w_q[g]), k = product(in.x, in.w_k[g]), v = product(in.x, in.w_v[g]);
    auto head = right::head_input(in, g, q.view(), k.view(), v.view());
    change(head, g);
    a.push_back(right::head_output(in, g, head, out));
  }
  return a;
}

template <class F>
void with_heads(const In& in, const Out& out, F&& change) {
  right::project(in, changed_heads(in, out, change), out);
}

/// a^g_ic = output(a, g, i, c) of the heads as they should be.
template <class F>
void with_outputs(const In& in, const Out& out, F&& output) {
  const Heads a = changed_heads(in, out, [](Head&, Index) {});
  Heads changed;
  for (Index g = 0; g < heads(in); ++g)
    changed.push_back(
        matrix_of(in.x.extent(0), in.w_v.extent(2), [&](Index i, Index c) { return output(a, g, i, c); }));
  right::project(in, changed, out);
}

/// The equation with gates beta(g).
template <class F>
void with_beta(const In& in, const Out& out, F&& beta) {
  const Vector gates = tabulate(heads(in), beta);
  In other = in;
  other.beta = gates.view();
  right::loop(other, out);
}

inline void shared_state(const In& in, const Out& out) {
  with_heads(in, out, [&](Head& head, Index g) {
    if (g > 0) head.memory = out.memory[g - 1], head.z = out.z[g - 1];
  });
}

inline void shared_beta(const In& in, const Out& out) {
  with_beta(in, out, [&](Index) { return in.beta(0); });
}

inline void concat_order(const In& in, const Out& out) {
  const Index h = heads(in), m = in.w_v.extent(2);
  with_outputs(in, out, [&](const Heads& a, Index g, Index i, Index c) {
    return a[static_cast<std::size_t>((g * m + c) % h)](i, (g * m + c) / h);
  });
}

inline void gate_after_projection(const In& in, const Out& out) {
  const Number mean = sum(heads(in), [&](Index g) { return in.beta(g); }) / heads(in);
  with_beta(in, out, [&](Index) { return mean; });
}

inline void state_of_wrong_head(const In& in, const Out& out) {
  with_heads(in, out, [&](Head& head, Index g) {
    const Index next = (g + 1) % heads(in);
    if (in.memory) head.memory = in.memory[next];
    if (in.z) head.z = in.z[next];
  });
}

inline void final_state_of_wrong_head(const In& in, const Out& out) {
  right::loop(in, out);
  for (Index g = heads(in) - 1; g > 0; --g)
    for (Index a = 0; a < in.w_k.extent(2); ++a) {
      std::swap(out.z(g, a), out.z(g - 1, a));
      for (Index b = 0; b < in.w_v.extent(2); ++b) std::swap(out.memory(g, a, b), out.memory(g - 1, a, b));
    }
}

inline void carried_state_ignored(const In& in, const Out& out) {
  In other = in;
  other.memory = {}, other.z = {};
  right::loop(other, out);
}

inline void one_segment(const In& in, const Out& out) {
  In other = in;
  other.segment = {};
  right::loop(other, out);
}

inline void w_o_of_head_zero(const In& in, const Out& out) {
  with_outputs(in, out, [&](const Heads& a, Index g, Index i, Index c) {
    return g > 0 ? Number(0) : sum(heads(in), [&](Index other) { return a[static_cast<std::size_t>(other)](i, c); });
  });
}

inline void keys_of_head_zero(const In& in, const Out& out) {
  const auto k = product(in.x, in.w_k[0]);
  with_heads(in, out, [&](Head& head, Index) { head.k = read_only(k); });
}

inline void heads_averaged(const In& in, const Out& out) {
  with_outputs(in, out, [&](const Heads& a, Index g, Index i, Index c) {
    return a[static_cast<std::size_t>(g)](i, c) / heads(in);
  });
}

inline void last_head_dropped(const In& in, const Out& out) {
  with_outputs(in, out, [&](const Heads& a, Index g, Index i, Index c) {
    return g + 1 == heads(in) ? Number(0) : a[static_cast<std::size_t>(g)](i, c);
  });
}

inline void queries_as_keys(const In& in, const Out& out) {
  In other = in;
  std::swap(other.w_q, other.w_k);
  right::loop(other, out);
}

inline void projection_transposed(const In& in, const Out& out) {
  const Index e = in.w_v.extent(1), m = in.w_v.extent(2);
  Heads v;  // w_v of e m numbers read as [m, e]
  for (Index g = 0; g < heads(in); ++g)
    v.push_back(product(in.x, read_only(matrix_of(e, m, [&](Index r, Index c) {
                          return in.w_v(g, (c * e + r) / m, (c * e + r) % m);
                        }))));
  with_heads(in, out, [&](Head& head, Index g) { head.v = read_only(v[static_cast<std::size_t>(g)]); });
}

inline void delta_ignored(const In& in, const Out& out) {
  In other = in;
  other.update = Update::linear;
  right::loop(other, out);
}

inline void position_ignored(const In& in, const Out& out) {
  In other = in;
  other.position = Position::none;
  right::loop(other, out);
}

inline void gate_drift(const In& in, const Out& out, const Number& c) {
  with_beta(in, out, [&](Index g) { return in.beta(g) * (Number(1) + c); });
}

}  // namespace attest::faults::infini::multi_head
