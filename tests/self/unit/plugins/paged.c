/* SPDX-License-Identifier: MIT */
/* Layout "pkv": attention over keys and values in pages of a pool, in float32. The form says what is wrong. */
#include <stdlib.h>

#include "attest/attest_kernel.h"
#define SYMBOL attest_plugin_of_one
#include "../../cli/plugins/attention.c"

enum mistake { RIGHT, NEXT_ENTRY, ONE_TABLE, ONE_LENGTH, WHOLE_PAGES, PAGES_IN_ORDER, ZERO_WEIGHTS };

static int64_t entry(const DLTensor* x, int64_t i) { return ((const int64_t*)x->data)[i]; }

/* Copies the rows of one head of sequence b, `rows` of them, one after the other. */
static float* gathered(const DLTensor* pool, const DLTensor* table, int64_t b, int64_t head, int64_t rows,
                       enum mistake mistake) {
  const int64_t page = pool->shape[1], width = pool->shape[3], used = (rows + page - 1) / page;
  float* dense = malloc((size_t)(rows * width + 1) * sizeof *dense);
  for (int64_t j = 0; j < rows; ++j) {
    int64_t at = j / page;
    if (mistake == NEXT_ENTRY && at > 0 && at + 1 < used) ++at;
    const int64_t in_pool =
        mistake == PAGES_IN_ORDER ? at : entry(table, (mistake == ONE_TABLE ? 0 : b) * table->shape[1] + at);
    for (int64_t a = 0; a < width; ++a)
      dense[j * width + a] = ((const float*)pool->data)[in_pool * pool->strides[0] + j % page * pool->strides[1] +
                                                        head * pool->strides[2] + a * pool->strides[3]];
  }
  return dense;
}

static int attend(const attest_call* call, enum mistake mistake) {
  const DLTensor *q = attest_input(call, "q"), *k = attest_input(call, "k"), *v = attest_input(call, "v");
  const DLTensor *table = attest_input(call, "pages.s"), *lengths = attest_input(call, "lengths.s");
  const DLTensor* o = attest_output(call, "o");
  const int64_t heads = q->shape[2], page = k->shape[1];
  if (table->shape[0] != q->shape[0] || lengths->shape[0] != q->shape[0]) return 1;
  for (int64_t b = 0; b < q->shape[0]; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t group = h / (heads / k->shape[2]);
      int64_t s = entry(lengths, mistake == ONE_LENGTH ? 0 : b);
      if (s > table->shape[1] * page) s = table->shape[1] * page;
      const int64_t rows = mistake == WHOLE_PAGES || mistake == ZERO_WEIGHTS ? (s + page - 1) / page * page : s;
      float *keys = gathered(k, table, b, group, rows, mistake), *values = gathered(v, table, b, group, rows, mistake);
      const int64_t seen = mistake == WHOLE_PAGES ? rows : s;
      const DLTensor* from[] = {q, NULL, NULL, o};
      int64_t shapes[4][2] = {{q->shape[1], q->shape[3]}, {seen, k->shape[3]}, {seen, v->shape[3]}, {0, v->shape[3]}};
      int64_t strides[4][2] = {{0}, {k->shape[3], 1}, {v->shape[3], 1}, {0}};
      attest_tensor tensors[4] = {{"q", *q}, {"k", *k}, {"v", *v}, {"o", *o}};
      tensors[1].tensor.data = keys, tensors[2].tensor.data = values;
      shapes[3][0] = q->shape[1];
      for (int t = 0; t < 4; ++t) {
        if (from[t]) {
          const DLTensor* x = from[t];
          tensors[t].tensor.data = (float*)x->data + b * x->strides[0] + h * x->strides[2];
          strides[t][0] = x->strides[1], strides[t][1] = x->strides[3];
        }
        tensors[t].tensor.ndim = 2, tensors[t].tensor.shape = shapes[t], tensors[t].tensor.strides = strides[t];
      }
      attest_call head = *call;
      head.inputs = tensors, head.input_count = 3, head.outputs = &tensors[3];
      attention(&head);
      if (mistake == ZERO_WEIGHTS) /* a weight of zero for every row of the last page that nobody uses */
        for (int64_t i = 0; i < q->shape[1]; ++i)
          for (int64_t e = 0; e < v->shape[3]; ++e)
            for (int64_t j = s; j < rows; ++j)
              ((float*)tensors[3].tensor.data)[i * strides[3][0] + e * strides[3][1]] +=
                  0 * values[j * v->shape[3] + e];
      free(keys), free(values);
    }
  return 0;
}

#define KERNEL(form, mistake, more)                              \
  {EQUATION,                                                     \
   form,                                                         \
   "value",                                                      \
   {kDLFloat, 32, 1},                                            \
   kDLCPU,                                                       \
   "pkv",                                                        \
   "mask == false; bias == false; not sink; " CAPABILITIES more, \
   NULL,                                                         \
   mistake}
#define MISTAKE(name, mistake) \
  static int name(const attest_call* call) { return attend(call, mistake); }
MISTAKE(right, RIGHT)
MISTAKE(next_entry, NEXT_ENTRY)
MISTAKE(one_table, ONE_TABLE)
MISTAKE(one_length, ONE_LENGTH)
MISTAKE(whole_pages, WHOLE_PAGES)
MISTAKE(pages_in_order, PAGES_IN_ORDER)
MISTAKE(zero_weights, ZERO_WEIGHTS)

static const attest_kernel several[] = {
    KERNEL("right", right, ""),
    KERNEL("long_pages", right, "; page % 24 == 0; hidden_nan == true"),
    KERNEL("next_entry", next_entry, ""),
    KERNEL("one_table", one_table, ""),
    KERNEL("one_length", one_length, ""),
    KERNEL("whole_pages", whole_pages, ""),
    KERNEL("pages_in_order", pages_in_order, ""),
    KERNEL("zero_weights", zero_weights, ""),
    KERNEL("zero_weights_of_nan", zero_weights, "; hidden_nan == true"),
};
static const attest_plugin plugin_of_several = {ATTEST_ABI_VERSION, "paged", "1.0", sizeof several / sizeof *several,
                                                several};

ATTEST_EXPORT const attest_plugin* attest_plugin_v1(void);
const attest_plugin* attest_plugin_v1(void) { return &plugin_of_several; }
