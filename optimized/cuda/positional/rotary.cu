// SPDX-License-Identifier: MIT
#include "attest/cuda/positions.hpp"

namespace attest::cuda::positional::rotary {
namespace {

/// Cosines, then sines of every token's angles, for all heads.
__global__ __launch_bounds__(kThreads) void write_turns(Sequences tokens, Frequencies frequencies, Numbers<const Index> positions, Answers turns) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int pairs = turns.width / 2;
  for (int i = static_cast<int>(threadIdx.x); i < chunk.count * pairs; i += kThreads) {
    const int row = i / pairs, m = i % pairs;
    const double angle = static_cast<double>(positions.at(chunk, 0, row)) * frequencies.at(m);
    float* to = static_cast<float*>(turns.data) + turns.place.at(chunk.sequence, 0, chunk.origin + chunk.first + row, m);
    to[0] = static_cast<float>(cos(angle));
    to[pairs] = static_cast<float>(sin(angle));
  }
}

/// (a, b) turned by an angle.
__device__ inline void turn(float& a, float& b, float cosine, float sine) {
  const float turned = __fmaf_rn(a, cosine, -(b * sine));
  b = __fmaf_rn(a, sine, b * cosine);
  a = turned;
}

/// Every pair turned by its angle, or back by it. Interleaved pairs lie in one piece, the halves of others in two.
template <class T>
__global__ __launch_bounds__(kThreads) void rotate(Sequences tokens, bool halves, float direction, Rows turns, Rows x, Answers y) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), pairs = y.width / 2;
  const Panel<T> from(x, chunk, head), by(turns, chunk, head);
  if (!halves) {
    each_piece<T>(chunk, y.width, [&](int row, int column) {
      auto piece = Piece<T>::of(from, row, column);
#pragma unroll
      for (int i = 0; i < Piece<T>::size; i += 2) {
        const int m = (column + i) / 2;
        if (m < pairs) turn(piece.values[i], piece.values[i + 1], by(row, m), direction * by(row, pairs + m));
      }
      piece.store(y, chunk, head, row, column);
    });
    return;
  }
  Answers first = y;
  first.width = pairs;
  each_piece<T>(chunk, pairs, [&](int row, int column) {
    auto a = Piece<T>::of(from, row, column), b = Piece<T>::of(from, row, column + pairs);
#pragma unroll
    for (int i = 0; i < Piece<T>::size; ++i)
      if (column + i < pairs) turn(a.values[i], b.values[i], by(row, column + i), direction * by(row, pairs + column + i));
    a.store(first, chunk, head, row, column);
    b.store(y, chunk, head, row, column + pairs);
  });
}

template <class T>
void turned(Call& call, const char* from, const char* to, float direction) {
  const Sequences tokens = call.sequences("n", from, kPositionRows);
  const Rows x = call.rows(from);
  const Answers turns = call.workspace_rows(tokens, x.width(), call.heads());
  call.launch(write_turns, {tokens.slots(), 1, 1}, kThreads, 0, tokens, Frequencies::of(call, x.width() / 2.0),
              call.numbers<const Index>(call.input("positions")), turns);
  call.launch(rotate<T>, of_chunks(call, tokens), kThreads, 0, tokens, call.choice("pairing") == "half", direction, read_back(turns), x, call.answers(to));
}

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    turned<T>(call, "x", "y", 1);
  }
};

/// The transpose of a rotation is the rotation back.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    turned<T>(call, "cotangent.y", "gradient.x", -1);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("positional.rotary")
      .value<Value>("pairs", {.tf32 = false})
      .value<Value>("pairs", {.layout = "thd", .tf32 = false})
      .gradient<Gradient>("pairs", {.tf32 = false})
      .gradient<Gradient>("pairs", {.layout = "thd", .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::positional::rotary
