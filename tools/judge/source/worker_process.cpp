// SPDX-License-Identifier: MIT
#include "worker_process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <ucontext.h>
#endif

namespace attest::judge {

protocol::Control* control = nullptr;
bool forked = false;

namespace {

using protocol::Access;

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

}  // namespace

void map_control_page() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* first = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, protocol::memory_fd, 0);
  if (first == MAP_FAILED) give_up_on("cannot map the control page");
  control = static_cast<protocol::Control*>(first);
}

void give_up(const std::string& error) {
  protocol::send_message(protocol::socket_fd, {{"failed", error}});
  ::_exit(exit_protocol);
}

void give_up_on(const char* problem) { give_up(std::string(problem) + ": " + std::strerror(errno)); }

std::string printable(const char* text, std::size_t limit) {
  if (text == nullptr) return {};
  std::string result(text, ::strnlen(text, limit));
  for (char& c : result) {
    if (c == '\n' || c == '\t') c = ' ';
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return result;
}

void use_handler_stack() {
  constexpr std::size_t stack_size = std::size_t{64} * 1024;
  alignas(16) static char handler_stack[stack_size];
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = stack_size;
  ::sigaltstack(&stack, nullptr);
}

namespace {

/// A thread that runs one function after the other and never ends: under libomp 14, a process in which threads that
/// ran OpenMP tasks have ended dies in a later task.
class SecondThread {
public:
  SecondThread();

  void run(const std::function<void()>& function) {
    next_ = &function;
    ::sem_post(&asked_);
    wait(done_);
  }

private:
  static void wait(sem_t& semaphore) {
    while (::sem_wait(&semaphore) != 0) {  // a signal came
    }
  }

  [[noreturn]] void serve() {
    use_handler_stack();  // the first thread, whose stack it is too, runs nothing of the plugin meanwhile
    for (;;) {
      wait(asked_);
      (*next_)();
      ::sem_post(&done_);
    }
  }

  // Nothing of it is destroyed where a plugin calls exit(), which would wait for the thread.
  sem_t asked_{}, done_{};
  const std::function<void()>* next_ = nullptr;
};

SecondThread::SecondThread() {
  ::sem_init(&asked_, 0, 0);
  ::sem_init(&done_, 0, 0);
  // As large a stack as the first thread has: what fits there must fit here.
  constexpr std::size_t least = std::size_t{8} << 20, unlimited = std::size_t{64} << 20;
  rlimit stack{};
  ::getrlimit(RLIMIT_STACK, &stack);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, stack.rlim_cur == RLIM_INFINITY
                                               ? unlimited
                                               : std::max(least, static_cast<std::size_t>(stack.rlim_cur)));
  const auto serve = [](void* thread) -> void* { static_cast<SecondThread*>(thread)->serve(); };
  pthread_t thread{};
  errno = ::pthread_create(&thread, &attributes, serve, this);
  if (errno != 0) give_up_on("cannot start a thread");
  ::pthread_attr_destroy(&attributes);
}

}  // namespace

void in_thread(bool second, const std::function<void()>& function) {
  if (!second) return function();
  static SecondThread thread;
  thread.run(function);
}

void install_handlers() {
  struct sigaction action{};
  action.sa_sigaction = record_and_exit;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
}

namespace {

void die_with(const std::string& parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(::getppid()) != parent) ::_exit(exit_protocol);  // the parent died before prctl
}

}  // namespace

void launch(const char* parent, char** command) {
  die_with(parent);
  ::execvp(command[0], command);
  constexpr int not_found = 127;  // as a shell says it
  ::_exit(errno == ENOENT ? not_found : exit_protocol);
}

void connect_as_rank(const char* rank, const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (socket < 0 || ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      protocol::send_message(socket, {{"rank", std::stoul(rank)}}) != protocol::Transfer::done)
    ::_exit(exit_protocol);
  const int memory = protocol::receive_descriptor(socket);
  // Out of the way of each other before they get their numbers.
  const int high_socket = ::fcntl(socket, F_DUPFD, protocol::memory_fd + 1),
            high_memory = ::fcntl(memory, F_DUPFD, protocol::memory_fd + 1);
  if (::dup2(high_socket, protocol::socket_fd) < 0 || ::dup2(high_memory, protocol::memory_fd) < 0)
    ::_exit(exit_protocol);
}

void isolate(const std::string& parent) {
  die_with(parent);
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

}  // namespace attest::judge
