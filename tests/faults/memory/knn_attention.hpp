// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/memory/knn_attention.hpp"
#include "faults/fault.hpp"

namespace attest::faults::memory::knn_attention {

namespace right = attest::reference::memory::knn_attention;
using attest::spec::memory::knn_attention::Normalise;
using reference::attention::scaled_dot_product::Rows;
using reference::attention::softmax::shifted;
using right::In;
using right::mean;
using right::Out;

inline Number scale_of(const In& in) { return reference::attention::scaled_dot_product::scale_of(in); }

/// q_i . k_j over the memory, both normalised where asked for.
inline Vector scores(const In& in, Index i) {
  const auto q = right::direction(in, in.q[i]);
  return tabulate(in.memory_k.extent(0), [&](Index j) { return dot(q, right::direction(in, in.memory_k[j])); });
}

/// The memories that the query attends to.
inline std::vector<Index> found(const In& in, Index i) { return top_k(in.top, scores(in, i)); }

inline Vector at(const Vector& x, const std::vector<Index>& rows) {
  return tabulate(static_cast<Index>(rows.size()), [&](Index t) { return x(rows[static_cast<std::size_t>(t)]); });
}

inline Vector times(const Number& factor, const Vector& x) {
  return tabulate(x.extent(), [&](Index t) { return factor * x(t); });
}

inline Vector local(const In& in, Index i, Index count) {
  std::vector<Index> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), Index{0});
  return mean(tabulate(count, [&](Index j) { return scale_of(in) * dot(in.q[i], in.k[j]); }), in.v, rows);
}

/// sum over those memories with weights of their scaled scores
inline Vector retrieved(const In& in, Index i, const std::vector<Index>& rows) {
  return mean(times(scale_of(in), at(scores(in, i), rows)), in.memory_v, rows);
}

/// The equation where the memory is not empty: o_i = output(i).
template <class F>
void with_output(const In& in, const Out& out, F&& output) {
  right::exact_topk(in, out);
  if (in.memory_k.extent(0) == 0) return;
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const Vector o = output(i);
    for (Index e = 0; e < in.v.extent(1); ++e) out.o(i, e) = o(e);
  }
}

inline Vector gated(const Number& g, const Number& rest, const Vector& far, const Vector& near) {
  return tabulate(far.extent(), [&](Index e) { return g * far(e) + rest * near(e); });
}

inline Number open(const In& in) { return sigmoid(in.gate_bias()); }
inline Number closed(const In& in) { return sigmoid(-in.gate_bias()); }

/// The equation with another choice of memories.
template <class F>
void with_choice(const In& in, const Out& out, F&& choice) {
  with_output(in, out,
              [&](Index i) { return gated(open(in), closed(in), retrieved(in, i, choice(i)), local(in, i, i + 1)); });
}

inline void joint_softmax(const In& in, const Out& out) {
  with_output(in, out, [&](Index i) {
    const auto rows = found(in, i);
    const auto far = times(scale_of(in), at(scores(in, i), rows));
    const Index t = far.extent();
    const auto a = shifted(tabulate(t + i + 1, [&](Index j) {
                     return j < t ? far(j) : scale_of(in) * dot(in.q[i], in.k[j - t]);
                   })).first;
    return tabulate(in.v.extent(1), [&](Index e) {
      return sum(a.extent(), [&](Index j) {
        return a(j) * (j < t ? in.memory_v(rows[static_cast<std::size_t>(j)], e) : in.v(j - t, e));
      });
    });
  });
}

inline void gate_swapped(const In& in, const Out& out) {
  with_output(in, out, [&](Index i) {
    return gated(closed(in), open(in), retrieved(in, i, found(in, i)), local(in, i, i + 1));
  });
}

inline void gate_missing(const In& in, const Out& out) {
  with_output(in, out, [&](Index i) {
    return gated(Number(1), Number(1), retrieved(in, i, found(in, i)), local(in, i, i + 1));
  });
}

inline void local_not_causal(const In& in, const Out& out) {
  with_output(in, out, [&](Index i) {
    return gated(open(in), closed(in), retrieved(in, i, found(in, i)), local(in, i, in.q.extent(0)));
  });
}

inline void insert_before_query(const In& in, const Out& out) {
  right::exact_topk(in, out);
  const Index r = in.memory_k.extent(0), n = in.k.extent(0);
  const auto k =
      matrix_of(r + n, in.k.extent(1), [&](Index j, Index a) { return j < r ? in.memory_k(j, a) : in.k(j - r, a); });
  const auto v =
      matrix_of(r + n, in.v.extent(1), [&](Index j, Index e) { return j < r ? in.memory_v(j, e) : in.v(j - r, e); });
  In other = in;
  other.memory_k = k.view(), other.memory_v = v.view();
  with_output(other, Out{out.o, {}, {}}, [&](Index i) {
    return gated(open(in), closed(in), retrieved(other, i, found(other, i)), local(in, i, i + 1));
  });
}

inline void values_normalised(const In& in, const Out& out) {
  const auto v = matrix_of(in.memory_v.extent(0), in.memory_v.extent(1), [&](Index j, Index e) {
    return in.memory_v(j, e) / sqrt(dot(in.memory_v[j], in.memory_v[j]));
  });
  In other = in;
  other.memory_v = v.view();
  with_output(in, out, [&](Index i) {
    return gated(open(in), closed(in), retrieved(other, i, found(in, i)), local(in, i, i + 1));
  });
}

inline void normalise_ignored(const In& in, const Out& out) {
  In other = in;
  other.normalise = Normalise::none;
  right::exact_topk(other, out);
}

inline void shared_topk(const In& in, const Out& out) {
  with_choice(in, out, [&](Index) { return found(in, 0); });
}

inline void softmax_before_topk(const In& in, const Out& out) {
  with_output(in, out, [&](Index i) {
    const auto rows = found(in, i);
    const auto a = at(shifted(times(scale_of(in), scores(in, i))).first, rows);
    const Rows values(in.memory_v, rows);
    return gated(open(in), closed(in), tabulate(in.v.extent(1), [&](Index e) { return dot(a, values.column(e)); }),
                 local(in, i, i + 1));
  });
}

inline void euclidean_topk(const In& in, const Out& out) {
  with_choice(in, out, [&](Index i) {
    const auto q = right::direction(in, in.q[i]);
    return top_k(in.top, tabulate(in.memory_k.extent(0), [&](Index j) {
                   const auto k = right::direction(in, in.memory_k[j]);
                   return -sum(q.extent(), [&](Index a) { return (q(a) - k(a)) * (q(a) - k(a)); });
                 }));
  });
}

inline void smallest_scores(const In& in, const Out& out) {
  with_choice(in, out, [&](Index i) { return top_k(in.top, times(Number(-1), scores(in, i))); });
}

inline void top_ignored(const In& in, const Out& out) {
  with_choice(in, out, [&](Index i) { return top_k(in.memory_k.extent(0), scores(in, i)); });
}

inline void one_fewer(const In& in, const Out& out) {
  with_choice(in, out, [&](Index i) {
    return top_k(std::max<Index>(std::min(in.top, in.memory_k.extent(0)) - 1, 1), scores(in, i));
  });
}

inline void scale_missing_in_memory(const In& in, const Out& out) {
  with_output(in, out, [&](Index i) {
    const auto rows = found(in, i);
    return gated(open(in), closed(in), mean(at(scores(in, i), rows), in.memory_v, rows), local(in, i, i + 1));
  });
}

inline void oldest_kept(const In& in, const Out& out) {
  right::exact_topk(in, out);
  const Index r = in.memory_k.extent(0);
  for (Index t = 0; t < out.memory_k.extent(0); ++t) {
    for (Index a = 0; a < in.k.extent(1); ++a) out.memory_k(t, a) = t < r ? in.memory_k(t, a) : in.k(t - r, a);
    for (Index e = 0; e < in.v.extent(1); ++e) out.memory_v(t, e) = t < r ? in.memory_v(t, e) : in.v(t - r, e);
  }
}

inline void sequence_in_front(const In& in, const Out& out) {
  right::exact_topk(in, out);
  const Index r = in.memory_k.extent(0), n = in.k.extent(0), c = out.memory_k.extent(0);
  for (Index t = 0; t < c; ++t) {
    const Index row = r + n - c + t;  // of [sequence; memory]
    for (Index a = 0; a < in.k.extent(1); ++a) out.memory_k(t, a) = row < n ? in.k(row, a) : in.memory_k(row - n, a);
    for (Index e = 0; e < in.v.extent(1); ++e) out.memory_v(t, e) = row < n ? in.v(row, e) : in.memory_v(row - n, e);
  }
}

inline void gate_drift(const In& in, const Out& out, const Number& c) {
  const Number beta = in.gate_bias() * (Number(1) + c);
  with_output(in, out, [&](Index i) {
    return gated(sigmoid(beta), sigmoid(-beta), retrieved(in, i, found(in, i)), local(in, i, i + 1));
  });
}

}  // namespace attest::faults::memory::knn_attention
