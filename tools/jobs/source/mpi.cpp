// SPDX-License-Identifier: MIT
// Messages between ranks over MPI, for whoever loads this library.
#include <mpi.h>

#include <chrono>
#include <thread>

#include "attest/jobs/ranks.h"

namespace {

constexpr int kTag = 1;

/// An MPI that waits takes a core from a rank that works: waiting here is sleeping.
void wait_for(MPI_Request& request) {
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void begin(int* rank, int* size) {
  int provided;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, size);
}

void send(int to, const char* bytes, int count) {
  MPI_Request request;
  MPI_Isend(bytes, count, MPI_BYTE, to, kTag, MPI_COMM_WORLD, &request);
  wait_for(request);
}

int arrived(int* from) {
  int flag = 0, count = -1;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &flag, &status);
  if (!flag) return -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  *from = status.MPI_SOURCE;
  return count;
}

void receive(int from, char* bytes, int count) {
  MPI_Recv(bytes, count, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void end() {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait_for(request);
  MPI_Finalize();
}

void abort(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

}  // namespace

const attest_ranks* attest_ranks_of_mpi() {
  static constexpr attest_ranks ranks{begin, send, arrived, receive, end, abort};
  return &ranks;
}
