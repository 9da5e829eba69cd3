/* SPDX-License-Identifier: MIT */
/* The correct attention of cli/plugins as several kernels; the form says what is odd about each. */
#define SYMBOL attest_plugin_of_one
#include "../../cli/plugins/attention.c"

/* Every other answer differs in one last bit, which no bound can see. */
static int wavering(const attest_call* call) {
  static int turn;
  const int status = attention(call);
  float* o = (float*)attest_output(call, "o")->data;
  if (turn++ % 2) o[0] = nextafterf(o[0], INFINITY);
  return status;
}

/* As tensor cores do it that are given float32: factors of 11 bits. */
static int of_11_bits(const attest_call* call) {
  static float rounded[3][1 << 16];
  attest_tensor inputs[8];
  attest_call tensor_cores = *call;
  for (size_t t = 0; t < call->input_count; ++t) {
    inputs[t] = call->inputs[t];
    const DLTensor* x = &call->inputs[t].tensor;
    if (t > 2 || x->shape[0] * x->shape[1] > 1 << 16) continue; /* q, k, v */
    for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) {
      uint32_t bits;
      memcpy(&bits, (const float*)x->data + i, sizeof bits);
      bits = (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
      memcpy(&rounded[t][i], &bits, sizeof bits);
    }
    inputs[t].tensor.data = rounded[t];
  }
  tensor_cores.inputs = inputs;
  return attention(&tensor_cores);
}

/* Keeps what it needs where only the thread finds it that called first. */
static int one_thread(const attest_call* call) {
  static _Thread_local int ready;
  static int begun;
  const int status = attention(call);
  if (!begun) begun = ready = 1;
  if (!ready) ((float*)attest_output(call, "o")->data)[0] += 1;
  return status;
}

#define KERNEL(form, capabilities, run) \
  {EQUATION, form, "value", {kDLFloat, 32, 1}, kDLCPU, "nd", capabilities, NULL, run}

static const attest_kernel several[] = {
    KERNEL("correct", CAPABILITIES, attention),
    KERNEL("wavering", CAPABILITIES, wavering),
    KERNEL("impossible", "d == 3; d == 5", attention),
    KERNEL("causal_only", "causal == true; " CAPABILITIES, attention),
    KERNEL("tensor_cores", "profile == 'tf32'; contiguous; " CAPABILITIES, of_11_bits),
    KERNEL("hopeful", CAPABILITIES, of_11_bits),
    KERNEL("one_thread", CAPABILITIES, one_thread),
    KERNEL("says_one_thread", "any_thread == false; " CAPABILITIES, one_thread),
    KERNEL("plain", "mask == false; bias == false; causal == false; block == 8; " CAPABILITIES, attention),
};
static const attest_plugin plugin_of_several = {ATTEST_ABI_VERSION, "several", "1.0", sizeof several / sizeof *several,
                                                several};

ATTEST_EXPORT const attest_plugin* attest_plugin_v1(void);
const attest_plugin* attest_plugin_v1(void) { return &plugin_of_several; }
