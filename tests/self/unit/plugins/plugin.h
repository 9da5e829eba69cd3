/* SPDX-License-Identifier: MIT */
/* Shared by the test plugins. Each of them breaks one rule, or is good.c. */
#ifndef ATTEST_TEST_PLUGIN_H
#define ATTEST_TEST_PLUGIN_H

#include "attest/attest_kernel.h"

#define DTYPE_F32 {kDLFloat, 32, 1}

/* A plugin with one kernel; the arguments are those fields of it that some plugin has wrong. */
#define PLUGIN_OF(abi, equation_, reading_, dtype_, device_, layout_, workspace_, run_)         \
  static const attest_kernel kernels[] = {                                                      \
      {equation_, "plain", reading_, dtype_, device_, layout_, "n <= 4096", workspace_, run_}}; \
  static const attest_plugin plugin = {abi, "test", "1.0", 1, kernels};                         \
  const attest_plugin* attest_plugin_v1(void) { return &plugin; }

#define DTYPE(...) {__VA_ARGS__}

/* A well-formed table around one function. */
#define PLUGIN(run_) PLUGIN_OF(ATTEST_ABI_VERSION, "test.copy", "value", DTYPE_F32, kDLCPU, "nd", NULL, run_)

/* The sanitizers must leave the mistakes for attest to find. */
#if defined(__clang__)
#define DELIBERATE __attribute__((no_sanitize("address", "undefined"), noinline))
#else
#define DELIBERATE __attribute__((no_sanitize("address,undefined"), noinline))
#endif

static inline int64_t elements(const DLTensor* tensor) {
  int64_t product = 1;
  for (int axis = 0; axis < tensor->ndim; ++axis) product *= tensor->shape[axis];
  return product;
}

static inline volatile float* first_input(const attest_call* call) {
  return (volatile float*)call->inputs[0].tensor.data;
}

static inline volatile float* first_output(const attest_call* call) {
  return (volatile float*)call->outputs[0].tensor.data;
}

/* The task that most plugins do before or after their mistake: output 0 = input 0. */
static inline void copy(const attest_call* call) {
  const int64_t count = elements(&call->outputs[0].tensor);
  for (int64_t i = 0; i < count; ++i) first_output(call)[i] = first_input(call)[i];
}

#endif
