/* SPDX-License-Identifier: MIT */
#include "plugin.h"

static size_t workspace(const attest_call* call) {
  (void)call;
  return 100;
}

DELIBERATE static int run(const attest_call* call) {
  copy(call);
  ((volatile char*)call->workspace)[100] = 1;
  return 0;
}

PLUGIN_OF(ATTEST_ABI_VERSION, "test.copy", "value", DTYPE_F32, kDLCPU, "nd", workspace, run)
