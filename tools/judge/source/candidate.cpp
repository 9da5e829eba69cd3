// SPDX-License-Identifier: MIT
#include "attest/judge/candidate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "attest/judge/glob.hpp"
#include "attest/judge/layout.hpp"

namespace attest::judge {
namespace {

/// Whether a candidate's name means kernels of the mutants' plugin.
bool is_mutant(const std::string& name) { return name.starts_with("fault:") || name.starts_with("order:"); }

}  // namespace

std::filesystem::path library_of(const std::string& name) {
  const auto plugins = plugin_folder();
  if (is_mutant(name)) return plugins / "libattest_mutants.so";
  if (std::find(kCandidates.begin(), kCandidates.end(), name) == kCandidates.end()) {
    const bool bare = name.find('/') == std::string::npos && !std::filesystem::exists(name);
    if (const auto near = near_names(name, {kCandidates.begin(), kCandidates.end()}); bare && !near.empty())
      throw InvalidCandidate(fmt::format("{}: there is no such file{}", name, near));
    return name;
  }
  std::string stem = name;
  std::replace(stem.begin(), stem.end(), '-', '_');
  const auto library = plugins / ("libattest_" + stem + ".so");
  if (!std::filesystem::exists(library))
    throw InvalidCandidate(
        fmt::format("{}: this build of attest has no such kernels: there is no {}", name, library.string()));
  return library;
}

namespace {

/// "@X" of "fault:ID.NAME@X", which is X times the fault's amplitude; empty where there is none.
std::string multiple_of(const std::string& name, const Kernel& kernel) {
  const auto at = name.find('@');
  if (at == std::string::npos || !name.starts_with("fault:")) return "";
  char* end = nullptr;
  const double multiple = std::strtod(name.c_str() + at + 1, &end);
  if (end == name.c_str() + at + 1 || *end || !std::isfinite(multiple))
    throw InvalidCandidate(fmt::format("{}: '@' must be followed by a number, as in @0.25", name));
  if (kernel.spec->fault(kernel.info.form.substr(6))->amplitude == 0)
    throw InvalidCandidate(fmt::format("{}: that fault has no amplitude; it is there or it is not", name));
  return name.substr(at);
}

/// Whether "fault:ID.NAME" or "order:NAME" (globs) means that mutant or that correct kernel.
bool is_meant(const std::string& name, const KernelInfo& info) {
  const std::string kind = name.substr(0, 6), pattern = name.substr(6, name.find('@') - 6);
  if (!info.form.starts_with(kind)) return false;
  const std::string rest = info.form.substr(6);
  return kind == "fault:" ? matches(pattern, info.equation + "." + rest)
                          : matches(pattern, rest.substr(0, rest.find(':')));
}

[[noreturn]] void no_such_mutant(const std::string& name, const std::vector<KernelInfo>& infos) {
  std::vector<std::string> names;
  for (const auto& info : infos) {
    if (!info.form.starts_with(name.substr(0, 6))) continue;
    const std::string rest = info.form.substr(6);
    names.push_back(name.starts_with("fault:") ? info.equation + "." + rest : rest.substr(0, rest.find(':')));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string near = near_names(name.substr(6), names);
  throw InvalidCandidate(
      fmt::format("{} names no {}{}", name, name.starts_with("fault:") ? "fault" : "order of summation",
                  near.empty() && name.starts_with("order:") ? fmt::format("; orders: {}", fmt::join(names, ", "))
                  : near.empty()                             ? "; `attest show ID` lists the faults of an equation"
                                                             : near));
}

/// A kernel of the table, with its equation and capabilities; throws InvalidCandidate where they do not fit each other.
Kernel matched(std::size_t index, const KernelInfo& info, const std::string& candidate) {
  const auto refuse = [&](const std::string& why) {
    throw InvalidCandidate(fmt::format("{}: kernel {}: {}", candidate, index, why));
  };
  Kernel kernel;
  kernel.index = index;
  kernel.info = info;
  try {
    kernel.spec = &find_spec(info.equation);
    kernel.capabilities = Capabilities(*kernel.spec, info.capabilities);
    check_layout(kernel);
    if (const auto& profile = kernel.profile(); profile.storage != info.dtype)
      throw InvalidCandidate(fmt::format("it says profile == '{}', which is for {}, and its dtype is {}", profile.name,
                                         attest::name(profile.storage), attest::name(info.dtype)));
  } catch (const SpecError& error) {
    refuse(error.what());
  } catch (const InvalidCandidate& error) {
    refuse(error.what());
  }
  if (kernel.is_gradient() && kernel.spec->gradient.empty())
    refuse(fmt::format("it is a gradient kernel, and {} has no gradient", info.equation));
  return kernel;
}

}  // namespace

std::filesystem::path plugin_folder() {
  const char* folder = std::getenv("ATTEST_PLUGIN_DIR");
  return folder ? folder : ATTEST_PLUGIN_DIR;
}

Candidate::Candidate(const std::string& name, Index ranks)
    : Candidate(name, std::make_unique<PluginProcess>(library_of(name), ranks)) {}

Candidate::Candidate(const std::string& name, std::unique_ptr<Host> host) : name_(name), host_(std::move(host)) {
  const auto& infos = host_->kernels();
  if (infos.empty()) throw InvalidCandidate(fmt::format("{}: the plugin's table has no kernels", name));
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (is_mutant(name) && !is_meant(name, infos[i])) continue;
    Kernel kernel = matched(i, infos[i], name);
    if (kernel.capabilities.collective() && !kernel.capabilities.runs_on(host_->ranks()))
      throw InvalidCandidate(fmt::format("{}: kernel {}: it says '{}', and there are {} ranks", name, i,
                                         kernel.capabilities.text(), host_->ranks()));
    if (is_mutant(name)) kernel.info.form += multiple_of(name, kernel);
    kernels_.push_back(std::move(kernel));
  }
  if (kernels_.empty()) no_such_mutant(name, infos);
}

Response Candidate::call(std::size_t kernel, const Request& request, const CallOptions& options) {
  ++calls_.all;
  if (options.second_thread) ++calls_.second_thread;
  return host_->call(kernel, request, options);
}

}  // namespace attest::judge
