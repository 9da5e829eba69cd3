// SPDX-License-Identifier: MIT
// One worker process, its memory and its calls, from the parent's side. Private to the judge.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attest/judge/process.hpp"
#include "child.hpp"
#include "death.hpp"
#include "messages.hpp"
#include "protocol.hpp"
#include "regions.hpp"
#include "shared_memory.hpp"

namespace attest::judge {

/// Calls kernels in a child, which it replaces by a fresh one after it died.
class Endpoint {
public:
  /// Gives a child that loads the library and has the shared memory of that descriptor.
  using Connect = std::function<std::unique_ptr<Child>(int memory)>;

  /// `path` of the library, for messages. A child that is not `replaceable` and is dead when a call begins has crashed.
  Endpoint(std::string path, Connect connect, bool replaceable)
      : library_(std::move(path)), connect_(std::move(connect)), replaceable_(replaceable) {}

  /// Starts a child that has the plugin loaded; throws InvalidCandidate.
  void start();
  bool is_running() const { return child_ != nullptr; }
  void end() { child_.reset(); }
  Response call(std::size_t kernel, const Request& request, const CallOptions& options);
  void report_death_between_calls(Response& response, const char* when);
  /// Whether the last child recorded how it died.
  bool recorded_death() const { return memory_.control().recorded.load() != 0; }

  std::string name;
  std::string version;
  std::vector<KernelInfo> kernels;

private:
  using Json = protocol::Json;
  using Transfer = protocol::Transfer;

  /// One attempt at a call: its regions, and what came back.
  struct Attempt {
    std::vector<Region> regions;
    Transfer transfer = Transfer::closed;
    Json reply;
    std::string refusal;  // of the workspace that the kernel asked for
  };

  [[noreturn]] void reject(const std::string& problem);
  Json receive_table();
  void read_table(Json table);
  Circumstances circumstances(const std::vector<Region>& regions) const;
  AddressRange& addresses_of(const CallOptions& options);
  void poison(const Region& region, unsigned char byte) const;
  void write_inputs(const std::vector<Region>& regions, const std::vector<const View*>& inputs,
                    unsigned char poison_byte) const;
  Attempt attempt(std::size_t kernel, const Request& request, const std::vector<const View*>& inputs,
                  const CallOptions& options, Layout& layout, const std::vector<Region>& tensors);
  WorkspaceMessage grant_workspace(std::size_t size, const CallOptions& options, Layout& layout, Attempt& attempt);
  bool read_reply(const Attempt& attempt, Response& response);
  void read_failure(const Attempt& attempt, const CallOptions& options, Response& response);
  void inspect(const std::vector<Region>& regions, const std::vector<const View*>& inputs, unsigned char poison_byte,
               Response& response) const;

  std::string library_;
  Connect connect_;
  bool replaceable_;
  SharedMemory memory_;
  std::unique_ptr<Child> child_;
  Json table_;           // of the first load; later ones have to agree
  AddressRange fresh_;   // for calls at addresses that no call had before
  AddressRange reused_;  // for calls at the same addresses each time
  std::uint64_t calls_ = 0;
  std::vector<Region> regions_before_;  // of the last call that this child finished
};

}  // namespace attest::judge
