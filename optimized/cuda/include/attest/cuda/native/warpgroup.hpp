// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>

namespace attest::cuda {

template <class T>
class CoreTile {
public:
  using Value = T;
  __device__ CoreTile(DynamicShared& memory, int rows, int columns) : elements_(memory.take<T>(columns / 8, rows, 8)) {}
  __device__ int rows() const { return elements_.extent(1); }
  __device__ T& operator()(int i, int j) const { return elements_(j / 8, i, j % 8); }

private:
  SharedView<T, 3> elements_;
};

template <class T>
__device__ __forceinline__ unsigned shared_address(const T* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

namespace detail {

/// Makes the compiler treat these registers as changed here: it reads them after this place and has written them before
/// it.
template <int Fragments>
__device__ __forceinline__ void pin(Accumulator (&sum)[Fragments]) {
#pragma unroll
  for (int e = 0; e < Fragments; ++e)
#pragma unroll
    for (int i = 0; i < Accumulator::size; ++i) asm volatile("" : "+f"(sum[e].values[i])::"memory");
}
template <int Steps>
__device__ __forceinline__ void pin(PackedA (&a)[Steps]) {
#pragma unroll
  for (int s = 0; s < Steps; ++s)
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(a[s].words[i])::"memory");
}

}  // namespace detail

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ __forceinline__ void fence_proxies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

template <int Fragments>
__device__ __forceinline__ void warpgroup_fence(Accumulator (&sum)[Fragments]) {
  detail::pin(sum);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
template <int Fragments, int Steps>
__device__ __forceinline__ void warpgroup_fence(Accumulator (&sum)[Fragments], PackedA (&a)[Steps]) {
  detail::pin(a);
  warpgroup_fence(sum);
}
__device__ __forceinline__ void warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N = 0, int Fragments>
__device__ __forceinline__ void warpgroup_wait(Accumulator (&sum)[Fragments]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
  detail::pin(sum);
}
template <int N = 0, int Fragments, int Steps>
__device__ __forceinline__ void warpgroup_wait(Accumulator (&sum)[Fragments], PackedA (&a)[Steps]) {
  warpgroup_wait<N>(sum);
  detail::pin(a);
}

// One instruction for each width, with the left operand in registers or in shared memory. `sums` are the names of the
// accumulators; the operands are numbered after them.
#define ATTEST_CUDA_SUM(e) \
  "+f"(sum[e].values[0]), "+f"(sum[e].values[1]), "+f"(sum[e].values[2]), "+f"(sum[e].values[3])
#define ATTEST_CUDA_SUM_8(e)                                                                                          \
  ATTEST_CUDA_SUM(e), ATTEST_CUDA_SUM(e + 1), ATTEST_CUDA_SUM(e + 2), ATTEST_CUDA_SUM(e + 3), ATTEST_CUDA_SUM(e + 4), \
      ATTEST_CUDA_SUM(e + 5), ATTEST_CUDA_SUM(e + 6), ATTEST_CUDA_SUM(e + 7)
#define ATTEST_CUDA_A "+r"(a.words[0]), "+r"(a.words[1]), "+r"(a.words[2]), "+r"(a.words[3])
#define ATTEST_CUDA_WGMMA(width, sums, left, right, immediates)                                                \
  "{.reg .pred add; setp.eq.u32 add, 0, 0; wgmma.mma_async.sync.aligned.m64n" width "k16.f32.bf16.bf16 {" sums \
  "}, " left ", " right ", add, 1, 1, " immediates ";}"
#define ATTEST_CUDA_SUMS_1 "%0, %1, %2, %3"
#define ATTEST_CUDA_SUMS_8                                                 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define ATTEST_CUDA_SUMS_16                                                          \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

namespace detail {

// `a` in registers: changed by the instruction, as far as the compiler knows, so that what is pinned at the wait are
// the registers that the instruction reads.
template <int Fragments, Major major>
__device__ __forceinline__ void warpgroup_product(Accumulator* sum, PackedA& a, std::uint64_t b) {
  if constexpr (Fragments == 16) {
    asm volatile(ATTEST_CUDA_WGMMA("128", ATTEST_CUDA_SUMS_16, "{%64, %65, %66, %67}", "%68", "%69")
                 : ATTEST_CUDA_SUM_8(0), ATTEST_CUDA_SUM_8(8), ATTEST_CUDA_A
                 : "l"(b), "n"(static_cast<int>(major)));
  } else if constexpr (Fragments == 8) {
    asm volatile(ATTEST_CUDA_WGMMA("64", ATTEST_CUDA_SUMS_8, "{%32, %33, %34, %35}", "%36", "%37")
                 : ATTEST_CUDA_SUM_8(0), ATTEST_CUDA_A
                 : "l"(b), "n"(static_cast<int>(major)));
  } else {
    static_assert(Fragments == 1);
    asm volatile(ATTEST_CUDA_WGMMA("8", ATTEST_CUDA_SUMS_1, "{%4, %5, %6, %7}", "%8", "%9")
                 : ATTEST_CUDA_SUM(0), ATTEST_CUDA_A
                 : "l"(b), "n"(static_cast<int>(major)));
  }
}
// `a` in shared memory.
template <int Fragments, Major major>
__device__ __forceinline__ void warpgroup_product(Accumulator* sum, std::uint64_t a, std::uint64_t b) {
  if constexpr (Fragments == 16) {
    asm volatile(ATTEST_CUDA_WGMMA("128", ATTEST_CUDA_SUMS_16, "%64", "%65", "0, %66")
                 : ATTEST_CUDA_SUM_8(0), ATTEST_CUDA_SUM_8(8)
                 : "l"(a), "l"(b), "n"(static_cast<int>(major)));
  } else if constexpr (Fragments == 8) {
    asm volatile(ATTEST_CUDA_WGMMA("64", ATTEST_CUDA_SUMS_8, "%32", "%33", "0, %34")
                 : ATTEST_CUDA_SUM_8(0)
                 : "l"(a), "l"(b), "n"(static_cast<int>(major)));
  } else {
    static_assert(Fragments == 1);
    asm volatile(ATTEST_CUDA_WGMMA("8", ATTEST_CUDA_SUMS_1, "%4", "%5", "0, %6")
                 : ATTEST_CUDA_SUM(0)
                 : "l"(a), "l"(b), "n"(static_cast<int>(major)));
  }
}

/// By instructions of at most 128 columns.
template <int Fragments, class A, Major major>
__device__ __forceinline__ void warpgroup_products(Accumulator* sum, A& a, const Described<major>& b) {
  constexpr int piece = Fragments >= 16 ? 16 : Fragments >= 8 ? 8 : 1;
  warpgroup_product<piece, major>(sum, a, b.bits);
  if constexpr (Fragments > piece) warpgroup_products<Fragments - piece>(sum + piece, a, b.from(8 * piece));
}

}  // namespace detail

template <int Fragments, Major major>
__device__ __forceinline__ void multiply_add(Accumulator (&sum)[Fragments], PackedA& a, const Described<major>& b) {
  detail::warpgroup_products<Fragments>(sum, a, b);
}
template <int Fragments, Major major>
__device__ __forceinline__ void multiply_add(Accumulator (&sum)[Fragments], const Described<Major::k>& a,
                                             const Described<major>& b) {
  detail::warpgroup_products<Fragments>(sum, a.bits, b);
}

#undef ATTEST_CUDA_SUM
#undef ATTEST_CUDA_SUM_8
#undef ATTEST_CUDA_SUMS_1
#undef ATTEST_CUDA_SUMS_8
#undef ATTEST_CUDA_SUMS_16
#undef ATTEST_CUDA_A
#undef ATTEST_CUDA_WGMMA

#else

// Code for other devices, which no launch may reach: it prints an error and traps.
namespace detail {

__device__ inline void no_warpgroup_products() {
  if (threadIdx.x == 0)
    printf(
        "attest: a kernel with products of warpgroups was launched on a device for which it was not compiled "
        "(sm_90a)\n");
  __trap();
}

}  // namespace detail

__device__ inline void fence_proxies() { detail::no_warpgroup_products(); }
template <class... Registers>
__device__ void warpgroup_fence(Registers&...) {
  detail::no_warpgroup_products();
}
__device__ inline void warpgroup_commit() { detail::no_warpgroup_products(); }
template <int N = 0, class... Registers>
__device__ void warpgroup_wait(Registers&...) {
  detail::no_warpgroup_products();
}
template <int Fragments, class A, Major major>
__device__ void multiply_add(Accumulator (&)[Fragments], const A&, const Described<major>&) {
  detail::no_warpgroup_products();
}

#endif

}  // namespace attest::cuda
