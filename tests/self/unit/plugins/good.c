/* SPDX-License-Identifier: MIT */
#include "plugin.h"

static int twice(const attest_call* call) {
  const int64_t count = elements(&call->outputs[0].tensor);
  for (int64_t i = 0; i < count; ++i) first_output(call)[i] = 2 * first_input(call)[i];
  return 0;
}

static size_t hundred(const attest_call* call) {
  (void)call;
  return 100;
}

/* output = input, by way of the workspace; -1 when the workspace is not as promised. */
static int through_workspace(const attest_call* call) {
  volatile unsigned char* bytes = (volatile unsigned char*)call->workspace;
  if (bytes == NULL || call->workspace_size != 100 || (uintptr_t)bytes % 64 != 0) return -1;
  for (size_t i = 0; i < 100; ++i)
    if (bytes[i] != 0xff) return -1;
  for (size_t i = 0; i < 100; ++i) bytes[i] = 7;
  copy(call);
  return 0;
}

/* Writes facts about the call into a float64 output, for the test to check. */
static int facts(const attest_call* call) {
  double* out = (double*)attest_output(call, "facts")->data;
  int n = 0;
  out[n++] = call->struct_size == sizeof *call;
  out[n++] = strcmp(call->equation, "test.facts") == 0 && strcmp(call->form, "plain") == 0;
  out[n++] = (double)call->input_count;
  out[n++] = (double)call->output_count;
  out[n++] = attest_input(call, "absent") == NULL;
  const attest_parameter* scale = attest_parameter_of(call, "scale");
  out[n++] = scale->given;
  out[n++] = scale->real;
  out[n++] = scale->text == NULL;
  const attest_parameter* causal = attest_parameter_of(call, "causal");
  out[n++] = (double)causal->integer;
  const attest_parameter* mode = attest_parameter_of(call, "mode");
  out[n++] = mode->given == 0 && strcmp(mode->text, "after") == 0;
  for (size_t i = 0; i < call->input_count; ++i) {
    const DLTensor* tensor = &call->inputs[i].tensor;
    out[n++] = tensor->dtype.code * 1000 + tensor->dtype.bits;
    out[n++] = tensor->ndim;
    out[n++] = tensor->data != NULL && tensor->shape != NULL && tensor->strides != NULL && tensor->byte_offset == 0 &&
               tensor->device.device_type == kDLCPU && tensor->dtype.lanes == 1;
    out[n++] = tensor->ndim > 0 ? (double)tensor->strides[0] : -1;
    out[n++] = (double)((uintptr_t)tensor->data % 256);
  }
  out[n++] = call->stream == NULL && call->workspace == NULL && call->workspace_size == 0;
  return 0;
}

static const attest_kernel kernels[] = {
    {"test.twice", "plain", "value", {kDLFloat, 32, 1}, kDLCPU, "nd", "n <= 4096", NULL, twice},
    {"test.twice", "", "gradient", {kDLBfloat, 16, 1}, kDLCUDA, "bhnd", NULL, NULL, twice},
    {"test.workspace", "plain", "value", {kDLFloat, 32, 1}, kDLCPU, "bnhd", "", hundred, through_workspace},
    {"test.facts", NULL, "value", {kDLFloat, 64, 1}, kDLCPU, "nd", "", NULL, facts},
};
static const attest_plugin plugin = {ATTEST_ABI_VERSION, "good", "2.5", 4, kernels};

const attest_plugin* attest_plugin_v1(void) { return &plugin; }
