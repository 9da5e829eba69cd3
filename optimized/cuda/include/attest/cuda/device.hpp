// SPDX-License-Identifier: MIT
#pragma once

/// The one header that a kernel (.cu) includes. nvcc compiles it against CUDA, any other compiler against the
/// emulation: optimized/cuda/emulation/README.md is the page of both.

#if defined(ATTEST_CUDA_EMULATION)
#include "attest/cuda/emulated/types.hpp"

#include "attest/cuda/emulated/half.hpp"

#include "attest/cuda/emulated/mathematics.hpp"

#include "attest/cuda/emulated/shared.hpp"

#include "attest/cuda/emulated/atomic.hpp"
#include "attest/cuda/emulated/host.hpp"
#include "attest/cuda/emulated/memory.hpp"
#include "attest/cuda/emulated/warp.hpp"
#elif defined(__CUDACC__)
#include "attest/cuda/native/host.hpp"
#include "attest/cuda/native/memory.hpp"
#include "attest/cuda/native/shared.hpp"
#include "attest/cuda/native/warp.hpp"
#else
#error "attest/cuda/device.hpp: compile with nvcc, or with ATTEST_CUDA_EMULATION defined"
#endif

#include "attest/cuda/convert.hpp"
#include "attest/cuda/matrix.hpp"
#include "attest/cuda/warpgroup.hpp"
