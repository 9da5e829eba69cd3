/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "plugin.h"

static int run(const attest_call* call) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  volatile float* input = first_input(call);
  copy(call);
  if (mprotect((void*)((uintptr_t)input / page * page), 1, PROT_READ | PROT_WRITE) == 0) input[0] += 1;
  return 0;
}

PLUGIN(run)
