/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "plugin.h"

/* The text has a control character and is longer than there is room for. */
static int run(const attest_call* call) {
  const int used = snprintf(call->error, call->error_size, "head size %d is not supported\a", 7);
  memset(call->error + used, 'x', call->error_size - (size_t)used);
  return 42;
}

PLUGIN(run)
