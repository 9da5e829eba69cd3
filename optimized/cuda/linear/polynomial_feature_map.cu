// SPDX-License-Identifier: MIT
#include <cmath>

#include "attest/cuda/elements.hpp"
#include "attest/spec/linear/polynomial_feature_map.hpp"

namespace attest::cuda::linear::polynomial_feature_map {
namespace {

constexpr int kRows = 32;  // of a block

/// Order and weights of the features.
struct FeatureOrder {
  int d;         // width of x
  bool full;     // all pairs of [x, sqrt(constant)], else squares, pairs a < b, x alone, the constant alone
  float single;  // weight of x_a alone
  float constant;

  __device__ int with() const { return d + (constant > 0); }
  __device__ float pair_weight() const { return full ? 1.0f : 1.41421356f; }
  /// The index of x_a x_b in the symmetric layout, a < b.
  __device__ int pair(int a, int b) const { return d + a * (2 * d - a - 1) / 2 + b - a - 1; }

  /// Feature number `i` of a row of x.
  template <class X>
  __device__ float feature(int i, X&& x) const {
    if (full) return of(i / with(), i % with(), x);
    if (i < d) return of(i, i, x);
    if (i >= d * (d + 1) / 2) return of(i - d * (d + 1) / 2, d, x);
    int a = 0;
    while (pair(a, d - 1) < i) ++a;
    return of(a, a + i - pair(a, a), x);
  }
  /// Its gradient by x_a, from those by the features.
  template <class X, class G>
  __device__ float gradient(int a, X&& x, G&& cotangent) const {
    float sum = 0;
    for (int b = 0; b < d; ++b) {
      const float by_pair = full     ? cotangent(a * with() + b) + cotangent(b * with() + a)
                            : a == b ? 2 * cotangent(a)
                                     : pair_weight() * cotangent(a < b ? pair(a, b) : pair(b, a));
      sum = __fmaf_rn(by_pair, x(b), sum);
    }
    if (constant > 0)
      sum = __fmaf_rn(
          single, full ? cotangent(a * with() + d) + cotangent(d * with() + a) : cotangent(d * (d + 1) / 2 + a), sum);
    return sum;
  }

private:
  /// y_a y_b with its weight, where y_d is not of x.
  template <class X>
  __device__ float of(int a, int b, X&& x) const {
    if (a == d && b == d) return constant;
    if (a == d || b == d) return single * x(a == d ? b : a);
    return a == b ? x(a) * x(a) : pair_weight() * (x(a) * x(b));
  }
};

/// phi(x): a thread has neighbouring features of a row.
template <class T>
__global__ __launch_bounds__(kThreads) void features(Sequences tokens, FeatureOrder layout, Rows x, OutputRows phi) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z);
  const Panel<T> from(x, chunk, head);
  each_piece<T>(chunk, phi.width, [&](int row, int column) {
    Piece<T> piece{};
    for (int i = 0; i < Piece<T>::size && column + i < phi.width; ++i)
      piece.values[i] = layout.feature(column + i, [&](int a) { return from(row, a); });
    piece.store(phi, chunk, head, row, column);
  });
}

template <class T>
__global__ __launch_bounds__(kThreads) void gradients(Sequences tokens, FeatureOrder layout, Rows x, Rows grad_phi,
                                                      OutputRows grad_x) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z);
  const Panel<T> from(x, chunk, head), cotangent(grad_phi, chunk, head);
  each_piece<T>(chunk, grad_x.width, [&](int row, int column) {
    Piece<T> piece{};
    for (int i = 0; i < Piece<T>::size && column + i < grad_x.width; ++i)
      piece.values[i] =
          layout.gradient(column + i, [&](int a) { return from(row, a); }, [&](int a) { return cotangent(row, a); });
    piece.store(grad_x, chunk, head, row, column);
  });
}

FeatureOrder layout_of(const Call& call) {
  using spec::linear::polynomial_feature_map::Layout;
  const bool full = call.choice<Layout>("layout") == Layout::full;
  const double constant = call.real("constant");
  return {call.rows("x").width(), full, static_cast<float>(std::sqrt(full ? constant : 2 * constant)),
          static_cast<float>(constant)};
}

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences tokens = call.sequences("n", "x", kRows);
    launch_by_chunks(call, features<T>, tokens, layout_of(call), call.rows("x"), call.output_rows("phi"));
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences tokens = call.sequences("n", "x", kRows);
    launch_by_chunks(call, gradients<T>, tokens, layout_of(call), call.rows("x"), call.rows("cotangent.phi"),
                     call.output_rows("gradient.x"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("linear.polynomial_feature_map")
      .value<Value>("direct", {.layouts = Layouts::both, .tf32 = false})
      .gradient<Gradient>("direct", {.layouts = Layouts::both, .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::linear::polynomial_feature_map
