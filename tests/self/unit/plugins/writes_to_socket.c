/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <unistd.h>

#include "plugin.h"

/* Guesses the descriptor over which attest talks to this process. */
static int run(const attest_call* call) {
  static const char reply[] = "\x09\0\0\0{\"code\":0}";
  if (first_input(call)[0] < 0) {
    if (write(3, reply, sizeof reply - 1) < 0) return 1;
  } else if (first_input(call)[0] > 0) {
    for (int fd = 0; fd < 64; ++fd) close(fd);
  }
  copy(call);
  return 0;
}

PLUGIN(run)
