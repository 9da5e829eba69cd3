// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/objective/decision_loss.hpp"
#include "faults/fault.hpp"

namespace attest::faults::objective::decision_loss {

namespace right = attest::reference::objective::decision_loss;
namespace shared = attest::reference::objective::perplexity;
using right::In;
using right::Kind;
using right::Out;

inline std::vector<Index> rows_of(const In& in) { return right::counted(in.mask, in.predictions.extent(0)); }

/// The equation with other steps counted.
inline void with_rows(const In& in, const Out& out, const std::vector<Index>& rows) {
  out.loss() = right::mean(rows, [&](Index t) { return right::loss(in, t); });
}

/// mse with another loss of a step; cross-entropy as it is.
template <class F>
void with_mse(const In& in, const Out& out, F&& f) {
  right::averaged(in, out, [&](Index t) { return in.kind == Kind::mse ? f(t) : right::loss(in, t); });
}

/// Cross-entropy with another loss of a step; mse as it is.
template <class F>
void with_cross_entropy(const In& in, const Out& out, F&& f) {
  right::averaged(in, out, [&](Index t) { return in.kind == Kind::mse ? right::loss(in, t) : f(t); });
}

/// The right loss times that number.
inline void multiplied(const In& in, const Out& out, const Number& factor) {
  right::direct(in, out);
  out.loss() = out.loss() * factor;
}

inline void sum_not_mean(const In& in, const Out& out) {
  const Index entries = in.kind == Kind::mse ? in.predictions.extent(1) : 1;
  multiplied(in, out, Number(static_cast<Index>(rows_of(in).size()) * entries));
}

inline void padding_counted(const In& in, const Out& out) {
  with_rows(in, out, right::counted({}, in.predictions.extent(0)));
}

inline void divided_by_all(const In& in, const Out& out) {
  multiplied(in, out, Number(static_cast<Index>(rows_of(in).size())) / Number(in.predictions.extent(0)));
}

inline void mask_inverted(const In& in, const Out& out) {
  std::vector<Index> rows;
  for (Index t = 0; t < in.predictions.extent(0); ++t)
    if (!in.mask || !in.mask(t)) rows.push_back(t);
  with_rows(in, out, rows);
}

inline void half_mse(const In& in, const Out& out) {
  with_mse(in, out, [&](Index t) { return right::loss(in, t) / 2; });
}

inline void next_action_target(const In& in, const Out& out) {
  const Index steps = in.predictions.extent(0);
  right::averaged(in, out, [&](Index t) {
    const Index next = (t + 1) % steps;
    In moved = in;
    moved.predictions = in.predictions.rows(t, 1);
    moved.actions = in.actions.rows(next, 1);
    moved.chosen = in.chosen.rows(next, 1);
    return right::loss(moved, 0);
  });
}

inline void entries_summed(const In& in, const Out& out) {
  with_mse(in, out, [&](Index t) { return right::loss(in, t) * Number(in.predictions.extent(1)); });
}

inline void absolute_difference(const In& in, const Out& out) {
  with_mse(in, out, [&](Index t) {
    const Index entries = in.predictions.extent(1);
    return sum(entries,
               [&](Index a) {
                 const Number off = in.predictions(t, a) - in.actions(t, a);
                 return positive(off) ? off : -off;
               }) /
           Number(entries);
  });
}

inline void root_of_mean(const In& in, const Out& out) {
  right::direct(in, out);
  if (in.kind == Kind::mse) out.loss() = sqrt(out.loss());
}

inline void kind_ignored(const In& in, const Out& out) {
  In other = in;
  other.kind = Kind::mse;
  right::direct(other, out);
}

inline void base2(const In& in, const Out& out) {
  with_cross_entropy(in, out, [&](Index t) { return right::loss(in, t) / ln2(); });
}

inline void brier(const In& in, const Out& out) {
  with_cross_entropy(in, out, [&](Index t) {
    const auto p = shared::softmax::shifted(shared::row(in.predictions[t])).first;
    return sum(p.extent(), [&](Index a) {
      const Number off = p(a) - Number(a == right::chosen(in, t) ? 1 : 0);
      return off * off;
    });
  });
}

inline void last_dropped(const In& in, const Out& out) {
  auto rows = rows_of(in);
  if (!rows.empty()) rows.pop_back();
  with_rows(in, out, rows);
}

inline void entry_tail_dropped(const In& in, const Out& out) {
  const Index entries = in.predictions.extent(1), kept = std::max<Index>(1, entries / 4 * 4);
  right::averaged(in, out, [&](Index t) {
    if (in.kind == Kind::mse) {
      const auto off = tabulate(kept, [&](Index a) { return in.predictions(t, a) - in.actions(t, a); });
      return dot(off, off) / Number(entries);
    }
    const auto x = tabulate(kept, [&](Index a) { return in.predictions(t, a); });
    return shared::softmax::log_sum_exp(x) - in.predictions(t, right::chosen(in, t));
  });
}

inline void no_shift(const In& in, const Out& out) {
  with_cross_entropy(
      in, out, [&](Index t) { return shared::surprisal_of_probability(in.predictions[t], right::chosen(in, t)); });
}

inline void predictions_drift(const In& in, const Out& out, const Number& c) {
  In other = in;
  const auto x = matrix_of(in.predictions.extent(0), in.predictions.extent(1),
                           [&](Index t, Index a) { return in.predictions(t, a) * (Number(1) + c); });
  other.predictions = x.view();
  right::direct(other, out);
}

}  // namespace attest::faults::objective::decision_loss
