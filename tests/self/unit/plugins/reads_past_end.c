/* SPDX-License-Identifier: MIT */
#include "plugin.h"

/* One input: output[0] is the element behind the input. */
DELIBERATE static int run(const attest_call* call) {
  copy(call);
  first_output(call)[0] = first_input(call)[elements(&call->inputs[0].tensor)];
  return 0;
}

PLUGIN(run)
