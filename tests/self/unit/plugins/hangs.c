/* SPDX-License-Identifier: MIT */
#include "plugin.h"

static volatile int forever = 1;

/* Hangs when input[0] is negative. */
static int run(const attest_call* call) {
  if (first_input(call)[0] < 0)
    while (forever) continue;
  copy(call);
  return 0;
}

PLUGIN(run)
