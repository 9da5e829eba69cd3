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

/// The equation's inputs with a memory that no gradient flows into.
struct Stopped {
  StoppedMatrix memory_k, memory_v;
  In in;

  explicit Stopped(const In& given) : memory_k(given.memory_k), memory_v(given.memory_v), in(given) {
    in.memory_k = memory_k, in.memory_v = memory_v;
  }
};

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

/// The equation where the memory is not empty: o_i = output(in, i), where no gradient flows into the memory of `in`.
template <class F>
void with_output(const In& in, const Out& out, F&& output) {
  right::exact_topk(in, out);
  const Stopped constants(in);
  if (in.memory_k.extent(0) == 0) return;
  for (const Index i : wanted(out.o)) assign(out.o[i], output(constants.in, i));
}

inline Vector gated(const Number& g, const Number& rest, const Vector& far, const Vector& near) {
  return tabulate(far.extent(), [&](Index e) { return g * far(e) + rest * near(e); });
}

inline Number open(const In& in) { return sigmoid(in.gate_bias()); }
inline Number closed(const In& in) { return sigmoid(-in.gate_bias()); }

/// The equation with another choice of memories.
template <class F>
void with_choice(const In& in, const Out& out, F&& choice) {
  with_output(in, out, [&](const In& stopped, Index i) {
    return gated(open(stopped), closed(stopped), retrieved(stopped, i, choice(stopped, i)), local(stopped, i, i + 1));
  });
}

inline void joint_softmax(const In& in, const Out& out) {
  with_output(in, out, [&](const In& stopped, Index i) {
    const auto rows = found(stopped, i);
    const auto far = times(scale_of(stopped), at(scores(stopped, i), rows));
    const Index t = far.extent();
    const auto a = shifted(tabulate(t + i + 1, [&](Index j) {
                     return j < t ? far(j) : scale_of(stopped) * dot(stopped.q[i], stopped.k[j - t]);
                   })).first;
    return tabulate(stopped.v.extent(1), [&](Index e) {
      return sum(a.extent(), [&](Index j) {
        return a(j) * (j < t ? stopped.memory_v(rows[static_cast<std::size_t>(j)], e) : stopped.v(j - t, e));
      });
    });
  });
}

inline void gate_swapped(const In& in, const Out& out) {
  with_output(in, out, [&](const In& stopped, Index i) {
    return gated(closed(stopped), open(stopped), retrieved(stopped, i, found(stopped, i)), local(stopped, i, i + 1));
  });
}

inline void gate_missing(const In& in, const Out& out) {
  with_output(in, out, [&](const In& stopped, Index i) {
    return gated(Number(1), Number(1), retrieved(stopped, i, found(stopped, i)), local(stopped, i, i + 1));
  });
}

inline void local_not_causal(const In& in, const Out& out) {
  with_output(in, out, [&](const In& stopped, Index i) {
    return gated(open(stopped), closed(stopped), retrieved(stopped, i, found(stopped, i)),
                 local(stopped, i, stopped.q.extent(0)));
  });
}

inline void insert_before_query(const In& in, const Out& out) {
  right::exact_topk(in, out);
  const Stopped constants(in);
  const In& stopped = constants.in;
  const Index r = stopped.memory_k.extent(0), n = stopped.k.extent(0);
  const auto k = matrix_of(r + n, stopped.k.extent(1),
                           [&](Index j, Index a) { return j < r ? stopped.memory_k(j, a) : stopped.k(j - r, a); });
  const auto v = matrix_of(r + n, stopped.v.extent(1),
                           [&](Index j, Index e) { return j < r ? stopped.memory_v(j, e) : stopped.v(j - r, e); });
  In other = stopped;
  other.memory_k = k.view(), other.memory_v = v.view();
  if (r == 0) return;
  for (const Index i : wanted(out.o))
    assign(out.o[i],
           gated(open(stopped), closed(stopped), retrieved(other, i, found(other, i)), local(stopped, i, i + 1)));
}

inline void values_normalised(const In& in, const Out& out) {
  with_output(in, out, [](const In& stopped, Index i) {
    const auto v = matrix_of(stopped.memory_v.extent(0), stopped.memory_v.extent(1), [&](Index j, Index e) {
      return stopped.memory_v(j, e) / sqrt(dot(stopped.memory_v[j], stopped.memory_v[j]));
    });
    In other = stopped;
    other.memory_v = v.view();
    return gated(open(stopped), closed(stopped), retrieved(other, i, found(stopped, i)), local(stopped, i, i + 1));
  });
}

inline void normalise_ignored(const In& in, const Out& out) {
  In other = in;
  other.normalise = Normalise::none;
  right::exact_topk(other, out);
}

inline void shared_topk(const In& in, const Out& out) {
  with_choice(in, out, [](const In& stopped, Index) { return found(stopped, 0); });
}

inline void softmax_before_topk(const In& in, const Out& out) {
  with_output(in, out, [&](const In& stopped, Index i) {
    const auto rows = found(stopped, i);
    const auto a = at(shifted(times(scale_of(stopped), scores(stopped, i))).first, rows);
    const Rows values(stopped.memory_v, rows);
    return gated(open(stopped), closed(stopped),
                 tabulate(stopped.v.extent(1), [&](Index e) { return dot(a, values.column(e)); }),
                 local(stopped, i, i + 1));
  });
}

inline void euclidean_topk(const In& in, const Out& out) {
  with_choice(in, out, [](const In& stopped, Index i) {
    const auto q = right::direction(stopped, stopped.q[i]);
    return top_k(stopped.top, tabulate(stopped.memory_k.extent(0), [&](Index j) {
                   const auto k = right::direction(stopped, stopped.memory_k[j]);
                   return -sum(q.extent(), [&](Index a) { return (q(a) - k(a)) * (q(a) - k(a)); });
                 }));
  });
}

inline void smallest_scores(const In& in, const Out& out) {
  with_choice(in, out,
              [](const In& stopped, Index i) { return top_k(stopped.top, times(Number(-1), scores(stopped, i))); });
}

inline void top_ignored(const In& in, const Out& out) {
  with_choice(in, out,
              [](const In& stopped, Index i) { return top_k(stopped.memory_k.extent(0), scores(stopped, i)); });
}

inline void one_fewer(const In& in, const Out& out) {
  with_choice(in, out, [](const In& stopped, Index i) {
    return top_k(std::max<Index>(std::min(stopped.top, stopped.memory_k.extent(0)) - 1, 1), scores(stopped, i));
  });
}

inline void scale_missing_in_memory(const In& in, const Out& out) {
  with_output(in, out, [&](const In& stopped, Index i) {
    const auto rows = found(stopped, i);
    return gated(open(stopped), closed(stopped), mean(at(scores(stopped, i), rows), stopped.memory_v, rows),
                 local(stopped, i, i + 1));
  });
}

inline void stop_gradient_missing(const In& in, const Out& out) {
  right::attend_with_gradient(in, out, [&](const Vector& scores) { return top_k(in.top, scores); });
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
  with_output(in, out, [&](const In& stopped, Index i) {
    return gated(sigmoid(beta), sigmoid(-beta), retrieved(stopped, i, found(stopped, i)), local(stopped, i, i + 1));
  });
}

}  // namespace attest::faults::memory::knn_attention
