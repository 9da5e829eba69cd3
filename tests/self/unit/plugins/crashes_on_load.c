/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "plugin.h"

static int run(const attest_call* call) { return call == NULL; }

PLUGIN(run)

__attribute__((constructor)) static void leave(void) { abort(); }
