// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <exception>
#include <vector>

#include "attest/attest_kernel.h"
#include "attest/mpi/parts.hpp"
#include "attest/mpi/world.hpp"
#include "attest/openmp/plugin.hpp"

namespace attest::mpi {

/// One head of a call on this rank.
using Head = openmp::Head;

inline std::vector<Head> heads_of(const openmp::Batch& batch) {
  std::vector<Head> heads;
  for (Index entry = 0; entry < batch.entries(); ++entry)
    for (Index head = 0; head < batch.heads(); ++head) heads.emplace_back(batch, entry, head);
  return heads;
}

/// Runs a kernel on all heads at once, so that ranks meet once for all of them. An exception becomes the call's error.
template <class F>
int on_all_heads(const attest_call* call, F&& kernel) try {
  const openmp::Placement bhnd;
  const openmp::Batch batch(*call, bhnd);
  kernel(heads_of(batch), World::here());
  return 0;
} catch (const std::exception& exception) {
  std::snprintf(call->error, call->error_size, "%s", exception.what());
  return 1;
}

template <class T>
attest_kernel kernel(const char* equation, const char* form, const char* capabilities, int (*run)(const attest_call*)) {
  return {equation, form, "value", {kDLFloat, sizeof(T) * 8, 1}, kDLCPU, "bhnd", capabilities, nullptr, run};
}

/// Every kernel of this backend, from the files of its equations.
std::vector<attest_kernel> all_kernels();

}  // namespace attest::mpi
