/* SPDX-License-Identifier: MIT */
#include "plugin.h"

DELIBERATE static int run(const attest_call* call) {
  ((volatile char*)call->error)[call->error_size] = 'x';
  return 1;
}

PLUGIN(run)
