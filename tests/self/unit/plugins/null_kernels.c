/* SPDX-License-Identifier: MIT */
#include "plugin.h"

static const attest_plugin plugin = {ATTEST_ABI_VERSION, "test", "1.0", 2, NULL};
const attest_plugin* attest_plugin_v1(void) { return &plugin; }
