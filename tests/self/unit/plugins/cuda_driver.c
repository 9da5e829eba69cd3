/* SPDX-License-Identifier: MIT */
/* Stands for libcuda.so.1 where there is no GPU: device memory is memory elsewhere in the process, and what is on the
 * stream is done when somebody waits for it. After an error every call fails, as with the real one. */
#define _GNU_SOURCE
#include "cuda_driver.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_CONTEXT = 201, LARGEST = 64, PAGE = 4096 };

static fake_stream stream;
static _Thread_local void* current;
static int initialized, error;
static struct {
  uint64_t address;
  size_t size;
} allocations[LARGEST];

static int state(void) {
  return error ? error : !initialized ? NOT_INITIALIZED : current != &stream ? INVALID_CONTEXT : 0;
}

ATTEST_EXPORT int cuInit(unsigned flags) {
  if (getenv("CUDA_VISIBLE_DEVICES") && !*getenv("CUDA_VISIBLE_DEVICES")) return NO_DEVICE;
  initialized = flags == 0;
  return initialized ? 0 : 1;
}
ATTEST_EXPORT int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, initialized ? 0 : NOT_INITIALIZED; }
ATTEST_EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  return *context = &stream, device == 0 ? 0 : 101;
}
ATTEST_EXPORT int cuCtxSetCurrent(void* context) { return current = context, error; }
ATTEST_EXPORT int cuCtxGetCurrent(void** context) { return *context = current, error; }

/* An address as cuMemAlloc gives: a multiple of 256, and of nothing more. */
ATTEST_EXPORT int cuMemAlloc_v2(uint64_t* address, size_t size) {
  if (state()) return state();
  for (int i = 0; i < LARGEST; ++i) {
    if (allocations[i].address) continue;
    char* pages = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return 2;
    allocations[i].size = size;
    *address = allocations[i].address = (uint64_t)(uintptr_t)(pages + 256);
    return 0;
  }
  return 2; /* also when what was allocated is never freed */
}
ATTEST_EXPORT int cuMemFree_v2(uint64_t address) {
  for (int i = 0; i < LARGEST; ++i)
    if (allocations[i].address == address && !state()) {
      allocations[i].address = 0;
      return munmap((char*)(uintptr_t)address - 256, allocations[i].size + PAGE);
    }
  return 1;
}

static int is_on_device(uint64_t address, size_t size) {
  for (int i = 0; i < LARGEST; ++i)
    if (allocations[i].address && address >= allocations[i].address &&
        address + size <= allocations[i].address + allocations[i].size)
      return 1;
  return 0;
}
ATTEST_EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t size, void* on) {
  if (state() || on != &stream || !is_on_device(to, size)) return state() ? state() : 1;
  memcpy((void*)(uintptr_t)to, from, size);
  return 0;
}
ATTEST_EXPORT int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t size, void* on) {
  if (state() || on != &stream || !is_on_device(from, size)) return state() ? state() : 1;
  memcpy(to, (const void*)(uintptr_t)from, size);
  return 0;
}

ATTEST_EXPORT int cuStreamCreate(void** created, unsigned flags) {
  return *created = &stream, flags == 1 ? state() : 1;
}
ATTEST_EXPORT int cuStreamSynchronize(void* on) {
  if (state() || on != &stream) return state() ? state() : 1;
  if (stream.work) error = stream.work(stream.call);
  stream.work = NULL;
  return error;
}

ATTEST_EXPORT int cuGetErrorName(int code, const char** text) {
  *text = code == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : NULL;
  return *text ? 0 : 1;
}
ATTEST_EXPORT int cuGetErrorString(int code, const char** text) {
  *text = code == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
          : code == NO_DEVICE     ? "no CUDA-capable device is detected"
                                  : NULL;
  return *text ? 0 : 1;
}
