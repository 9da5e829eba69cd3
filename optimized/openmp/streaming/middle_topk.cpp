// SPDX-License-Identifier: MIT
#include "attest/spec/streaming/middle_topk.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "attest/openmp/sinks.hpp"
#include "attest/openmp/tasks.hpp"

namespace attest::openmp::streaming::middle_topk {

using attest::spec::streaming::middle_topk::In;
using attest::spec::streaming::middle_topk::Out;
using attest::spec::streaming::middle_topk::Position;
using attest::spec::streaming::middle_topk::SelectBy;
using attest::spec::streaming::middle_topk::ShortMiddle;

/// Whether score a of key i goes before score b of key j: equal ones by index.
template <class T>
bool before(T a, Index i, T b, Index j) {
  return a > b || (a == b && i < j);
}

/// One head.
template <class T>
class Head {
public:
  Head(const In<T>& in, Index h)
      : in_(in),
        q_(in.q[h]),
        k_(in.k[h]),
        v_(in.v[h]),
        n_(q_.extent(0)),
        s_(k_.extent(0)),
        ceiling_(in.ceiling > 0 ? in.ceiling : in.window),
        insert_(in.insert_distance >= 0 ? in.insert_distance : in.window / 2),
        scale_(in.scale ? static_cast<T>(*in.scale) : T(1) / std::sqrt(static_cast<T>(q_.extent(1)))),
        slope_(in.position == Position::alibi ? in.slopes(h) : T(0)),
        near_q_(in, q_, positions(n_, [&](Index i) { return position(i); })),
        near_k_(in, k_, positions(s_, [](Index j) { return j; })),
        inserted_(logits(insert_)),
        far_(logits(ceiling_)),
        taken_(new bool[static_cast<std::size_t>(n_ * s_)]()) {}

  /// choose(scores of the middle, first key, take(key)) for each query.
  template <class F>
  void select(F&& choose) {
    const RowMajor<T>& scores = in_.select_by == SelectBy::inserted ? inserted_ : far_;
    for (Index i = 0; i < n_; ++i) {
      const Index count = position(i) - in_.window + 1 - in_.starts;
      if (count <= 0 || in_.top == 0 || (count < in_.top && in_.short_middle == ShortMiddle::none)) continue;
      const auto take = [&](Index t) { taken_[static_cast<std::size_t>(i * s_ + in_.starts + t)] = true; };
      if (count <= in_.top) {
        for (Index t = 0; t < count; ++t) take(t);
      } else {
        const T* row = scores.data() + i * s_ + in_.starts;
        choose(row, count, take);
      }
    }
  }

  /// All that is seen in one softmax.
  void attend(View<T, 2> o) const {
    for_seen([&](Index i, Index j) { return seen_anyway(i, j) || taken(i, j); },
             {.schedule = engine::Schedule::whole_row, .o = o});
  }

  /// What is taken in a softmax of its own.
  void attend_apart(View<T, 2> o) const {
    RowMajor<T> middle(n_, v_.extent(1));
    Column<T> near_lse(n_), middle_lse(n_);
    for_seen([&](Index i, Index j) { return seen_anyway(i, j); }, {.o = o, .lse = {near_lse.data(), {n_}}});
    for_seen([&](Index i, Index j) { return taken(i, j); }, {.o = view(middle), .lse = {middle_lse.data(), {n_}}});
    attention::merge<T>(o, {near_lse.data(), {n_}}, view(std::as_const(middle)), {middle_lse.data(), {n_}});
  }

private:
  Index position(Index i) const { return i + s_ - n_; }
  bool taken(Index i, Index j) const { return taken_[static_cast<std::size_t>(i * s_ + j)]; }
  bool seen_anyway(Index i, Index j) const {
    const Index t = position(i);
    return j <= t && (j < in_.starts || t - j < in_.window);
  }

  /// Of all pairs, at one distance.
  RowMajor<T> logits(Index distance) const {
    const Turned<T> turned(in_, q_, positions(n_, [&](Index) { return distance; }));
    RowMajor<T> l = scale_ * (matrix(turned()) * matrix(k_).transpose());
    l.array() -= slope_ * static_cast<T>(distance);
    return l;
  }

  template <class S>
  void for_seen(S&& sees, const engine::Forward<T>& forward) const {
    const auto mask = std::make_unique<bool[]>(static_cast<std::size_t>(n_ * s_));
    for (Index i = 0; i < n_; ++i)
      for (Index j = 0; j < s_; ++j) mask[static_cast<std::size_t>(i * s_ + j)] = sees(i, j);
    engine::Problem<T> problem{.q = near_q_, .k = near_k_, .v = v_, .scale = scale_};
    problem.mask = {mask.get(), {n_, s_}};
    problem.edit = [&](const engine::Tile<T>& tile) {
      tile.each([&](T& l, Index i, Index j) {
        const Index distance = position(i) - j;
        if (taken(i, j))
          l = inserted_(i, j);
        else if (distance >= ceiling_)
          l = far_(i, j);
        else
          l -= slope_ * static_cast<T>(distance);
      });
    };
    engine::attend(problem, forward);
  }

  const In<T>& in_;
  View<const T, 2> q_, k_, v_;
  Index n_, s_, ceiling_, insert_;
  T scale_, slope_;
  Turned<T> near_q_, near_k_;
  RowMajor<T> inserted_, far_;
  std::unique_ptr<bool[]> taken_;
};

/// A partial sort.
template <class T>
void sort(const In<T>& in, const Out<T>& out) {
  each_task(in.q.extent(0), in.k.extent(1) > 64, [&](Index h) {
    Head<T> head(in, h);
    head.select([&](const T* scores, Index count, auto&& take) {
      std::vector<Index> order(static_cast<std::size_t>(count));
      std::iota(order.begin(), order.end(), Index{0});
      const auto split = order.begin() + in.top;
      std::partial_sort(order.begin(), split, order.end(),
                        [&](Index a, Index b) { return before(scores[a], a, scores[b], b); });
      std::for_each(order.begin(), split, take);
    });
    head.attend(out.o[h]);
  });
}

/// Keys are offered one by one; the worst of those that are held gives way.
template <class T>
void heap(const In<T>& in, const Out<T>& out) {
  each_task(in.q.extent(0), in.k.extent(1) > 64, [&](Index h) {
    Head<T> head(in, h);
    head.select([&](const T* scores, Index count, auto&& take) {
      const auto better = [&](Index a, Index b) { return before(scores[a], a, scores[b], b); };
      std::vector<Index> held;
      for (Index t = 0; t < count; ++t) {
        if (static_cast<Index>(held.size()) == in.top) {
          if (!better(t, held.front())) continue;
          std::pop_heap(held.begin(), held.end(), better);
          held.pop_back();
        }
        held.push_back(t);
        std::push_heap(held.begin(), held.end(), better);
      }
      std::for_each(held.begin(), held.end(), take);
    });
    head.attend_apart(out.o[h]);
  });
}

/// The score of rank `top` by partition; what is larger is taken, and of equal ones the first, as many as are missing.
template <class T>
void threshold(const In<T>& in, const Out<T>& out) {
  each_task(in.q.extent(0), in.k.extent(1) > 64, [&](Index h) {
    Head<T> head(in, h);
    head.select([&](const T* scores, Index count, auto&& take) {
      std::vector<T> ranked(scores, scores + count);
      std::nth_element(ranked.begin(), ranked.begin() + in.top - 1, ranked.end(), std::greater<T>());
      const T least = ranked[static_cast<std::size_t>(in.top - 1)];
      Index missing = in.top - std::count_if(scores, scores + count, [&](T x) { return x > least; });
      for (Index t = 0; t < count; ++t)
        if (scores[t] > least || (scores[t] == least && missing-- > 0)) take(t);
    });
    head.attend(out.o[h]);
  });
}

template void sort(const In<float>&, const Out<float>&);
template void sort(const In<double>&, const Out<double>&);
template void heap(const In<float>&, const Out<float>&);
template void heap(const In<double>&, const Out<double>&);
template void threshold(const In<float>&, const Out<float>&);
template void threshold(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::streaming::middle_topk
