/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include <unistd.h>

#include "plugin.h"

static int run(const attest_call* call) { return call == NULL; }

PLUGIN(run)

__attribute__((constructor)) static void wait_forever(void) {
  for (;;) pause();
}
