// SPDX-License-Identifier: MIT
// Candidates and commands that live in Python: this program starts the interpreter and says how it ended.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "commands.hpp"
#include "unmet_conditions.hpp"

namespace attest::cli {
namespace {

/// The exit status is written to a file as well: a kernel that ends the process has not passed.
constexpr const char* kStart =
    "import os, sys\n"
    "file = os.environ.pop('ATTEST_STATUS_FILE')\n"
    "try:\n"
    "    from attest.__main__ import main\n"
    "except ImportError as error:\n"
    "    print(f'attest: {sys.executable} cannot import the Python package of attest: {error}; "
    "install it with `python3 -m pip install .` in its source tree, or name another interpreter by ATTEST_PYTHON', "
    "file=sys.stderr)\n"
    "    status = 2\n"
    "else:\n"
    "    status = main()\n"
    "with open(file, 'w') as stream:\n"
    "    stream.write(str(status))\n"
    "sys.exit(status)\n";

/// A file in memory that a child, and what the child starts, can open by its name in ATTEST_STATUS_FILE.
class StatusFile {
public:
  StatusFile() : file_(::memfd_create("attest-status", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), "cannot make a file in memory");
    setenv("ATTEST_STATUS_FILE", fmt::format("/proc/{}/fd/{}", ::getpid(), file_).c_str(), 1);
  }
  ~StatusFile() { ::close(file_); }
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;

  std::string text() const {
    std::string text(64, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(::pread(file_, text.data(), text.size(), 0), 0)));
    return text;
  }

private:
  int file_;
};

/// The package of a build tree lies beside this program's folder.
void find_package_of_build() {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "python";
  if (error || !std::filesystem::is_directory(folder / "attest", error)) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "attest", error))
    if (entry.path().extension() == ".so") {
      const char* before = std::getenv("PYTHONPATH");
      setenv("PYTHONPATH", (before && *before ? folder.string() + ":" + before : folder.string()).c_str(), 1);
      return;
    }
}

/// The program of `bench`: it needs an interpreter and not the package, the folder of the plugins, and this command,
/// which decides capabilities.
std::string benchmark() {
  const auto script = project_folder() / "tools/bench/kernels.py";
  if (!std::filesystem::exists(script))
    throw UsageError(fmt::format("{} does not exist: ATTEST_PROJECT_DIR must name the source tree or share/attest",
                                 script.string()));
  setenv("ATTEST_PLUGIN_DIR", std::filesystem::absolute(judge::plugin_folder()).c_str(), 1);
  setenv("ATTEST_CLI", std::filesystem::read_symlink("/proc/self/exe").c_str(), 1);
  return script.string();
}

}  // namespace

bool is_survey(int argc, char** argv) { return argc > 1 && std::strcmp(argv[1], "survey") == 0; }

bool is_for_python(int argc, char** argv) {
  if (is_survey(argc, argv) || (argc > 1 && std::strcmp(argv[1], "bench") == 0)) return true;
  for (int i = 2; i < argc; ++i)
    if (std::string_view(argv[i]).starts_with("python:")) return true;
  return false;
}

int run_python(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "bench") == 0 && std::strcmp(argv[2], "--unmet-conditions") == 0) {
    unmet_conditions(std::cin, std::cout);
    return 0;
  }
  const char* named = std::getenv("ATTEST_PYTHON");
  std::vector<std::string> words{named && *named ? named : "python3"};
  if (std::strcmp(argv[1], "bench") == 0) {
    words.push_back(benchmark());
    words.insert(words.end(), argv + 2, argv + argc);
  } else {
    find_package_of_build();
    words.insert(words.end(), {"-c", kStart});
    words.insert(words.end(), argv + 1, argv + argc);
  }
  const std::string& python = words[0];
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const StatusFile file;
  pid_t child = 0;
  if (const int error = ::posix_spawnp(&child, python.c_str(), nullptr, nullptr, arguments.data(), environ); error != 0)
    throw UsageError(
        fmt::format("cannot start {}: {}; name an interpreter by ATTEST_PYTHON", python, std::strerror(error)));
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C is the child's, which writes what it has
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) {
    if (file.text() == std::to_string(WEXITSTATUS(status))) return WEXITSTATUS(status);
    fmt::print(stderr, "attest: CRASH: the kernel ended its process with status {}; there is no verdict\n",
               WEXITSTATUS(status));
    return 3;
  }
  fmt::print(stderr, "attest: CRASH: the kernel ended its process with {} (SIG{})\n", ::strsignal(WTERMSIG(status)),
             ::sigabbrev_np(WTERMSIG(status)));
  return 3;
}

void add_bench(CLI::App& app, int&) {
  app.add_subcommand("bench", "Time the kernels of a plugin beside published ones (`bench --help`)");
}

void add_survey(CLI::App& app, int&) {
  app.add_subcommand("survey", "Judge the published libraries that are installed in Python (`survey --help`)");
}

}  // namespace attest::cli
