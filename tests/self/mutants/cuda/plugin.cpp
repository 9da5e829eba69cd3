// SPDX-License-Identifier: MIT
// The kernels that mutants change. ATTEST_CUDA_MUTANTS names the mutants, separated by commas; the table has the kernel
// of each, in that order. Without names it has the unchanged kernels of all mutants.
#include "attest/cuda/plugin.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "attest/cuda/mutants.hpp"

namespace attest::cuda {

Mutant chosen = Mutant::none;

namespace {

/// The kernels of all mutants, in their order.
std::vector<attest_kernel> judged;

template <std::size_t i>
std::size_t workspace(const attest_call* call) {
  chosen = static_cast<Mutant>(i + 1);
  return judged[i].workspace(call);
}
template <std::size_t i>
int run(const attest_call* call) {
  chosen = static_cast<Mutant>(i + 1);
  return judged[i].run(call);
}

std::string_view profile_of(const attest_kernel& kernel) {
  if (std::string_view(kernel.capabilities).find("profile == 'tf32'") != std::string_view::npos) return "tf32";
  return kernel.dtype.code == kDLBfloat ? "bf16" : kernel.dtype.bits == 16 ? "f16" : "f32";
}
bool is_of(const attest_kernel& kernel, const JudgedKernel& mutant) {
  return kernel.equation == mutant.equation && kernel.form == mutant.form && kernel.reading == mutant.reading &&
         kernel.layout == mutant.layout && profile_of(kernel) == mutant.profile;
}

template <std::size_t... i>
std::vector<attest_kernel> with_mutants(std::index_sequence<i...>) {
  std::vector<attest_kernel> kernels = judged;
  ((kernels[i].workspace = workspace<i>, kernels[i].run = run<i>), ...);
  return kernels;
}

std::vector<attest_kernel> table() {
  const auto original = all_kernels();
  for (const JudgedKernel& mutant : kMutants) {
    const auto found = std::find_if(original.begin(), original.end(),
                                    [&](const attest_kernel& kernel) { return is_of(kernel, mutant); });
    if (found == original.end()) throw std::invalid_argument(std::string(mutant.name) + ": there is no such kernel");
    judged.push_back(*found);
  }
  const char* names = std::getenv("ATTEST_CUDA_MUTANTS");
  std::vector<attest_kernel> kernels;
  if (!names) {
    for (const attest_kernel& kernel : original)
      if (std::any_of(std::begin(kMutants), std::end(kMutants),
                      [&](const JudgedKernel& mutant) { return is_of(kernel, mutant); }))
        kernels.push_back(kernel);
    return kernels;
  }
  const auto changed = with_mutants(std::make_index_sequence<std::size(kMutants)>());
  std::istringstream all(names);
  for (std::string name; std::getline(all, name, ',');) {
    const auto found = std::find_if(std::begin(kMutants), std::end(kMutants),
                                    [&](const JudgedKernel& mutant) { return mutant.name == name; });
    if (found == std::end(kMutants))
      throw std::invalid_argument("ATTEST_CUDA_MUTANTS: no mutant is called '" + name + "'");
    kernels.push_back(changed[static_cast<std::size_t>(found - std::begin(kMutants))]);
  }
  return kernels;
}

}  // namespace
}  // namespace attest::cuda

extern "C" const attest_plugin* attest_plugin_v1(void) {
  static const std::vector<attest_kernel> kernels = attest::cuda::table();
  static const attest_plugin plugin{ATTEST_ABI_VERSION, ATTEST_PLUGIN_NAME, ATTEST_VERSION, kernels.size(),
                                    kernels.data()};
  return &plugin;
}
