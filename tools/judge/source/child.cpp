// SPDX-License-Identifier: MIT
#include "child.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include "protocol.hpp"
#include "spawn.hpp"

namespace attest::judge {
namespace {

constexpr std::chrono::seconds shutdown_limit{1};

}  // namespace

Child::Child(const std::string& library, int memory) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_errno("cannot make a socket");
  // Both are owned before either can throw.
  socket_ = Descriptor(std::max(ends[0], ends[1]));
  const Descriptor theirs(std::min(ends[0], ends[1]));

  pid_ = spawn({"attest-worker", protocol::worker_argument, std::to_string(::getpid()), library}, worker_environment(),
               {{theirs.get(), protocol::socket_fd}, {memory, protocol::memory_fd}});
}

Child::~Child() {
  if (pid_ <= 0) return;
  ::shutdown(socket_.get(), SHUT_RDWR);
  wait_or_kill(shutdown_limit);
}

bool Child::closed_or_sending() const {
  pollfd entry{socket_.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

std::optional<int> Child::wait_or_kill(std::chrono::milliseconds patience) {
  const auto deadline = protocol::Clock::now() + patience;
  auto pause = std::chrono::microseconds(50);
  int status = 0;
  for (;;) {
    const pid_t pid = ::waitpid(pid_, &status, WNOHANG);
    if (pid == pid_) break;
    if (pid < 0 && errno != EINTR) {  // somebody else reaped it
      pid_ = -1;
      return {};
    }
    if (protocol::Clock::now() >= deadline) {
      ::kill(pid_, SIGKILL);
      while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
      pid_ = -1;
      return {};
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(5000));
  }
  pid_ = -1;
  return status;
}

}  // namespace attest::judge
