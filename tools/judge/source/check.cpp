// SPDX-License-Identifier: MIT
#include "attest/judge/check.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attest/judge/glob.hpp"
#include "attest/judge/judge_kernel.hpp"

namespace attest::judge {
namespace {

std::vector<const Kernel*> chosen_kernels(const Candidate& candidate, const CheckOptions& options) {
  std::vector<const Kernel*> chosen;
  for (const auto& kernel : candidate.kernels())
    if ((matches(options.only, kernel.info.equation) ||
         matches(options.only, kernel.info.equation + "." + kernel.info.form)) &&
        can_claim(kernel, profile_for(kernel, options)))
      chosen.push_back(&kernel);
  return chosen;
}

/// The golden cases of an equation that --flags asks for, and how many it does not.
struct Stored {
  std::vector<golden::GoldenCase> cases;
  int of_other_flags = 0;
};

/// Golden cases by equation, and banks by equation and profile: what is loaded or computed once serves every kernel.
class Shared {
public:
  explicit Shared(const CheckOptions& options) : options_(options) {}

  const Stored& stored(const Spec& spec) {
    auto [stored, fresh] = stored_.try_emplace(spec.id);
    if (fresh) {
      auto& [cases, of_other_flags] = stored->second;
      cases = golden::load_golden(spec, options_.golden);
      of_other_flags = static_cast<int>(
          std::erase_if(cases, [&](const golden::GoldenCase& c) { return !matches(options_.flags, c.name.flag); }));
    }
    return stored->second;
  }

  Bank& bank(const Spec& spec, const golden::Profile& profile) {
    auto& bank = banks_[{spec.id, profile.name}];
    if (!bank) bank = std::make_unique<Bank>(spec, profile);
    return *bank;
  }

private:
  const CheckOptions& options_;
  std::map<std::string, Stored> stored_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Bank>> banks_;
};

}  // namespace

const golden::Profile& profile_for(const Kernel& kernel, const CheckOptions& options) {
  return options.profile ? golden::profile(*options.profile) : kernel.profile();
}

bool can_claim(const Kernel& kernel, const golden::Profile& profile) { return kernel.info.dtype == profile.storage; }

Report check(Candidate& candidate, const CheckOptions& options, const Progress& progress) {
  const auto kernels = chosen_kernels(candidate, options);
  double tests = 0;
  for (const Kernel* kernel : kernels) tests += static_cast<double>(kernel->spec->faults.size());
  Report report{candidate.host().name(), candidate.host().version(), {}};
  Shared shared(options);
  Known known(options.cache);
  CheckOptions told = options;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const Kernel& kernel = *kernels[k];
    if (progress) {
      progress(k, kernels.size(), kernel.name());
      told.before_call = [&](const std::string& call) { progress(k, kernels.size(), kernel.name() + ", " + call); };
    }
    const golden::Profile& profile = profile_for(kernel, options);
    const Stored& stored = shared.stored(*kernel.spec);
    Selection selection = select(*kernel.spec, kernel.info.form, kernel.capabilities, profile, stored.cases,
                                 options.seed, kernel.is_gradient());
    if (stored.of_other_flags > 0) selection.left_out["flag"] = stored.of_other_flags;
    if (options.most_cases) selection.limit(*options.most_cases);
    report.rows.push_back(judge_kernel(candidate, kernel, profile, std::move(selection),
                                       shared.bank(*kernel.spec, profile), known, told, tests));
  }
  settle(candidate, report);
  if (progress) progress(kernels.size(), kernels.size(), "");
  return report;
}

}  // namespace attest::judge
