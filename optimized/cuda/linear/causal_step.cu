// SPDX-License-Identifier: MIT
#include "attest/cuda/causal.hpp"
#include "attest/cuda/tiles.hpp"

namespace attest::cuda::linear::causal_step {
namespace {

constexpr int kLargest = 256;  // features
constexpr int kOwn = 4;        // neighbouring columns of a thread
constexpr int kColumns = 32,
              kGroups = kThreads / (kColumns / kOwn);  // a block has 32 columns; its threads take every 16th row

struct Step {
  Rows phi_q, phi_k, v;
  State before, after;
  Division division;
  OutputRows o;
};

/// Four neighbouring columns of a row of the state, or as many as are left: in one access where the state lies so.
__device__ inline Vector<float, kOwn> read(const float* from, Index stride, int count, bool together) {
  if (together) return load<Vector<float, kOwn>>(from);
  Vector<float, kOwn> values{};
  for (int x = 0; x < count; ++x) values[x] = from[x * stride];
  return values;
}
__device__ inline void write(float* to, Index stride, int count, bool together, const Vector<float, kOwn>& values) {
  if (together) return store(to, values);
  for (int x = 0; x < count; ++x) to[x * stride] = values[x];
}
__device__ inline bool lies_together(const float* first, const Place& place, int count) {
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(first) % sizeof(Vector<float, kOwn>) == 0 && place.row % kOwn == 0;
  return aligned && place.column == 1 && count == kOwn;
}

/// S' = S + phi_k v^T, Z' = Z + phi_k, o = phi_q^T S' / (phi_q^T Z' + eps): S is read once and S' written once, and
/// that is the time it takes. Each block sums the denominator for itself. `corrects`: the sums are of the old state,
/// and (phi_q . phi_k) v is added to them.
template <class T, bool corrects>
__global__ __launch_bounds__(kThreads) void step(Step p) {
  __shared__ Shared<float, kLargest> query;
  __shared__ Shared<float, kLargest> key;
  __shared__ Shared<float, kLargest> z;
  __shared__ Shared<float, kWarps, kColumns + 2> parts;
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.z);
  const Chunk token{sequence, 0, 0, 1};
  const Panel<T> phi_q(p.phi_q, token, head), phi_k(p.phi_k, token, head), v(p.v, token, head);
  const StatePanel before(p.before, sequence, head), after(p.after, sequence, head);
  const int c = phi_k.width(), m = v.width();
  for (int row = static_cast<int>(threadIdx.x); row < c; row += kThreads) {
    const float mine = phi_k(0, row), old = before(row, m);
    query(row) = phi_q(0, row);
    key(row) = mine;
    z(row) = corrects ? old : old + mine;
    if (blockIdx.y == 0) *after.at(row, m) = old + mine;
  }
  __syncthreads();

  const int own = static_cast<int>(threadIdx.x) % (kColumns / kOwn) * kOwn,
            group = static_cast<int>(threadIdx.x) / (kColumns / kOwn);
  const int first = static_cast<int>(blockIdx.y) * kColumns + own, count = m - first < 0      ? 0
                                                                           : m - first < kOwn ? m - first
                                                                                              : kOwn;
  float values[kOwn];
  for (int x = 0; x < kOwn; ++x) values[x] = v(0, first + x);
  float sums[kOwn + 2] = {};  // of the columns, of the denominator, and phi_q . phi_k
  const float* from = before.at(0, count > 0 ? first : 0);
  float* to = after.at(0, count > 0 ? first : 0);
  const bool from_together = lies_together(from, p.before.place, count),
             to_together = lies_together(to, p.after.place, count);
#pragma unroll 4
  for (int row = group; row < c; row += kGroups) {
    const float q = query(row), k = key(row), normaliser = z(row);
    const Vector<float, kOwn> old = read(from + row * p.before.place.row, p.before.place.column, count, from_together);
    Vector<float, kOwn> updated;
#pragma unroll
    for (int x = 0; x < kOwn; ++x) {
      updated[x] = __fmaf_rn(k, values[x], old[x]);
      sums[x] = __fmaf_rn(q, corrects ? old[x] : updated[x], sums[x]);
    }
    sums[kOwn] = __fmaf_rn(q, normaliser, sums[kOwn]);
    sums[kOwn + 1] = __fmaf_rn(q, k, sums[kOwn + 1]);
    write(to + row * p.after.place.row, p.after.place.column, count, to_together, updated);
  }

  // A warp has four groups of rows; the same columns are eight lanes apart.
#pragma unroll
  for (int x = 0; x < kOwn + 2; ++x)
    for (int distance = 16; distance >= kColumns / kOwn; distance /= 2)
      sums[x] += __shfl_xor_sync(0xffffffffu, sums[x], distance);
  if (lane() < kColumns / kOwn)
    for (int x = 0; x < kOwn; ++x) parts(warp(), own + x) = sums[x];
  if (lane() == 0)
    for (int x = 0; x < 2; ++x) parts(warp(), kColumns + x) = sums[kOwn + x];
  __syncthreads();

  const int column = static_cast<int>(blockIdx.y) * kColumns + static_cast<int>(threadIdx.x);
  if (threadIdx.x >= kColumns || column >= m) return;
  const auto total = [&](int x) {
    float sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += parts(w, x);
    return sum;
  };
  float numerator = total(static_cast<int>(threadIdx.x)), denominator = total(kColumns);
  if (corrects) {
    const float product = total(kColumns + 1);
    numerator = __fmaf_rn(product, v(0, column), numerator);
    denominator += product;
  }
  const Product product{.division = p.division, .output = p.o};
  const Epilogue<T> epilogue(product, token, head);
  epilogue.store(0, column, numerator, epilogue.divisor(denominator));
}

template <bool corrects>
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Step p{.phi_q = call.features("phi_q"),
                 .phi_k = call.features("phi_k"),
                 .v = call.rows("v"),
                 .before = call.initial("S", "Z", call.rows("phi_k").width(), call.rows("v").width()),
                 .after = call.final("S", "Z", call.rows("phi_k").width(), call.rows("v").width()),
                 .division = division_of(call),
                 .o = call.output_rows("o")};
    if (p.phi_k.width() > kLargest)
      throw std::invalid_argument(std::to_string(p.phi_k.width()) + " features; at most " + std::to_string(kLargest));
    call.launch(step<T, corrects>, {call.single_tokens().count, divide_up(p.v.width(), kColumns), call.heads()},
                kThreads, 0, p);
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    causal_gradient<Algorithm::tokens, T, Factor>(call, call.single_tokens());
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "c <= 256; m <= 256";
  constexpr const char* gradient = "c <= 256; m <= 256; groups == heads";
  return Kernels("linear.causal_step")
      .value<Value<false>>("update_then_read", {.can = widths, .tf32 = false})
      .value<Value<true>>("read_then_correct", {.can = widths, .tf32 = false})
      .gradient<Gradient>("update_then_read", {.can = gradient, .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::linear::causal_step
