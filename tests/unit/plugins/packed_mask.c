/* SPDX-License-Identifier: MIT */
#include "plugin.h"

static int run(const attest_call* call) { return call == NULL; }

PLUGIN_OF(ATTEST_ABI_VERSION, "attention.scaled_dot_product", "value", DTYPE_F32, kDLCPU, "thd", NULL, run)
