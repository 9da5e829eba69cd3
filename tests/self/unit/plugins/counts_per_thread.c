/* SPDX-License-Identifier: MIT */
#include "plugin.h"

static _Thread_local int calls = 0;

/* Answers with the number of its calls from this thread. */
static int run(const attest_call* call) {
  first_output(call)[0] = (float)++calls;
  return 0;
}

PLUGIN(run)
