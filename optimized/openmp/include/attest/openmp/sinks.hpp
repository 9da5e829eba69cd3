// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "attest/openmp/streaming.hpp"
#include "attest/openmp/waves.hpp"

/// Attention to the first and the last tokens of a stream, with positions that are not those in the text.
namespace attest::openmp::streaming {

/// x turned by those positions; x itself without rotary positions.
template <class T>
class Turned : public Rows<T> {
public:
  template <class I>
  Turned(const I& in, View<const T, 2> x, const std::vector<std::int64_t>& positions) : Rows<T>(x) {
    if (in.position != decltype(in.position)::rotary) return;
    const Index d = x.extent(1);
    const auto theta = positional::frequencies<T>(10000, d / 2, static_cast<engine::Wide<T>>(d) / 2);
    RowMajor<T> rows(x.extent(0), d);
    engine::rotate(engine::Rotation<T>{.x = x,
                                       .positions = {positions.data(), {x.extent(0)}},
                                       .theta = {theta.data(), {theta.size()}},
                                       .half = in.pairing == decltype(in.pairing)::half,
                                       .y = view(rows)});
    this->keep(std::move(rows));
  }
};

/// The slope of ALiBi, 0 where it has no say.
template <class T, class I>
T slope_of(const I& in) {
  return in.position == decltype(in.position)::alibi ? in.slope() : T(0);
}

/// f(t) for t < count
template <class F>
std::vector<std::int64_t> positions(Index count, F&& f) {
  std::vector<std::int64_t> all;
  for (Index t = 0; t < count; ++t) all.push_back(f(t));
  return all;
}

/// Keys that lie near a query are at their true distance; queries meet far keys at another place, far(position), and
/// far keys stand at own(position). `reach`: the near keys are those less than `reach` before the query.
template <class T, class I, class F, class K>
class Stream {
public:
  Stream(const I& in, Index reach, F far, K own)
      : in_(in),
        policy_(Policy::of(in)),
        before_(policy_.filled(in.seen)),
        reach_(reach),
        k_(in, in.cache_k, in.k),
        v_(in, in.cache_v, in.v),
        n_(in.q.extent(0)),
        s_(k_().extent(0)),
        far_(far),
        own_(own),
        scale_(attention::scale_of<T>(in)),
        slope_(slope_of<T>(in)),
        q_(in, in.q, positions(n_, [&](Index i) { return i + before_; })),
        near_k_(in, k_, positions(s_, [&](Index t) { return position(t) - (in.seen - before_); })),
        far_q_(in, in.q, positions(n_, [&](Index i) { return far(in.seen + i); })),
        far_k_(in, k_, positions(s_, [&](Index t) { return own(position(t)); })) {}

  /// Near and far keys each with a softmax of their own, which their log-sum-exps merge.
  template <class O>
  void two_branches(const O& out) const {
    RowMajor<T> far_o(n_, v_().extent(1));
    Column<T> near_lse(n_), far_lse(n_);
    auto near = problem(q_, near_k_);
    std::unique_ptr<bool[]> near_mask, far_mask;
    if (reach_ <= policy_.recent) {
      near.left = reach_ - 1, near.right = 0, near.shift = s_ - n_;
    } else {
      near.mask = mask(near_mask, [&](Index t, Index p) { return sees(t, p) && is_near(t, p); });
    }
    near.edit = bias([&](Index t, Index p) { return t - p; });
    engine::attend(near, {.o = out.o, .lse = {near_lse.data(), {n_}}});
    auto far = problem(far_q_, far_k_);
    if (reach_ >= policy_.recent) {  // the first tokens alone
      const Index starts = std::min(policy_.sinks, s_);
      far.k = far.k.rows(0, starts), far.v = far.v.rows(0, starts);
      far.right = -reach_, far.shift = in_.seen;
    } else {
      far.mask = mask(far_mask, [&](Index t, Index p) { return sees(t, p) && !is_near(t, p); });
    }
    far.edit = bias([&](Index t, Index p) { return far_(t) - own_(p); });
    engine::attend(far, {.o = view(far_o), .lse = {far_lse.data(), {n_}}});
    attention::merge<T>(out.o, {near_lse.data(), {n_}}, view(std::as_const(far_o)), {far_lse.data(), {n_}});
    store<T>(in_, out);
  }

  /// One softmax: the logits of far keys take the place of those of their true distance.
  template <class O>
  void masked(const O& out) const {
    auto all = problem(q_, near_k_);
    std::unique_ptr<bool[]> visible;
    all.mask = mask(visible, [&](Index t, Index p) { return sees(t, p); });
    const auto far_q = matrix(far_q_()), far_k = matrix(far_k_());
    all.edit = [&](const engine::Tile<T>& tile) {
      tile.each([&](T& l, Index i, Index j) {
        const Index t = in_.seen + i, p = position(j);
        if (is_near(t, p))
          l -= slope_ * static_cast<T>(t - p);
        else if (sees(t, p))
          l = scale_ * far_q.row(i).dot(far_k.row(j)) - slope_ * static_cast<T>(far_(t) - own_(p));
      });
    };
    engine::attend(all, {.schedule = engine::Schedule::whole_row, .o = out.o});
    store<T>(in_, out);
  }

private:
  Index position(Index t) const { return t < before_ ? policy_.position(t, in_.seen) : in_.seen + t - before_; }
  bool sees(Index t, Index p) const { return p <= t && (p < policy_.sinks || t - p < policy_.recent); }
  bool is_near(Index t, Index p) const { return t - p < reach_; }

  engine::Problem<T> problem(View<const T, 2> q, View<const T, 2> k) const {
    return {.q = q, .k = k, .v = v_, .scale = scale_};
  }
  template <class G>
  View<const bool, 2> mask(std::unique_ptr<bool[]>& room, G&& visible) const {
    room = std::make_unique<bool[]>(static_cast<std::size_t>(n_ * s_));
    for (Index i = 0; i < n_; ++i)
      for (Index j = 0; j < s_; ++j) room[static_cast<std::size_t>(i * s_ + j)] = visible(in_.seen + i, position(j));
    return {room.get(), {n_, s_}};
  }
  template <class G>
  engine::Edit<T> bias(G distance) const {
    if (slope_ == 0) return {};
    return [this, distance](const engine::Tile<T>& tile) {
      tile.each([&](T& l, Index i, Index j) { l -= slope_ * static_cast<T>(distance(in_.seen + i, position(j))); });
    };
  }

  const I& in_;
  Policy policy_;
  Index before_, reach_;
  Joined<T> k_, v_;
  Index n_, s_;
  F far_;
  K own_;
  T scale_, slope_;
  Turned<T> q_, near_k_, far_q_, far_k_;
};

/// Token by token: each is written into the cache, then its query, turned by the distance of each key, reads the rows
/// as they lie.
template <class T, class I, class O, class D>
void from_cache(const I& in, const O& out, D&& distance) {
  const Policy policy = Policy::of(in);
  RowMajor<T> k = matrix(in.cache_k), v = matrix(in.cache_v);
  const T scale = attention::scale_of<T>(in), slope = slope_of<T>(in);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const Index p = in.seen + i, filled = policy.filled(p + 1);
    write(policy, in, i, k, v);
    std::vector<std::int64_t> distances(static_cast<std::size_t>(filled));
    for (Index t = 0; t < filled; ++t) {
      const Index key = policy.position(t, p + 1);
      distances[static_cast<std::size_t>(policy.row(key, p + 1))] = distance(p, key);
    }
    const RowMajor<T> copies = vector(in.q[i]).transpose().replicate(filled, 1);
    const Turned<T> q(in, view(copies), distances);
    const auto turned = matrix(q());
    engine::attend({.q = in.q.rows(i, 1),
                    .k = view(std::as_const(k)).rows(0, filled),
                    .v = view(std::as_const(v)).rows(0, filled),
                    .edit =
                        [&](const engine::Tile<T>& tile) {
                          tile.each([&](T& l, Index, Index j) {
                            l = scale * turned.row(j).dot(k.row(j)) -
                                slope * static_cast<T>(distances[static_cast<std::size_t>(j)]);
                          });
                        }},
                   {.o = out.o.rows(i, 1)});
  }
  if (out.cache_k) matrix(out.cache_k) = k;
  if (out.cache_v) matrix(out.cache_v) = v;
}

}  // namespace attest::openmp::streaming
