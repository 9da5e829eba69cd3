/* SPDX-License-Identifier: MIT */
/* The gradient of infini.gate in float64, for batches of heads and for packed sequences. The form says what is wrong.
 */
#include <math.h>

#include "attest/attest_kernel.h"

static double* row(const DLTensor* x, int64_t sequence, int64_t token, int64_t head) {
  if (x->ndim == 3) return (double*)x->data + token * x->strides[0] + head * x->strides[1]; /* packed */
  return (double*)x->data + sequence * x->strides[0] + head * x->strides[1] + token * x->strides[2];
}

static int gate(const attest_call* call, int one_gate) {
  const DLTensor *beta = attest_input(call, "beta"), *mem = attest_input(call, "a_mem"),
                 *dot = attest_input(call, "a_dot");
  const DLTensor *cotangent = attest_input(call, "cotangent.a"), *offsets = attest_input(call, "offsets.n");
  const DLTensor *d_beta = attest_output(call, "gradient.beta"), *d_mem = attest_output(call, "gradient.a_mem"),
                 *d_dot = attest_output(call, "gradient.a_dot");
  const int64_t sequences = beta->shape[0], heads = beta->shape[1], m = mem->shape[mem->ndim - 1];
  for (int64_t b = 0; b < sequences; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      const double x = ((const double*)beta->data)[b * beta->strides[0] + (one_gate ? 0 : h * beta->strides[1])],
                   gate = 1 / (1 + exp(-x)), rest = 1 / (1 + exp(x));
      const int64_t first = offsets ? ((const int64_t*)offsets->data)[b] : 0,
                    end = offsets ? ((const int64_t*)offsets->data)[b + 1] : mem->shape[2];
      double sum = 0;
      for (int64_t i = first; i < end; ++i)
        for (int64_t c = 0; c < m; ++c) {
          const double g = row(cotangent, b, i, h)[c];
          sum += g * (row(mem, b, i, h)[c] - row(dot, b, i, h)[c]);
          row(d_mem, b, i, h)[c] = gate * g;
          row(d_dot, b, i, h)[c] = rest * g;
        }
      ((double*)d_beta->data)[b * heads + h] = gate * rest * sum;
    }
  return 0;
}

static int right(const attest_call* call) { return gate(call, 0); }
static int one_gate(const attest_call* call) { return gate(call, 1); }

#define GATE(form, layout, run) {"infini.gate", form, "gradient", {kDLFloat, 64, 1}, kDLCPU, layout, NULL, NULL, run}

static const attest_kernel kernels[] = {GATE("right", "bhnd", right), GATE("one_gate", "bhnd", one_gate),
                                        GATE("packed", "thd", right), GATE("packed_one_gate", "thd", one_gate)};
static const attest_plugin plugin = {ATTEST_ABI_VERSION, "gradient", "1.0", 4, kernels};

const attest_plugin* attest_plugin_v1(void) { return &plugin; }
