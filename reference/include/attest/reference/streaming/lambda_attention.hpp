// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "attest/reference/positional/rotary.hpp"
#include "attest/reference/streaming/window_attention.hpp"
#include "attest/spec/streaming/lambda_attention.hpp"

namespace attest::reference::streaming::lambda_attention {

using In = attest::spec::streaming::lambda_attention::In<Number>;
using Out = attest::spec::streaming::lambda_attention::Out<Number>;
using attention::scaled_dot_product::Rows;
using attention::scaled_dot_product::scale_of;
using attention::softmax::shifted;
using attest::spec::streaming::lambda_attention::Position;
using window_attention::Cache;
using window_attention::Policy;
using window_attention::store;
using window_attention::Tokens;

/// Rows turned by whole positions; cosines and sines of each are computed once.
class Turns {
public:
  template <class I>
  explicit Turns(const I& in) {
    rotary_.x = in.q, rotary_.pairing = in.pairing;
  }
  Vector operator()(const Row& x, Index position) {
    const auto& table = of(position);
    Vector y(x.extent(0));
    for (Index m = 0; m < static_cast<Index>(table.size()); ++m) {
      const auto [a, b] = positional::rotary::pair_of(rotary_, m);
      const auto [y_a, y_b] = positional::rotary::turned(table[static_cast<std::size_t>(m)], x(a), x(b));
      y(a) = y_a, y(b) = y_b;
    }
    return stage("turned", std::move(y));
  }

private:
  const std::vector<positional::rotary::Turn>& of(Index position) {
    auto& table = tables_[position];
    for (Index m = static_cast<Index>(table.size()); m < rotary_.x.extent(1) / 2; ++m)
      table.push_back(positional::rotary::turn(rotary_, position, m));
    return table;
  }

  positional::rotary::In rotary_;
  std::map<Index, std::vector<positional::rotary::Turn>> tables_;
};

/// Logits of keys at distances from a query: scale (R_distance q) . k, or scale q . k - slope distance.
template <class I>
class Scores {
public:
  explicit Scores(const I& in) : in_(in), scale_(scale_of(in)), turns_(in) {}

  template <class D>
  Vector operator()(const Row& q, const View<const Number, 2>& k, const std::vector<Index>& keys, D&& distance) {
    std::map<Index, Vector> turned;
    return tabulate(static_cast<Index>(keys.size()), [&](Index t) {
      const Index key = keys[static_cast<std::size_t>(t)], far = distance(key);
      if (in_.position != Position::rotary) return logit(dot(q, k[key]), far);
      auto at = turned.find(far);
      if (at == turned.end()) at = turned.emplace(far, turns_(q, far)).first;
      return logit(dot(at->second, k[key]), far);
    });
  }

  /// The logit of a product at that distance.
  Number logit(const Number& q_k, Index distance) const {
    const Number product = stage("products", q_k);
    if (in_.position != Position::alibi) return stage("logits", scale_ * product);
    return stage("logits", stage("scaled products", scale_ * product) -
                               stage("biases", in_.slope() * stage("distances", Number(distance))));
  }

  Vector turned(const Row& x, Index position) {
    if (in_.position != Position::rotary) return tabulate(x.extent(0), [&](Index a) { return x(a); });
    return turns_(x, position);
  }

private:
  const I& in_;
  Number scale_;
  Turns turns_;
};

/// The tokens, as they are numbered, that a query at that position sees: the first ones, and the last ones.
inline std::vector<Index> visible(const Policy& policy, const Tokens& tokens, Index position) {
  std::vector<Index> seen;
  for (std::size_t t = 0; t < tokens.positions.size(); ++t) {
    const Index p = tokens.positions[t];
    if (p <= position && (p < policy.sinks || position - p < policy.recent)) seen.push_back(static_cast<Index>(t));
  }
  return seen;
}

/// Every form that sees cache and call side by side: o_i = row(i, tokens that query i sees).
template <class I, class O, class F>
void each_row(const I& in, const O& out, const Tokens& tokens, F&& row) {
  for (const Index i : wanted(out.o)) assign(out.o[i], row(i, visible(Policy::of(in), tokens, in.seen + i)));
  store(in, out);
}

/// Attention whose logits depend on distance(position of the query, position of the key).
template <class I, class O, class D>
void by_distance(const I& in, const O& out, D&& distance) {
  const Tokens tokens(in);
  Scores<I> scores(in);
  each_row(in, out, tokens, [&](Index i, const std::vector<Index>& keys) {
    const auto l = scores(in.q[i], tokens.k, keys, [&](Index t) {
      return distance(in.seen + i, tokens.positions[static_cast<std::size_t>(t)]);
    });
    return product(shifted(l).first, Rows(tokens.v, keys));
  });
}

/// The same, token by token, from the rows of a cache as they lie.
template <class I, class O, class D>
void from_cache(const I& in, const O& out, D&& distance) {
  const Policy policy = Policy::of(in);
  Scores<I> scores(in);
  window_attention::roll(in, out, [&](Cache<I>& cache, Index i) {
    cache.take(in, i);
    if (!is_wanted(out.o, i)) return;
    const Index position = in.seen + i;
    std::map<Index, Index> position_of;
    std::vector<Index> rows;
    for (const Index p : policy.kept(position + 1)) position_of[policy.row(p, position + 1)] = p;
    for (const auto& [row, p] : position_of) rows.push_back(row);
    const auto l = scores(in.q[i], cache.k, rows, [&](Index row) { return distance(position, position_of.at(row)); });
    assign(out.o[i], product(shifted(l).first, Rows(cache.v, rows)));
  });
}

/// Softmax attention over some keys, and the logarithm of its denominator.
struct Branch {
  Vector o;
  Number lse;

  Branch(const Vector& l, const Rows& v) : Branch(shifted(l), v) {}

private:
  Branch(const std::pair<Vector, Number>& weights, const Rows& v)
      : o(stage("branches", product(weights.first, v))), lse(stage("log-sum-exp", weights.second)) {}
};

/// Two branches over different keys as one softmax over all.
inline Vector merged(const Branch& a, const Branch& b) {
  const auto share = shifted(tabulate(2, [&](Index t) { return t == 0 ? a.lse : b.lse; })).first;
  return tabulate(a.o.extent(), [&](Index c) { return share(0) * a.o(c) + share(1) * b.o(c); });
}

/// The two kinds of keys that a query sees: near ones, at their distance, where query and key are each turned by their
/// own position, counted from the oldest token at hand; and far ones, a query turned by far(position of the query)
/// against keys turned by own(position of the key).
template <class I, class O, class N, class F, class K>
void in_two_branches(const I& in, const O& out, N&& is_near, F&& far, K&& own) {
  const Tokens tokens(in);
  Scores<I> scores(in);
  const Index origin = in.seen - Policy::of(in).filled(in.seen);
  std::map<std::pair<Index, Index>, Vector> turned;
  const auto turned_key = [&](Index key, Index at) {
    auto found = turned.find({key, at});
    if (found == turned.end())
      found = turned.emplace(std::pair(key, at), scores.turned(View<const Number, 2>(tokens.k)[key], at)).first;
    return found->second.view();
  };
  const auto logits = [&](const Vector& q, Index from, const std::vector<Index>& keys, auto&& place) {
    return tabulate(static_cast<Index>(keys.size()), [&](Index t) {
      const Index key = keys[static_cast<std::size_t>(t)];
      const Index at = place(tokens.positions[static_cast<std::size_t>(key)]);
      return scores.logit(dot(q, turned_key(key, at)), from - at);
    });
  };
  each_row(in, out, tokens, [&](Index i, const std::vector<Index>& keys) {
    const Index position = in.seen + i;
    std::vector<Index> near_keys, far_keys;
    for (const Index t : keys)
      (is_near(position, tokens.positions[static_cast<std::size_t>(t)]) ? near_keys : far_keys).push_back(t);
    const auto branch = [&](const std::vector<Index>& some, Index from, auto&& place) {
      return Branch(logits(scores.turned(in.q[i], from), from, some, place), Rows(tokens.v, some));
    };
    const auto near = branch(near_keys, position - origin, [&](Index p) { return p - origin; });
    return far_keys.empty() ? near.o : merged(near, branch(far_keys, far(position), own));
  });
}

inline Index ceiling_of(const In& in) { return in.ceiling > 0 ? in.ceiling : in.cache_k.extent(0) - in.starts; }

inline Index distance(const In& in, Index position, Index key) { return std::min(position - key, ceiling_of(in)); }

/// l_ij = w(q_i, k_j, min(t - j, ceiling)) over j < starts or t - j < window      [Han et al. 2023, section 4]
inline void mask(const In& in, const Out& out) {
  by_distance(in, out, [&](Index position, Index key) { return distance(in, position, key); });
}

/// Keys below the ceiling with true rotations, the others unrotated against a query turned by the ceiling.
inline void two_branches(const In& in, const Out& out) {
  in_two_branches(
      in, out, [&](Index position, Index key) { return position - key < ceiling_of(in); },
      [&](Index) { return ceiling_of(in); }, [](Index) { return Index{0}; });
}

/// Token by token from the cache.
inline void decode(const In& in, const Out& out) {
  from_cache(in, out, [&](Index position, Index key) { return distance(in, position, key); });
}

}  // namespace attest::reference::streaming::lambda_attention
