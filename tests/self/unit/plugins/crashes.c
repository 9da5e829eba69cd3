/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>

#include "plugin.h"

static volatile uintptr_t address;
static volatile int zero;
static volatile int depth_limit = 1 << 30;

DELIBERATE static int deeper(volatile char* above, int depth) {
  if (depth == depth_limit) return 0;
  volatile char frame[4096];
  frame[0] = above[0];
  return deeper(frame, depth + 1) + frame[0];
}

/* input[0] says how; 0: does not. */
DELIBERATE static int run(const attest_call* call) {
  volatile char top = 0;
  switch ((int)first_input(call)[0]) {
    case 1: address = 16; return *(volatile char*)address;
    case 2: abort();
    case 3: raise(SIGFPE); break;
    case 4: return deeper(&top, 0);
    case 5:
      address = 0x10000;
      *(volatile char*)address = 1;
      break;
    case 6: raise(SIGKILL); break;
    case 7: __builtin_trap();
    case 8: address = (uintptr_t)1 << 63; return *(volatile char*)address;
    default: break;
  }
  copy(call);
  return zero;
}

PLUGIN(run)
