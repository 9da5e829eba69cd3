// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/objective/perplexity.hpp"
#include "faults/fault.hpp"

namespace attest::faults::objective::perplexity {

namespace right = attest::reference::objective::perplexity;
using right::In;
using right::Out;

inline std::vector<Index> rows_of(const In& in) { return right::counted(in.mask, in.logits.extent(0)); }

/// -ln p_t, as it should be.
inline Number loss(const In& in, Index t) { return right::surprisal(in.logits[t], right::target(in, t)); }

/// The equation with another loss of a token.
template <class F>
void with_loss(const In& in, const Out& out, F&& f) {
  right::write(out, right::mean(rows_of(in), f));
}

/// The equation with other tokens counted.
inline void with_rows(const In& in, const Out& out, const std::vector<Index>& rows) {
  right::write(out, right::mean(rows, [&](Index t) { return loss(in, t); }));
}

inline void mean_of_ppl(const In& in, const Out& out) {
  right::logits(in, out);
  out.ppl() = right::mean(rows_of(in), [&](Index t) { return exp(loss(in, t)); });
}

inline void base_mixed(const In& in, const Out& out) {
  right::logits(in, out);
  out.ppl() = exp(out.nll() / ln2());
}

inline void padding_counted(const In& in, const Out& out) {
  with_rows(in, out, right::counted({}, in.logits.extent(0)));
}

inline void sum_not_mean(const In& in, const Out& out) {
  right::logits(in, out);
  right::write(out, out.nll() * Number(static_cast<Index>(rows_of(in).size())));
}

inline void targets_not_shifted(const In& in, const Out& out) {
  const Index n = in.logits.extent(0);
  with_loss(in, out, [&](Index t) { return right::surprisal(in.logits[t], right::target(in, (t + n - 1) % n)); });
}

inline void mask_inverted(const In& in, const Out& out) {
  std::vector<Index> rows;
  for (Index t = 0; t < in.logits.extent(0); ++t)
    if (!in.mask || !in.mask(t)) rows.push_back(t);
  with_rows(in, out, rows);
}

inline void divided_by_all(const In& in, const Out& out) {
  right::logits(in, out);
  right::write(out, out.nll() * Number(static_cast<Index>(rows_of(in).size())) / Number(in.logits.extent(0)));
}

inline void first_dropped(const In& in, const Out& out) {
  auto rows = rows_of(in);
  if (!rows.empty()) rows.erase(rows.begin());
  with_rows(in, out, rows);
}

inline void last_dropped(const In& in, const Out& out) {
  auto rows = rows_of(in);
  if (!rows.empty()) rows.pop_back();
  with_rows(in, out, rows);
}

inline void vocabulary_tail_dropped(const In& in, const Out& out) {
  const Index classes = std::max<Index>(1, in.logits.extent(1) / 4 * 4);
  with_loss(in, out, [&](Index t) {
    const auto x = tabulate(classes, [&](Index c) { return in.logits(t, c); });
    return right::softmax::log_sum_exp(x) - in.logits(t, right::target(in, t));
  });
}

inline void padded_classes_counted(const In& in, const Out& out) {
  const Index classes = in.logits.extent(1);
  with_loss(in, out, [&](Index t) {
    const auto x = tabulate((classes + 7) / 8 * 8, [&](Index c) { return c < classes ? in.logits(t, c) : Number(0); });
    return right::softmax::log_sum_exp(x) - in.logits(t, right::target(in, t));
  });
}

inline void epsilon_in_log(const In& in, const Out& out) {
  with_loss(in, out, [&](Index t) { return -log(exp(-loss(in, t)) + rational(1, 100000000)); });
}

inline void no_shift(const In& in, const Out& out) { right::probabilities(in, out); }

inline void logits_drift(const In& in, const Out& out, const Number& c) {
  In other = in;
  const auto x = matrix_of(in.logits.extent(0), in.logits.extent(1),
                           [&](Index t, Index a) { return in.logits(t, a) * (Number(1) + c); });
  other.logits = x.view();
  right::logits(other, out);
}

}  // namespace attest::faults::objective::perplexity
