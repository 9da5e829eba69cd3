/* SPDX-License-Identifier: MIT */
/*
 * The interface between attest and a kernel. C11; a plugin needs this header and DLPack's, and links nothing.
 *
 * A plugin is a shared library that exports one function,
 *
 *     const attest_plugin* attest_plugin_v1(void);
 *
 * which returns a table of kernels. attest loads the library in a child process, allocates every tensor, and calls
 * kernel->run once or more per case. A kernel writes all elements of every output and nothing else.
 */
#ifndef ATTEST_KERNEL_H
#define ATTEST_KERNEL_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTEST_ABI_VERSION 1

#if defined(_WIN32)
#define ATTEST_EXPORT __declspec(dllexport)
#else
#define ATTEST_EXPORT __attribute__((visibility("default")))
#endif

/* A tensor with the name that the equation's page gives it ("q", "grad_k", ...). tensor.byte_offset
 * is 0; strides are never NULL and count elements; they need not be dense. */
typedef struct attest_tensor {
  const char* name;
  DLTensor tensor;
} attest_tensor;

/* A parameter of the equation. `given` is 0 where the case leaves it at a default that depends on the sizes
 * (a scale of 1/sqrt(d), say). Booleans use integer 0 and 1. */
typedef struct attest_parameter {
  const char* name;
  int given;
  double real;
  int64_t integer;
  const char* text; /* the choice, for a parameter that names one of several conventions; else NULL */
} attest_parameter;

typedef struct attest_call {
  size_t struct_size; /* sizeof(attest_call) of the caller: fields may be appended in later versions */
  const char* equation;
  const char* form;
  const attest_tensor* inputs; /* optional tensors that a case does not give are not in the list */
  size_t input_count;
  const attest_tensor* outputs;
  size_t output_count;
  const attest_parameter* parameters;
  size_t parameter_count;
  void* workspace; /* of the size that kernel->workspace asked for, 64-byte aligned; NULL when 0 */
  size_t workspace_size;
  void* stream; /* a cudaStream_t for kDLCUDA kernels, else NULL. All work belongs on it: attest waits for it, and for
                   nothing else, after run() has returned. */
  char* error;  /* write a message here before returning non-zero */
  size_t error_size;
} attest_call;

/* Layouts. A tensor of the equation's page, [n, d] say, has in a call the shape
 *
 *     nd      [n, d]                     one head
 *     bhnd    [batch, heads, n, d]
 *     bnhd    [batch, n, heads, d]       a matrix whose rows are tokens; every other tensor as under bhnd
 *     thd     [total, heads, d]          a tensor that begins with an axis of tokens; every other tensor as under bhnd
 *     pkv     [pages, page, heads, d]    keys and values: a tensor that begins with tokens that no output has; every
 *                                        other tensor as under bnhd
 *
 * Tensors that heads share (the page says per group, or per batch entry) have fewer heads there, or one: head h belongs
 * to group h / (heads / groups).
 *
 * "thd" packs sequences of unequal lengths, what others call varlen. The batch axis of the tensors without tokens
 * counts the sequences, total is the sum of their lengths, and there is one more input for each size n that counts
 * tokens: "offsets.n", int64 [sequences + 1], where sequence b is rows offsets[b] to offsets[b + 1] - 1. The first
 * offset is 0, the last is total, and a sequence may be empty where the page lets n be 0. An equation with tokens on
 * another axis than the first cannot be packed; an optional tensor of that kind (a mask, a bias) is in no one's way
 * when the kernel is without it: "mask == false".
 *
 * "pkv" keeps keys and values in pages of a pool that all sequences share. For the size s that counts keys there are
 * two more inputs: "lengths.s", int64 [sequences], and the page table "pages.s", int64 [sequences, most pages of one]:
 * row j of sequence b is row j % page of page pages[b][j / page]. Entries of the table behind a sequence's last page
 * are 0; rows that belong to no sequence hold other finite values, or NaN for a kernel that says "hidden_nan == true".
 * Sequences have different lengths. Masks and biases over keys cannot be given: "mask == false".
 *
 * Kernels of every layout but nd are judged on batches of differing heads too. A gradient kernel gets as many groups as
 * heads: the gradient of what heads share is a sum over them, which is not judged.
 */
/* Ranks. A kernel that names `ranks` in its capabilities is called in every process of MPI_COMM_WORLD at the same time.
 * Each gets its part of the tokens: a tensor has there, along its first axis that counts tokens, the rank's rows alone;
 * along a second such axis, and without one, it is whole. A part may be empty. Where the parts lie in the sequence says
 * one more input for each size n that counts tokens: "parts.n", int64 [pieces, 2], the rank of each piece of the
 * sequence and how many tokens it has, in the order of the sequence. Each rank has one piece, in the order of the
 * ranks; a kernel that says "zigzag == true" may also get two a rank, the first and the last, the second and the last
 * but one; they lie one behind the other in its tensors.
 *
 * A rank writes its part of each output. An output without tokens is due on every rank, with the same bits. The library
 * is also loaded by a process that is no rank: call MPI_Init_thread in run(), with MPI_THREAD_SERIALIZED, and leave
 * MPI_Finalize out. Layouts: nd, bhnd, bnhd. */
typedef struct attest_kernel {
  const char* equation; /* "attention.scaled_dot_product" */
  const char* form;     /* a form of the equation's page, for reports; "" when it has no name there */
  const char* reading;  /* "value", or "gradient": the vector-Jacobian product. A gradient kernel gets the inputs of
                           the equation and "cotangent.NAME" for each output NAME, and writes "gradient.NAME". */
  DLDataType dtype;     /* of the real tensors; states are kept in float32 by 16-bit kernels */
  DLDeviceType
      device; /* kDLCPU; or kDLCUDA: tensors and workspace lie in the memory of device 0, in its primary context */
  const char* layout; /* "nd", "bhnd", "bnhd", "thd" or "pkv": see above */
  /* Capabilities, as conditions on sizes and parameters joined by ';'. NULL or "": everything.
   *     "d in {64, 128}; n % 64 == 0; n <= 4096; causal == true; align == 64"
   * Cases are drawn inside them. Words that are none of the equation's:
   *     align == 64              bytes that every tensor's data is a multiple of
   *     mask == false            an optional tensor that the kernel cannot be given, or does not write
   *     scale == default         a parameter that it leaves at the default of the equation's page
   *     contiguous               it needs dense tensors: rows that follow one another, without a stride
   *     consecutive(positions)   an input of integers, each one more than the one before; also sorted(positions),
   *                          shared(positions): the same for every entry of the batch
   *     deterministic == false   two equal calls may give different answers
   *     any_thread == false      one thread calls it, always the same
   *     hidden_nan == true       elements that a mask hides, or rows of pages that are not used, may hold NaN
   *     page == 64               rows of a page under layout pkv; by default 1, 16 and 64
   *     ranks >= 1               it is called on several MPI ranks at once, on how many: see below
   *     zigzag == true           a rank may have two pieces of the sequence
   *     profile == 'tf32'        precision that it is judged by unless the command names one; by default that of its
   *                          dtype */
  const char* capabilities;
  size_t (*workspace)(const attest_call* call); /* bytes; may be NULL */
  int (*run)(const attest_call* call);          /* 0 on success */
} attest_kernel;

typedef struct attest_plugin {
  uint32_t abi_version; /* ATTEST_ABI_VERSION */
  const char* name;
  const char* version;
  size_t kernel_count;
  const attest_kernel* kernels;
} attest_plugin;

typedef const attest_plugin* (*attest_plugin_function)(void);

/* The one symbol that a plugin exports. */
ATTEST_EXPORT const attest_plugin* attest_plugin_v1(void);

/* Look-ups by name; NULL when the case does not give the tensor or the equation has no such parameter. */
static inline const DLTensor* attest_input(const attest_call* call, const char* name) {
  for (size_t i = 0; i < call->input_count; ++i)
    if (strcmp(call->inputs[i].name, name) == 0) return &call->inputs[i].tensor;
  return NULL;
}

static inline const DLTensor* attest_output(const attest_call* call, const char* name) {
  for (size_t i = 0; i < call->output_count; ++i)
    if (strcmp(call->outputs[i].name, name) == 0) return &call->outputs[i].tensor;
  return NULL;
}

static inline const attest_parameter* attest_parameter_of(const attest_call* call, const char* name) {
  for (size_t i = 0; i < call->parameter_count; ++i)
    if (strcmp(call->parameters[i].name, name) == 0) return &call->parameters[i];
  return NULL;
}

#ifdef __cplusplus
}
#endif

#endif /* ATTEST_KERNEL_H */
