// SPDX-License-Identifier: MIT
#pragma once

#include "attest/choice/zero_or_nan.hpp"
#include "attest/cuda/call.hpp"
#include "attest/cuda/tensors.hpp"

/// Building blocks of linear attention and of the compressive memory, forward and backward: a token's output
///
///     answer_i = state^T a_i + sum_j (a_i . b_j) c_j,      state = initial + sum_j b_j c_j^T
///
/// where j runs over the tokens of i's chunk up to i (Order::past) or from i on (Order::future) in the sum, and over
/// the chunks before or after it in the state. With a, b, c = phi_q, phi_k, [v | 1] it is the numerator beside the
/// denominator; with G = grad_o / d and e = -(grad_o . o) / d the gradients are the same thing three times
/// (Katharopoulos et al. 2020, eq. 13 to 15, corrected, with one more column for the denominator):
///
///     grad_phi_q: a, b, c = [G | e], [v | 1], phi_k, past      grad_phi_k: [v | 1], [G | e], phi_q, future grad_v:
///     phi_k, phi_q, G, future
///
/// All functions are templates over the type T of tensors in memory and the type Factor of products; units/
/// instantiates them for every format.

namespace attest::cuda {

/// Which tokens contribute to an output. `outside` and `all` have no sum inside the chunk: `outside` reads the state of
/// the chunk, which holds the tokens of other chunks, `all` the state of the whole sequence.
enum class Order { past, future, outside, all };

/// The division in the epilogue of a sum over tokens.
struct Division {
  bool wanted = false;  // divide by the last column: that of the state, and 1 for every token of the sum
  float eps = 0;
  bool nan_of_zero = false;  // a denominator of 0 gives NaN, else 0
};

/// The division that the parameters eps and zero_denominator of a call select.
inline Division division_of(const Call& call) {
  return {true, static_cast<float>(call.real("eps")),
          call.choice<choice::zero_or_nan>("zero_denominator") == choice::zero_or_nan::nan};
}

/// Operands of the sum above, and the epilogue of its output. Members without data are left out.
struct Product {
  Rows a{}, b{}, c{};
  Order order = Order::past;
  Sequences tokens{};  // of the output
  State initial{};     // before the first token of the order; one per sequence
  State final{};       // after the last one
  Division division{};
  OutputRows output{};
  bool negated = false;  // the output has the other sign
  Rows sloped{};         // the output is multiplied by the slope of this map
  Rows addend{};         // added to the output, element by element
  /// Delta rule, by chunks only: targets_j less the state's output for b_j is written here, and c reads it.
  OutputRows residuals{};
  Rows targets{};
};

/// The rows whose map's slope multiplies the gradients; none where they are not mapped.
inline Rows where_mapped(const Rows& rows) { return rows.map == Map::identity ? Rows{} : rows; }

/// What divides the sums of a row: the reciprocal of the denominator is formed once, of its significand, so that it is
/// a normal number whatever the denominator.
class Divisor {
public:
  __device__ Divisor(const Division& division, float denominator) {
    denominator += division.eps;
    zero_ = denominator == 0;
    of_zero_ = division.nan_of_zero ? __int_as_float(0x7fc00000) : 0.0f;
    // scale * denominator is in [1, 2); of the largest numbers in [2, 4), of the denormal ones in [2^-22, 1)
    const int exponent = __float_as_int(denominator) >> 23 & 0xff;
    const float scale = __int_as_float(min(max(254 - exponent, 1), 254) << 23);
    const float inverse = reciprocal(scale * denominator);
    const bool grows = scale > 1;  // then before it is multiplied by the inverse: no digit is lost below
    first_ = grows ? scale : inverse;
    second_ = grows ? inverse : scale;
  }
  __device__ float quotient(float sum) const { return zero_ ? of_zero_ : sum * first_ * second_; }

private:
  bool zero_;
  float of_zero_, first_, second_;
};

/// Epilogue of the outputs of one sequence and head: division, sign, slope of the map, addend, store. Their places are
/// found once; rows count from the chunk's first.
template <class T>
class Epilogue {
public:
  __device__ Epilogue(const Product& p, const Chunk& chunk, int head)
      : p_(p),
        begin_(p.output.place.at(chunk.sequence, head, chunk.origin + chunk.first, 0)),
        sloped_(p.sloped, chunk, head),
        addend_(p.addend, chunk, head) {}
  Epilogue(const Product&&, const Chunk&, int) = delete;

  __device__ bool divides() const { return p_.division.wanted; }
  __device__ Divisor divisor(float denominator) const { return {p_.division, denominator}; }

  __device__ __forceinline__ void store(Index row, int column, float sum) const {
    if (p_.negated) sum = -sum;
    if (p_.sloped.data) sum *= slope(p_.sloped.map, sloped_.raw(row, column));
    if (p_.addend.data) sum += addend_.raw(row, column);
    p_.output.template store<T>(begin_ + row * p_.output.place.row + column * p_.output.place.column, sum);
  }
  __device__ __forceinline__ void store(Index row, int column, float sum, const Divisor& by) const {
    store(row, column, divides() ? by.quotient(sum) : sum);
  }

private:
  const Product& p_;
  Index begin_;
  Panel<T> sloped_, addend_;
};

/// The state before every chunk (after it for Order::future): sums of b_j c_j^T over chunks, whose totals are added in
/// the order of the tokens. Order::all gives one state per sequence, with everything in it.
template <class T, class Factor>
State states_of(Call& call, const Rows& b, const Rows& c, Order order, const Sequences& tokens, const State& initial,
                const State& final);

/// The outputs, from the states before all chunks; Order::all: from one state per sequence.
template <class T, class Factor>
void outputs_from_states(Call& call, const Product& product, const State& states);

/// All chunks at once: their states, then the outputs.
template <class T, class Factor>
void outputs_of_all_chunks(Call& call, const Product& product) {
  Rows values = product.c;
  values.ones = values.ones || product.division.wanted;
  outputs_from_states<T, Factor>(
      call, product,
      states_of<T, Factor>(call, product.b, values, product.order, product.tokens, product.initial, product.final));
}

/// state^T a_i from one state per sequence, without a sum over the chunk.
template <class T, class Factor>
void read_state(Call& call, Product product, const State& state) {
  product.order = Order::all;
  outputs_from_states<T, Factor>(call, product, state);
}

/// Totals become the states before every chunk, in place; `final` and `whole` become the sum of all, where they have
/// data.
void add_up_states(Call& call, const State& states, const Sequences& tokens, Order order, const State& initial,
                   const State& final, const State& whole);

/// to = from; 0 where that is not there.
void copy_state(Call& call, int sequences, const State& from, const State& to);

/// The outputs, computed chunk after chunk or token after token. Where a device has no shared memory for the state of
/// a sequence, all chunks are computed at once; with the delta rule, which needs them in order, the call is refused.
template <class T, class Factor>
void outputs_by_chunks(Call& call, const Product& product);
template <class T>
void outputs_by_tokens(Call& call, const Product& product);

/// [G | e] in float, from sums = [numerator | denominator] in float: a token whose denominator is 0 passes no gradient.
template <class T>
Rows division_gradients(Call& call, const Sequences& tokens, const OutputRows& sums, const Rows& grad_o, float eps);

}  // namespace attest::cuda
