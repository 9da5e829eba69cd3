// SPDX-License-Identifier: MIT
// The workers of a collective call: one MPI job, whose ranks connect to this process. Private to the judge.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "child.hpp"
#include "shared_memory.hpp"

namespace attest::judge {

/// A running job. The destructor ends it.
class Job {
public:
  /// Starts so many ranks with `mpiexec`, each a worker for the library, and waits until all have connected. Throws
  /// WorkerFailure, std::system_error.
  Job(const std::string& library, std::size_t ranks);
  ~Job() { end(); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// The worker of a rank, which gets the descriptor of its shared memory. Once for each rank.
  std::unique_ptr<Child> take(std::size_t rank, int memory);

  /// Kills the launcher; the ranks die with it.
  void end();

private:
  void listen();
  void start(const std::string& library, std::size_t ranks);
  void accept();
  void check_launcher();

  std::filesystem::path folder_;  // of the socket, and of what MPI leaves behind
  Descriptor listener_;
  pid_t launcher_ = -1;
  std::vector<std::unique_ptr<Child>> ranks_;
};

}  // namespace attest::judge
