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

#define KERNEL(form, capabilities, run) \
  {EQUATION, form, "value", {kDLFloat, 32, 1}, kDLCPU, "nd", capabilities, NULL, run}

static const attest_kernel several[] = {
    KERNEL("correct", CAPABILITIES, attention),
    KERNEL("wavering", CAPABILITIES, wavering),
    KERNEL("impossible", "d == 3; d == 5", attention),
    KERNEL("causal_only", "causal == true; " CAPABILITIES, attention),
};
static const attest_plugin plugin_of_several = {ATTEST_ABI_VERSION, "several", "1.0", 4, several};

ATTEST_EXPORT const attest_plugin* attest_plugin_v1(void);
const attest_plugin* attest_plugin_v1(void) { return &plugin_of_several; }
