// SPDX-License-Identifier: MIT
// Attention whose weights are powers of products.
#include "attest/cuda/attention_passes.hpp"

namespace attest::cuda {

#define ATTEST_CUDA_INSTANTIATE(T, Factor) template struct Passes<Similarity::power, T, Factor>;
ATTEST_CUDA_FORMATS(ATTEST_CUDA_INSTANTIATE)

}  // namespace attest::cuda
