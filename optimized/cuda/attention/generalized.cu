// SPDX-License-Identifier: MIT
#include "attest/cuda/row.hpp"
#include "attest/cuda/softmax_attention.hpp"
#include "attest/spec/attention/generalized.hpp"

namespace attest::cuda::attention::generalized {
namespace {

using spec::attention::generalized::Sim;

/// The similarity that the parameters of a call select: the features of `feature_dot` are power similarities of mapped
/// queries and keys.
Logits similarities_of(Call& call, EmptyRow empty_row) {
  Logits logits = logits_of(call, empty_row);
  const auto sim = call.choice<Sim>("sim");
  if (sim == Sim::rbf) {
    logits.similarity = Similarity::exp_distance;
    logits.scale = -static_cast<float>(call.real("gamma"));
  } else if (sim == Sim::polynomial) {
    logits.similarity = Similarity::power;
    logits.scale = 1;
    logits.offset = static_cast<float>(call.real("offset"));
    logits.power = static_cast<int>(call.integer("power"));
  } else if (sim == Sim::feature_dot) {
    logits.similarity = Similarity::power;
    logits.scale = 1;
    logits.q.map = call.map("phi");
    logits.k.map = call.map("varphi");
  }
  return logits;
}

struct Stable {
  template <class T, class Factor>
  static void run(Call& call) {
    attend_online<T, Factor>(call, similarities_of(call, empty_row_of(call, "zero_denominator")), call.rows("v"),
                             call.output_rows("o"));
  }
};

/// factor |k_j|^2: a warp for each key.
template <class T>
__global__ __launch_bounds__(kThreads) void norms(Sequences keys, float factor, Rows k, OutputRows out) {
  const Chunk chunk = keys.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), row = warp();
  if (row >= chunk.count) return;
  float sum = 0;
  each_of_row<T>(k.width(), row, [&](int, float x) { sum = __fmaf_rn(x, x, sum); }, Panel<T>(k, chunk, head));
  __syncwarp();
  sum = warp_sum(sum);
  if (lane() == 0)
    static_cast<float*>(out.data)[out.place.at(chunk.sequence, head, chunk.origin + chunk.first + row, 0)] =
        factor * sum;
}

/// Softmax of 2 gamma q_i . k_j - gamma |k_j|^2: one bias for all queries.
struct AsSoftmax {
  template <class T, class Factor>
  static void run(Call& call) {
    Logits logits = logits_of(call, empty_row_of(call, "zero_denominator"));
    const float gamma = static_cast<float>(call.real("gamma"));
    const Sequences keys = call.sequences("s", "k", kWarps);
    const OutputRows bias = call.workspace_rows(keys, 1);
    launch_by_chunks(call, norms<T>, keys, -gamma, logits.k, bias);
    logits.scale = 2 * gamma;
    logits.bias = read_back(bias);
    logits.bias.place.row = 0;
    logits.bias.place.column = bias.place.row;
    attend_online<T, Factor>(call, logits, call.rows("v"), call.output_rows("o"));
  }
};

/// An output set by zero_denominator is a constant: no gradient.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    attend_backward<T, Factor>(call, similarities_of(call, EmptyRow::zero), gradients_of(call));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* can = "d <= 256; m <= 256; hidden_nan == true";
  constexpr const char* gradient = "d <= 256; m <= 256; hidden_nan == true; groups == heads";
  constexpr const char* packed = "d <= 256; m <= 256; mask == false";
  constexpr const char* packed_gradient = "d <= 256; m <= 256; mask == false; groups == heads";
  return Kernels("attention.generalized")
      .value<Stable>("stable", {.can = can})
      .value<Stable>("stable", {.can = packed, .layouts = Layouts::thd})
      .value<AsSoftmax>("rbf_as_softmax", {.can = can})
      .gradient<Gradient>("stable", {.can = gradient})
      .gradient<Gradient>("stable", {.can = packed_gradient, .layouts = Layouts::thd})
      .rows();
}

}  // namespace attest::cuda::attention::generalized
