/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "plugin.h"

static int run(const attest_call* call) {
  if (first_input(call)[0] < 0) exit(0);
  copy(call);
  return 0;
}

PLUGIN(run)
