// SPDX-License-Identifier: MIT
// The worker process as its parent sees it: started, watched, ended. Private to the judge.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "shared_memory.hpp"

namespace attest::judge {

/// A running worker and the parent's end of its socket. The destructor closes the socket and ends the worker.
class Child {
public:
  /// Starts this program once more, as a worker for the library, with the descriptor of the shared memory. Throws
  /// std::system_error.
  Child(const std::string& library, int memory);
  /// A worker that another process has started: it can be neither waited for nor killed.
  Child(Descriptor socket, pid_t pid) : pid_(pid), socket_(std::move(socket)) {}
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t process() const { return pid_; }
  int socket() const { return socket_.get(); }

  /// True when the other end of the socket is closed, or sends something although nothing was asked.
  bool closed_or_sending() const;

  /// Waits for the child to exit, kills it after `patience`, and returns its wait status; nothing when it had to be
  /// killed, or was waited for by somebody else.
  std::optional<int> wait_or_kill(std::chrono::milliseconds patience);
  void kill() { wait_or_kill({}); }

private:
  pid_t pid_ = -1;
  Descriptor socket_;
};

}  // namespace attest::judge
