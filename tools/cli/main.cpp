// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "attest/judge/process.hpp"
#include "commands.hpp"

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

/// Parses the command line and runs the command that it names.
int run(int argc, char** argv) {
  using namespace attest;
  if (cli::is_for_python(argc, argv)) return cli::run_python(argc, argv);
  CLI::App app{"attest: is this attention kernel right? Certified reference values, hard bounds, laws."};
  app.require_subcommand(1);
  app.set_version_flag("--version", ATTEST_VERSION);
  int status = 0;
  for (cli::AddCommand* add : {cli::add_list, cli::add_show, cli::add_coverage, cli::add_check, cli::add_diagnose,
                               cli::add_mutants, cli::add_reproduce, cli::add_golden, cli::add_new, cli::add_emit,
                               cli::add_judge, cli::add_handbook, cli::add_bench, cli::add_survey})
    add(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace attest;
  judge::serve_if_worker(argc, argv);
  use_installed_folders();
  try {
    return run(argc, argv);
  } catch (const cli::UsageError& error) {
    fmt::print(stderr, "attest: {}\n", error.what());
    return 2;
  } catch (const SpecError& error) {
    fmt::print(stderr, "attest: {}\n", error.what());
    return 2;
  } catch (const judge::InvalidCandidate& error) {
    fmt::print(stderr, "attest: INVALID: {}\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "attest: {}\n", error.what());
    return 1;
  }
}
