/* SPDX-License-Identifier: MIT */
/* Causal linear attention and its gradient in float32 and bfloat16, pair by pair, with sums in double. No carried
 * state. FORGETS: a token sees the 64 before it. FORGETS_LATE: those after the 400th forget the first 400. FAILS:
 * an error is returned. REMEMBERS: a call with the inputs of the last one leaves the output as it is. RESTS: so
 * do the sixth to eighth call. LATER: from the sixth on a call returns at once, and a thread does its work 1 ms
 * later. NARROW: features of width 32 only. FLAT: one head per call. CRASHES: a write to address 0. EXITS: the
 * process ends with status 0. VERSION: of the interface. CAPABILITIES: other ones. */
#define _DEFAULT_SOURCE
#include <attest/attest_kernel.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION ATTEST_ABI_VERSION
#endif

static size_t offset(const DLTensor* x, int64_t b, int64_t h, int64_t i, int64_t j) {
  return (size_t)(b * x->strides[0] + h * x->strides[1] + i * x->strides[2] + j * x->strides[3]);
}

static double get(const DLTensor* x, int64_t b, int64_t h, int64_t i, int64_t j) {
  const size_t at = offset(x, b, h, i, j);
  if (x->dtype.code == kDLFloat) return ((const float*)x->data)[at];
  const uint32_t bits = (uint32_t)((const uint16_t*)x->data)[at] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void put(const DLTensor* x, int64_t b, int64_t h, int64_t i, int64_t j, double value) {
  const size_t at = offset(x, b, h, i, j);
  const float single = (float)value;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  if (x->dtype.code == kDLFloat)
    ((float*)x->data)[at] = single;
  else
    ((uint16_t*)x->data)[at] = (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* The first token that token i sees. */
static int64_t first_seen(int64_t i) {
#if defined FORGETS
  return i < 64 ? 0 : i - 63;
#elif defined FORGETS_LATE
  return i < 400 ? 0 : 400;
#else
  return 0 * i;
#endif
}

static double dot(const DLTensor* x, int64_t i, const DLTensor* y, int64_t j, int64_t b, int64_t h) {
  double sum = 0;
  for (int64_t c = 0; c < x->shape[3]; ++c) sum += get(x, b, h, i, c) * get(y, b, h, j, c);
  return sum;
}

static size_t workspace(const attest_call* call) {
  const DLTensor *q = attest_input(call, "phi_q"), *v = attest_input(call, "v");
  return sizeof(double) * (size_t)(q->shape[2] * (2 * q->shape[3] + v->shape[3]) + v->shape[3]);
}

static int refused(const attest_call* call) {
#ifdef FAILS
  strncpy(call->error, "no such tile", call->error_size - 1);
  return 7;
#endif
#ifdef EXITS
  exit(0);
#endif
#ifdef CRASHES
  *(volatile int*)0 = 1;
#endif
  if (attest_parameter_of(call, "chunk")->integer != 64 || attest_parameter_of(call, "eps")->real != 0) return 2;
  return strcmp(attest_parameter_of(call, "zero_denominator")->text, "zero") ||
         call->workspace_size < workspace(call) || call->stream;
}

static int calls;

static int is_remembered(const DLTensor* q) {
  static const void* last;
  const int same = q->data == last;
  last = q->data;
  ++calls;
#if defined REMEMBERS
  return same;
#elif defined RESTS
  return same && calls >= 6 && calls <= 8;
#else
  return 0 * same;
#endif
}

static int value(const attest_call* call) {
  const DLTensor *q = attest_input(call, "phi_q"), *k = attest_input(call, "phi_k"), *v = attest_input(call, "v");
  const DLTensor* o = attest_output(call, "o");
  double* row = (double*)call->workspace;
  const int64_t n = q->shape[2], m = v->shape[3];
  const int refusal = refused(call);
  if (refusal) return refusal;
  if (is_remembered(q)) return 0;
  for (int64_t b = 0; b < q->shape[0]; ++b)
    for (int64_t h = 0; h < q->shape[1]; ++h)
      for (int64_t i = 0; i < n; ++i) {
        double total = 0;
        memset(row, 0, sizeof(double) * (size_t)m);
        for (int64_t j = first_seen(i); j <= i; ++j) {
          const double weight = dot(q, i, k, j, b, h);
          total += weight;
          for (int64_t e = 0; e < m; ++e) row[e] += weight * get(v, b, h, j, e);
        }
        for (int64_t e = 0; e < m; ++e) put(o, b, h, i, e, row[e] / total);
      }
  return 0;
}

#ifdef LATER
static void* work(void* call) {
  usleep(1000);
  value(call);
  return NULL;
}

static int value_later(const attest_call* call) {
  pthread_t thread;
  if (calls < 5) return value(call);
  return pthread_create(&thread, NULL, work, (void*)call) || pthread_detach(thread);
}
#else
#define value_later value
#endif

static int gradient(const attest_call* call) {
  const DLTensor *q = attest_input(call, "phi_q"), *k = attest_input(call, "phi_k"), *v = attest_input(call, "v");
  const DLTensor *g = attest_input(call, "cotangent.o"), *dq = attest_output(call, "gradient.phi_q");
  const DLTensor *dk = attest_output(call, "gradient.phi_k"), *dv = attest_output(call, "gradient.v");
  const int64_t n = q->shape[2], c = q->shape[3], m = v->shape[3];
  double *at_q = (double*)call->workspace, *at_k = at_q + n * c, *at_v = at_k + n * c, *o = at_v + n * m;
  const int refusal = refused(call);
  if (refusal) return refusal;
  if (is_remembered(q)) return 0;
  if (!attest_input(call, "cotangent.S") || !attest_input(call, "cotangent.Z")) return 3;
  for (int64_t b = 0; b < q->shape[0]; ++b)
    for (int64_t h = 0; h < q->shape[1]; ++h) {
      memset(at_q, 0, workspace(call));
      for (int64_t i = 0; i < n; ++i) {
        double total = 0, along = 0;
        memset(o, 0, sizeof(double) * (size_t)m);
        for (int64_t j = first_seen(i); j <= i; ++j) {
          const double weight = dot(q, i, k, j, b, h);
          total += weight;
          for (int64_t e = 0; e < m; ++e) o[e] += weight * get(v, b, h, j, e);
        }
        for (int64_t e = 0; e < m; ++e) along += get(g, b, h, i, e) * o[e] / total;
        for (int64_t j = first_seen(i); j <= i; ++j) {
          const double slope = (dot(g, i, v, j, b, h) - along) / total, share = dot(q, i, k, j, b, h) / total;
          for (int64_t x = 0; x < c; ++x) at_q[i * c + x] += slope * get(k, b, h, j, x);
          for (int64_t x = 0; x < c; ++x) at_k[j * c + x] += slope * get(q, b, h, i, x);
          for (int64_t e = 0; e < m; ++e) at_v[j * m + e] += share * get(g, b, h, i, e);
        }
      }
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t x = 0; x < c; ++x) put(dq, b, h, i, x, at_q[i * c + x]);
        for (int64_t x = 0; x < c; ++x) put(dk, b, h, i, x, at_k[i * c + x]);
        for (int64_t e = 0; e < m; ++e) put(dv, b, h, i, e, at_v[i * m + e]);
      }
    }
  return 0;
}

#ifdef NARROW
#define CAPABILITIES "features == 'given'; S == false; Z == false; c == 32 implies m == 32; c == 32"
#elif !defined(CAPABILITIES)
#define CAPABILITIES "features == 'given'; S == false; Z == false"
#endif
#ifdef FLAT
#define LAYOUT "nd"
#else
#define LAYOUT "bhnd"
#endif
#define ENTRY(READING, RUN, CODE, BITS) \
  {"linear.causal", "pairs", #READING, {CODE, BITS, 1}, kDLCPU, LAYOUT, CAPABILITIES, workspace, RUN}

static const attest_kernel kernels[] = {
    ENTRY(value, value_later, kDLFloat, 32), ENTRY(value, value_later, kDLBfloat, 16),
    ENTRY(gradient, gradient, kDLFloat, 32), ENTRY(gradient, gradient, kDLBfloat, 16)};
#if defined RESTS || defined LATER /* they count calls: of one kernel */
#define COUNT 1
#else
#define COUNT (sizeof kernels / sizeof kernels[0])
#endif
static const attest_plugin plugin = {VERSION, "pairs", "1.0", COUNT, kernels};
const attest_plugin* attest_plugin_v1(void) { return &plugin; }
