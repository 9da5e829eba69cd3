// SPDX-License-Identifier: MIT
#include "job.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "attest/judge/process.hpp"
#include "protocol.hpp"
#include "spawn.hpp"

namespace attest::judge {
namespace {

using protocol::Json;
using protocol::Transfer;

constexpr const char* kLauncher = "mpiexec";
constexpr std::chrono::seconds start_limit{60};
constexpr int not_found = 127;  // exit status where there is no launcher

/// A worker's environment, and what lets Open MPI run as root, more ranks than cores, and where a container forbids
/// ranks to read each other's memory; whatever it writes lies in the folder. Other MPIs ignore these.
std::vector<std::string> environment_of_ranks(const std::filesystem::path& folder, std::size_t ranks) {
  std::vector<std::string> environment = worker_environment();
  std::erase_if(environment, [](const std::string& entry) { return entry.starts_with("TMPDIR="); });
  environment.push_back("TMPDIR=" + folder.string());
  for (const char* setting : {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                              "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_hwloc_base_binding_policy=none",
                              "OMPI_MCA_mpi_yield_when_idle=1", "OMPI_MCA_btl_vader_single_copy_mechanism=none"})
    environment.emplace_back(setting);
  environment.push_back("OMPI_MCA_btl_vader_backing_directory=" + folder.string());
  constexpr std::string_view threads = "OMP_NUM_THREADS=";
  if (std::none_of(environment.begin(), environment.end(),
                   [&](const std::string& entry) { return entry.starts_with(threads); }))
    environment.push_back(
        fmt::format("{}{}", threads, std::max<std::size_t>(1, std::thread::hardware_concurrency() / ranks)));
  return environment;
}

pid_t process_behind(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) throw_errno("cannot tell who has connected");
  return peer.pid;
}

}  // namespace

Job::Job(const std::string& library, std::size_t ranks) : ranks_(ranks) {
  try {
    listen();
    start(library, ranks);
    accept();
  } catch (...) {
    end();
    throw;
  }
}

void Job::listen() {
  std::string name = (std::filesystem::temp_directory_path() / "attest-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw_errno("cannot make a folder for the ranks of a kernel");
  folder_ = name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder_ / "socket";
  if (path.size() >= sizeof address.sun_path)
    throw WorkerFailure(fmt::format("{}: the path of a socket has at most {} bytes; TMPDIR may name a shorter folder",
                                    path, sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  listener_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.get(), static_cast<int>(ranks_.size())) != 0)
    throw_errno("cannot listen for the ranks of a kernel");
}

void Job::start(const std::string& library, std::size_t ranks) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<std::string> arguments{"attest-worker", protocol::launch_argument, std::to_string(::getpid()), kLauncher};
  for (std::size_t rank = 0; rank < ranks; ++rank) {  // MPI numbers them in this order
    if (rank > 0) arguments.emplace_back(":");
    for (const std::string& word : {std::string("-n"), std::string("1"), self, std::string(protocol::rank_argument),
                                    std::to_string(rank), (folder_ / "socket").string(), library})
      arguments.push_back(word);
  }
  launcher_ = spawn(std::move(arguments), environment_of_ranks(folder_, ranks), {});
}

/// Throws where the launcher has ended.
void Job::check_launcher() {
  int status = 0;
  if (::waitpid(launcher_, &status, WNOHANG) != launcher_) return;
  launcher_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_found)
    throw WorkerFailure(
        fmt::format("there is no '{}' in PATH: kernels of several ranks need MPI (Debian: openmpi-bin)", kLauncher));
  throw WorkerFailure(
      fmt::format("{} ended with {} {} before its ranks had begun; with ATTEST_WORKER_OUTPUT=1 it says why", kLauncher,
                  WIFEXITED(status) ? "status" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)));
}

void Job::accept() {
  const auto deadline = protocol::Clock::now() + start_limit;
  for (std::size_t connected = 0; connected < ranks_.size();) {
    check_launcher();
    if (protocol::Clock::now() > deadline)
      throw WorkerFailure(
          fmt::format("{} of {} ranks began within {} s", connected, ranks_.size(), start_limit.count()));
    pollfd entry{listener_.get(), POLLIN, 0};
    constexpr int patience = 20;  // milliseconds
    if (::poll(&entry, 1, patience) <= 0) continue;
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Json hello;
    if (protocol::receive_message(socket.get(), hello, deadline) != Transfer::done) continue;
    auto& rank = ranks_.at(hello.at("rank").get<std::size_t>());
    const pid_t pid = process_behind(socket.get());
    rank = std::make_unique<Child>(std::move(socket), pid);
    ++connected;
  }
}

std::unique_ptr<Child> Job::take(std::size_t rank, int memory) {
  if (!ranks_.at(rank)) throw InvalidCandidate("a rank ended between two calls");
  if (!protocol::send_descriptor(ranks_.at(rank)->socket(), memory))
    throw WorkerFailure(fmt::format("rank {} ended before it had loaded the library", rank));
  return std::move(ranks_[rank]);
}

void Job::end() {
  if (launcher_ > 0) {
    ::kill(launcher_, SIGKILL);
    while (::waitpid(launcher_, nullptr, 0) < 0 && errno == EINTR) {
    }
    launcher_ = -1;
  }
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  folder_.clear();
}

}  // namespace attest::judge
