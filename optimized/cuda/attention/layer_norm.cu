// SPDX-License-Identifier: MIT
#include "attest/cuda/row.hpp"

namespace attest::cuda::attention::layer_norm {
namespace {

constexpr int kRows = 32;  // of a block that sums columns

/// The mean in two parts, what it was rounded to and what that left out, and 1 / sqrt(variance + eps).
struct Moments {
  float mean, rest, inverse;

  /// Two passes: the mean, then what is left of x beside it. Its sum corrects both moments (Chan, Golub and LeVeque 1983, eq. 1.7).
  template <class T>
  __device__ static Moments of(const Panel<T>& x, int row, float eps) {
    const int d = x.width();
    const float count = static_cast<float>(d);
    float sum = 0;
    each_of_row<T>(d, row, [&](int, float value) { sum += value; }, x);
    __syncwarp();
    const float mean = __fdiv_rn(warp_sum(sum), count);
    float left = 0, squares = 0;
    each_of_row<T>(d, row, [&](int, float value) {
      const float off = value - mean;
      left += off;
      squares = __fmaf_rn(off, off, squares);
    }, x);
    __syncwarp();
    left = warp_sum(left);
    squares = warp_sum(squares);
    const float rest = __fdiv_rn(left, count), variance = fmaxf(0.0f, __fdiv_rn(__fmaf_rn(-left, rest, squares), count));
    return {mean, rest, __fdiv_rn(1.0f, __fsqrt_rn(variance + eps))};
  }
  __device__ float normalised(float x) const { return (x - mean - rest) * inverse; }
};

/// A row of gamma or beta, or `otherwise` where it is not given.
template <class T>
class Feature {
public:
  __device__ Feature(const Rows& rows, const Chunk& chunk, int head, float otherwise)
      : panel_(rows, {chunk.sequence, 0, 0, 1}, head), given_(rows.data != nullptr), otherwise_(otherwise) {}
  __device__ float operator()(int column) const { return given_ ? panel_(0, column) : otherwise_; }

private:
  Panel<T> panel_;
  bool given_;
  float otherwise_;
};

struct Normalisation {
  Sequences tokens;  // as many in a block as it has warps
  float eps;
  Rows x, gamma, beta{}, grad_y{};
  Answers out;      // y, or the gradient of x
  Answers moments{};  // of every token, for the sums over tokens
};

/// y = gamma (x - mu) / sqrt(v + eps) + beta: a warp for each token.
template <class T>
__global__ __launch_bounds__(kThreads) void normalise(Normalisation p) {
  const Chunk chunk = p.tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), row = warp();
  if (row >= chunk.count) return;
  const Panel<T> x(p.x, chunk, head);
  const Feature<T> gamma(p.gamma, chunk, head, 1), beta(p.beta, chunk, head, 0);
  const auto moments = Moments::of(x, row, p.eps);
  each_piece_of_row<T>(x.width(), [&](int column) {
    auto piece = Piece<T>::of(x, row, column);
#pragma unroll
    for (int i = 0; i < Piece<T>::size; ++i)
      piece.values[i] = __fmaf_rn(gamma(column + i), moments.normalised(piece.values[i]), beta(column + i));
    piece.store(p.out, chunk, head, row, column);
  });
}

/// grad_x = (g - mean(g) - n mean(g n)) / sqrt(v + eps), g = gamma grad_y and n the normalised token: a warp for each token.
template <class T>
__global__ __launch_bounds__(kThreads) void token_gradients(Normalisation p) {
  const Chunk chunk = p.tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), row = warp();
  if (row >= chunk.count) return;
  const Panel<T> x(p.x, chunk, head), grad_y(p.grad_y, chunk, head);
  const Feature<T> gamma(p.gamma, chunk, head, 1);
  const auto moments = Moments::of(x, row, p.eps);
  float sum = 0, along = 0;
  each_of_row<T>(x.width(), row, [&](int column, float value, float given) {
    const float g = gamma(column) * given;
    sum += g;
    along = __fmaf_rn(g, moments.normalised(value), along);
  }, x, grad_y);
  __syncwarp();
  const float count = static_cast<float>(x.width()), mean = __fdiv_rn(warp_sum(sum), count), mean_along = __fdiv_rn(warp_sum(along), count);
  each_piece_of_row<T>(x.width(), [&](int column) {
    auto piece = Piece<T>::of(x, row, column);
    const auto given = Piece<T>::of(grad_y, row, column);
#pragma unroll
    for (int i = 0; i < Piece<T>::size; ++i)
      piece.values[i] = moments.inverse * (__fmaf_rn(gamma(column + i), given.values[i], -mean) - moments.normalised(piece.values[i]) * mean_along);
    piece.store(p.out, chunk, head, row, column);
  });
  float* to = static_cast<float*>(p.moments.data) + p.moments.place.at(chunk.sequence, head, chunk.origin + chunk.first + row, 0);
  if (lane() == 0) to[0] = moments.mean;
  if (lane() == 1) to[1] = moments.rest;
  if (lane() == 2) to[2] = moments.inverse;
}

/// A chunk's shares of grad_gamma = sum_i grad_y_i n_i and of grad_beta = sum_i grad_y_i: a thread has a feature, and takes the tokens in order.
template <class T>
__global__ __launch_bounds__(kThreads) void column_sums(Sequences tokens, Rows x, Rows grad_y, Rows moments, float* sums) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), d = x.width(), column = static_cast<int>(blockIdx.y * kThreads + threadIdx.x);
  if (column >= d) return;
  const Panel<T> at(x, chunk, head), given(grad_y, chunk, head), of(moments, chunk, head);
  float by_gamma = 0, by_beta = 0;
  for (int row = 0; row < chunk.count; ++row) {
    const float g = given(row, column);
    by_gamma = __fmaf_rn(g, Moments{of(row, 0), of(row, 1), of(row, 2)}.normalised(at(row, column)), by_gamma);
    by_beta += g;
  }
  float* to = sums + (static_cast<Index>(blockIdx.z) * gridDim.x + blockIdx.x) * 2 * d + column;
  to[0] = by_gamma;
  to[d] = by_beta;
}

/// The chunks of a sequence and head, one after the other.
template <class T>
__global__ __launch_bounds__(kThreads) void join(Sequences tokens, int d, const float* sums, Answers grad_gamma, Answers grad_beta) {
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.z), column = static_cast<int>(blockIdx.y * kThreads + threadIdx.x);
  if (column >= d) return;
  const Index chunks = tokens.chunks_of(sequence);
  const float* from = sums + (head * tokens.slots() + tokens.slot_of(sequence)) * 2 * d + column;
  float by_gamma = 0, by_beta = 0;
  for (Index i = 0; i < chunks; ++i, from += 2 * d) {
    by_gamma += from[0];
    by_beta += from[d];
  }
  if (grad_gamma.data) static_cast<T*>(grad_gamma.data)[grad_gamma.place.at(sequence, head, 0, column)] = from_float<T>(by_gamma);
  if (grad_beta.data) static_cast<T*>(grad_beta.data)[grad_beta.place.at(sequence, head, 0, column)] = from_float<T>(by_beta);
}

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Normalisation p{.tokens = call.sequences("n", "x", kWarps),
                          .eps = static_cast<float>(call.real("eps")),
                          .x = call.rows("x"),
                          .gamma = call.rows_of_sequence("gamma"),
                          .beta = call.rows_of_sequence("beta"),
                          .out = call.answers("y")};
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
                          .out = call.answers("gradient.x"),
                          .moments = call.workspace_rows(tokens, 3)};
    call.launch(token_gradients<T>, of_chunks(call, p.tokens), kThreads, 0, p);

    const Sequences chunks = call.sequences("n", "x", kRows);
    const int d = p.x.width();
    float* sums = call.workspace<float>(chunks.slots() * call.heads() * 2 * d);
    const auto wanted = [&](const char* name) { return call.output(name) ? call.answers_of_sequence(name) : Answers{}; };
    call.launch(column_sums<T>, {chunks.slots(), divide_up(d, kThreads), call.heads()}, kThreads, 0, chunks, p.x, p.grad_y, read_back(p.moments), sums);
    call.launch(join<T>, {chunks.count, divide_up(d, kThreads), call.heads()}, kThreads, 0, chunks, d, sums,
                wanted("gradient.gamma"), wanted("gradient.beta"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("attention.layer_norm")
      .value<Value>("two_pass", {.tf32 = false})
      .value<Value>("two_pass", {.layout = "thd", .tf32 = false})
      .gradient<Gradient>("two_pass", {.tf32 = false})
      .gradient<Gradient>("two_pass", {.layout = "thd", .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::attention::layer_norm
