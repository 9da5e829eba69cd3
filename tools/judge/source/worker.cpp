// SPDX-License-Identifier: MIT
// The child side of PluginProcess: loads the plugin and serves calls until the parent closes the socket.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "attest/attest_kernel.h"
#include "attest/dtype.hpp"
#include "attest/judge/process.hpp"
#include "cuda_driver.hpp"
#include "protocol.hpp"

#ifdef __x86_64__
#include <ucontext.h>
#endif

namespace attest::judge {
namespace {

using protocol::Access;
using protocol::Control;
using protocol::Json;
using protocol::Phase;

Control* control = nullptr;
bool forked = false;  // this is a process that a kernel forked; it has no business with the parent

constexpr int exit_protocol = 120;  // the worker itself gave up; the parent sees a closed socket
constexpr int exit_signal = 121;    // the signal handler ended the process

struct LoadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Text from the plugin, bounded and without control characters. Bytes beyond ASCII become '?': what encoding they
/// are in, and whether a bound cut one in two, is not known.
std::string printable(const char* text, std::size_t limit = 4096) {
  if (text == nullptr) return {};
  std::string result(text, ::strnlen(text, limit));
  for (char& c : result) {
    if (c == '\n' || c == '\t') c = ' ';
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return result;
}

extern "C" void record_and_exit(int signal, siginfo_t* info, void* context) {
  if (forked) ::_exit(exit_signal);
  // Of several threads that crash together one reports, and its _exit ends the others.
  if (control->claimed.exchange(1) != 0)
    for (;;) ::pause();
  control->signal = signal;
  control->code = info->si_code;
  control->address = reinterpret_cast<std::uintptr_t>(info->si_addr);
#ifdef __x86_64__
  const auto* machine = static_cast<const ucontext_t*>(context);
  constexpr greg_t page_fault = 14;
  if (machine->uc_mcontext.gregs[REG_TRAPNO] == page_fault)
    control->access = (machine->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? Access::write : Access::read;
  control->stack_pointer = static_cast<std::uint64_t>(machine->uc_mcontext.gregs[REG_RSP]);
#else
  (void)context;
#endif
  control->recorded.store(1);
  ::_exit(exit_signal);
}

/// Done again before every call, because a plugin may have put its own handlers in place.
void install_handlers() {
  struct sigaction action{};
  action.sa_sigaction = record_and_exit;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
}

[[noreturn]] void give_up(const std::string& error) {
  protocol::send_message(protocol::socket_fd, {{"failed", error}});
  ::_exit(exit_protocol);
}

[[noreturn]] void give_up_on(const char* what) { give_up(std::string(what) + ": " + std::strerror(errno)); }

void* reserve(std::size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/// Address range in which the parent places tensors. It is much larger than any call needs, so that calls can take
/// turns in it: a thread that outlives its call then hits an inaccessible page and not a tensor of the next call.
struct Arena {
  void* begin = MAP_FAILED;
  std::size_t size = std::size_t{64} << 30;

  Arena() {
    for (; size >= std::size_t{1} << 29; size /= 2) {
      begin = reserve(size);
      if (begin != MAP_FAILED) return;
    }
    give_up_on("cannot reserve address space for tensors");
  }
};

/// The error text's buffer ends at a guard page: a kernel that ignores error_size must not damage this process unseen.
char* make_error_buffer() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  static_assert(protocol::error_size <= 4096);
  char* pages = static_cast<char*>(reserve(3 * page));
  if (pages == MAP_FAILED || ::mprotect(pages + page, page, PROT_READ | PROT_WRITE) != 0)
    give_up_on("cannot allocate the error buffer");
  char* end = pages + 2 * page;
  control->error_end = reinterpret_cast<std::uintptr_t>(end);
  return end - protocol::error_size;
}

DLDataType dlpack_type(DType dtype) {
#if defined(DLPACK_MAJOR_VERSION) || DLPACK_VERSION >= 80
  constexpr std::uint8_t boolean = kDLBool;
#else
  constexpr std::uint8_t boolean = kDLUInt;
#endif
  switch (dtype) {
    case DType::f64: return {kDLFloat, 64, 1};
    case DType::f32: return {kDLFloat, 32, 1};
    case DType::bf16: return {kDLBfloat, 16, 1};
    case DType::f16: return {kDLFloat, 16, 1};
    case DType::i64: return {kDLInt, 64, 1};
    case DType::boolean: return {boolean, 8, 1};
  }
  give_up("unknown dtype in a request");
}

std::string quoted(const char* text) {
  if (text == nullptr) return "NULL";
  std::string result = printable(text, 100);
  result.insert(0, 1, '"').push_back('"');
  return result;
}

template <class Words>
void require_one_of(const char* text, const Words& allowed, const std::string& what) {
  std::string listed;
  for (const char* word : allowed) {
    if (text != nullptr && std::strcmp(text, word) == 0) return;
    listed += (listed.empty() ? "" : ", ") + quoted(word);
  }
  throw LoadError(what + " " + quoted(text) + "; allowed: " + listed);
}

Json describe(const attest_kernel& kernel, std::size_t number) {
  const std::string where = "kernel " + std::to_string(number) +
                            (kernel.equation != nullptr ? " (" + printable(kernel.equation, 100) + ")" : "") + " ";
  if (kernel.equation == nullptr || *kernel.equation == '\0') throw LoadError(where + "has no equation");
  if (kernel.run == nullptr) throw LoadError(where + "has a NULL run function");
  require_one_of(kernel.reading, std::array{"value", "gradient"}, where + "has reading");
  require_one_of(kernel.layout, kLayouts, where + "has layout");
  const DType* found = nullptr;
  static constexpr DType real[] = {DType::f64, DType::f32, DType::bf16, DType::f16};
  for (const DType& dtype : real) {
    const DLDataType type = dlpack_type(dtype);
    if (type.code == kernel.dtype.code && type.bits == kernel.dtype.bits && type.lanes == kernel.dtype.lanes)
      found = &dtype;
  }
  if (found == nullptr)
    throw LoadError(where + "has dtype {code " + std::to_string(kernel.dtype.code) + ", bits " +
                    std::to_string(kernel.dtype.bits) + ", lanes " + std::to_string(kernel.dtype.lanes) +
                    "}; allowed: {kDLFloat, 64, 1}, {kDLFloat, 32, 1}, {kDLBfloat, 16, 1}, {kDLFloat, 16, 1}");
  // Read as an integer: the plugin may have been built against enumerators that this DLPack header does not have.
  std::underlying_type_t<DLDeviceType> device{};
  static_assert(sizeof device == sizeof kernel.device);
  std::memcpy(&device, &kernel.device, sizeof device);
  if (device != kDLCPU && device != kDLCUDA)
    throw LoadError(where + "has device " + std::to_string(device) + "; allowed: kDLCPU (" + std::to_string(kDLCPU) +
                    "), kDLCUDA (" + std::to_string(kDLCUDA) + ")");
  constexpr std::size_t long_text = 65536;
  return {{"equation", printable(kernel.equation)},
          {"form", printable(kernel.form)},
          {"reading", kernel.reading},
          {"dtype", static_cast<int>(*found)},
          {"device", device == kDLCPU ? "cpu" : "cuda"},
          {"layout", kernel.layout},
          {"capabilities", printable(kernel.capabilities, long_text)}};
}

/// Loads the library. Returns what the parent wants to know about it.
Json load(const char* library, std::vector<attest_kernel>& kernels) {
  control->phase.store(Phase::loading);
  constexpr const char* symbol = "attest_plugin_v1";
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw LoadError("cannot be loaded as a shared library: " + printable(::dlerror()));
  const auto entry = reinterpret_cast<attest_plugin_function>(::dlsym(handle, symbol));
  if (entry == nullptr)
    throw LoadError(std::string("has no symbol ") + symbol +
                    "; a plugin must export \"const attest_plugin* attest_plugin_v1(void)\" with C linkage");
  const attest_plugin* plugin = entry();
  if (plugin == nullptr) throw LoadError(std::string(symbol) + "() returned NULL instead of a table");
  if (plugin->abi_version != ATTEST_ABI_VERSION)
    throw LoadError("has abi_version " + std::to_string(plugin->abi_version) + "; this attest needs abi_version " +
                    std::to_string(ATTEST_ABI_VERSION));
  constexpr std::size_t most = 65536;
  if (plugin->kernel_count == 0 || plugin->kernel_count > most)
    throw LoadError("has kernel_count " + std::to_string(plugin->kernel_count) + "; allowed: 1 to " +
                    std::to_string(most));
  if (plugin->kernels == nullptr)
    throw LoadError("has kernel_count " + std::to_string(plugin->kernel_count) + " but kernels is NULL");
  kernels.assign(plugin->kernels, plugin->kernels + plugin->kernel_count);
  Json table = Json::array();
  for (std::size_t i = 0; i < kernels.size(); ++i) table.push_back(describe(kernels[i], i));
  return {{"name", printable(plugin->name)}, {"version", printable(plugin->version)}, {"kernels", std::move(table)}};
}

/// A range of the shared memory at the address that the parent chose, or what stands for it on a device.
struct Mapping {
  char* address = nullptr;
  std::size_t size = 0;
  std::uint64_t allocated = 0, placed = 0;  // on the device

  void map(const Json& region, int protection) {
    size = region.at("size").get<std::size_t>();
    address = reinterpret_cast<char*>(region.at("address").get<std::uintptr_t>());
    // Populating costs less than one fault per page, and keeps the faults out of the kernel's time.
    if (size != 0 && ::mmap(address, size, protection, MAP_SHARED | MAP_FIXED | MAP_POPULATE, protocol::memory_fd,
                            region.at("file").get<off_t>()) == MAP_FAILED)
      give_up_on("cannot map a tensor");
  }

  void protect(int protection) const {
    if (::mprotect(address, size, protection) != 0) give_up_on("cannot protect a tensor");
  }

  /// Puts a copy of the range on the device, at an address that is a multiple of all that the one here is a multiple
  /// of. What is here cannot be reached until fetch().
  void send(const CudaDriver& device) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    allocated = device.allocate(size + page);
    placed = (allocated + page - 1) / page * page;
    device.upload(placed, address, size);
    protect(PROT_NONE);
  }

  /// Brings back what the kernel has made of it, for the parent to see.
  void fetch(const CudaDriver& device) {
    protect(PROT_READ | PROT_WRITE);
    device.download(address, placed, size);
    device.free(allocated);
  }

  /// What lies at an offset, for the kernel.
  void* at(std::size_t offset) const {
    return placed == 0 ? address + offset : reinterpret_cast<void*>(static_cast<std::uintptr_t>(placed + offset));
  }

  void unmap() const {
    if (size != 0 &&
        ::mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
      give_up_on("cannot unmap a tensor");
  }
};

/// The attest_call of one request and everything that its pointers point to.
class Call {
public:
  /// On the device, where one is given; throws CudaError when the tensors cannot be placed there.
  Call(const Json& request, char* error, const CudaDriver* device) : device_(device) {
    if (device_) device_->begin();
    const Json& tensors = request.at("tensors");
    tensors_.resize(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const bool input = tensors[i].at("input").get<bool>();
      fill(tensors_[i], tensors[i], input);
      (input ? inputs_ : outputs_).push_back({tensors_[i].name.c_str(), tensors_[i].tensor});
    }
    texts_.reserve(2 * request.at("parameters").size());
    for (const Json& parameter : request.at("parameters")) {
      attest_parameter value{};
      value.name = keep(parameter.at("name"));
      value.given = parameter.at("given").get<bool>() ? 1 : 0;
      value.real = std::bit_cast<double>(parameter.at("bits").get<std::uint64_t>());
      value.integer = parameter.at("integer").get<std::int64_t>();
      value.text = parameter.at("text").get_ref<const std::string&>().empty() ? nullptr : keep(parameter.at("text"));
      parameters_.push_back(value);
    }
    equation_ = request.at("equation").get<std::string>();
    form_ = request.at("form").get<std::string>();
    std::memset(error, 0, protocol::error_size);
    call.struct_size = sizeof call;
    call.equation = equation_.c_str();
    call.form = form_.c_str();
    call.inputs = inputs_.data();
    call.input_count = inputs_.size();
    call.outputs = outputs_.data();
    call.output_count = outputs_.size();
    call.parameters = parameters_.data();
    call.parameter_count = parameters_.size();
    call.stream = device_ ? device_->stream() : nullptr;
    call.error = error;
    call.error_size = protocol::error_size;
  }

  void give_workspace(const Json& region, std::size_t size) {
    if (size == 0) return;
    workspace_.map(region, PROT_READ | PROT_WRITE);
    if (device_) workspace_.send(*device_);
    call.workspace = workspace_.at(region.at("front").get<std::size_t>());
    call.workspace_size = size;
  }

  /// Waits for what the kernel has put on the stream, and brings everything back from the device.
  void fetch() {
    if (!device_) return;
    device_->begin();
    device_->wait();
    for (Tensor& tensor : tensors_) tensor.mapping.fetch(*device_);
    if (workspace_.placed != 0) workspace_.fetch(*device_);
  }

  void unmap() const {
    for (const Tensor& tensor : tensors_) tensor.mapping.unmap();
    workspace_.unmap();
  }

  attest_call call{};

private:
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    Mapping mapping;
    DLTensor tensor{};
  };

  void fill(Tensor& tensor, const Json& source, bool input) const {
    tensor.name = source.at("name").get<std::string>();
    tensor.shape = source.at("shape").get<std::vector<std::int64_t>>();
    const std::size_t rank = tensor.shape.size();
    tensor.strides.assign(rank + 1, 1);
    for (std::size_t axis = rank; axis-- > 0;) tensor.strides[axis] = tensor.strides[axis + 1] * tensor.shape[axis];
    // strides[i] now is the stride of axis i - 1; the extra element also keeps both pointers non-NULL for rank 0.
    tensor.strides.erase(tensor.strides.begin());
    tensor.strides.push_back(1);
    tensor.shape.push_back(1);
    tensor.mapping.map(source, input ? PROT_READ : PROT_READ | PROT_WRITE);
    if (device_) tensor.mapping.send(*device_);
    tensor.tensor.data = tensor.mapping.at(source.at("front").get<std::size_t>());
    tensor.tensor.device = {device_ ? kDLCUDA : kDLCPU, 0};
    tensor.tensor.ndim = static_cast<int>(rank);
    tensor.tensor.dtype = dlpack_type(static_cast<DType>(source.at("dtype").get<int>()));
    tensor.tensor.shape = tensor.shape.data();
    tensor.tensor.strides = tensor.strides.data();
  }

  const char* keep(const Json& text) { return texts_.emplace_back(text.get<std::string>()).c_str(); }

  const CudaDriver* device_;
  std::vector<Tensor> tensors_;
  std::vector<attest_tensor> inputs_;
  std::vector<attest_tensor> outputs_;
  std::vector<std::string> texts_;
  std::vector<attest_parameter> parameters_;
  std::string equation_;
  std::string form_;
  Mapping workspace_;
};

/// What a function of the plugin did.
struct Outcome {
  std::size_t size = 0;
  int code = 0;
  std::string thrown;  // a C++ exception that left it
  std::string died;    // of an error on the device, after which no call to it works
};

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
  std::string no_device;  // why not

  /// Takes some seconds, which are no kernel's.
  void open_device() {
    const auto wants = [](const attest_kernel& kernel) { return kernel.device == kDLCUDA; };
    if (std::none_of(kernels.begin(), kernels.end(), wants)) return;
    try {
      device.emplace();
    } catch (const CudaError& error) {
      no_device = printable(error.what());
    }
  }
};

Json serve_call(const Plugin& plugin, const Json& request, char* error) {
  const attest_kernel& kernel = plugin.kernels.at(request.at("kernel").get<std::size_t>());
  const Json& number = request.at("call");
  control->call.store(number.get<std::uint64_t>());
  if (kernel.device == kDLCUDA && !plugin.device) throw CudaError(plugin.no_device);
  Call call(request, error, kernel.device == kDLCUDA ? &*plugin.device : nullptr);
  Outcome outcome;
  bool refused = false;
  if (kernel.workspace != nullptr) {
    outcome = guarded(Phase::workspace, [&](Outcome& result) { result.size = kernel.workspace(&call.call); });
    if (outcome.thrown.empty()) {
      Json granted;
      if (protocol::send_message(protocol::socket_fd, {{"call", number}, {"workspace", outcome.size}}) !=
              protocol::Transfer::done ||
          protocol::receive_message(protocol::socket_fd, granted) != protocol::Transfer::done)
        ::_exit(exit_protocol);
      refused = granted.at("refused").get<bool>();
      if (!refused) call.give_workspace(granted, outcome.size);
    }
  }
  if (outcome.thrown.empty() && !refused)
    outcome = guarded(Phase::run, [&](Outcome& result) { result.code = kernel.run(&call.call); });
  const Outcome fetched = guarded(Phase::run, [&](Outcome&) { call.fetch(); });
  // Before the reply, so that a thread which still writes dies here and cannot change what the parent reads.
  call.unmap();
  if (!fetched.died.empty()) return {{"call", number}, {"died", fetched.died}};
  return {{"call", number},
          {"code", outcome.code},
          {"error", printable(error, protocol::error_size)},
          {"thrown", outcome.thrown}};
}

/// Leaves the plugin nothing of the parent: no descriptors, no working directory, no core files.
void isolate(const char* parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(::getppid()) != parent) ::_exit(exit_protocol);  // the parent died before prctl
  if (::close_range(protocol::memory_fd + 1, ~0U, 0) != 0) give_up_on("cannot close descriptors");
  for (const int fd : {protocol::socket_fd, protocol::memory_fd}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (::chdir("/") != 0) give_up_on("cannot leave the working directory");
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // A process that a kernel forks must neither hold the socket open nor live on.
  ::pthread_atfork(nullptr, nullptr, [] {
    forked = true;
    ::close(protocol::socket_fd);
    ::close(protocol::memory_fd);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  });
}

[[noreturn]] void serve(const char* library) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* first = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, protocol::memory_fd, 0);
  if (first == MAP_FAILED) give_up_on("cannot map the control page");
  control = static_cast<Control*>(first);
  const Arena arena;
  char* error = make_error_buffer();

  // A handler on the thread's own stack could not report that this stack is full.
  constexpr std::size_t stack_size = std::size_t{64} * 1024;
  alignas(16) static char handler_stack[stack_size];
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = stack_size;
  ::sigaltstack(&stack, nullptr);
  install_handlers();

  Plugin plugin;
  Json reply;
  try {
    reply = load(library, plugin.kernels);
    plugin.open_device();
    reply["arena"] = {{"begin", reinterpret_cast<std::uintptr_t>(arena.begin)}, {"size", arena.size}};
  } catch (const LoadError& problem) {
    reply = {{"invalid", problem.what()}};
  } catch (const std::exception& problem) {
    reply = {{"invalid", "threw a C++ exception while it was loaded: " + printable(problem.what())}};
  }
  control->phase.store(Phase::idle);
  while (protocol::send_message(protocol::socket_fd, reply) == protocol::Transfer::done) {
    Json request;
    if (protocol::receive_message(protocol::socket_fd, request) != protocol::Transfer::done) break;
    try {
      reply = serve_call(plugin, request, error);
    } catch (const CudaError& problem) {
      reply = {{"call", request.at("call")}, {"unavailable", printable(problem.what())}};
    }
    control->phase.store(Phase::idle);
  }
  // Not exit(): destructors of the plugin could hang, and nobody waits for what they would do.
  ::_exit(0);
}

}  // namespace

void serve_if_worker(int argc, char** argv) {
  if (argc != protocol::worker_argument_count || std::strcmp(argv[1], protocol::worker_argument) != 0) return;
  isolate(argv[2]);
  try {
    serve(argv[3]);
  } catch (const std::exception& problem) {
    give_up(problem.what());
  }
}

}  // namespace attest::judge
