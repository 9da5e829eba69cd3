// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>

#include "attest/golden/out_of_memory.hpp"
#include "attest/jobs/channel.hpp"
#include "attest/jobs/job.hpp"
#include "attest/judge/process.hpp"
#include "commands.hpp"
#include "long_job.hpp"

namespace {

/// An installed attest finds golden data and plugins beside itself; a build uses the source tree. Both can be
/// overridden.
void use_installed_folders() {
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const auto project = (here / ATTEST_INSTALLED_PROJECT).lexically_normal();
  if (error || !std::filesystem::exists(project / "golden/flags.toml", error)) return;
  setenv("ATTEST_PROJECT_DIR", project.c_str(), 0);
  setenv("ATTEST_PLUGIN_DIR", (here / ATTEST_INSTALLED_PLUGINS).lexically_normal().c_str(), 0);
}

/// `check` lets the judge's idle threads sleep, unless the user says otherwise: between its parallel loops they would
/// take the cores from the kernel that it waits for. libgomp reads the variable when it is loaded, so the program
/// starts itself again; where that fails the threads spin.
void let_idle_threads_sleep(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "check" || std::getenv("OMP_WAIT_POLICY")) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  std::error_code error;
  ::execv(std::filesystem::read_symlink("/proc/self/exe", error).c_str(), argv);
}

/// Parses the command line and runs the command that it names.
int run(int argc, char** argv) {
  using namespace attest;
  if (cli::is_for_python(argc, argv)) {
    if (jobs::launched().size > 1 && !cli::is_survey(argc, argv))
      throw cli::UsageError("kernels in Python are judged by one process");
    return cli::run_python(argc, argv);
  }
  CLI::App app{"Is this attention kernel right? Certified reference values, hard bounds, laws.", "attest"};
  app.footer(
      "Each command has --help. `attest check ./kernel.so` judges a plugin, `attest list` shows the equations.\n"
      "Exit status: 0 pass, 1 fail, 2 wrong usage, 3 the candidate crashed or is invalid.");
  app.require_subcommand(1);
  app.set_version_flag("--version", ATTEST_VERSION);
  int status = 0;
  for (cli::AddCommand* add :
       {cli::add_list, cli::add_show, cli::add_coverage, cli::add_check, cli::add_diagnose, cli::add_mutants,
        cli::add_reproduce, cli::add_golden, cli::add_new, cli::add_emit, cli::add_judge, cli::add_verify_claim,
        cli::add_handbook, cli::add_bench, cli::add_survey, cli::add_completion})
    add(app, status);
  app.parse_complete_callback([&] { cli::check_launched(app); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return (jobs::launched().rank > 0 ? static_cast<int>(error.get_exit_code()) : app.exit(error)) == 0 ? 0 : 2;
  }
  return status;
}

/// Says on standard error what ended this process, and on which rank of a job that was.
void say(const std::string& what) {
  const auto launched = attest::jobs::launched();
  // What ends all ranks is said by the first: then the launcher ends the others.
  if (launched.rank > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  fmt::print(stderr, "attest: {}{}\n", launched.size > 1 ? fmt::format("rank {}: ", launched.rank) : "", what);
}

/// Runs the command line; says what ended it.
int status_of(int argc, char** argv) {
  using namespace attest;
  try {
    use_installed_folders();
    const int status = run(argc, argv);
    // What lies in the buffer yet may not fit: a verdict that nobody can read is no success.
    if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write the output");
    return status;
  } catch (const jobs::Helped&) {  // the first rank has the verdict
    return 0;
  } catch (const cli::UsageError& error) {
    say(error.what());
    return 2;
  } catch (const SpecError& error) {
    say(error.what());
    return 2;
  } catch (const judge::InvalidCandidate& error) {
    say(fmt::format("INVALID: {}", error.what()));
    return 3;
  } catch (const std::bad_alloc&) {
    say("out of memory");
    return 2;
  } catch (const judge::WorkerFailure& error) {
    say(error.what());
    return 2;
  } catch (const jobs::Failed& error) {
    say(error.what());
    return 2;
  } catch (const std::system_error& error) {
    say(error.what());
    return 2;
  } catch (const std::exception& error) {
    say(error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace attest;
  golden::end_when_out_of_memory();
  judge::serve_if_worker(argc, argv);
  let_idle_threads_sleep(argc, argv);
  std::set_new_handler(golden::end_out_of_memory);  // in any thread; kernels handle their own
  // What a command prints is printed once.
  if (jobs::launched().rank > 0 && !std::freopen("/dev/null", "w", stdout)) return 2;
  const int status = status_of(argc, argv);
  jobs::end_mpi(status);
  return status;
}
