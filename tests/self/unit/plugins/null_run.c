/* SPDX-License-Identifier: MIT */
#include "plugin.h"

PLUGIN_OF(ATTEST_ABI_VERSION, "test.copy", "value", DTYPE_F32, kDLCPU, "nd", NULL, NULL)
