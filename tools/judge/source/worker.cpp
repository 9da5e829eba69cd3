// SPDX-License-Identifier: MIT
// The child side of PluginProcess: loads the plugin and serves calls until the parent closes the socket.
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attest/attest_kernel.h"
#include "attest/judge/process.hpp"
#include "cuda_driver.hpp"
#include "messages.hpp"
#include "protocol.hpp"
#include "worker_call.hpp"
#include "worker_memory.hpp"
#include "worker_process.hpp"
#include "worker_table.hpp"

namespace attest::judge {
namespace {

using protocol::Json;
using protocol::Phase;
using protocol::Transfer;

/// Result of a function of the plugin.
struct Outcome {
  std::size_t size = 0;
  int code = 0;
  std::string thrown;  // a C++ exception that left it
  std::string died;    // of an error on the device, after which no call to it works
};

/// Runs a function of the plugin, with signal handlers and floating-point environment as they have to be.
template <class Function>
Outcome guarded(Phase phase, Function function) {
  install_handlers();
  std::fesetenv(FE_DFL_ENV);  // an earlier call may have left flush-to-zero or trapping on
  Outcome outcome;
  control->phase.store(phase);
  try {
    function(outcome);
  } catch (const CudaError& error) {
    outcome.died = printable(error.what());
  } catch (const std::exception& error) {
    outcome.thrown = "threw a C++ exception: " + printable(error.what(), protocol::error_size);
  }
  if (forked) ::_exit(0);
  control->phase.store(Phase::returned);
  std::fesetenv(FE_DFL_ENV);
  return outcome;
}

/// A loaded plugin and the device of its CUDA kernels.
struct Plugin {
  std::vector<attest_kernel> kernels;  // a copy, so that a plugin cannot change its table after it was checked
  std::optional<CudaDriver> device;
  std::string no_device;  // why there is none

  /// Takes some seconds, which are no kernel's.
  void open_device() {
    const auto on_cuda = [](const attest_kernel& kernel) { return kernel.device == kDLCUDA; };
    if (std::none_of(kernels.begin(), kernels.end(), on_cuda)) return;
    try {
      device.emplace();
    } catch (const CudaError& error) {
      no_device = printable(error.what());
    }
  }
};

/// The next message of the parent; nothing where it has closed the socket, or a thread of the plugin has read a part.
template <class Message>
std::optional<Message> receive() {
  std::string bytes;
  if (protocol::receive_bytes(protocol::socket_fd, bytes) != Transfer::done) return std::nullopt;
  try {
    return value_of<Message>(bytes);
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

/// Asks the parent for a workspace and gives it to the call; false when the parent refuses it.
bool get_workspace(Call& call, std::uint64_t number, std::size_t size) {
  if (protocol::send_message(protocol::socket_fd, {{"call", number}, {"workspace", size}}) != Transfer::done)
    ::_exit(exit_protocol);
  const auto granted = receive<WorkspaceMessage>();
  if (!granted) ::_exit(exit_protocol);
  if (granted->refused) return false;
  call.give_workspace(*granted, size);
  return true;
}

/// Runs the kernel that a request names. Returns the reply.
Json serve_call(const Plugin& plugin, CallMessage message, char* error) {
  const attest_kernel& kernel = plugin.kernels.at(message.kernel);
  const std::uint64_t number = message.call;
  const bool second_thread = message.second_thread;
  control->call.store(number);
  if (kernel.device == kDLCUDA && !plugin.device) throw CudaError(plugin.no_device);
  Call call(std::move(message), error, kernel.device == kDLCUDA ? &*plugin.device : nullptr);
  Outcome outcome;
  bool refused = false;
  if (kernel.workspace != nullptr) {
    outcome = guarded(Phase::workspace, [&](Outcome& result) { result.size = kernel.workspace(&call.call); });
    refused = outcome.thrown.empty() && !get_workspace(call, number, outcome.size);
  }
  if (outcome.thrown.empty() && !refused)
    in_thread(second_thread, [&] {
      outcome = guarded(Phase::run, [&](Outcome& result) {
        if (kernel.device == kDLCUDA) plugin.device->begin();  // a context is current per thread
        result.code = kernel.run(&call.call);
      });
    });
  const Outcome fetched = guarded(Phase::run, [&](Outcome&) { call.fetch(); });
  // Before the reply, so that a thread which still writes dies here and cannot change what the parent reads.
  call.unmap();
  if (!fetched.died.empty()) return {{"call", number}, {"died", fetched.died}};
  return {{"call", number},
          {"code", outcome.code},
          {"error", printable(error, protocol::error_size)},
          {"thrown", outcome.thrown}};
}

/// Loads the plugin. Returns the first message to the parent: the table, or why there is none.
Json load(const char* library, const ReservedAddresses& addresses, Plugin& plugin) {
  control->phase.store(Phase::loading);
  try {
    Json table = load_plugin(library, plugin.kernels);
    plugin.open_device();
    table["addresses"] = {{"begin", reinterpret_cast<std::uintptr_t>(addresses.begin)}, {"size", addresses.size}};
    return table;
  } catch (const LoadError& problem) {
    return {{"invalid", problem.what()}};
  } catch (const std::exception& problem) {
    return {{"invalid", "threw a C++ exception while it was loaded: " + printable(problem.what())}};
  }
}

[[noreturn]] void serve(const char* library) {
  map_control_page();
  const ReservedAddresses addresses;
  char* error = make_error_buffer();
  use_handler_stack();
  install_handlers();

  Plugin plugin;
  Json reply = load(library, addresses, plugin);
  control->phase.store(Phase::idle);
  while (protocol::send_message(protocol::socket_fd, reply) == Transfer::done) {
    auto message = receive<CallMessage>();
    if (!message) break;
    const std::uint64_t number = message->call;
    try {
      reply = serve_call(plugin, std::move(*message), error);
    } catch (const CudaError& problem) {
      reply = {{"call", number}, {"unavailable", printable(problem.what())}};
    }
    control->phase.store(Phase::idle);
  }
  // Not exit(): destructors of the plugin could hang, and nobody waits for what they would do.
  ::_exit(0);
}

}  // namespace

void serve_if_worker(int argc, char** argv) {
  const auto is = [&](const char* argument, int count) { return argc >= count && std::strcmp(argv[1], argument) == 0; };
  if (is(protocol::launch_argument, protocol::worker_argument_count)) launch(argv[2], argv + 3);
  const bool rank = is(protocol::rank_argument, protocol::rank_argument_count);
  if (!rank && !is(protocol::worker_argument, protocol::worker_argument_count)) return;
  if (rank) connect_as_rank(argv[2], argv[3]);
  isolate(rank ? std::to_string(::getppid()) : argv[2]);
  try {
    serve(argv[rank ? 4 : 3]);
  } catch (const std::exception& problem) {
    give_up(problem.what());
  }
}

}  // namespace attest::judge
