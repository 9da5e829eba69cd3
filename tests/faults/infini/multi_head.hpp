// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/multi_head.hpp"
#include "faults/variant.hpp"

namespace attest::faults::infini::multi_head {

namespace right = attest::reference::infini::multi_head;
using right::In;
using right::Out;
using right::product;
template <class T>
using Head = attest::spec::infini::segment_attention::In<T>;

template <class T>
Index heads(const In<T>& in) { return in.beta.extent(0); }

template <class T>
using Heads = std::vector<Matrix<T>>;

/// All heads, `change(head, g)` before each runs.
template <class T, class F>
Heads<T> changed_heads(const In<T>& in, const Out<T>& out, F&& change) {
  Heads<T> a;
  for (Index g = 0; g < heads(in); ++g) {
    const auto q = product(in.x, in.w_q[g]), k = product(in.x, in.w_k[g]), v = product(in.x, in.w_v[g]);
    auto head = right::head_input(in, g, q.view(), k.view(), v.view());
    change(head, g);
    a.push_back(right::head_output(in, g, head, out));
  }
  return a;
}

template <class T, class F>
void with_heads(const In<T>& in, const Out<T>& out, F&& change) { right::project(in, changed_heads(in, out, change), out); }

/// a^g_ic = output(a, g, i, c) of the heads as they should be.
template <class T, class F>
void with_outputs(const In<T>& in, const Out<T>& out, F&& output) {
  const Heads<T> a = changed_heads(in, out, [](Head<T>&, Index) {});
  Heads<T> changed;
  for (Index g = 0; g < heads(in); ++g)
    changed.push_back(matrix_of<T>(in.x.extent(0), in.w_v.extent(2), [&](Index i, Index c) { return output(a, g, i, c); }));
  right::project(in, changed, out);
}

/// The equation with gates beta(g).
template <class T, class F>
void with_beta(const In<T>& in, const Out<T>& out, F&& beta) {
  const Vector<T> gates = tabulate(heads(in), beta);
  In<T> other = in;
  other.beta = gates.view();
  right::loop(other, out);
}

template <class T>
void shared_state(const In<T>& in, const Out<T>& out) {
  with_heads(in, out, [&](Head<T>& head, Index g) {
    if (g > 0) head.memory = out.memory[g - 1], head.z = out.z[g - 1];
  });
}

template <class T>
void shared_beta(const In<T>& in, const Out<T>& out) {
  with_beta(in, out, [&](Index) { return T(in.beta(0)); });
}

template <class T>
void concat_order(const In<T>& in, const Out<T>& out) {
  const Index h = heads(in), m = in.w_v.extent(2);
  with_outputs(in, out, [&](const Heads<T>& a, Index g, Index i, Index c) { return a[static_cast<std::size_t>((g * m + c) % h)](i, (g * m + c) / h); });
}

template <class T>
void gate_after_projection(const In<T>& in, const Out<T>& out) {
  const T mean = sum(heads(in), [&](Index g) { return T(in.beta(g)); }) / T(heads(in));
  with_beta(in, out, [&](Index) { return mean; });
}

template <class T>
void state_of_wrong_head(const In<T>& in, const Out<T>& out) {
  with_heads(in, out, [&](Head<T>& head, Index g) {
    const Index next = (g + 1) % heads(in);
    if (in.memory) head.memory = in.memory[next];
    if (in.z) head.z = in.z[next];
  });
}

template <class T>
void final_state_of_wrong_head(const In<T>& in, const Out<T>& out) {
  right::loop(in, out);
  for (Index g = heads(in) - 1; g > 0; --g)
    for (Index a = 0; a < in.w_k.extent(2); ++a) {
      std::swap(out.z(g, a), out.z(g - 1, a));
      for (Index b = 0; b < in.w_v.extent(2); ++b) std::swap(out.memory(g, a, b), out.memory(g - 1, a, b));
    }
}

template <class T>
void carried_state_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.memory = {}, other.z = {};
  right::loop(other, out);
}

template <class T>
void one_segment(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.segment = {};
  right::loop(other, out);
}

template <class T>
void w_o_of_head_zero(const In<T>& in, const Out<T>& out) {
  with_outputs(in, out, [&](const Heads<T>& a, Index g, Index i, Index c) {
    return g > 0 ? T(0) : sum(heads(in), [&](Index other) { return a[static_cast<std::size_t>(other)](i, c); });
  });
}

template <class T>
void keys_of_head_zero(const In<T>& in, const Out<T>& out) {
  const auto k = product(in.x, in.w_k[0]);
  with_heads(in, out, [&](Head<T>& head, Index) { head.k = read_only(k); });
}

template <class T>
void heads_averaged(const In<T>& in, const Out<T>& out) {
  with_outputs(in, out, [&](const Heads<T>& a, Index g, Index i, Index c) { return T(a[static_cast<std::size_t>(g)](i, c) / T(heads(in))); });
}

template <class T>
void last_head_dropped(const In<T>& in, const Out<T>& out) {
  with_outputs(in, out, [&](const Heads<T>& a, Index g, Index i, Index c) { return g + 1 == heads(in) ? T(0) : a[static_cast<std::size_t>(g)](i, c); });
}

template <class T>
void queries_as_keys(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  std::swap(other.w_q, other.w_k);
  right::loop(other, out);
}

template <class T>
void projection_transposed(const In<T>& in, const Out<T>& out) {
  const Index e = in.w_v.extent(1), m = in.w_v.extent(2);
  Heads<T> v;  // w_v of e m numbers read as [m, e]
  for (Index g = 0; g < heads(in); ++g)
    v.push_back(product(in.x, read_only(matrix_of<T>(e, m, [&](Index r, Index c) { return in.w_v(g, (c * e + r) / m, (c * e + r) % m); }))));
  with_heads(in, out, [&](Head<T>& head, Index g) { head.v = read_only(v[static_cast<std::size_t>(g)]); });
}

template <class T>
void delta_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.update = "linear";
  right::loop(other, out);
}

template <class T>
void position_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.position = "none";
  right::loop(other, out);
}

template <class T>
void gate_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_beta(in, out, [&](Index g) { return T(in.beta(g) * (T(1) + c)); });
}

}  // namespace attest::faults::infini::multi_head
