/* SPDX-License-Identifier: MIT */
/* CUDA kernels for cuda_driver.c; the form says what is wrong with each. */
#include "cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>

static float* end_of(const DLTensor* tensor) { return (float*)tensor->data + elements(tensor); }

static int copied(const attest_call* call) { return copy(call), 0; }
static int past_end(const attest_call* call) { return copy(call), *end_of(&call->outputs[0].tensor) = 1, 0; }
static int row_past_end(const attest_call* call) { return copy(call), end_of(&call->outputs[0].tensor)[8191] = 1, 0; }
static int before_start(const attest_call* call) { return copy(call), first_output(call)[-1] = 1, 0; }
static int changed_input(const attest_call* call) { return copy(call), first_input(call)[1] = 7, 0; }
static int past_input(const attest_call* call) { return copy(call), *end_of(&call->inputs[0].tensor) = 7, 0; }
static int nothing(const attest_call* call) { return call == NULL; }
static int reads_past_end(const attest_call* call) {
  return copy(call), first_output(call)[0] = *end_of(&call->inputs[0].tensor), 0;
}
static int illegal(const attest_call* call) { return call != NULL ? ILLEGAL_ADDRESS : 0; }
static int hundred_and_one(const attest_call* call) {
  return copy(call), ((unsigned char*)call->workspace)[100] = 1, 0;
}

#define RUN(name)                                                               \
  static int run_##name(const attest_call* call) { return launch(call, name); } \
  static int run_##name(const attest_call* call)
RUN(copied);
RUN(past_end);
RUN(row_past_end);
RUN(before_start);
RUN(changed_input);
RUN(past_input);
RUN(nothing);
RUN(reads_past_end);
RUN(illegal);
RUN(hundred_and_one);
static size_t hundred(const attest_call* call) { return call->stream != NULL ? 100 : 0; }

/* A launch that the driver refuses is an error that the kernel reports; the device goes on. */
static int refuses(const attest_call* call) {
  return strncpy(call->error, "too much shared memory", call->error_size - 1), 9;
}

static int throws_away(const attest_call* call) { return launch(call, copied), 3; }

/* Mappings of what the judge shares with this process that can be read: the page that they talk through. */
static int readable_of_judge(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  int found = 0;
  while (fgets(line, sizeof line, maps)) found += strstr(line, "memfd:attest") && strstr(line, " r");
  fclose(maps);
  return found;
}

/* 0 when everything is where and as it was promised. */
static int facts(const attest_call* call) {
  const DLTensor *x = &call->inputs[0].tensor, *o = &call->outputs[0].tensor;
  if (x->device.device_type != kDLCUDA || o->device.device_type != kDLCUDA || !call->stream) return 1;
  if ((uintptr_t)x->data % 4096 || (uintptr_t)o->data % 4096) return 2;
  if ((uintptr_t)call->workspace % 64 || call->workspace_size != 100) return 3;
  void* context = NULL;
  int (*const current)(void**) = (int (*)(void**))dlsym(RTLD_DEFAULT, "cuCtxGetCurrent");
  if (!current || current(&context) || !context) return 5;
  return readable_of_judge() == 1 ? launch(call, copied) : 4;
}

#define CUDA(form, workspace, run) {"test.copy", form, "value", DTYPE_F32, kDLCUDA, "nd", NULL, workspace, run}

static const attest_kernel kernels[] = {
    CUDA("copied", NULL, run_copied),
    CUDA("past_end", NULL, run_past_end),
    CUDA("row_past_end", NULL, run_row_past_end),
    CUDA("before_start", NULL, run_before_start),
    CUDA("changed_input", NULL, run_changed_input),
    CUDA("past_input", NULL, run_past_input),
    CUDA("nothing", NULL, run_nothing),
    CUDA("reads_past_end", NULL, run_reads_past_end),
    CUDA("illegal", NULL, run_illegal),
    CUDA("workspace_end", hundred, run_hundred_and_one),
    CUDA("refuses", NULL, refuses),
    CUDA("returns_3", NULL, throws_away),
    CUDA("facts", hundred, facts),
    {"test.copy", "on_host", "value", DTYPE_F32, kDLCPU, "nd", NULL, NULL, copied},
};
static const attest_plugin plugin = {ATTEST_ABI_VERSION, "cuda", "1.0", sizeof kernels / sizeof *kernels, kernels};

const attest_plugin* attest_plugin_v1(void) { return &plugin; }
