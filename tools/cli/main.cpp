// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

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

}  // namespace

int main(int argc, char** argv) {
  attest::judge::serve_if_worker(argc, argv);
  use_installed_folders();
  using namespace attest;
  CLI::App app{"attest: is this attention kernel right? Certified reference values, hard bounds, laws."};
  app.require_subcommand(1);
  app.set_version_flag("--version", ATTEST_VERSION);
  int status = 0;

  judge::CheckOptions options;
  options.golden = cli::project_folder() / "golden";
  std::string candidate = "openmp", id, query, profile, only = "*";
  std::string json, into, folder, part_text;
  double seconds = 20;
  std::optional<double> budget;
  int seeds = 1000;
  cli::EmitOptions emit;
  emit.golden = options.golden;
  const auto part = [&part_text] {
    return part_text.empty() ? std::nullopt : std::optional(cli::Part::parse(part_text));
  };
  const auto optional_path = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::filesystem::path>(text);
  };

  auto* list = app.add_subcommand("list", "Equations, with their forms and golden cases");
  list->callback([&] { status = cli::list(); });

  auto* show = app.add_subcommand("show", "The page of one equation, or what is wrong and what is claimed in print");
  auto* show_id = show->add_option("ID", id, "as in linear.causal");
  bool errata = false, claims = false;
  auto* show_errata =
      show->add_flag("--errata", errata, "every erratum: what is printed, what is right, and the evidence")
          ->excludes(show_id);
  show->add_option("--profile", profile, "the units of one precision, or of \"all\"")
      ->excludes(show_id)
      ->excludes(show_errata);
  show->add_flag("--claims", claims, "every claim, and the evidence")->excludes(show_id)->excludes(show_errata);
  show->callback([&] {
    if (!profile.empty())
      status = cli::show_profiles(profile);
    else if (errata || claims)
      status = cli::show_statements(errata);
    else if (id.empty())
      throw cli::UsageError("show needs the ID of an equation, --errata, --claims or --profile");
    else
      status = cli::show(id);
  });

  auto* coverage = app.add_subcommand("coverage", "What stands of every operation, by running it");
  coverage->add_option("--only", only, "glob over operations");
  std::vector<std::string> reports;
  coverage->add_option("--kernels", reports,
                       "BACKEND=FILE: a report of `attest check --json`, for kernels that are not to be run again");
  coverage->add_option("--json", json, "write the table to this file as well");
  coverage->callback([&] { status = cli::coverage(only, reports, optional_path(json)); });

  const std::string own = fmt::format("{}", fmt::join(judge::kCandidates, ", "));
  auto* check = app.add_subcommand("check", "Judge every kernel of a candidate");
  check
      ->add_option(
          "CANDIDATE", candidate,
          fmt::format(
              "{}, fault:ID.NAME, order:NAME, the path of a plugin library, or python:MODULE:FUNCTION with --op ID "
              "(see `check python: --help`)",
              own))
      ->required();
  check->add_option("--only", options.only, "glob over EQUATION or EQUATION.FORM, as in 'linear.*'");
  check->add_option("--profile", profile, "precision to judge by (default: what the kernel says, or its dtype)");
  check->add_option("--flags", options.flags, "glob over the flags of cases");
  check
      ->add_option("--max-cases", options.most_cases,
                   "at most so many cases per kernel, every flag before a second case of any")
      ->check(CLI::Range(1, 1000000));
  check->add_option("--budget", budget, "seconds after which no further case or law is begun")
      ->check(CLI::Range(0.001, 1.0e6));
  check->add_option("--json", json, "write the report to this file as well");
  check->add_option("--part", part_text, "K/N: a part of the kernels, with some of each equation, reading and dtype");
  check->add_option("--seed", options.seed, "seed of the drawn laws and the fresh cases");
  check->add_option("--laws", options.law_draws, "cases drawn per law; 0 skips the laws")->check(CLI::Range(0, 100000));
  check->add_option("--time-limit", seconds, "seconds per call")->check(CLI::Range(0.01, 3600.0));
  check->callback([&] {
    if (!profile.empty()) options.profile = golden::profile(profile).name;
    options.property_draws = options.law_draws;
    if (budget)
      options.stop = [end = std::chrono::steady_clock::now() + std::chrono::duration<double>(*budget)] {
        return std::chrono::steady_clock::now() > end ? judge::Stop::budget : judge::Stop::no;
      };
    options.time_limit = std::chrono::milliseconds(static_cast<long>(seconds * 1000));
    status = cli::check(candidate, part(), options, optional_path(json));
  });

  auto* diagnose = app.add_subcommand("diagnose", "Say what is wrong with a kernel");
  diagnose->add_option("CANDIDATE", candidate, "as for check, or fault:ID.NAME, order:NAME")->required();
  diagnose->add_option("--only", options.only, "glob over EQUATION or EQUATION.FORM");
  diagnose->add_option("--profile", profile, "precision to judge by (default: what the kernel says, or its dtype)");
  diagnose->add_option("--json", json, "write the report to this file as well");
  diagnose->callback([&] {
    if (!profile.empty()) options.profile = golden::profile(profile).name;
    status = cli::diagnose(candidate, options, optional_path(json));
  });

  auto* mutants = app.add_subcommand(
      "mutants", "Plant every known fault and see it found and named; judge correct kernels of many orders");
  mutants->add_option("--only", only, "glob over EQUATION or EQUATION.FAULT");
  mutants->add_option("--seeds", seeds, "drawn cases per equation for the correct kernels (default 1000)")
      ->check(CLI::Range(0, 1000000));
  mutants->add_option("--json", json, "write the report to this file as well");
  mutants->add_option("--part", part_text, "K/N: a part of the precisions");
  mutants->callback([&] { status = cli::mutants(only, seeds, part(), optional_path(json)); });

  auto* reproduce = app.add_subcommand("reproduce", "Judge one case by its query string");
  reproduce->add_option("QUERY", query, "as printed by a failing check")->required();
  reproduce->add_option("CANDIDATE", candidate,
                        fmt::format("{}, or the path of a plugin library (default: openmp)", own));
  reproduce->callback([&] { status = cli::reproduce(query, candidate, options); });

  auto* golden = app.add_subcommand("golden", "The golden vectors");
  golden->require_subcommand(1);
  auto* regenerate =
      golden->add_subcommand("regenerate", "Certify every golden case and write the files and their manifest");
  regenerate->add_option("--into", into, "folder to write into (default: the project's golden/)");
  regenerate->add_option("--only", only, "glob over equations");
  regenerate->callback([&] { status = cli::golden_regenerate(optional_path(into), only); });
  auto* verify = golden->add_subcommand("verify", "Check files, manifest and sources against each other");
  verify->callback([&] { status = cli::golden_verify(); });

  auto* emit_command = app.add_subcommand("emit", "Write an equation's cases as .npy files for any program");
  emit_command->add_option("ID", emit.id)->required();
  emit_command->add_option("--to", emit.to, "folder; must not exist or be empty")->required();
  emit_command->add_option("--profile", emit.profile, "precision of the inputs (default f32)");
  emit_command->add_option("--capabilities", emit.capabilities,
                           "conditions on sizes and parameters, as in 'd in {64, 128}; causal == true'");
  const std::vector<std::string> layouts(judge::kLayouts.begin(), judge::kLayouts.end());
  emit_command->add_option("--layout", emit.layout, "how heads and sequences lie in a tensor")
      ->check(CLI::IsMember(layouts));
  emit_command->callback([&] { status = cli::emit(emit); });

  auto* judge_command = app.add_subcommand("judge", "Judge what a program wrote into an emitted folder");
  judge_command->add_option("DIR", folder)->required();
  judge_command->add_option("--profile", profile, "precision to judge by (default: the emitted one)");
  judge_command->add_option("--json", json, "write the report to this file as well");
  judge_command->callback([&] {
    status = cli::judge_folder(folder, profile.empty() ? std::nullopt : std::optional(profile), options,
                               optional_path(json));
  });

  app.add_subcommand("bench", "Time the kernels of a plugin beside published ones (`bench --help`)");
  app.add_subcommand("survey", "Judge the published libraries that are installed in Python (`survey --help`)");

  try {
    if (cli::is_for_python(argc, argv)) return cli::run_python(argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
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
  return status;
}
