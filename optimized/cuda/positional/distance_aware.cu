// SPDX-License-Identifier: MIT
#include "attest/cuda/row.hpp"
#include "attest/cuda/softmax_attention.hpp"

namespace attest::cuda::positional::distance_aware {
namespace {

/// ln(1 + e^x)
__device__ inline double softplus(double x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }
/// Its derivative.
__device__ inline double sigma(double x) {
  const double e = exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

enum FactorRow { kFactor, kByAlpha, kByBeta, kFactorRows };

/// f = e^(softplus(beta) - softplus(beta - R)) of every distance, and the derivatives of ln f by alpha and beta. In
/// double: large numbers are subtracted, and there are few.
template <class T>
__global__ __launch_bounds__(kThreads) void write_factors(Rows alpha, Rows beta, OutputRows factors, Index blocks) {
  const auto [sequence, block] = BlockOfSequence::of(blocks);
  const int head = static_cast<int>(blockIdx.z), distance = static_cast<int>(block * kThreads + threadIdx.x);
  if (distance >= factors.width) return;
  const Chunk token{sequence, 0, 0, 1};
  const double a = static_cast<double>(Panel<T>(alpha, token, head).raw(0, 0)),
               b = static_cast<double>(Panel<T>(beta, token, head).raw(0, 0));
  const double below = b - a * distance;
  float* to = static_cast<float*>(factors.data) + factors.place.at(sequence, head, 0, distance);
  to[kFactor * factors.place.row] = static_cast<float>(exp(softplus(b) - softplus(below)));
  to[kByAlpha * factors.place.row] = static_cast<float>(sigma(below) * distance);
  to[kByBeta * factors.place.row] = static_cast<float>(sigma(b) - sigma(below));
}

template <class T>
Rows factors_of(Call& call, const Logits& logits) {
  const Index distances = logits.queries.length > logits.keys.length ? logits.queries.length : logits.keys.length;
  const OutputRows factors =
      call.workspace_rows({.length = kFactorRows, .count = logits.queries.count}, static_cast<int>(distances));
  const Index blocks = divide_up(distances, kThreads);
  call.launch(write_factors<T>, {blocks * logits.queries.count, 1, call.heads()}, kThreads, 0, call.rows("alpha"),
              call.rows("beta"), factors, blocks);
  return read_back(factors);
}

template <class T>
Logits logits_of(Call& call) {
  Logits logits = scaled_products_of(call);
  logits.factors = factors_of<T>(call, logits);
  return logits;
}

/// f_ij, from the table. One warp for each query.
template <class T>
__global__ __launch_bounds__(kThreads) void spread(Sequences queries, Rows factors, OutputRows f) {
  const Chunk chunk = queries.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), i = static_cast<int>(chunk.first) + warp();
  if (warp() >= chunk.count) return;
  const Panel<T> by_distance(factors, {chunk.sequence, 0, 0, kFactorRows}, head);
  each_piece_of_row<T>(f.width, [&](int column) {
    Piece<T> piece;
#pragma unroll
    for (int x = 0; x < Piece<T>::size; ++x)
      piece.values[x] = by_distance(kFactor, column + x < i ? i - column - x : column + x - i);
    piece.store(f, chunk, head, warp(), column);
  });
}

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Logits logits = logits_of<T>(call);
    attend_online<T, Factor>(call, logits, call.rows("v"), call.output_rows("o"));
    if (!call.output("f")) return;
    const Sequences queries = call.sequences("n", "q", kWarps);
    launch_by_chunks(call, spread<T>, queries, logits.factors, call.output_rows("f"));
  }
};

/// Adds to a query's gradients of alpha and beta, which come from its logits, those from its row of f. One warp for
/// each query.
template <class T>
__global__ __launch_bounds__(kThreads) void add_rows_of_f(Sequences queries, Rows factors, Rows grad_f,
                                                          OutputRows sums) {
  const Chunk chunk = queries.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), i = static_cast<int>(chunk.first) + warp();
  if (warp() >= chunk.count) return;
  const Panel<T> by_distance(factors, {chunk.sequence, 0, 0, kFactorRows}, head);
  float by_alpha = 0, by_beta = 0;
  each_of_row<T>(
      grad_f.stored, warp(),
      [&](int j, float cotangent) {
        const int distance = i < j ? j - i : i - j;
        const float by_log = cotangent * by_distance(kFactor, distance);
        by_alpha = __fmaf_rn(by_log, by_distance(kByAlpha, distance), by_alpha);
        by_beta = __fmaf_rn(by_log, by_distance(kByBeta, distance), by_beta);
      },
      Panel<T>(grad_f, chunk, head));
  by_alpha = warp_sum(by_alpha);
  by_beta = warp_sum(by_beta);
  if (lane() != 0) return;
  float* to = static_cast<float*>(sums.data) + sums.place.at(chunk.sequence, head, i, 0);
  to[0] += by_alpha;
  to[1] += by_beta;
}

/// The sums over all queries of a sequence and head, by a warp.
template <class T>
__global__ void join(Sequences queries, Rows sums, OutputRows grad_alpha, OutputRows grad_beta) {
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.z);
  const Chunk all{sequence, 0, 0, static_cast<int>(queries.length)};
  const Panel<T> rows(sums, all, head);
  float by_alpha = 0, by_beta = 0;
  for (int i = lane(); i < all.count; i += 32) {
    by_alpha += rows(i, 0);
    by_beta += rows(i, 1);
  }
  by_alpha = warp_sum(by_alpha);
  by_beta = warp_sum(by_beta);
  if (lane() != 0) return;
  static_cast<T*>(grad_alpha.data)[grad_alpha.place.at(sequence, head, 0, 0)] = from_float<T>(by_alpha);
  static_cast<T*>(grad_beta.data)[grad_beta.place.at(sequence, head, 0, 0)] = from_float<T>(by_beta);
}

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Logits logits = logits_of<T>(call);
    const OutputRows sums = call.workspace_rows(logits.queries, 2);
    AttentionBackward gradients = gradients_of(call);
    gradients.grad_of_factors = sums;
    attend_backward<T, Factor>(call, logits, gradients);
    const Sequences queries = call.sequences("n", "q", kWarps);
    if (const Rows grad_f = call.rows("cotangent.f"); grad_f.data)
      launch_by_chunks(call, add_rows_of_f<T>, queries, logits.factors, grad_f, sums);
    call.launch(join<T>, {queries.count, 1, call.heads()}, 32, 0, queries, read_back(sums),
                call.output_rows("gradient.alpha"), call.output_rows("gradient.beta"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* can = "d <= 256; m <= 256";
  constexpr const char* gradient = "d <= 256; m <= 256; groups == heads";
  return Kernels("positional.distance_aware")
      .value<Value>("softplus", {.can = can})
      .value<Value>("relu_after", {.can = can})
      .gradient<Gradient>("softplus", {.can = gradient})
      .rows();
}

}  // namespace attest::cuda::positional::distance_aware
