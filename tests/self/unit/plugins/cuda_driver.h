/* SPDX-License-Identifier: MIT */
/* The interface of cuda_driver.c for plugins: it puts a function on the stream where a real one would launch a kernel.
 */
#ifndef ATTEST_TEST_CUDA_DRIVER_H
#define ATTEST_TEST_CUDA_DRIVER_H

#include "plugin.h"

enum { ILLEGAL_ADDRESS = 700 };

typedef struct fake_stream {
  int (*work)(const attest_call*); /* done when the stream is waited for; a CUDA error or 0 */
  const attest_call* call;
} fake_stream;

static inline int launch(const attest_call* call, int (*work)(const attest_call*)) {
  fake_stream* stream = (fake_stream*)call->stream;
  stream->work = work;
  stream->call = call;
  return 0;
}

#endif
