// SPDX-License-Identifier: MIT
// What this processor can do at most, with as many threads as OMP_NUM_THREADS says: for each line of standard input,
// "f32", "f64" or "copy", a line with the multiplications and additions, or the bytes read and written, per second.
#include "attest/openmp/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ceilings.cpp"
#include <hwy/foreach_target.h>

#include "attest/openmp/simd/vector-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::bench::HWY_NAMESPACE {

namespace simd = openmp::simd::HWY_NAMESPACE;
namespace hn = hwy::HWY_NAMESPACE;

/// Operations of `rounds` rounds of fused multiply-adds in registers, twelve chains of them.
template <class T>
double multiply_add(Index rounds, T* result) {
  constexpr int kChains = 12;
  const auto factor = simd::all(T(0.5)), term = hn::LoadU(simd::Lanes<T>(), result);
  simd::Vector<T> chain[kChains];
  for (auto& x : chain) x = term;
  for (Index round = 0; round < rounds; ++round)
    for (auto& x : chain) x = hn::MulAdd(x, factor, term);
  for (const auto& x : chain) hn::StoreU(hn::Add(x, hn::LoadU(simd::Lanes<T>(), result)), simd::Lanes<T>(), result);
  return 2.0 * static_cast<double>(rounds * kChains * simd::kLanes<T>);
}
double multiply_add_f32(Index rounds, float* result) { return multiply_add(rounds, result); }
double multiply_add_f64(Index rounds, double* result) { return multiply_add(rounds, result); }

}  // namespace attest::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

namespace attest::bench {
namespace {

template <class F>
double rate(F&& work) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const double done = work();
    best = std::max(best, done / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

template <class T, class F>
double of_all_threads(F&& multiply_add) {
  return rate([&] {
    double done = 0;
#pragma omp parallel reduction(+ : done)
    {
      T result[64] = {};
      done += multiply_add(Index{1} << 21, result);
    }
    return done;
  });
}

double copy() {
  constexpr Index kBlock = 1 << 20, kBlocks = 128;
  static std::vector<char> from(kBlock * kBlocks, 1), to(kBlock * kBlocks, 2);
  return rate([&] {
#pragma omp parallel for schedule(static)
    for (Index block = 0; block < kBlocks; ++block)
      std::memcpy(to.data() + block * kBlock, from.data() + block * kBlock, kBlock);
    return 2.0 * kBlock * kBlocks;
  });
}

}  // namespace
}  // namespace attest::bench

int main() {
  for (std::string asked; std::getline(std::cin, asked);)
    std::cout << (asked == "copy" ? attest::bench::copy()
                  : asked == "f64"
                      ? attest::bench::of_all_threads<double>(ATTEST_CHOSEN(attest::bench, multiply_add_f64))
                      : attest::bench::of_all_threads<float>(ATTEST_CHOSEN(attest::bench, multiply_add_f32)))
              << std::endl;
}
#endif
