// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/streaming/attention_entropy.hpp"
#include "faults/fault.hpp"

namespace attest::faults::streaming::attention_entropy {

namespace right = attest::reference::streaming::attention_entropy;
using reference::attention::softmax::Exponentials;
using right::In;
using right::Out;

/// The entropies, then change(H_r, r).
template <class F>
void changed(const In& in, const Out& out, F&& change) {
  right::shifted(in, out);
  for (Index r = 0; r < in.x.extent(0); ++r) out.h(r) = change(out.h(r), r);
}

/// The equation on other logits of the visible entries of a row.
template <class F>
void with_logits(const In& in, const Out& out, F&& logit) {
  const auto x = matrix_of(in.x.extent(0), in.x.extent(1), [&](Index r, Index j) { return logit(in.x(r, j)); });
  In other = in;
  other.x = x.view();
  right::shifted(other, out);
}

template <class F>
void with_mask(const In& in, const Out& out, F&& sees) {
  const Mask mask(in.x.extent(0), in.x.extent(1), sees);
  In other = in;
  other.mask = mask.view();
  right::shifted(other, out);
}

inline bool sees(const In& in, Index r, Index j) { return !in.mask || in.mask(r, j); }

inline void bits(const In& in, const Out& out) {
  const Number ln_2 = ln2();
  changed(in, out, [&](const Number& h, Index) { return h / ln_2; });
}

inline void sign(const In& in, const Out& out) {
  changed(in, out, [](const Number& h, Index) { return -h; });
}

inline void nan_on_zero(const In& in, const Out& out) {
  changed(in, out, [&](const Number& h, Index r) {
    return right::visible(in, r).size() < static_cast<std::size_t>(in.x.extent(1)) ? not_a_number() : h;
  });
}

inline void nan_on_vanishing(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& x) {
    const auto a = Exponentials(x).weights();
    return -sum(a.extent(), [&](Index t) { return a(t) * log(a(t)); });
  });
}

inline void includes_masked(const In& in, const Out& out) {
  with_mask(in, out, [](Index, Index) { return true; });
}

inline void mask_inverted(const In& in, const Out& out) {
  with_mask(in, out, [&](Index r, Index j) { return !in.mask || !in.mask(r, j); });
}

inline void masked_in_denominator(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector&) { return Number(0); });
  for (Index r = 0; r < in.x.extent(0); ++r) {
    const auto a = Exponentials(tabulate(in.x.extent(1), [&](Index j) { return in.x(r, j); })).weights();
    const auto keys = right::visible(in, r);
    if (!keys.empty())
      out.h(r) = right::of_weights(
          tabulate(static_cast<Index>(keys.size()), [&](Index t) { return a(keys[static_cast<std::size_t>(t)]); }));
  }
}

inline void unnormalised_weights(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& x) { return right::of_weights(Exponentials(x).e); });
}

inline void maximum_not_restored(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& x) {
    const Exponentials of(x);
    return log(of.z) - dot(of.weights(), x);
  });
}

inline void share_of_the_largest(const In& in, const Out& out) {
  changed(in, out, [&](const Number& h, Index r) {
    const auto count = right::visible(in, r).size();
    return count > 1 ? h / log(Number(static_cast<Index>(count))) : h;
  });
}

inline void mean_over_entries(const In& in, const Out& out) {
  changed(in, out, [&](const Number& h, Index) { return h / Number(in.x.extent(1)); });
}

inline void last_dropped(const In& in, const Out& out) {
  with_mask(in, out, [&](Index r, Index j) {
    const auto keys = right::visible(in, r);
    return sees(in, r, j) && !(keys.size() > 1 && j == keys.back());
  });
}

inline void base2_weights(const In& in, const Out& out) {
  const Number ln_2 = ln2();
  with_logits(in, out, [&](const Number& x) { return ln_2 * x; });
}

inline void no_shift(const In& in, const Out& out) {
  right::each_row(in, out, [](const Vector& x) {
    const auto e = tabulate(x.extent(), [&](Index t) { return exp(x(t)); });
    const Number z = sum(e);
    return log(z) - sum(x.extent(), [&](Index t) { return e(t) / z * x(t); });
  });
}

inline void empty_row_largest(const In& in, const Out& out) {
  changed(in, out,
          [&](const Number& h, Index r) { return right::visible(in, r).empty() ? log(Number(in.x.extent(1))) : h; });
}

inline void empty_row_nan(const In& in, const Out& out) {
  changed(in, out, [&](const Number& h, Index r) { return right::visible(in, r).empty() ? not_a_number() : h; });
}

inline void logits_drift(const In& in, const Out& out, const Number& c) {
  with_logits(in, out, [&](const Number& x) { return x * (Number(1) + c); });
}

}  // namespace attest::faults::streaming::attention_entropy
