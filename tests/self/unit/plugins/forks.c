/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <sys/types.h>
#include <unistd.h>

#include "plugin.h"

/* Both processes return. */
static int run(const attest_call* call) {
  copy(call);
  return fork() < 0;
}

PLUGIN(run)
