// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/spec.hpp"
#include "attest/spec/sparse/attend.hpp"

namespace attest::reference::sparse::attend {

namespace plain = attention::scaled_dot_product;
namespace softmax = attention::softmax;
using In = attest::spec::sparse::attend::In<Number>;
using Out = attest::spec::sparse::attend::Out<Number>;
using attest::spec::sparse::attend::EmptyRow;
using Keys = std::vector<Index>;

/// Queries, keys, values and scale, as the contract of attention to all keys has them.
template <class I>
plain::In plain_of(const I& in) {
  plain::In all;
  all.q = in.q, all.k = in.k, all.v = in.v, all.scale = in.scale;
  if constexpr (requires { in.block; }) all.block = in.block;
  if constexpr (requires { in.empty_row; })
    all.empty_row = in.empty_row == decltype(in.empty_row)::nan ? plain::EmptyRow::nan : plain::EmptyRow::zero;
  return all;
}

/// `row(i, S_i, logits)` fills out.o[i]; set(i) is S_i, ascending.
template <class I, class O, class S, class F>
void each_row(const I& in, const O& out, S&& set, F&& row) {
  const plain::In all = plain_of(in);
  const Number scale = plain::scale_of(in);
  for (const Index i : wanted(out.o)) {
    const Keys keys = set(i);
    if (keys.empty())
      plain::empty_row(all, plain::Out{out.o}, i);
    else
      row(i, keys, plain::logits(all, scale, i, keys));
  }
}

/// The keys and values of each set side by side.
template <class I, class O, class S>
void over_sets(const I& in, const O& out, S&& set) {
  each_row(in, out, set, [&](Index i, const Keys& keys, const Vector& l) {
    assign(out.o[i], product(softmax::shifted(l).first, plain::Rows(in.v, keys)));
  });
}

/// Lists of keys one after the other, each on its own, the running result rescaled whenever the maximum rises. lists(i)
/// are ascending and share no key; a list may be empty.
template <class I, class O, class L>
void over_lists(const I& in, const O& out, L&& lists) {
  const plain::In all = plain_of(in);
  const Number scale = plain::scale_of(in);
  for (const Index i : wanted(out.o)) {
    std::optional<plain::Partial> state;
    for (const Keys& keys : lists(i)) {
      if (keys.empty()) continue;
      const Vector l = plain::logits(all, scale, i, keys);
      const auto next = plain::partial(l, plain::Rows(in.v, keys), 0, l.extent());
      state = state ? plain::merged(*state, next) : next;
    }
    if (!state) plain::empty_row(all, plain::Out{out.o}, i);
    for (Index c = 0; state && c < state->o.extent(); ++c) out.o(i, c) = state->o(c) / state->l;
  }
}

/// The keys in lists of neighbours with the same part(j).
template <class P>
std::vector<Keys> split(const Keys& keys, P&& part) {
  std::vector<Keys> lists;
  for (const Index j : keys) {
    if (lists.empty() || part(lists.back().back()) != part(j)) lists.emplace_back();
    lists.back().push_back(j);
  }
  return lists;
}

/// The mask f(i, j), true where visible, of some rows.
class Mask {
public:
  template <class F>
  Mask(Index rows, Index columns, const std::vector<Index>& some, F&& f)
      : visible_(std::make_unique<bool[]>(static_cast<std::size_t>(rows * columns + 1))), extents_{rows, columns} {
    for (const Index i : some)
      for (Index j = 0; j < columns; ++j) visible_[static_cast<std::size_t>(i * columns + j)] = f(i, j);
  }
  View<const bool, 2> view() const { return {visible_.get(), extents_}; }

private:
  std::unique_ptr<bool[]> visible_;
  View<const bool, 2>::Extents extents_;
};

/// All keys, those hidden that sees(i, j) does not show.
template <class I, class O, class F>
void over_mask(const I& in, const O& out, F&& sees) {
  const Mask mask(in.q.extent(0), in.k.extent(0), wanted(out.o), sees);
  plain::In all = plain_of(in);
  all.mask = mask.view();
  plain::max_shift(all, plain::Out{out.o});
}

/// The keys of [0, end) that sees(j) shows.
template <class F>
Keys keys_below(Index end, F&& sees) {
  Keys keys;
  for (Index j = 0; j < end; ++j)
    if (sees(j)) keys.push_back(j);
  return keys;
}

/// What the places of row i name that count, in the order of the list.
inline Keys listed(const In& in, Index i) {
  const Index s = in.k.extent(0), places = in.sets.extent(1), count = in.counts ? in.counts(i) : places;
  if (count < 0 || count > places)
    throw SpecError("sparse.attend: C2 is violated: counts[" + std::to_string(i) + "] is " + std::to_string(count) +
                    ", and a list has " + std::to_string(places) + " places");
  Keys keys;
  for (Index t = 0; t < count; ++t) {
    const Index j = in.sets(i, t);
    if (j < 0 || j >= s)
      throw SpecError("sparse.attend: C1 is violated: sets[" + std::to_string(i) + ", " + std::to_string(t) + "] is " +
                      std::to_string(j) + ", and there are " + std::to_string(s) + " keys");
    keys.push_back(j);
  }
  return keys;
}

/// As a set: ascending, each key once.
inline Keys distinct(Keys keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

/// S_i
inline Keys set_of(const In& in, Index i) { return distinct(listed(in, i)); }

/// o_i = sum_{j in S_i} a_ij v_j      [Child et al. 2019, eq. 2 and 3]
inline void gather(const In& in, const Out& out) {
  over_sets(in, out, [&](Index i) { return set_of(in, i); });
}

/// All keys, those outside of S_i hidden.
inline void mask(const In& in, const Out& out) {
  std::vector<Keys> sets(static_cast<std::size_t>(in.q.extent(0)));
  for (const Index i : wanted(out.o)) sets[static_cast<std::size_t>(i)] = set_of(in, i);
  over_mask(in, out, [&](Index i, Index j) {
    const Keys& keys = sets[static_cast<std::size_t>(i)];
    return std::binary_search(keys.begin(), keys.end(), j);
  });
}

/// One row of the indices of all sets; those of S_i begin at pointers[i].
struct Csr {
  Keys indices, pointers{0};

  explicit Csr(const In& in) {
    for (Index i = 0; i < in.q.extent(0); ++i) {
      const Keys keys = set_of(in, i);
      indices.insert(indices.end(), keys.begin(), keys.end());
      pointers.push_back(static_cast<Index>(indices.size()));
    }
  }
  Keys operator()(Index i) const {
    const auto at = static_cast<std::size_t>(i);
    return {indices.begin() + pointers[at], indices.begin() + pointers[at + 1]};
  }
};

/// The expectation of v under e^(l - lse) over the indices between two pointers.
inline void csr(const In& in, const Out& out) {
  each_row(in, out, Csr(in), [&](Index i, const Keys& keys, const Vector& l) {
    const Number lse = stage("log-sum-exp", softmax::log_sum_exp(l));
    const auto a = stage("weights", tabulate(l.extent(), [&](Index t) { return softmax::exponential(l(t), lse); }));
    assign(out.o[i], product(a, plain::Rows(in.v, keys)));
  });
}

/// The blocks of keys that hold one of S_i.
inline void blocks(const In& in, const Out& out) {
  over_lists(in, out, [&](Index i) { return split(set_of(in, i), [&](Index j) { return j / in.block; }); });
}

}  // namespace attest::reference::sparse::attend
