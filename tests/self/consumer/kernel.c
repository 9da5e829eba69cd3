/* SPDX-License-Identifier: MIT */
/* Scaled dot-product attention in float32, one key at a time with a running maximum. */
#include <attest/attest_kernel.h>
#include <math.h>

static float at(const DLTensor* x, int64_t i, int64_t j) {
  return ((float*)x->data)[i * x->strides[0] + j * x->strides[1]];
}

static int attention(const attest_call* call) {
  const DLTensor *q = attest_input(call, "q"), *k = attest_input(call, "k"), *v = attest_input(call, "v");
  const DLTensor *mask = attest_input(call, "mask"), *bias = attest_input(call, "bias");
  const DLTensor *sink = attest_input(call, "sink"), *o = attest_output(call, "o");
  const int64_t n = q->shape[0], d = q->shape[1], s = k->shape[0], m = v->shape[1];
  const attest_parameter* given = attest_parameter_of(call, "scale");
  const float scale = given->given ? (float)given->real : 1 / sqrtf((float)d);
  const float cap = (float)attest_parameter_of(call, "softcap")->real;
  const int causal = attest_parameter_of(call, "causal")->integer != 0;
  const int64_t left = attest_parameter_of(call, "window_left")->integer;
  const int64_t right = attest_parameter_of(call, "window_right")->integer;
  for (int64_t i = 0; i < n; ++i) {
    float* out = (float*)o->data + i * o->strides[0];
    int64_t first = 0, last = causal ? i + (s - n) : s - 1;
    if (left >= 0 && s - n + i - left > 0) first = s - n + i - left;
    if (right >= 0 && s - n + i + right < last) last = s - n + i + right;
    float top = sink ? *(float*)sink->data : -INFINITY, sum = sink ? 1 : 0;
    for (int64_t c = 0; c < m; ++c) out[c * o->strides[1]] = 0;
    for (int64_t j = first; j <= last; ++j) {
      float dot = 0;
      for (int64_t c = 0; c < d; ++c) dot += at(q, i, c) * at(k, j, c);
      const float capped = cap > 0 ? cap * tanhf(scale * dot / cap) : scale * dot;
      const float logit = capped + (bias ? at(bias, i, j) : 0);
      if (logit == -INFINITY || (mask && !((uint8_t*)mask->data)[i * mask->strides[0] + j * mask->strides[1]]))
        continue;
      const float higher = fmaxf(top, logit), keep = expf(top - higher), weight = expf(logit - higher);
      for (int64_t c = 0; c < m; ++c) out[c * o->strides[1]] = out[c * o->strides[1]] * keep + weight * at(v, j, c);
      sum = sum * keep + weight;
      top = higher;
    }
    for (int64_t c = 0; c < m && sum > 0; ++c) out[c * o->strides[1]] /= sum; /* a query that sees nothing: 0 */
  }
  return 0;
}

static const attest_kernel kernels[] = {{.equation = "attention.scaled_dot_product",
                                         .form = "",
                                         .reading = "value",
                                         .dtype = {kDLFloat, 32, 1},
                                         .device = kDLCPU,
                                         .layout = "nd",
                                         .capabilities = "empty_row == 'zero'",
                                         .run = attention}};
static const attest_plugin plugin = {ATTEST_ABI_VERSION, "my kernel", "1.0", 1, kernels};
const attest_plugin* attest_plugin_v1(void) { return &plugin; }
