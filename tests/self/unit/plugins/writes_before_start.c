/* SPDX-License-Identifier: MIT */
#include "plugin.h"

DELIBERATE static int run(const attest_call* call) {
  copy(call);
  first_output(call)[-1] = 1;
  return 0;
}

PLUGIN(run)
