// SPDX-License-Identifier: MIT
// Every name that kernels may use, compiled by nvcc and by the host compiler: a name that one of the two refuses is
// found here.
#include "kernels.cuh"

namespace attest::cuda::kernels {

struct Pair {
  float value;
  int index;
};

template <class T>
__device__ float rounded(float x) {
  return to_float(from_float<T>(x));
}

template <class Tile>
__device__ float first_of(const Tile& tile) {
  return to_float(tile(0, 0));
}
__device__ inline float first_of_view(SharedView<float, 2> tile) { return tile(0, 0); }

__global__ __launch_bounds__(128) void vocabulary(float* out, int* integers, unsigned long long* longs, double* doubles,
                                                  const float* in) {
  __shared__ Shared<float, 16, 17> tile;
  __shared__ Shared<float, 4, 4, 4> cube;
  __shared__ Shared<int, 4> counts;
  __shared__ Shared<__nv_bfloat16, 32, 16> low;
  __shared__ Shared<__half, 32, 16> half;
  DynamicShared memory;
  auto rows = memory.take<__nv_bfloat16>(4, 64);
  auto line = memory.take<float>(128);
  const int t = static_cast<int>(threadIdx.x);
  if (t < 4) counts(t) = 0;
  for (int i = t; i < 16 * 17; i += 128) tile(i / 17, i % 17) = in[i];
  if (t < 64) cube(t / 16, t / 4 % 4, t % 4) = static_cast<float>(t);
  for (int i = t; i < 32 * 16; i += 128) {
    low(i / 16, i % 16) = from_float<__nv_bfloat16>(in[i % 64]);
    half(i / 16, i % 16) = from_float<__half>(in[i % 64]);
  }
  if (t < 32) copy_async<8>(&rows(t / 8, t % 8 * 8), reinterpret_cast<const __nv_bfloat16*>(in) + 8 * t, 5);
  copy_async<1>(&line(t), in + t);
  copy_async_commit();
  copy_async_wait();
  __syncthreads();

  float x = tile(t % 16, 3) * 2 + cube(1, 2, 3);
  x += first_of(tile) + first_of_view(tile) + first_of(low);
  x += expf(x) + __expf(x) + exp2f(x) + logf(x) + __logf(x) + log1pf(x) + rsqrtf(x) + sqrtf(x) + tanhf(x) + erff(x) +
       powf(x, 0.5f);
  x += __fmaf_rn(x, x, x) + __fdividef(x, 3.0f) + __frcp_rn(x) + __fsqrt_rn(x) + __saturatef(x) + __fdiv_rn(x, 2.0f) +
       sinf(x) + __cosf(x);
  x +=
      rounded<__half>(x) + rounded<__nv_bfloat16>(x) + rounded<float>(x) + fmaxf(x, 1.0f) + max(x, 2.0f) + min(x, 2.0f);
  x += __bfloat1622float2(__floats2bfloat162_rn(x, x)).x + __half22float2(__floats2half2_rn(x, x)).y;
  if (__syncthreads_or(x > 1) && __syncthreads_and(x > 1)) x += static_cast<float>(__syncthreads_count(x > 2));
  __syncwarp();
  x += __shfl_sync(0xffffffffu, x, 0) + __shfl_down_sync(0xffffffffu, x, 1) + __shfl_up_sync(0xffffffffu, x, 1, 16) +
       __shfl_xor_sync(0xffffffffu, x, 2);
  const Pair pair = __shfl_xor_sync(0xffffffffu, Pair{x, t}, 1);
  longs[t] = __shfl_sync(0xffffffffu, longs[t], 0);
  integers[t] = __popc(__ballot_sync(0xffffffffu, x > 0)) + __any_sync(0xffffffffu, x > 0) +
                __all_sync(0xffffffffu, x > 0) + pair.index + warp();

  atomicAdd(&counts(t % 4), 1);
  atomicMax(&counts(0), t);
  atomicExch(&counts(1), t);
  atomicCAS(&counts(2), 1, 2);
  atomicAdd(out, x);
  atomicAdd(doubles, 1.0);
  atomicAdd(longs, 1);
  atomicMax(integers, t);
  atomicMin(integers, t);
  __threadfence();
  if (load_acquire(integers) == 7) store_release(longs, 3);
  __syncthreads();

  Accumulator c;
  multiply_add(c, load_a<__nv_bfloat16>(low, 0, 0), load_b_transposed<__nv_bfloat16>(low, 16, 0));
  multiply_add(c, load_a<__half>(half, 0, 0), load_b_transposed<__half>(half, 16, 0));
  multiply_add(c, load_a<Tf32>(tile, 0, 0), load_b<Tf32>(tile, 0, 8));
  multiply_add(c, load_a_transposed<__nv_bfloat16>(low, 0, 0), load_b<__nv_bfloat16>(low, 16, 8));
  multiply_add(c, operand_a<__nv_bfloat16>(c, c), load_b<__nv_bfloat16>(tile, 0, 0));
  const auto eight = load<Vector<__nv_bfloat16, 8>>(&rows(0, 0));
  store(out + 4 * t, make_float4(c.values[0], to_float(eight[1]), line(t), x));
  store(reinterpret_cast<__nv_bfloat16*>(out + 1024) + 2 * t,
        Vector<__nv_bfloat16, 2>{from_float<__nv_bfloat16>(x), eight[0]});
  out[2048 + t] = __ldg(in) + static_cast<float>(gridDim.x + blockDim.x + blockIdx.x);
}

void run_vocabulary(Stream stream) {
  float *x = allocate<float>(8192), *in = allocate<float>(2048);
  int* integers = allocate<int>(128);
  auto* longs = allocate<unsigned long long>(128);
  double* doubles = allocate<double>(1);
  clear(x, 8192, stream);
  clear(in, 2048, stream);
  clear(longs, 128, stream);
  clear(doubles, 1, stream);
  launch(vocabulary, 1, 128, 1024, stream, x, integers, longs, doubles, in);
  launch(block_sum<128>, 1, 128, 0, stream, in, x, 128);
  launch(warp_scan<32>, 1, 128, 0, stream, in, x, 128);
  launch(tiled_product<16>, dim3(1, 1), dim3(16, 16), 0, stream, in, in, x, 16);
  launch(product<float>, dim3(1, 1), 32, 3072, stream, in, in, x, 16, 8, 16);
  launch(product<__half>, dim3(1, 1), 32, 1536, stream, reinterpret_cast<const __half*>(in),
         reinterpret_cast<const __half*>(in), x, 16, 8, 16);
  launch(product<__nv_bfloat16>, dim3(1, 1), 32, 1536, stream, reinterpret_cast<const __nv_bfloat16*>(in),
         reinterpret_cast<const __nv_bfloat16*>(in), x, 16, 8, 16);
  const auto* low = reinterpret_cast<const __nv_bfloat16*>(in);
  if (compute_capability() == 90) {
    launch(warpgroup_product<4, Major::k, true>, 1, 128, 16 * 96 * 2, stream, low, low, x, 16);
    launch(warpgroup_product<9, Major::mn, true>, 1, 128, 16 * 136 * 2, stream, low, low, x, 16);
    launch(warpgroup_product<16, Major::k, false>, 1, 128, 16 * 192 * 2, stream, low, low, x, 16);
  }
  float first = 0;
  copy(&first, x, 1, stream);
  synchronize(stream);
  destroy(create_stream());
  release(x);
  release(in);
  release(integers);
  release(longs);
  release(doubles);
}

}  // namespace attest::cuda::kernels
