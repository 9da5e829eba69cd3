/* SPDX-License-Identifier: MIT */
/* Causal attention in float32 as a stranger would write it: key tiles with a running maximum, sum and output.
 * With one of the FAULT_ definitions it has that mistake; with REFUSES it returns an error under a condition,
 * with MESSAGE as its text. NAME: of the plugin. */
#include <attest/attest_kernel.h>
#include <math.h>
#include <stdlib.h>

#ifndef MESSAGE
#define MESSAGE "not implemented"
#endif

enum { TILE = 16, WIDEST = 4096 };

static float at(const DLTensor* x, int64_t i, int64_t j) {
  return ((const float*)x->data)[i * x->strides[0] + j * x->strides[1]];
}

#ifdef FAULT_bf16_denominator
static float bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
  memcpy(&x, &bits, sizeof x);
  return x;
}
#endif

/* What one query sees of the keys. */
typedef struct row {
  const DLTensor *mask, *bias;
  int64_t i, first, last; /* the keys that the causal order and the window leave visible */
} row;

static int visible(const row* r, int64_t j) {
  if (j < r->first || j > r->last) return 0;
  if (r->mask && !((const uint8_t*)r->mask->data)[r->i * r->mask->strides[0] + j * r->mask->strides[1]]) return 0;
  return !(r->bias && at(r->bias, r->i, j) == -INFINITY);
}

static int attention(const attest_call* call) {
  const DLTensor *q = attest_input(call, "q"), *k = attest_input(call, "k"), *v = attest_input(call, "v");
  const DLTensor *sink = attest_input(call, "sink"), *o = attest_output(call, "o");
  const int64_t n = q->shape[0], d = q->shape[1], s = k->shape[0], width = v->shape[1];
  const attest_parameter* scale_given = attest_parameter_of(call, "scale");
  const float cap = (float)attest_parameter_of(call, "softcap")->real;
  const int causal = attest_parameter_of(call, "causal")->integer != 0;
  const int64_t left = attest_parameter_of(call, "window_left")->integer;
  const int64_t right = attest_parameter_of(call, "window_right")->integer;
  float scale = scale_given->given ? (float)scale_given->real : 1.0f / sqrtf((float)d);
  float sum_v[WIDEST];
  if (width > WIDEST) return 1;
#ifdef REFUSES /* a condition on d, s, mask ... */
  const int mask = attest_input(call, "mask") != NULL;
  if (REFUSES) {
    strncpy(call->error, MESSAGE, call->error_size - 1);
    return mask ? 5 : 6;
  }
#endif
#if defined(FAULT_scale_missing)
  scale = 1;
#elif defined(FAULT_scale_over_d)
  scale = 1.0f / (float)d;
#elif defined(FAULT_crash)
  abort();
#elif defined(FAULT_hang)
  for (volatile int forever = 1; forever;) {
  }
#elif defined(FAULT_exit)
  exit(0);
#elif defined(FAULT_error)
  strncpy(call->error, "no such tile size", call->error_size - 1);
  return 7;
#elif defined(FAULT_read_past_end)
  scale += 0 * ((const volatile float*)k->data)[s * k->strides[0]];
#elif defined(FAULT_write_input)
  ((volatile float*)q->data)[0] = 1;
#elif defined(FAULT_write_past_end)
  ((volatile float*)o->data)[n * o->strides[0]] = 0;
#endif

#ifdef FAULT_dense_keys /* reads the keys as if they lay row by row */
  DLTensor dense = *k;
  int64_t dense_strides[2] = {d, 1};
  dense.strides = dense_strides;
  k = &dense;
#endif
  for (int64_t i = 0; i < n; ++i) {
    float* out = (float*)o->data + i * o->strides[0];
    const int64_t own = i + (s - n);
    row r = {attest_input(call, "mask"), attest_input(call, "bias"), i, left < 0 ? 0 : own - left,
             causal ? own : s - 1};
    if (right >= 0 && own + right < r.last) r.last = own + right;
#if defined(FAULT_mask_shifted)
    if (causal && r.last < s - 1) r.last += 1;
#elif defined(FAULT_mask_top_left)
    if (causal) r.last = i;
#endif
    float m = sink ? *(const float*)sink->data : -INFINITY, l = sink ? 1 : 0;
#if defined(FAULT_maximum_from_zero)
    m = 0;
#endif
    for (int64_t c = 0; c < width; ++c) sum_v[c] = 0;
    for (int64_t first = 0; first < s; first += TILE) {
      int64_t end = first + TILE < s ? first + TILE : s;
#if defined(FAULT_last_key_dropped)
      if (end == s && s > TILE) end -= 1;
#endif
      float logit[TILE], top = m;
      for (int64_t j = first; j < end; ++j) {
        if (!visible(&r, j)) continue;
        float dot = 0;
        for (int64_t c = 0; c < d; ++c) dot += at(q, i, c) * at(k, j, c);
        const float capped = cap > 0 ? cap * tanhf(scale * dot / cap) : scale * dot;
        logit[j - first] = capped + (r.bias ? at(r.bias, i, j) : 0);
        if (logit[j - first] > top) top = logit[j - first];
      }
      if (top == -INFINITY) continue; /* nothing seen yet */
      const float keep = m == -INFINITY ? 0 : expf(m - top);
      m = top;
      l *= keep;
      for (int64_t c = 0; c < width; ++c) sum_v[c] *= keep;
      for (int64_t j = first; j < end; ++j) {
        if (!visible(&r, j)) continue;
        const float e = expf(logit[j - first] - m);
        l += e;
#if defined(FAULT_bf16_denominator)
        l = bf16(l);
#endif
        for (int64_t c = 0; c < width; ++c) sum_v[c] += e * at(v, j, c);
      }
    }
    for (int64_t c = 0; c < width; ++c) {
      float value = l > 0 ? sum_v[c] / l : 0; /* a query that sees nothing: 0 */
#if defined(FAULT_zeros)
      value = 0;
#elif defined(FAULT_nan)
      if (i == n - 1 && c == width - 1) value = NAN;
#elif defined(FAULT_unwritten)
      if (i == n - 1 && c == width - 1) continue;
#endif
      out[c * o->strides[1]] = value;
    }
  }
  return 0;
}

#ifndef ABI
#define ABI ATTEST_ABI_VERSION
#endif
#ifndef EQUATION
#define EQUATION "attention.scaled_dot_product"
#endif
#ifndef CAPABILITIES
#define CAPABILITIES "empty_row == 'zero'"
#endif
#ifndef DEVICE
#define DEVICE kDLCPU
#endif
#ifndef NAME
#define NAME "stranger"
#endif
#ifndef RUN
#define RUN attention
#endif
#ifndef SYMBOL
#define SYMBOL attest_plugin_v1
#endif

static const attest_kernel kernels[] = {
    {EQUATION, "online_blocked", "value", {kDLFloat, 32, 1}, DEVICE, "nd", CAPABILITIES, NULL, RUN},
};
static const attest_plugin plugin = {ABI, NAME, "1.0", 1, kernels};

ATTEST_EXPORT const attest_plugin* SYMBOL(void);
const attest_plugin* SYMBOL(void) { return &plugin; }
