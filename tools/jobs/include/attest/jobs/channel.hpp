// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace attest::jobs {

/// Messages between the ranks of a job. Any thread may call; one at a time.
class Channel {
public:
  virtual ~Channel() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// To a rank, of any length up to 2^31 - 1 bytes. Messages of one rank to another arrive in order.
  virtual void send(int to, std::string_view message) = 0;
  /// A message that has arrived, and its sender.
  virtual std::optional<std::pair<int, std::string>> arrived() = 0;

  bool ended = false;  // all ranks have done their items
};

/// Waits for a message, without taking a core.
std::pair<int, std::string> receive(Channel& channel);

/// This process among those that a launcher (mpirun, mpiexec, srun) has started.
struct Launched {
  int rank = 0, size = 1;
  int local = 0;  // the rank among those on this machine
};

/// As the launcher's environment says; rank 0 of 1 where there is none.
Launched launched();

/// Begins MPI, through a library that is loaded only then: attest itself runs where there is none. The channel stays to
/// the end of the process. Throws std::runtime_error where the library is not there.
Channel& begin_mpi(const std::filesystem::path& library);

/// Ends MPI where it was begun: together with the other ranks when all have done their items, else for all of them with
/// that exit status.
void end_mpi(int status);

}  // namespace attest::jobs
