/* SPDX-License-Identifier: MIT */
/* Learned positions in float32: y = x + table[start + i]. Cheap to judge. AMOUNT: a file whose number is added to
 * everything. APPENDS_TO: a file that becomes a byte longer with each call. CAPABILITIES: other ones. */
#include <attest/attest_kernel.h>
#include <stdio.h>

#ifndef CAPABILITIES
#define CAPABILITIES ""
#endif

static float more(void) {
  float amount = 0;
#ifdef AMOUNT
  FILE* file = fopen(AMOUNT, "r");
  if (!file || fscanf(file, "%f", &amount) != 1) return 1;
  fclose(file);
#endif
#ifdef APPENDS_TO
  FILE* other = fopen(APPENDS_TO, "a");
  if (!other || fputc(0, other) == EOF || fclose(other)) return 1;
#endif
  return amount;
}

static float at(const DLTensor* x, int64_t i, int64_t j) {
  return ((const float*)x->data)[i * x->strides[0] + j * x->strides[1]];
}

static int learned(const attest_call* call) {
  const DLTensor *x = attest_input(call, "x"), *table = attest_input(call, "table"), *y = attest_output(call, "y");
  const int64_t start = attest_parameter_of(call, "start")->integer;
  const float amount = more();
  for (int64_t i = 0; i < x->shape[0]; ++i)
    for (int64_t j = 0; j < x->shape[1]; ++j)
      ((float*)y->data)[i * y->strides[0] + j * y->strides[1]] = at(x, i, j) + at(table, start + i, j) + amount;
  return 0;
}

static const attest_kernel kernels[] = {{.equation = "positional.learned",
                                         .form = "gather",
                                         .reading = "value",
                                         .dtype = {kDLFloat, 32, 1},
                                         .device = kDLCPU,
                                         .layout = "nd",
                                         .capabilities = CAPABILITIES,
                                         .run = learned}};
static const attest_plugin plugin = {ATTEST_ABI_VERSION, "learned positions", "1.0", 1, kernels};
const attest_plugin* attest_plugin_v1(void) { return &plugin; }
