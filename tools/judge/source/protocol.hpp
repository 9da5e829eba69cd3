// SPDX-License-Identifier: MIT
// Everything that the parent (endpoint.cpp) and the child (worker.cpp) of a PluginProcess share. Private to the judge.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "deadline.hpp"

namespace attest::judge::protocol {

using Json = nlohmann::json;

/// argv of the child: program, worker_argument, process id of the parent, absolute path of the library.
inline constexpr const char* worker_argument = "--attest-worker";
inline constexpr int worker_argument_count = 4;

/// argv of a rank: program, rank_argument, its number, path of the parent's socket, absolute path of the library.
inline constexpr const char* rank_argument = "--attest-rank";
inline constexpr int rank_argument_count = 5;

/// argv of what becomes the launcher of ranks: program, launch_argument, process id of the parent, command...
inline constexpr const char* launch_argument = "--attest-launch";

/// How long a library may take to load, as Deadline counts it.
inline constexpr std::chrono::seconds load_limit{10};

/// The only descriptors of the child besides 0, 1 and 2.
inline constexpr int socket_fd = 3;
inline constexpr int memory_fd = 4;

/// Inaccessible bytes in front of and behind every tensor. One page would do for the first element past the end; more
/// lets the parent name the tensor also when a kernel is off by a row.
inline constexpr std::size_t guard_size = std::size_t{256} * 1024;

/// The child reserves at least so many addresses for tensors.
inline constexpr std::size_t least_addresses = std::size_t{1} << 29;

/// Bytes of the error text that a kernel may write.
inline constexpr std::size_t error_size = 1024;

/// Where the child is in its work; tells the parent what to blame when it dies.
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

/// Sends bytes: their number as 32 bits, and then them. So are the parent's messages to a worker (messages.hpp).
Transfer send_bytes(int fd, std::string_view bytes, const Deadline& deadline = {});
/// Receives what send_bytes sent; `malformed` where that would be more than 64 MiB.
Transfer receive_bytes(int fd, std::string& bytes, const Deadline& deadline = {});

/// Sends JSON as bytes. So are a worker's messages to the parent.
Transfer send_message(int fd, const Json& message, const Deadline& deadline = {});

/// Receives JSON. The plugin shares the child's end of the socket, so nothing about the bytes is taken for granted:
/// `malformed` are those that are too many, no JSON, not an object, or nested deeply.
Transfer receive_message(int fd, Json& message, const Deadline& deadline = {});

/// Hands a descriptor over to the process at the other end of the socket; false when that is closed.
bool send_descriptor(int socket, int fd);
/// Receives one; -1 when the socket is closed.
int receive_descriptor(int socket);

}  // namespace attest::judge::protocol
