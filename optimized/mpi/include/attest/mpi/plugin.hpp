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
template <class T>
using Head = openmp::Head<T>;

template <class T>
std::vector<Head<T>> heads_of(const attest_call& call) {
  const DLTensor& first = call.outputs[0].tensor;
  std::vector<Head<T>> heads;
  for (Index batch = 0; batch < first.shape[0]; ++batch)
    for (Index head = 0; head < first.shape[1]; ++head) heads.emplace_back(call, batch, head);
  return heads;
}

/// Runs a kernel on all heads at once, so that ranks meet once for all of them. An exception becomes the call's error.
template <class T, class F>
int on_all_heads(const attest_call* call, F&& kernel) try {
  kernel(heads_of<T>(*call), World::here());
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
