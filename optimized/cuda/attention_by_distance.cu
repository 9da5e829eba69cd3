// SPDX-License-Identifier: MIT
// Attention whose weights fall with distances, which are taken in true float whatever products take.
#include "attest/cuda/attention_passes.hpp"

namespace attest::cuda {

template struct Passes<Similarity::exp_distance, float, float>;
template struct Passes<Similarity::exp_distance, __nv_bfloat16, float>;
template struct Passes<Similarity::exp_distance, __half, float>;

}  // namespace attest::cuda
