// SPDX-License-Identifier: MIT
#include "attest/cuda/layer_norm.hpp"

namespace attest::cuda::attention::layer_norm {
namespace {

constexpr int kRows = 32;  // of a block that sums columns

/// A chunk's shares of grad_gamma = sum_i grad_y_i n_i and of grad_beta = sum_i grad_y_i: a thread has a feature, and
/// takes the tokens in order.
template <class T>
__global__ __launch_bounds__(kThreads) void column_sums(Sequences tokens, Rows x, Rows grad_y, Rows moments,
                                                        float* sums) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), d = x.width(),
            column = static_cast<int>(blockIdx.y * kThreads + threadIdx.x);
  if (column >= d) return;
  const Panel<T> at(x, chunk, head), cotangent(grad_y, chunk, head), of(moments, chunk, head);
  float by_gamma = 0, by_beta = 0;
  for (int row = 0; row < chunk.count; ++row) {
    const float g = cotangent(row, column);
    by_gamma = __fmaf_rn(g, Moments{of(row, 0), of(row, 1), of(row, 2)}.normalised(at(row, column)), by_gamma);
    by_beta += g;
  }
  float* to = sums + (static_cast<Index>(blockIdx.z) * gridDim.x + blockIdx.x) * 2 * d + column;
  to[0] = by_gamma;
  to[d] = by_beta;
}

/// The chunks of a sequence and head, one after the other.
template <class T>
__global__ __launch_bounds__(kThreads) void join(Sequences tokens, int d, const float* sums, OutputRows grad_gamma,
                                                 OutputRows grad_beta) {
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.z),
            column = static_cast<int>(blockIdx.y * kThreads + threadIdx.x);
  if (column >= d) return;
  const Index chunks = tokens.chunks_of(sequence);
  const float* from = sums + (head * tokens.slots() + tokens.slot_of(sequence)) * 2 * d + column;
  float by_gamma = 0, by_beta = 0;
  for (Index i = 0; i < chunks; ++i, from += 2 * d) {
    by_gamma += from[0];
    by_beta += from[d];
  }
  if (grad_gamma.data)
    static_cast<T*>(grad_gamma.data)[grad_gamma.place.at(sequence, head, 0, column)] = from_float<T>(by_gamma);
  if (grad_beta.data)
    static_cast<T*>(grad_beta.data)[grad_beta.place.at(sequence, head, 0, column)] = from_float<T>(by_beta);
}

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Normalisation p{.tokens = call.sequences("n", "x", kWarps),
                          .eps = static_cast<float>(call.real("eps")),
                          .x = call.rows("x"),
                          .gamma = call.rows_of_sequence("gamma"),
                          .beta = call.rows_of_sequence("beta"),
                          .out = call.output_rows("y")};
    call.launch(normalise<T>, of_chunks(call, p.tokens), kThreads, 0, p);
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences tokens = call.sequences("n", "x", kWarps);
    const Normalisation p{.tokens = tokens,
                          .eps = static_cast<float>(call.real("eps")),
                          .x = call.rows("x"),
                          .gamma = call.rows_of_sequence("gamma"),
                          .grad_y = call.rows("cotangent.y"),
                          .out = call.output_rows("gradient.x"),
                          .moments = call.workspace_rows(tokens, 3)};
    call.launch(token_gradients<T>, of_chunks(call, p.tokens), kThreads, 0, p);

    const Sequences chunks = call.sequences("n", "x", kRows);
    const int d = p.x.width();
    float* sums = call.workspace<float>(chunks.slots() * call.heads() * 2 * d);
    const auto wanted = [&](const char* name) {
      return call.output(name) ? call.output_rows_of_sequence(name) : OutputRows{};
    };
    call.launch(column_sums<T>, {chunks.slots(), divide_up(d, kThreads), call.heads()}, kThreads, 0, chunks, p.x,
                p.grad_y, read_back(p.moments), sums);
    call.launch(join<T>, {chunks.count, divide_up(d, kThreads), call.heads()}, kThreads, 0, chunks, d, sums,
                wanted("gradient.gamma"), wanted("gradient.beta"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("attention.layer_norm")
      .value<Value>("two_pass", {.layouts = Layouts::both, .tf32 = false})
      .gradient<Gradient>("two_pass", {.layouts = Layouts::both, .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::attention::layer_norm
