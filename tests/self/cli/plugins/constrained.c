/* SPDX-License-Identifier: MIT */
/* Attention in bfloat16 with grouped heads, for the few shapes that its author cared about. Sums are in float32.
 * WRONG_GROUPS maps the heads of queries to those of keys in the other order. */
#include <attest/attest_kernel.h>
#include <math.h>

enum { WIDEST = 4096, LONGEST = 4096 };

static float from_bf16(uint16_t x) {
  const uint32_t bits = (uint32_t)x << 16;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

/* To nearest, ties to even. */
static uint16_t to_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x != x) return 0x7fc0;
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* The matrix of one batch entry and head. */
typedef struct matrix {
  const void* data;
  int64_t rows, columns, row, column;
} matrix;

static matrix head_of(const DLTensor* x, int64_t b, int64_t h, int64_t element) {
  if (!x) return (matrix){0};
  return (matrix){(const char*)x->data + (b * x->strides[0] + h * x->strides[1]) * element, x->shape[2], x->shape[3],
                  x->strides[2], x->strides[3]};
}

static float at(matrix x, int64_t i, int64_t j) {
  return from_bf16(((const uint16_t*)x.data)[i * x.row + j * x.column]);
}

static int attention(const attest_call* call) {
  const DLTensor *q = attest_input(call, "q"), *k = attest_input(call, "k"), *v = attest_input(call, "v");
  const DLTensor *mask = attest_input(call, "mask"), *bias = attest_input(call, "bias"), *o = attest_output(call, "o");
  const int64_t heads = q->shape[1], groups = k->shape[1], n = q->shape[2], d = q->shape[3], s = k->shape[2];
  const int64_t width = v->shape[3];
  const DLTensor* sink = attest_input(call, "sink");
  const attest_parameter* scale_given = attest_parameter_of(call, "scale");
  const float scale = scale_given->given ? (float)scale_given->real : 1.0f / sqrtf((float)d);
  const float cap = (float)attest_parameter_of(call, "softcap")->real;
  const int causal = attest_parameter_of(call, "causal")->integer != 0;
  const int64_t left = attest_parameter_of(call, "window_left")->integer;
  const int64_t right = attest_parameter_of(call, "window_right")->integer;
  float logit[LONGEST], sum[WIDEST];
#ifndef ANY_SHAPE
  if ((d != 64 && d != 128) || n % 64 != 0 || n != s) {
    strncpy(call->error, "called with a shape that its capabilities exclude", call->error_size - 1);
    return 1;
  }
#endif
  if (s > LONGEST || width > WIDEST) return 2;
  for (int64_t b = 0; b < q->shape[0]; ++b)
    for (int64_t h = 0; h < heads; ++h) {
#ifdef WRONG_GROUPS
      const int64_t group = h % groups;
#else
      const int64_t group = h / (heads / groups);
#endif
      const matrix Q = head_of(q, b, h, 2), K = head_of(k, b, group, 2), V = head_of(v, b, group, 2);
      const matrix M = head_of(mask, b, h, 1), B = head_of(bias, b, h, 2), O = head_of(o, b, h, 2);
      const float no_key =
          sink ? from_bf16(((const uint16_t*)sink->data)[b * sink->strides[0] + h * sink->strides[1]]) : -INFINITY;
      for (int64_t i = 0; i < n; ++i) {
        float top = no_key, total = 0;
        for (int64_t j = 0; j < s; ++j) {
          logit[j] = -INFINITY;
          if (causal && j > i + (s - n)) continue;
          if ((left >= 0 && j < i + (s - n) - left) || (right >= 0 && j > i + (s - n) + right)) continue;
          if (mask && !((const uint8_t*)M.data)[i * M.row + j * M.column]) continue;
          float dot = 0;
          for (int64_t c = 0; c < d; ++c) dot += at(Q, i, c) * at(K, j, c);
          const float capped = cap > 0 ? cap * tanhf(scale * dot / cap) : scale * dot;
          logit[j] = capped + (bias ? at(B, i, j) : 0);
          if (logit[j] > top) top = logit[j];
        }
        if (sink) total = expf(no_key - top);
        for (int64_t c = 0; c < width; ++c) sum[c] = 0;
        for (int64_t j = 0; j < s; ++j) {
          if (logit[j] == -INFINITY) continue;
          const float e = expf(logit[j] - top);
          total += e;
          for (int64_t c = 0; c < width; ++c) sum[c] += e * at(V, j, c);
        }
        for (int64_t c = 0; c < width; ++c)
          ((uint16_t*)O.data)[i * O.row + c * O.column] = to_bf16(total > 0 ? sum[c] / total : 0);
      }
    }
  return 0;
}

#ifndef CAPABILITIES
#define CAPABILITIES "d in {64, 128}; n % 64 == 0; n == s; empty_row == 'zero'"
#endif

static const attest_kernel kernels[] = {
    {"attention.scaled_dot_product", "", "value", {kDLBfloat, 16, 1}, kDLCPU, "bhnd", CAPABILITIES, NULL, attention},
};
static const attest_plugin plugin = {ATTEST_ABI_VERSION, "constrained", "1.0", 1, kernels};

const attest_plugin* attest_plugin_v1(void) { return &plugin; }
