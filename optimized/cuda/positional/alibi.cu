// SPDX-License-Identifier: MIT
#include <bit>
#include <cmath>

#include "attest/cuda/softmax_attention.hpp"
#include "attest/cuda/tiles.hpp"

namespace attest::cuda::positional::alibi {
namespace {

/// With c the largest power of two up to the number of heads, head h < c has the slope 2^(-8 (h + 1) / c) and head c +
/// r 2^(-4 (2r + 1) / c).
__global__ __launch_bounds__(kThreads) void write_slopes(int heads, int c, float* slopes) {
  const int h = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (h >= heads) return;
  const int quarters = h < c ? 2 * (h + 1) : 2 * (h - c) + 1;
  slopes[h] = static_cast<float>(exp2(-4.0 * quarters / c));
}

/// The slopes of the call, or those of the formula.
Rows slopes_of(Call& call, int heads) {
  if (const Rows given = call.rows_of_own_heads("slopes"); given.data) return given;
  float* slopes = call.workspace<float>(heads);
  const int c = static_cast<int>(std::bit_floor(static_cast<unsigned>(heads)));
  call.launch(write_slopes, {divide_up(heads, kThreads), 1, 1}, kThreads, 0, heads, c, slopes);
  return {.data = slopes, .in_float = true, .place = {.own = heads, .own_head = 1}, .stored = 1};
}

Logits logits_of(Call& call) {
  const int heads = static_cast<int>(call.input("q")->shape[2]);
  call.split_heads(heads);
  const Rows q = call.rows_of_own_heads("q");
  return {.q = q,
          .k = call.rows_of_own_heads("k"),
          .queries = call.sequences_of_own_heads("q", kTile),
          .keys = call.sequences_of_own_heads("k", kTile),
          .scale = static_cast<float>(call.real("scale", 1 / std::sqrt(static_cast<double>(q.stored)))),
          .query_offset = static_cast<int>(call.integer("query_offset")),
          .causal = call.integer("symmetric") == 0,
          .slopes = slopes_of(call, heads)};
}

struct Distance {
  template <class T, class Factor>
  static void run(Call& call) {
    const Logits logits = logits_of(call);
    attend_online<T, Factor>(call, logits, call.rows_of_own_heads("v"), call.output_rows_of_own_heads("o"));
  }
};

struct KeyIndex {
  template <class T, class Factor>
  static void run(Call& call) {
    Logits logits = logits_of(call);
    logits.by_key = true;
    attend_online<T, Factor>(call, logits, call.rows_of_own_heads("v"), call.output_rows_of_own_heads("o"));
  }
};

/// bias_ij = -slope |i + past - j|, and -inf where `causal` hides key j.
template <class T>
__global__ __launch_bounds__(kThreads) void write_biases(Sequences queries, int past, bool causal, Rows slopes,
                                                         OutputRows biases) {
  const Chunk chunk = queries.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), keys = biases.width;
  const float slope = Panel<T>(slopes, chunk, head).raw(0, 0);
  for (int at = static_cast<int>(threadIdx.x); at < chunk.count * keys; at += kThreads) {
    const int row = at / keys, j = at % keys, distance = static_cast<int>(chunk.first) + row + past - j;
    const float bias = causal && distance < 0 ? -INFINITY : -slope * fabsf(static_cast<float>(distance));
    static_cast<float*>(biases.data)[biases.place.at(chunk.sequence, head, chunk.first + row, j)] = bias;
  }
}

struct Matrix {
  template <class T, class Factor>
  static void run(Call& call) {
    Logits logits = logits_of(call);
    const OutputRows biases = call.workspace_rows(logits.queries, static_cast<int>(logits.keys.length));
    const int past = static_cast<int>(logits.keys.length - logits.queries.length) + logits.query_offset;
    call.launch(write_biases<T>, {logits.queries.slots(), 1, call.heads()}, kThreads, 0, logits.queries, past,
                logits.causal, logits.slopes, biases);
    logits.bias = read_back(biases);
    logits.slopes = {};
    logits.causal = false;
    attend_from_statistics<T, Factor>(call, logits, call.rows_of_own_heads("v"), call.output_rows_of_own_heads("o"));
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Logits logits = logits_of(call);
    attend_backward<T, Factor>(call, logits,
                               {.v = call.rows_of_own_heads("v"),
                                .grad_o = call.rows_of_own_heads("cotangent.o"),
                                .grad_q = call.output_rows_of_own_heads("gradient.q"),
                                .grad_k = call.output_rows_of_own_heads("gradient.k"),
                                .grad_v = call.output_rows_of_own_heads("gradient.v")});
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* can = "d <= 256; m <= 256";
  return Kernels("positional.alibi")
      .value<Distance>("distance", {.can = can})
      .value<KeyIndex>("key_index", {.can = can})
      .value<Matrix>("matrix", {.can = can})
      .gradient<Gradient>("distance", {.can = can})
      .rows();
}

}  // namespace attest::cuda::positional::alibi
