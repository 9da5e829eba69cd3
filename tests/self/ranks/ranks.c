/* SPDX-License-Identifier: MIT */
/* A stranger's kernels of several ranks, in C: causal linear attention, whose state is passed on by MPI_Exscan, and
 * softmax attention over keys that are gathered, merged rank by rank. A fault is planted by a definition of its name.
 */
#include <attest/attest_kernel.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef STATE_NOT_PASSED
#define TIMES_PASSED 0
#elif defined STATE_PASSED_TWICE
#define TIMES_PASSED 2
#else
#define TIMES_PASSED 1
#endif

#ifndef RANKS
#define RANKS "ranks >= 1"
#endif

static int rank, ranks;

static void begin(void) {
  int begun, given;
  MPI_Initialized(&begun);
  if (!begun) MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static double* at(const DLTensor* x, int64_t i, int64_t j) {
  return (double*)x->data + i * x->strides[0] + (x->ndim > 1 ? j * x->strides[1] : 0);
}

static double number(const attest_call* call, const char* name) { return attest_parameter_of(call, name)->real; }

/* Whether the tokens are divided in a way that a planted kernel declines, on all ranks alike. */
static int declines(const attest_call* call) {
  const DLTensor* parts = attest_input(call, "parts.n");
  int64_t least = INT64_MAX, most = 0;
  for (int64_t p = 0; p < parts->shape[0]; ++p) {
    const int64_t tokens = ((int64_t*)parts->data)[2 * p + 1];
    if (tokens < least) least = tokens;
    if (tokens > most) most = tokens;
  }
#ifdef DECLINES_EQUAL
  return least > 0 && most - least <= 1;
#elif defined DECLINES_UNEQUAL
  return least > 0 && most - least > 1;
#elif defined DECLINES_EMPTY
  return least == 0 && most > 1;
#elif defined DECLINES_ZIGZAG
  return parts->shape[0] > ranks;
#else
  return 0;
#endif
}

static int linear(const attest_call* call) {
  begin();
  if (declines(call)) return 1;
#ifdef DIES_ON_RANK_1
  if (rank == 1) abort();
#endif
#ifdef HANGS_ON_RANK_1
  while (rank == 1) pause();
#endif
#ifdef REFUSES_ON_RANK_1
  if (rank == 1) return strcpy(call->error, "not here"), 7;
#endif
  const DLTensor *q = attest_input(call, "phi_q"), *k = attest_input(call, "phi_k"), *v = attest_input(call, "v"),
                 *S0 = attest_input(call, "S"), *Z0 = attest_input(call, "Z"), *o = attest_output(call, "o"),
                 *S1 = attest_output(call, "S"), *Z1 = attest_output(call, "Z");
  const int64_t c = q->shape[1], m = v->shape[1], width = m + 1;
  int64_t n = q->shape[0];
#ifdef REMAINDER_LOST
  const DLTensor* parts = attest_input(call, "parts.n");
  int64_t all = 0;
  for (int64_t p = 0; p < parts->shape[0]; ++p) all += ((int64_t*)parts->data)[2 * p + 1];
  if (rank == ranks - 1 && n > all / ranks) n = all / ranks;
  for (int64_t i = n; i < q->shape[0]; ++i)
    for (int64_t b = 0; b < m; ++b) *at(o, i, b) = 0;
#endif
  double* state = calloc((size_t)(2 * c * width), sizeof *state); /* [S | Z] */
  double* before = state + c * width;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t a = 0; a < c; ++a)
      for (int64_t b = 0; b < width; ++b) state[a * width + b] += *at(k, i, a) * (b < m ? *at(v, i, b) : 1);
#ifdef OWN_PART_COUNTED_TWICE
  MPI_Scan(state, before, (int)(c * width), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#else
  MPI_Exscan(state, before, (int)(c * width), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) memset(before, 0, (size_t)(c * width) * sizeof *before);
#endif
  for (int64_t a = 0; a < c; ++a)
    for (int64_t b = 0; b < width; ++b) {
      const double carried = b < m ? (S0 ? *at(S0, a, b) : 0) : (Z0 ? *at(Z0, a, 0) : 0);
      state[a * width + b] = TIMES_PASSED * before[a * width + b] + carried;
    }
  for (int64_t i = 0; i < n; ++i) {
    double denominator = number(call, "eps");
    for (int64_t a = 0; a < c; ++a) {
      for (int64_t b = 0; b < width; ++b) state[a * width + b] += *at(k, i, a) * (b < m ? *at(v, i, b) : 1);
      denominator += *at(q, i, a) * state[a * width + m];
    }
    for (int64_t b = 0; b < m; ++b) {
      double sum = 0;
      for (int64_t a = 0; a < c; ++a) sum += *at(q, i, a) * state[a * width + b];
      *at(o, i, b) = denominator == 0 ? 0 : sum / denominator;
    }
  }
#ifndef STATE_ON_THE_LAST_RANK_ALONE
  MPI_Bcast(state, (int)(c * width), MPI_DOUBLE, ranks - 1, MPI_COMM_WORLD);
#endif
  for (int64_t a = 0; a < c; ++a) {
    for (int64_t b = 0; b < m; ++b) *at(S1, a, b) = state[a * width + b];
    *at(Z1, a, 0) = state[a * width + m];
  }
  free(state);
  return 0;
}

/* Rows of a rank that lie one behind the other. */
static void pack(const DLTensor* x, double* to) {
  for (int64_t i = 0; i < x->shape[0]; ++i)
    for (int64_t a = 0; a < x->shape[1]; ++a) *to++ = *at(x, i, a);
}

/* Where the tokens of a rank begin, and of the last rank's end. */
static void begins(const attest_call* call, const char* table, int64_t* begin) {
  const DLTensor* parts = attest_input(call, table);
  begin[0] = 0;
  for (int p = 0; p < ranks; ++p) begin[p + 1] = begin[p] + ((int64_t*)parts->data)[2 * p + 1];
}

static int softmax(const attest_call* call) {
  begin();
  const DLTensor *q = attest_input(call, "q"), *k = attest_input(call, "k"), *v = attest_input(call, "v"),
                 *o = attest_output(call, "o");
  const attest_parameter* given = attest_parameter_of(call, "scale");
  const int causal = (int)attest_parameter_of(call, "causal")->integer;
  const int64_t n = q->shape[0], d = q->shape[1], m = v->shape[1];
  const double scale = given->given ? given->real : 1 / sqrt((double)d);
  int64_t queries[ranks + 1], keys[ranks + 1];
  int counts[ranks], offsets[ranks];
  begins(call, "parts.n", queries);
  begins(call, "parts.s", keys);
  const int64_t s = keys[ranks];
  double* K = malloc((size_t)(2 * s * (d + m) + m + 1) * sizeof *K);
  double *V = K + s * d, *mine = V + s * m, *sums = mine + s * (d + m);
  const DLTensor* of[] = {k, v};
  for (int t = 0; t < 2; ++t) {
    const int64_t width = of[t]->shape[1];
    for (int p = 0; p < ranks; ++p) {
      counts[p] = (int)((keys[p + 1] - keys[p]) * width);
      offsets[p] = (int)(keys[p] * width);
    }
    pack(of[t], mine);
    MPI_Allgatherv(mine, counts[rank], MPI_DOUBLE, t == 0 ? K : V, counts, offsets, MPI_DOUBLE, MPI_COMM_WORLD);
  }
#ifdef CAUSAL_OFFSET_FORGOTTEN
  const int64_t first = 0;
#else
  const int64_t first = queries[rank];
#endif
  for (int64_t i = 0; i < n; ++i) {
    double top = -INFINITY, sum = 0;
    for (int64_t b = 0; b < m; ++b) *at(o, i, b) = 0;
    for (int p = 0; p < ranks; ++p) { /* the keys of one rank, then all so far and them */
      double here = -INFINITY;
      int64_t end = keys[p + 1];
      if (causal && end > first + i + s - queries[ranks] + 1) end = first + i + s - queries[ranks] + 1;
      for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) memset(sums, 0, (size_t)(m + 1) * sizeof *sums);
        for (int64_t j = keys[p]; j < end; ++j) {
          double logit = 0;
          for (int64_t a = 0; a < d; ++a) logit += *at(q, i, a) * K[j * d + a];
          logit *= scale;
          if (pass == 0) {
            here = fmax(here, logit);
            continue;
          }
          const double weight = exp(logit - here);
          for (int64_t b = 0; b < m; ++b) sums[b] += weight * V[j * m + b];
          sums[m] += weight;
        }
      }
      if (here == -INFINITY) continue;
      const double higher = fmax(top, here);
#ifdef MERGED_WITHOUT_RESCALING
      const double keep = 1, more = 1;
#else
      const double keep = exp(top - higher), more = exp(here - higher);
#endif
      for (int64_t b = 0; b < m; ++b) *at(o, i, b) = *at(o, i, b) * keep + sums[b] * more;
      sum = sum * keep + sums[m] * more;
      top = higher;
    }
    for (int64_t b = 0; b < m && sum > 0; ++b) *at(o, i, b) /= sum;
  }
  free(K);
  return 0;
}

static const attest_kernel kernels[] = {
    {"linear.causal",
     "",
     "value",
     {kDLFloat, 64, 1},
     kDLCPU,
     "nd",
     RANKS "; features == 'given'; zero_denominator == 'zero'",
     NULL,
     linear},
    {"attention.scaled_dot_product",
     "",
     "value",
     {kDLFloat, 64, 1},
     kDLCPU,
     "nd",
     RANKS "; mask == false; bias == false; sink == false; softcap == 0; window_left < 0; window_right < 0; "
           "empty_row == 'zero'",
     NULL,
     softmax}};
static const attest_plugin plugin = {ATTEST_ABI_VERSION, "ranks", "1.0", 2, kernels};
const attest_plugin* attest_plugin_v1(void) { return &plugin; }
