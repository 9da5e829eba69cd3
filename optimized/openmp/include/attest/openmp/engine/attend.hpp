// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>

#include "attest/view.hpp"

/// One engine for what attends: tiles of queries x keys, products of packed tiles, e^x of vectors, masks where a tile
/// needs them. An equation says how a logit is made and which pairs are visible; a form chooses the schedule. Compiled
/// once per element type; the outputs do not depend on the number of threads.
namespace attest::openmp::engine {

/// Some logits or weights, to be edited in place.
template <class T>
struct Tile {
  T* data;
  Index query, queries;  ///< first query, and how many
  Index key, keys;
  Index key_stride;

  T& operator()(Index i, Index j) const { return data[(j - key) * key_stride + i - query]; }

  /// f(logit, i, j) for all, in the order in which they lie.
  template <class F>
  void each(F&& f) const {
    for (Index j = key; j < key + keys; ++j)
      for (Index i = query; i < query + queries; ++i) f((*this)(i, j), i, j);
  }
};

template <class T>
using Edit = std::function<void(const Tile<T>&)>;

/// o_i = sum_j a_ij v_j, a_ij the weight of l_ij = edit(cap(scale q_i . k_j) + bias_ij) among the keys that i sees.
template <class T>
struct Problem {
  View<const T, 2> q = {}, k = {}, v = {};  ///< [n, d], [s, d], [s, m], any strides
  T scale = 1;
  T softcap = 0;                  ///< 0: none
  View<const T, 2> bias = {};     ///< [n, s]; -inf hides
  View<const bool, 2> mask = {};  ///< [n, s]; true where visible
  /// Key j is visible to query i when i + shift - left <= j <= i + shift + right, each end if there is one.
  std::optional<Index> left = {}, right = {};
  Index shift = 0;
  Edit<T> edit = {};        ///< of logits, before what is hidden is hidden
  bool exponential = true;  ///< the weight is e^l; otherwise l itself
};

/// How the sum over keys goes. `whole_row`: all logits, their maximum, normalised weights. `log_sum_exp`: two passes,
/// the second with e^(l - lse). `online`: blocks of keys, a running maximum. `split`: shards of keys on their own,
/// merged as a tree.
enum class Schedule { whole_row, log_sum_exp, online, split };

/// The output of a query that sees nothing.
enum class Empty { zero, nan, mean_of_values };

template <class T>
struct Forward {
  Schedule schedule = Schedule::online;
  Index block = 64;            ///< keys; a tile holds as many whole blocks as suit the engine, at least one
  std::optional<T> sink = {};  ///< a logit of no key: it adds to the denominator alone
  Empty empty = Empty::zero;
  Edit<T> weights = {};  ///< sees normalised weights, for `whole_row` alone
  View<T, 2> o = {};     ///< [n, m]
  View<T, 1> lse = {};   ///< [n], if wanted
};

/// What the gradient keeps of the weights of a row, and what delta_i = sum_j a_ij grad_a_ij is computed from.
enum class Gradient { weights_kept, recomputed, recomputed_delta_from_output };

template <class T>
struct Backward {
  Gradient gradient = Gradient::weights_kept;
  Index block = 64;
  View<const T, 2> grad_o = {};  ///< [n, m]
  View<T, 2> grad_q = {}, grad_k = {}, grad_v = {};
  View<T, 2> grad_bias = {};  ///< [n, s], if wanted
};

void attend(const Problem<float>& problem, const Forward<float>& forward);
void attend(const Problem<double>& problem, const Forward<double>& forward);

/// Of a problem without softcap and edit.
void attend_backward(const Problem<float>& problem, const Backward<float>& backward);
void attend_backward(const Problem<double>& problem, const Backward<double>& backward);

}  // namespace attest::openmp::engine
