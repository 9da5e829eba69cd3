// SPDX-License-Identifier: MIT
// What the two sides of PluginProcess share: process.cpp (parent) and worker.cpp (child). Private to the judge.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

namespace attest::judge::protocol {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

/// argv of the child: program, worker_argument, process id of the parent, absolute path of the library.
inline constexpr const char* worker_argument = "--attest-worker";
inline constexpr int worker_argument_count = 4;

/// The only descriptors of the child besides 0, 1 and 2.
inline constexpr int socket_fd = 3;
inline constexpr int memory_fd = 4;

/// Inaccessible bytes in front of and behind every tensor. One page would do for the first element past the end; more
/// lets the parent name the tensor also when a kernel is off by a row.
inline constexpr std::size_t guard_size = std::size_t{256} * 1024;

/// Bytes of the error text that a kernel may write.
inline constexpr std::size_t error_size = 1024;

/// What the child is at; tells the parent what to blame when it dies.
enum class Phase : std::uint32_t { starting, loading, idle, workspace, run, returned };

enum class Access : std::uint32_t { unknown, read, write };

/// First page of the shared memory. The child's signal handler leaves the circumstances of its death here.
struct Control {
  std::atomic<Phase> phase;
  std::atomic<std::uint64_t> call;      // number of the call that the child began last
  std::atomic<std::uint32_t> claimed;   // the first thread that crashes owns the fields below
  std::atomic<std::uint32_t> recorded;  // the fields below are complete
  std::int32_t signal;
  std::int32_t code;  // si_code
  Access access;
  std::uint64_t address;
  std::uint64_t stack_pointer;  // 0 where not known
  std::uint64_t error_end;      // where the error text's buffer ends, against a guard page of its own
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<Phase>::is_always_lock_free);
static_assert(std::is_standard_layout_v<Control>);

enum class Transfer { done, closed, timed_out, malformed };

/// Waits until the socket is ready for `events` or closed. False when the deadline passed.
inline bool wait_for(int fd, short events, const Deadline& deadline) {
  for (;;) {
    int timeout = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      if (left <= 0) return false;
      timeout = left < std::numeric_limits<int>::max() ? static_cast<int>(left) : std::numeric_limits<int>::max();
    }
    pollfd entry{fd, events, 0};
    if (::poll(&entry, 1, timeout) > 0) return true;
  }
}

inline bool try_again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

/// A message is its length as 32 bits and then that much JSON.
inline Transfer send_message(int fd, const Json& message, const Deadline& deadline = {}) {
  const std::string body = message.dump(-1, ' ', true, Json::error_handler_t::replace);
  const auto length = static_cast<std::uint32_t>(body.size());
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += body;
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
    } else if (!try_again(errno)) {
      return Transfer::closed;
    } else if (!wait_for(fd, POLLOUT, deadline)) {
      return Transfer::timed_out;
    }
  }
  return Transfer::done;
}

inline Transfer receive_bytes(int fd, char* bytes, std::size_t count, const Deadline& deadline) {
  for (std::size_t got = 0; got < count;) {
    const ssize_t n = ::recv(fd, bytes + got, count - got, MSG_DONTWAIT);
    if (n > 0) {
      got += static_cast<std::size_t>(n);
    } else if (n == 0 || !try_again(errno)) {
      return Transfer::closed;
    } else if (!wait_for(fd, POLLIN, deadline)) {
      return Transfer::timed_out;
    }
  }
  return Transfer::done;
}

/// The plugin shares the child's end of the socket, so nothing about the bytes is taken for granted.
inline Transfer receive_message(int fd, Json& message, const Deadline& deadline = {}) {
  constexpr std::uint32_t limit = std::uint32_t{64} << 20;
  std::uint32_t length = 0;
  Transfer result = receive_bytes(fd, reinterpret_cast<char*>(&length), sizeof length, deadline);
  if (result != Transfer::done) return result;
  if (length > limit) return Transfer::malformed;
  std::string body(length, '\0');
  result = receive_bytes(fd, body.data(), body.size(), deadline);
  if (result != Transfer::done) return result;
  message = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  return message.is_object() ? Transfer::done : Transfer::malformed;
}

}  // namespace attest::judge::protocol
