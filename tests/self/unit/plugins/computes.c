/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <time.h>
#include <unistd.h>

#include "plugin.h"

static double processor_seconds(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* Runs for input[0] seconds of a processor; waits for ever when that is negative. */
static int run(const attest_call* call) {
  const double seconds = first_input(call)[0];
  while (seconds < 0) pause();
  const double begin = processor_seconds();
  while (processor_seconds() - begin < seconds) continue;
  copy(call);
  return 0;
}

PLUGIN(run)
