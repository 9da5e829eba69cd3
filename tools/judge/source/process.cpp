// SPDX-License-Identifier: MIT
// The parent side of PluginProcess: owns the shared memory and the child, and puts into words what the child did.
#include "attest/judge/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "attest/dtype.hpp"
#include "protocol.hpp"

namespace attest::judge {
namespace {

using protocol::Access;
using protocol::Clock;
using protocol::Control;
using protocol::Deadline;
using protocol::Json;
using protocol::Phase;
using protocol::Transfer;

constexpr std::chrono::seconds load_limit{10};
constexpr std::chrono::seconds shutdown_limit{1};
constexpr std::size_t workspace_alignment = 64;
constexpr std::size_t device_slack =
    std::size_t{64} * 1024;  // on either side of a tensor, where there are no guard pages
constexpr std::size_t workspace_limit = std::size_t{4} << 30;

[[noreturn]] void throw_errno(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t round_up(std::size_t size, std::size_t multiple) { return (size + multiple - 1) / multiple * multiple; }

std::string plural(std::uint64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string join(const std::vector<Index>& numbers) {
  std::string text;
  for (const Index number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

const char* words(DType dtype) {
  switch (dtype) {
    case DType::f64: return "float64";
    case DType::f32: return "float32";
    case DType::bf16: return "bfloat16";
    case DType::f16: return "float16";
    case DType::i64: return "int64";
    case DType::boolean: return "bool";
  }
  return "?";
}

std::string signal_words(int signal) {
  const char* short_name = ::sigabbrev_np(signal);
  const char* long_name = ::sigdescr_np(signal);
  if (short_name == nullptr || long_name == nullptr) return "signal " + std::to_string(signal);
  return std::string("SIG") + short_name + " (" + long_name + ")";
}

/// A file descriptor that is closed on exec and numbered above those that the child gets.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {
    if (fd_ < 0) throw_errno("cannot open a descriptor");
    if (fd_ > protocol::memory_fd) return;
    const int moved = ::fcntl(fd_, F_DUPFD_CLOEXEC, protocol::memory_fd + 1);
    const int error = errno;
    ::close(fd_);
    fd_ = moved;
    errno = error;
    if (fd_ < 0) throw_errno("cannot duplicate a descriptor");
  }
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

private:
  int fd_ = -1;
};

/// The memory that parent and child share. It only grows; the control page is its first.
class SharedMemory {
public:
  SharedMemory() : fd_(::memfd_create("attest", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    grow(std::size_t{1} << 20);
    // The plugin has this file too. Unsealed, it could shrink it, and the parent's next access would be a SIGBUS.
    if (::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) throw_errno("cannot seal the memory");
  }
  ~SharedMemory() { ::munmap(begin_, size_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void grow(std::size_t size) {
    if (size <= size_) return;
    size = std::max(round_up(size, page_size()), size_ + size_ / 2 / page_size() * page_size());
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) throw_errno("cannot grow the shared memory");
    void* begin = begin_ == nullptr ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0)
                                    : ::mremap(begin_, size_, size, MREMAP_MAYMOVE);
    if (begin == MAP_FAILED) throw_errno("cannot map the shared memory");
    begin_ = static_cast<unsigned char*>(begin);
    size_ = size;
  }

  int fd() const { return fd_.get(); }
  unsigned char* at(std::size_t offset) const { return begin_ + offset; }
  Control& control() const { return *reinterpret_cast<Control*>(begin_); }

private:
  Descriptor fd_;
  unsigned char* begin_ = nullptr;
  std::size_t size_ = 0;
};

enum class Role { input, output, workspace };

/// Where a tensor lies: `size` bytes from `front` on in a run of `mapped` bytes (whole pages, or none) that is at
/// `file` in the shared memory and at `address` in the child.
struct Region {
  Role role = Role::input;
  TensorSpec spec;
  std::size_t size = 0;
  std::size_t front = 0;
  std::size_t mapped = 0;
  std::size_t file = 0;
  std::uint64_t address = 0;

  std::uint64_t begin() const { return address + front; }
  std::uint64_t end() const { return begin() + size; }

  std::string text() const {
    if (role == Role::workspace) return "the workspace of " + plural(size, "byte");
    return std::string(role == Role::input ? "input" : "output") + " '" + spec.name + "' [" + join(spec.shape) + "] " +
           words(spec.dtype);
  }

  std::string element(std::uint64_t at) const {
    if (role == Role::workspace) return "byte " + std::to_string(at - begin());
    auto index = static_cast<Index>((at - begin()) / size_of(spec.dtype));
    std::vector<Index> position(spec.shape.size());
    for (std::size_t axis = position.size(); axis-- > 0; index /= spec.shape[axis])
      position[axis] = index % spec.shape[axis];
    return "element (" + join(position) + ")";
  }
};

std::size_t byte_count(const TensorSpec& spec) {
  std::size_t bytes = size_of(spec.dtype);
  for (const Index extent : spec.shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes))
      throw std::invalid_argument("tensor '" + spec.name + "' has an impossible shape [" + join(spec.shape) + "]");
  return bytes;
}

Region place(Role role, TensorSpec spec, std::size_t size, std::size_t slack, const CallOptions& options,
             std::size_t& file) {
  Region region;
  region.role = role;
  region.size = size;
  region.mapped = round_up(size, page_size());
  const std::size_t least = role == Role::workspace ? workspace_alignment : size_of(spec.dtype);
  region.spec = std::move(spec);
  if (options.placement == Placement::end_at_guard) {
    const std::size_t alignment = std::max(options.alignment, least);
    region.front = (region.mapped - size) / alignment * alignment;
  }
  region.front += slack;
  region.mapped += 2 * slack;
  region.file = file;
  file += region.mapped;
  return region;
}

/// Says which bytes outside of the tensor are no longer poison.
void check_slack(const Region& region, const unsigned char* bytes, unsigned char poison,
                 std::vector<std::string>& violations) {
  const auto changed = [poison](unsigned char byte) { return byte != poison; };
  const unsigned char* begin = bytes + region.front;
  const unsigned char* end = begin + region.size;
  const unsigned char* last = bytes + region.mapped;
  if (const auto* first = std::find_if(end, last, changed); first != last)
    violations.push_back("wrote past the end of " + region.text() + ": " +
                         plural(static_cast<std::uint64_t>(std::count_if(first, last, changed)), "byte") +
                         " changed, the nearest " + plural(static_cast<std::uint64_t>(first - end + 1), "byte") +
                         " past the end");
  const auto front = std::make_reverse_iterator(begin), rest = std::make_reverse_iterator(bytes);
  if (const auto first = std::find_if(front, rest, changed); first != rest)
    violations.push_back("wrote before the start of " + region.text() + ": " +
                         plural(static_cast<std::uint64_t>(std::count_if(first, rest, changed)), "byte") +
                         " changed, the nearest " + plural(static_cast<std::uint64_t>(first - front + 1), "byte") +
                         " before the start");
}

/// What lies at the address; nothing when it is in none of the regions nor next to one.
std::optional<std::string> locate(const std::vector<Region>& regions, std::uint64_t at, Access access) {
  const std::string verb = access == Access::read ? "read" : access == Access::write ? "wrote" : "read or wrote";
  for (const Region& region : regions) {
    if (at < region.address - protocol::guard_size || at >= region.address + region.mapped + protocol::guard_size)
      continue;
    if (at >= region.end())
      return verb + " " + plural(at - region.end() + 1, "byte") + " past the end of " + region.text();
    if (at < region.begin())
      return verb + " " + plural(region.begin() - at, "byte") + " before the start of " + region.text();
    if (region.role == Role::input && access != Access::read)
      return "wrote to read-only " + region.text() + " at " + region.element(at);
    return verb + (access == Access::read ? " " : " to ") + region.text() + " at " + region.element(at);
  }
  return {};
}

std::string hexadecimal(std::uint64_t number) {
  std::string digits;
  do digits.insert(digits.begin(), "0123456789abcdef"[number % 16]);
  while ((number /= 16) != 0);
  return "0x" + digits;
}

/// Environment of the child: what a library needs to run, and nothing that could tell it what it is run for.
std::vector<std::string> worker_environment() {
  static constexpr std::array names{"PATH=", "HOME=", "LD_LIBRARY_PATH=", "TMPDIR=", "OMP_", "CUDA_", "ATTEST_CUDA_"};
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (std::any_of(names.begin(), names.end(),
                    [&](std::string_view name) { return std::string_view(*entry).starts_with(name); }))
      result.emplace_back(*entry);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

struct SpawnActions {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
  SpawnActions() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnActions() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
};

/// A running worker and the parent's end of its socket.
class Child {
public:
  Child(const std::string& library, int memory) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_errno("cannot make a socket");
    // Both are owned before either can throw.
    socket_ = Descriptor(std::max(ends[0], ends[1]));
    const Descriptor theirs(std::min(ends[0], ends[1]));

    std::vector<std::string> arguments{"attest-worker", protocol::worker_argument, std::to_string(::getpid()), library};
    std::vector<std::string> environment = worker_environment();
    SpawnActions actions;
    ::posix_spawn_file_actions_addopen(&actions.files, 0, "/dev/null", O_RDONLY, 0);
    const char* output = std::getenv("ATTEST_WORKER_OUTPUT");
    if (output == nullptr || std::string_view(output) != "1")
      for (const int fd : {1, 2}) ::posix_spawn_file_actions_addopen(&actions.files, fd, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions.files, theirs.get(), protocol::socket_fd);
    ::posix_spawn_file_actions_adddup2(&actions.files, memory, protocol::memory_fd);
    // The child must not inherit that this program ignores or blocks a signal.
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&actions.attributes, &none);
    ::posix_spawnattr_setsigdefault(&actions.attributes, &all);
    ::posix_spawnattr_setflags(&actions.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error = ::posix_spawn(&pid_, "/proc/self/exe", &actions.files, &actions.attributes,
                                    pointers(arguments).data(), pointers(environment).data());
    if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start a worker process");
  }

  ~Child() {
    if (pid_ <= 0) return;
    ::shutdown(socket_.get(), SHUT_RDWR);
    end(shutdown_limit);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int socket() const { return socket_.get(); }

  /// True when the other end is closed, or says something although nothing was asked.
  bool stirred() const {
    pollfd entry{socket_.get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
  }

  /// Waits for the child to exit, kills it after `patience`, and returns its wait status; nothing when it had to be
  /// killed.
  std::optional<int> end(std::chrono::milliseconds patience) {
    const auto deadline = Clock::now() + patience;
    auto pause = std::chrono::microseconds(50);
    int status = 0;
    for (;;) {
      const pid_t pid = ::waitpid(pid_, &status, WNOHANG);
      if (pid == pid_) break;
      if (pid < 0 && errno != EINTR) {  // somebody else reaped it
        pid_ = -1;
        return {};
      }
      if (Clock::now() >= deadline) {
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

private:
  pid_t pid_ = -1;
  Descriptor socket_;
};

/// A part of the child's address space that tensors are placed in, from its begin again when it is full.
struct Arena {
  std::uint64_t begin = 0;
  std::size_t size = 0;
  std::size_t used = 0;

  /// The next place that a region fits in with its guards.
  std::uint64_t take(std::size_t mapped) {
    const std::size_t length = mapped + 2 * protocol::guard_size;
    if (length > size / 2) throw std::length_error("a tensor is too large for the worker's address space");
    if (used + length > size) used = 0;
    const std::uint64_t address = begin + used + protocol::guard_size;
    used += length;
    return address;
  }
};

/// How long a child whose socket is closed gets to finish dying.
constexpr std::chrono::milliseconds dying_limit{2000};

}  // namespace

struct PluginProcess::State {
  std::string library;
  std::string name;
  std::string version;
  std::vector<KernelInfo> kernels;

  SharedMemory memory;
  std::optional<Child> child;
  Json table;         // of the first load; later ones have to agree
  Arena once, again;  // of calls at addresses that no call had before, and of those at the same ones each time
  std::uint64_t calls = 0;
  std::vector<Region> previous;  // of the last call that this child finished

  explicit State(std::string path) : library(std::move(path)) {}

  /// Whom to blame, by what the child was at.
  std::string subject() const {
    switch (memory.control().phase.load()) {
      case Phase::starting: return "the worker process";
      case Phase::loading: return "the library, while it was loaded,";
      case Phase::workspace: return "the kernel's workspace()";
      case Phase::run: return "the kernel";
      case Phase::idle:
      case Phase::returned: break;
    }
    return "the kernel, after it had returned,";
  }

  std::string signal_story(const std::vector<Region>& regions) const {
    const Control& control = memory.control();
    const std::string died = " died of " + signal_words(control.signal);
    if (control.code <= 0)
      return control.signal == SIGABRT ? died + ": abort() was called" : died + ", which was sent to it";
    if (control.signal != SIGSEGV && control.signal != SIGBUS) return died;
    const std::uint64_t at = control.address;
    if (const auto place = locate(regions, at, control.access)) return died + ": it " + *place;
    if (const auto place = locate(previous, at, control.access))
      return died + ": in the call before this one, it " + *place;
    constexpr int sent_by_kernel = 0x80;  // SI_KERNEL: not a page fault, and without an address
    if (control.code == sent_by_kernel && at == 0)
      return died +
             ": it used an aligned vector instruction on an address that is not aligned so far, or an address "
             "that no memory can have";
    const std::string verb = control.access == Access::read    ? "read"
                             : control.access == Access::write ? "wrote"
                                                               : "read or wrote";
    const std::string where = " (address " + hexadecimal(at) + ")";
    if (at >= control.error_end && at < control.error_end + page_size())
      return died + ": it " + verb + " past the end of the error text's buffer";
    if (at < page_size()) return died + ": it used a null pointer" + where;
    if (at >= once.begin && at < again.begin + again.size)
      return died + ": it " + verb + " far from all tensors, perhaps at one of an earlier call" + where;
    constexpr std::uint64_t near = std::uint64_t{64} * 1024;
    if (control.stack_pointer != 0 && at + near >= control.stack_pointer && at < control.stack_pointer + near)
      return died + ": its stack is full" + where;
    return died + ": it " + verb + " outside of all tensors" + where;
  }

  /// How the child died. `status` is what Child::end returned.
  std::string story(std::optional<int> status, const std::vector<Region>& regions) const {
    if (memory.control().recorded.load() != 0) return subject() + signal_story(regions);
    if (!status) return subject() + " closed its connection to attest";
    if (WIFEXITED(*status))
      return subject() + " ended the process with exit status " + std::to_string(WEXITSTATUS(*status));
    std::string text = subject() + " died of " + signal_words(WTERMSIG(*status));
    if (WTERMSIG(*status) == SIGKILL) text += ", which attest did not send (out of memory?)";
    return text;
  }

  /// Starts a child that has the plugin loaded.
  void start() {
    child.reset();
    previous.clear();
    new (memory.at(0)) Control{};
    child.emplace(library, memory.fd());
    Json hello;
    const Transfer result = protocol::receive_message(child->socket(), hello, Clock::now() + load_limit);
    if (result == Transfer::timed_out) {
      child->end({});
      child.reset();
      throw InvalidCandidate(library + ": loading it took longer than " + std::to_string(load_limit.count()) + " s");
    }
    if (result != Transfer::done) {
      const auto status = child->end(dying_limit);
      const std::string how = story(status, {});
      child.reset();
      throw InvalidCandidate(library + ": " + how);
    }
    if (hello.contains("invalid") || hello.contains("failed")) {
      child.reset();
      if (hello.contains("failed")) throw std::runtime_error("worker process: " + hello["failed"].dump());
      throw InvalidCandidate(library + ": " + hello["invalid"].get<std::string>());
    }
    try {
      const Json& arena = hello.at("arena");
      const auto half = arena.at("size").get<std::size_t>() / 2;
      once = {arena.at("begin").get<std::uint64_t>(), half, 0};
      again = {once.begin + half, half, 0};
      hello.erase("arena");
      if (table.is_null()) {
        name = hello.at("name").get<std::string>();
        version = hello.at("version").get<std::string>();
        for (const Json& row : hello.at("kernels"))
          kernels.push_back({row.at("equation"), row.at("form"), row.at("reading"), row.at("dtype").get<DType>(),
                             row.at("device"), row.at("layout"), row.at("capabilities")});
        table = std::move(hello);
        return;
      }
    } catch (const Json::exception&) {
      child.reset();
      throw InvalidCandidate(library + ": the library wrote to attest's socket while it was loaded");
    }
    if (hello != table) {
      child.reset();
      throw InvalidCandidate(library + ": the library's table is not the one that it had at first");
    }
  }

  std::size_t slack_of(std::size_t kernel) const { return kernels[kernel].device == "cpu" ? 0 : device_slack; }

  Arena& arena_of(const CallOptions& options) { return options.placement == Placement::start_at_guard ? again : once; }

  static Json placed(const Region& region) {
    return {{"address", region.address}, {"size", region.mapped}, {"file", region.file}, {"front", region.front}};
  }

  Json message(std::size_t kernel, const Request& request, const std::vector<Region>& regions) const {
    Json tensors = Json::array();
    for (const Region& region : regions) {
      Json tensor = placed(region);
      tensor["name"] = region.spec.name;
      tensor["dtype"] = static_cast<int>(region.spec.dtype);
      tensor["shape"] = region.spec.shape;
      tensor["input"] = region.role == Role::input;
      tensors.push_back(std::move(tensor));
    }
    Json parameters = Json::array();
    for (const ParameterValue& value : request.parameters)
      parameters.push_back({{"name", value.name},
                            {"given", value.given},
                            {"bits", std::bit_cast<std::uint64_t>(value.real)},  // JSON has no infinities
                            {"integer", value.integer},
                            {"text", value.text}});
    return {{"call", calls},
            {"kernel", kernel},
            {"equation", request.equation},
            {"form", request.form},
            {"tensors", std::move(tensors)},
            {"parameters", std::move(parameters)}};
  }

  void poison(const Region& region, unsigned char byte) const {
    unsigned char* bytes = memory.at(region.file);
    std::fill(bytes, bytes + region.mapped, byte);
  }

  /// Writes the regions into the shared memory as the kernel is to find them.
  void fill(const std::vector<Region>& regions, const Request& request, unsigned char byte) const {
    for (std::size_t i = 0; i < regions.size(); ++i) {
      const Region& region = regions[i];
      poison(region, byte);
      if (region.role == Role::input && region.size != 0)
        std::memcpy(memory.at(region.file) + region.front, request.inputs[i].bytes.data(), region.size);
    }
  }

  /// Sends the call and receives the reply, granting a workspace in between when the kernel asks for one.
  Transfer exchange(std::size_t kernel, const Request& request, const CallOptions& options,
                    std::vector<Region>& regions, std::size_t& file, Json& reply, std::string& refusal) {
    const Deadline deadline = Clock::now() + options.time_limit;
    Transfer result = protocol::send_message(child->socket(), message(kernel, request, regions), deadline);
    if (result == Transfer::done) result = protocol::receive_message(child->socket(), reply, deadline);
    if (result != Transfer::done || !reply.contains("workspace")) return result;
    if (reply.value("call", std::uint64_t{0}) != calls || !reply["workspace"].is_number_unsigned())
      return Transfer::malformed;
    const auto size = reply["workspace"].get<std::size_t>();
    Json grant{{"refused", false}};
    if (size > workspace_limit) {
      refusal = "the kernel asked for a workspace of " + plural(size, "byte") + "; the limit is " +
                std::to_string(workspace_limit);
      grant["refused"] = true;
    } else if (size != 0) {
      Region region = place(Role::workspace, {}, size, slack_of(kernel), options, file);
      memory.grow(file);
      poison(region, options.poison);
      region.address = arena_of(options).take(region.mapped);
      grant.update(placed(region));
      regions.push_back(std::move(region));
    }
    result = protocol::send_message(child->socket(), grant, deadline);
    return result == Transfer::done ? protocol::receive_message(child->socket(), reply, deadline) : result;
  }

  /// Copies the outputs out and says what the kernel did to memory that is not its own.
  void inspect(const std::vector<Region>& regions, const Request& request, unsigned char byte,
               Response& response) const {
    for (std::size_t i = 0; i < regions.size(); ++i) {
      const Region& region = regions[i];
      const unsigned char* bytes = memory.at(region.file);
      const auto* first = reinterpret_cast<const std::byte*>(bytes) + region.front;
      if (region.role == Role::output && response.end == Response::End::finished)
        response.outputs.emplace_back(first, first + region.size);
      // The page protection already keeps a kernel from this, unless it changes the protection.
      if (region.role == Role::input && !std::equal(first, first + region.size, request.inputs[i].bytes.begin()))
        response.violations.push_back("changed " + region.text());
      check_slack(region, bytes, byte, response.violations);
    }
  }

  /// A child that died between two calls: a thread of the call before went on. SIGKILL tells nothing about the plugin.
  void bury(Response& response, const char* when) {
    if (!child->stirred()) return;
    const auto status = child->end(dying_limit);
    if (memory.control().recorded.load() != 0 || !status || !WIFSIGNALED(*status) || WTERMSIG(*status) != SIGKILL)
      response.violations.push_back(when + story(status, previous));
    child.reset();
  }

  Response call(std::size_t kernel, const Request& request, const CallOptions& options) {
    Response response;
    std::vector<Region> regions;
    std::size_t file = page_size();
    regions.reserve(request.inputs.size() + request.outputs.size() + 1);
    for (const InputTensor& tensor : request.inputs) {
      const std::size_t size = byte_count(tensor);
      if (size != tensor.bytes.size())
        throw std::invalid_argument("input '" + tensor.name + "' [" + join(tensor.shape) + "] has " +
                                    plural(tensor.bytes.size(), "byte") + " instead of " + std::to_string(size));
      regions.push_back(place(Role::input, tensor, size, slack_of(kernel), options, file));
    }
    for (const TensorSpec& tensor : request.outputs)
      regions.push_back(place(Role::output, tensor, byte_count(tensor), slack_of(kernel), options, file));
    const std::size_t tensor_count = regions.size();
    const std::size_t tensor_end = file;
    memory.grow(file);

    if (child) bury(response, "between this call and the one before: ");
    for (bool retried = false;; retried = true) {
      regions.resize(tensor_count);
      file = tensor_end;
      if (!child) {
        try {
          start();
        } catch (const InvalidCandidate& problem) {
          response.end = Response::End::crashed;
          response.message = std::string("a fresh process could not load the library: ") + problem.what();
          return response;
        }
      }
      ++calls;
      again.used = 0;
      for (Region& region : regions) region.address = arena_of(options).take(region.mapped);
      fill(regions, request, options.poison);
      Json reply;
      std::string refusal;
      const Transfer result = exchange(kernel, request, options, regions, file, reply, refusal);
      if (result == Transfer::closed && memory.control().call.load() != calls && !retried) {
        bury(response, "between this call and the one before: ");
        continue;
      }
      finish(result, reply, refusal, regions, options, response);
      break;
    }
    inspect(regions, request, options.poison, response);
    previous = std::move(regions);
    if (child) bury(response, "right after this call: ");
    return response;
  }

  void finish(Transfer result, const Json& reply, const std::string& refusal, const std::vector<Region>& regions,
              const CallOptions& options, Response& response) {
    if (result == Transfer::done && !reply.contains("failed")) {
      try {
        if (reply.at("call").get<std::uint64_t>() == calls) {
          // After either of these nothing works on the device in that process.
          if (reply.contains("unavailable") || reply.contains("died")) {
            const bool died = reply.contains("died");
            response.end = died ? Response::End::crashed : Response::End::unavailable;
            response.message = died ? "the kernel died of an error on the device: " + reply["died"].get<std::string>()
                                    : "the kernel needs a CUDA device: " + reply["unavailable"].get<std::string>();
            child->end({});
            child.reset();
            return;
          }
          const int code = reply.at("code").get<int>();
          const auto thrown = reply.at("thrown").get<std::string>();
          const auto text = reply.at("error").get<std::string>();
          if (!refusal.empty()) {
            response.message = refusal;
          } else if (!thrown.empty()) {
            response.message = "the kernel " + thrown;
          } else if (code != 0) {
            response.message =
                "the kernel returned " + std::to_string(code) + (text.empty() ? " without an error text" : ": " + text);
          }
          if (!response.message.empty()) response.end = Response::End::kernel_error;
          return;
        }
      } catch (const Json::exception&) {
      }
    }
    switch (result) {
      case Transfer::timed_out:
        response.end = Response::End::hung;
        response.message = subject() + " did not return within " + std::to_string(options.time_limit.count()) + " ms";
        child->end({});
        break;
      case Transfer::closed:
        response.end = Response::End::crashed;
        response.message = story(child->end(dying_limit), regions);
        break;
      case Transfer::done:
        if (reply.contains("failed")) {
          child.reset();
          throw std::runtime_error("worker process: " + reply["failed"].dump());
        }
        [[fallthrough]];
      case Transfer::malformed:
        response.end = Response::End::crashed;
        response.message = subject() + " wrote to attest's socket";
        child->end({});
        break;
    }
    child.reset();
  }
};

PluginProcess::PluginProcess(const std::filesystem::path& library) {
  std::error_code error;
  const auto kind = std::filesystem::status(library, error).type();
  if (kind == std::filesystem::file_type::not_found)
    throw InvalidCandidate(library.string() + ": there is no such file");
  if (kind == std::filesystem::file_type::directory)
    throw InvalidCandidate(library.string() + ": is a directory, not a shared library");
  // Absolute, because the child has another working directory.
  state_ = std::make_unique<State>(std::filesystem::absolute(library).string());
  state_->start();
}

PluginProcess::~PluginProcess() = default;

const std::string& PluginProcess::name() const { return state_->name; }
const std::string& PluginProcess::version() const { return state_->version; }
const std::vector<KernelInfo>& PluginProcess::kernels() const { return state_->kernels; }

Response PluginProcess::call(std::size_t kernel, const Request& request, const CallOptions& options) {
  if (kernel >= state_->kernels.size())
    throw std::out_of_range("there is no kernel " + std::to_string(kernel) + "; the plugin has " +
                            std::to_string(state_->kernels.size()));
  if (options.alignment != 0 && (!std::has_single_bit(options.alignment) || options.alignment > page_size()))
    throw std::invalid_argument("alignment must be a power of two up to " + std::to_string(page_size()));
  return state_->call(kernel, request, options);
}

std::vector<std::string> PluginProcess::settle(std::chrono::milliseconds patience) {
  Response response;
  std::this_thread::sleep_for(patience);
  if (state_->child) state_->bury(response, "after the last call: ");
  return response.violations;
}

}  // namespace attest::judge
