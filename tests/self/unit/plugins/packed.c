/* SPDX-License-Identifier: MIT */
/* Layout "thd": sequences of unequal lengths in one tensor. The form says what is wrong. */
#include "attest/attest_kernel.h"
#define SYMBOL attest_plugin_of_one
#include "../../cli/plugins/attention.c"

enum mistake { RIGHT, FIRST_LENGTH, STATE_CARRIED, ONE_HEAD, ONE_GROUP, ONE_OFFSET };

static int64_t offset(const attest_call* call, const char* size, int64_t sequence) {
  return ((const int64_t*)attest_input(call, size)->data)[sequence];
}

/* The last two axes of x from [i][h] on: rows of one head that follow one another, or the matrix of sequence i. */
static double* of(const DLTensor* x, int64_t i, int64_t h) {
  return (double*)x->data + i * x->strides[0] + h * x->strides[1];
}

/* linear.causal_chunked in float64, with grouped heads. */
static int chunk(const attest_call* call, enum mistake mistake) {
  const DLTensor *q = attest_input(call, "phi_q"), *k = attest_input(call, "phi_k"), *v = attest_input(call, "v");
  const DLTensor *S = attest_input(call, "S"), *Z = attest_input(call, "Z"), *o = attest_output(call, "o");
  const DLTensor *S_new = attest_output(call, "S"), *Z_new = attest_output(call, "Z");
  const int64_t sequences = S->shape[0], heads = S->shape[1], groups = k->shape[1], c = S->shape[2], m = S->shape[3],
                total = q->shape[0];
  const double eps = attest_parameter_of(call, "eps")->real;
  const double undefined = strcmp(attest_parameter_of(call, "zero_denominator")->text, "nan") == 0 ? NAN : 0;
  if (attest_input(call, "offsets.n")->shape[0] != sequences + 1 || offset(call, "offsets.n", sequences) != total)
    return 1;
  for (int64_t b = 0; b < sequences; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t first = mistake == FIRST_LENGTH ? b * offset(call, "offsets.n", 1) : offset(call, "offsets.n", b);
      int64_t end = mistake == FIRST_LENGTH ? first + offset(call, "offsets.n", 1) : offset(call, "offsets.n", b + 1);
      if (end > total || (mistake == FIRST_LENGTH && b + 1 == sequences)) end = total;
      const int64_t from = mistake == ONE_HEAD ? 0 : h, group = mistake == ONE_GROUP ? 0 : h / (heads / groups);
      double *s = of(S_new, b, h), *z = of(Z_new, b, h);
      const int64_t before = mistake == STATE_CARRIED && b > 0 ? b - 1 : b;
      memcpy(s, of(before < b ? S_new : S, before, h), (size_t)(c * m) * sizeof *s);
      memcpy(z, of(before < b ? Z_new : Z, before, h), (size_t)c * sizeof *z);
      for (int64_t i = first; i < end; ++i) {
        double denominator = eps;
        for (int64_t a = 0; a < c; ++a) {
          z[a] += of(k, i, group)[a];
          denominator += of(q, i, from)[a] * z[a];
          for (int64_t e = 0; e < m; ++e) s[a * m + e] += of(k, i, group)[a] * of(v, i, group)[e];
        }
        for (int64_t e = 0; e < m; ++e) {
          double numerator = 0;
          for (int64_t a = 0; a < c; ++a) numerator += of(q, i, from)[a] * s[a * m + e];
          of(o, i, h)[e] = denominator == 0 ? undefined : numerator / denominator;
        }
      }
    }
  return 0;
}

static int chunk_right(const attest_call* call) { return chunk(call, RIGHT); }
static int chunk_first_length(const attest_call* call) { return chunk(call, FIRST_LENGTH); }
static int chunk_state_carried(const attest_call* call) { return chunk(call, STATE_CARRIED); }
static int chunk_one_head(const attest_call* call) { return chunk(call, ONE_HEAD); }
static int chunk_one_group(const attest_call* call) { return chunk(call, ONE_GROUP); }

/* attention.scaled_dot_product in float32: the kernel of one head, called for every sequence and head. */
static int attend(const attest_call* call, enum mistake mistake) {
  attest_tensor inputs[3], output = call->outputs[0];
  const int64_t heads = output.tensor.shape[1], sequences = attest_input(call, "offsets.n")->shape[0] - 1;
  for (int64_t b = 0; b < sequences; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      int64_t shapes[4][2], strides[4][2];
      for (int t = 0; t < 4; ++t) {
        attest_tensor* one = t < 3 ? &inputs[t] : &output;
        const char* names[] = {"q", "k", "v"};
        const DLTensor* x = t < 3 ? attest_input(call, names[t]) : &call->outputs[0].tensor;
        const char* size = t == 1 || t == 2 ? "offsets.s" : "offsets.n";
        const int64_t length = offset(call, size, b + 1) - offset(call, size, b);
        int64_t first = offset(call, mistake == ONE_OFFSET ? "offsets.n" : size, b);
        if (first + length > x->shape[0]) first = x->shape[0] - length;
        if (t < 3) one->name = names[t];
        one->tensor = *x;
        one->tensor.data = (float*)x->data + first * x->strides[0] + h / (heads / x->shape[1]) * x->strides[1];
        shapes[t][0] = length, shapes[t][1] = x->shape[2];
        strides[t][0] = x->strides[0], strides[t][1] = x->strides[2];
        one->tensor.ndim = 2, one->tensor.shape = shapes[t], one->tensor.strides = strides[t];
      }
      attest_call head = *call;
      head.inputs = inputs, head.input_count = 3, head.outputs = &output;
      attention(&head);
    }
  return 0;
}

static int attend_right(const attest_call* call) { return attend(call, RIGHT); }
static int attend_multiples(const attest_call* call) {
  for (int64_t b = 0; b + 1 < attest_input(call, "offsets.n")->shape[0]; ++b)
    if (offset(call, "offsets.n", b) % 16 || offset(call, "offsets.s", b) % 16) return 1;
  return attend(call, RIGHT);
}
static int attend_one_offset(const attest_call* call) { return attend(call, ONE_OFFSET); }

#define CHUNK(form, run)                                                               \
  {"linear.causal_chunked",           form, "value", {kDLFloat, 64, 1}, kDLCPU, "thd", \
   "features == 'given'; contiguous", NULL, run}
#define ATTENTION(form, capabilities, run)                               \
  {EQUATION,                                                             \
   form,                                                                 \
   "value",                                                              \
   {kDLFloat, 32, 1},                                                    \
   kDLCPU,                                                               \
   "thd",                                                                \
   "mask == false; bias == false; not sink; " CAPABILITIES capabilities, \
   NULL,                                                                 \
   run}

static const attest_kernel several[] = {
    CHUNK("right", chunk_right),
    CHUNK("first_length", chunk_first_length),
    CHUNK("state_carried", chunk_state_carried),
    CHUNK("one_head", chunk_one_head),
    CHUNK("one_group", chunk_one_group),
    ATTENTION("right", "", attend_right),
    ATTENTION("multiples", "; n % 16 == 0; s % 16 == 0", attend_multiples),
    ATTENTION("one_offset", "", attend_one_offset),
};
static const attest_plugin plugin_of_several = {ATTEST_ABI_VERSION, "packed", "1.0", sizeof several / sizeof *several,
                                                several};

ATTEST_EXPORT const attest_plugin* attest_plugin_v1(void);
const attest_plugin* attest_plugin_v1(void) { return &plugin_of_several; }
