/* SPDX-License-Identifier: MIT */
#include "plugin.h"

int attest_test_nobody_defines_this(void);

static int run(const attest_call* call) { return call == NULL || attest_test_nobody_defines_this(); }

PLUGIN(run)
