// SPDX-License-Identifier: MIT
// What the parent of a plugin's process reads: the plugin has both the socket and the shared memory in its hands. A
// Child in front of the judge's own plays the input, which is the lives of one process after another, "%" between them:
//   #PHASE CALL RECORDED SIGNAL CODE ACCESS ADDRESS STACK ERROR-END STATUS ASKED   the control page and the end, first
//   !BYTES   sent as they are
//   JSON     sent as a message
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <deque>
#include <sstream>

#include "attest/judge/process.hpp"
#include "child.hpp"
#include "fuzz.hpp"
#include "protocol.hpp"

using namespace attest;

namespace {

constexpr std::size_t kMostWorkspace = std::size_t{1} << 20;  // the judge's own limit would take the memory of the run

std::deque<std::string> lives;  // those to come
int status = 0;                 // of the present one: how it ends
bool asked = true;              // whether it sends only what it was asked for

void write_control(const std::string& line, int memory) {
  std::istringstream words(line);
  std::array<std::uint64_t, 11> number{};
  for (auto& one : number) words >> one;
  void* page = ::mmap(nullptr, sizeof(judge::protocol::Control), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  fuzz::require(page != MAP_FAILED, "the control page can be mapped");
  auto& control = *static_cast<judge::protocol::Control*>(page);
  control.phase.store(static_cast<judge::protocol::Phase>(number[0]));
  control.call.store(number[1]);
  control.recorded.store(static_cast<std::uint32_t>(number[2]));
  control.signal = static_cast<std::int32_t>(number[3]);
  control.code = static_cast<std::int32_t>(number[4]);
  control.access = static_cast<judge::protocol::Access>(number[5]);
  control.address = number[6];
  control.stack_pointer = number[7];
  control.error_end = number[8];
  status = static_cast<int>(number[9]);
  asked = number[10] != 0;
  ::munmap(page, sizeof(judge::protocol::Control));
}

void send(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) return;  // the parent will find the socket closed
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace

namespace attest::judge {

// pid_ is the plugin's end of the socket.
Child::Child(const std::string&, int memory) {
  std::array<int, 2> ends{};
  fuzz::require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "there are sockets");
  socket_ = Descriptor(ends[0]);
  pid_ = ends[1];
  status = 0, asked = true;
  const std::string life = lives.empty() ? "" : lives.front();
  if (!lives.empty()) lives.pop_front();
  for (const std::string& line : fuzz::split(life, '\n')) {
    if (line.starts_with('#')) {
      write_control(line.substr(1), memory);
    } else if (line.starts_with('!')) {
      send(pid_, std::string_view(line).substr(1));
    } else if (!line.empty()) {
      const auto length = static_cast<std::uint32_t>(line.size());
      send(pid_, std::string(reinterpret_cast<const char*>(&length), sizeof length) + line);
    }
  }
  ::shutdown(pid_, SHUT_WR);
}

Child::~Child() { ::close(pid_); }

bool Child::closed_or_sending() const {
  pollfd entry{socket_.get(), POLLIN, 0};
  return !asked && ::poll(&entry, 1, 0) > 0;
}

std::optional<int> Child::wait_or_kill(std::chrono::milliseconds) {
  return status < 0 ? std::nullopt : std::optional(status);
}

}  // namespace attest::judge

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  // Whoever asks for a workspace gets it, poisoned.
  for (auto at = text.find("\"workspace\":"); at != std::string::npos; at = text.find("\"workspace\":", at + 1)) {
    std::uint64_t bytes = 0;
    std::from_chars(text.data() + at + 12, text.data() + text.size(), bytes);
    if (bytes > kMostWorkspace && bytes <= std::uint64_t{4} << 30) return 0;
  }
  lives.clear();
  for (const std::string& life : fuzz::split(text, '%')) lives.push_back(life);
  judge::Request request;
  request.equation = "linear.causal";
  request.inputs = {{{"q", DType::f32, {2, 3}}, std::vector<std::byte>(24)}};
  request.outputs = {{"o", DType::f32, {2, 3}}, {"e", DType::f32, {0, 3}}};
  try {
    judge::PluginProcess process("/dev/null");
    for (int i = 0; i < 2; ++i) {
      if (process.kernels().empty()) return 0;
      const auto response = process.call(0, request);
      const bool finished = response.end == judge::Response::End::finished;
      fuzz::require(finished ? response.outputs.size() == 2 : response.outputs.empty() && !response.message.empty(),
                    "there are outputs, or there is a reason");
    }
    process.settle({});
  } catch (const judge::InvalidCandidate&) {
  } catch (const judge::WorkerFailure&) {
  }
  return 0;
}
