/* SPDX-License-Identifier: MIT */
/* What the library does that stands between attest and MPI. */
#ifndef ATTEST_JOBS_RANKS_H
#define ATTEST_JOBS_RANKS_H

#ifdef __cplusplus
extern "C" {
#endif

struct attest_ranks {
  void (*begin)(int* rank, int* size);
  void (*send)(int to, const char* bytes, int count);
  /* Bytes of a message that has arrived, and its sender; -1 where there is none. */
  int (*arrived)(int* from);
  void (*receive)(int from, char* bytes, int count);
  void (*end)(void);
  void (*abort)(int status);
};

/* The library's one symbol. */
const struct attest_ranks* attest_ranks_of_mpi(void);

#ifdef __cplusplus
}
#endif

#endif
