// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <type_traits>

#include "attest/openmp/engine/rows.hpp"
#include "attest/view.hpp"

/// One engine for what keeps a state [S | z] = sum_j k_j [v_j | 1]^T: products of tiles of tokens under a causal mask,
/// products with the state between them. An equation says what q, k and v are and how they become features; a form
/// chooses the order. Compiled once per element type; the outputs do not depend on the number of threads.
namespace attest::openmp::engine {

/// o_i = sum_j (q_i . k_j) v_j / (sum_j q_i . k_j + eps), over j <= i and what S and z carry, or over all j.
template <class T>
struct Recurrence {
  View<const T, 2> q = {}, k = {}, v = {};  ///< [n, c], [s, c], [s, m], any strides, negative ones too
  Map<T> map = {};                          ///< what makes features of rows of q and k, if they are none
  View<const bool, 1> mask = {};            ///< [s]; false: the key is not read. Not in causal order
  View<const T, 2> S = {};                  ///< [c, m], carried from before; zero if absent
  View<const T, 1> z = {};                  ///< [c], the same
  bool delta = false;                       ///< the state takes v - (what it answers to k), of all keys; not causal
  bool normalised = true;                   ///< otherwise the numerators alone, and no z
  T eps = 0;
  T undefined = 0;               ///< the output where a denominator is exactly 0
  View<T, 2> o = {};             ///< [n, m]; without it the state alone is updated
  View<T, 1> denominators = {};  ///< [n], with eps, if wanted; not of a scan
  View<T, 2> S_after = {};       ///< [c, m], if wanted
  View<T, 1> z_after = {};       ///< [c], if wanted
};

/// `all_pairs`: every tile of queries meets every key. `token_by_token`: the state takes a token, then it is read.
/// `chunked`: chunk after chunk, the state between them. `scan`: prefix sums of all tokens' states over a tree.
/// `two_level`: the totals of spans of chunks, their running sums, then all spans, each with the state before it.
enum class Order { all_pairs, token_by_token, chunked, scan, two_level };

void causal(const Recurrence<float>& in, Order order, Index chunk);
void causal(const Recurrence<double>& in, Order order, Index chunk);

/// One token. `read_first`: the answer comes from the state before and the product of query and key, otherwise from the
/// state after; either way the state is passed through once.
void step(const Recurrence<float>& in, bool read_first);
void step(const Recurrence<double>& in, bool read_first);

/// Every query sees every key. `all_pairs`: no state; `state`: the state of all keys, read by all queries; `shards`:
/// the same, its sum one over shards of keys.
enum class Whole { all_pairs, state, shards };

void whole(const Recurrence<float>& in, Whole order, Index shard);
void whole(const Recurrence<double>& in, Whole order, Index shard);

/// Gradients of sum_i grad_o_i . o_i, o without a carried state.
template <class T>
struct Gradients {
  View<const T, 2> q = {}, k = {}, v = {}, grad_o = {};  ///< [n, c], [n, c], [n, m], [n, m]
  bool normalised = true;
  T eps = 0;
  /// The denominators' share as one more column of values and cotangents; otherwise it is added on its own.
  bool augmented = false;
  View<T, 2> grad_q = {}, grad_k = {}, grad_v = {};
};

/// Three sums of the same kind: causal over cotangents, values and keys, against time for keys and values.
void causal_backward(const Gradients<float>& in, Order order, Index chunk);
void causal_backward(const Gradients<double>& in, Order order, Index chunk);

}  // namespace attest::openmp::engine
