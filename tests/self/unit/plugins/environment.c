/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin.h"

/* Writes what it can find out about its process into the error text. */
static int run(const attest_call* call) {
  char directory[256] = "?";
  struct stat output, null;
  int open_descriptors = 0;
  for (int fd = 0; fd < 1024; ++fd) open_descriptors += fcntl(fd, F_GETFD) >= 0;
  const int silent = fstat(1, &output) == 0 && stat("/dev/null", &null) == 0 && output.st_rdev == null.st_rdev;
  const char* secret = getenv("ATTEST_TEST_SECRET");
  const char* threads = getenv("OMP_NUM_THREADS");
  const char* gpu = getenv("CUDA_VISIBLE_DEVICES");
  char byte;
  snprintf(call->error, call->error_size, "cwd=%s fds=%d silent=%d secret=%s threads=%s stdin=%d gpu=%s",
           getcwd(directory, sizeof directory) != NULL ? directory : "?", open_descriptors, silent,
           secret != NULL ? secret : "none", threads != NULL ? threads : "none", (int)read(0, &byte, 1),
           gpu != NULL ? gpu : "none");
  return 1;
}

PLUGIN(run)
