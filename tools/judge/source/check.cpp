// SPDX-License-Identifier: MIT
#include "attest/judge/check.hpp"

#include <omp.h>

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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

namespace {

/// Progress of all threads, counted in kernels.
class Steps {
public:
  Steps(const Progress& progress, std::size_t all) : progress_(progress), all_(all) {}

  void begin(const Kernel& kernel) { say(kernel.name()); }
  void call(const Kernel& kernel, const std::string& call) { say(kernel.name() + ", " + call); }
  void end() {
    const std::lock_guard lock(mutex_);
    if (++done_ == all_ && progress_) progress_(done_, all_, "");
  }

private:
  void say(const std::string& current) {
    const std::lock_guard lock(mutex_);
    if (progress_) progress_(done_, all_, current);
  }

  const Progress& progress_;
  const std::size_t all_;
  std::size_t done_ = 0;
  std::mutex mutex_;
};

/// Judges kernels of one candidate, one after the other.
class Checker {
public:
  Checker(Candidate& candidate, const CheckOptions& options, double tests, Steps& steps)
      : candidate_(candidate),
        options_(options),
        tests_(tests),
        steps_(steps),
        shared_(options),
        known_(options.cache) {}

  Row judge(const Kernel& kernel) {
    steps_.begin(kernel);
    CheckOptions told = options_;
    told.before_call = [&](const std::string& call) { steps_.call(kernel, call); };
    const golden::Profile& profile = profile_for(kernel, options_);
    const Stored& stored = shared_.stored(*kernel.spec);
    Selection selection = select(*kernel.spec, kernel.info.form, kernel.capabilities, profile, stored.cases,
                                 options_.seed, kernel.is_gradient());
    if (stored.of_other_flags > 0) selection.left_out["flag"] = stored.of_other_flags;
    if (options_.most_cases) selection.limit(*options_.most_cases);
    Row row = judge_kernel(candidate_, kernel, profile, std::move(selection), shared_.bank(*kernel.spec, profile),
                           known_, told, tests_);
    steps_.end();
    return row;
  }

private:
  Candidate& candidate_;
  const CheckOptions& options_;
  const double tests_;
  Steps& steps_;
  Shared shared_;
  Known known_;
};

/// Kernels as they follow each other, by equation: [first, end).
std::vector<std::pair<std::size_t, std::size_t>> by_equation(const std::vector<const Kernel*>& kernels) {
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t k = 0; k < kernels.size(); ++k)
    if (k > 0 && kernels[k]->spec == kernels[k - 1]->spec)
      runs.back().second = k + 1;
    else
      runs.emplace_back(k, k + 1);
  return runs;
}

}  // namespace

Report check(Candidate& candidate, const CheckOptions& options, const Progress& progress, const Another& another) {
  const auto kernels = chosen_kernels(candidate, options);
  double tests = 0;
  for (const Kernel* kernel : kernels) tests += static_cast<double>(kernel->spec->faults.size());
  Report report{candidate.host().name(), candidate.host().version(), std::vector<Row>(kernels.size())};
  Steps steps(progress, kernels.size());
  const auto equations = by_equation(kernels);
  std::exception_ptr failure;
  std::atomic<bool> failed = false;
  // Equations side by side, each thread with a candidate of its own; of a single one the true values are computed so.
#pragma omp parallel if (another && equations.size() > 1)
  {
    std::unique_ptr<Candidate> own;
    std::optional<Checker> checker;
    Candidate* judged = nullptr;
    Row* last = nullptr;
    const auto guarded = [&](const auto& run) {
      try {
        run();
      } catch (...) {
        failed = true;
#pragma omp critical(attest_check)
        if (!failure) failure = std::current_exception();
      }
    };
#pragma omp for schedule(dynamic)
    for (std::size_t e = 0; e < equations.size(); ++e)
      guarded([&] {
        if (failed) return;
        if (!checker) {
          const bool first = omp_get_thread_num() == 0;
          if (!first) own = another();
          judged = first ? &candidate : own.get();
          checker.emplace(*judged, options, tests, steps);
        }
        for (std::size_t k = equations[e].first; k < equations[e].second; ++k) {
          last = &report.rows[k];
          *last =
              checker->judge(judged->kernels().at(static_cast<std::size_t>(kernels[k] - candidate.kernels().data())));
        }
      });
    if (last) guarded([&] { settle(*judged, *last); });
  }
  if (failure) std::rethrow_exception(failure);
  return report;
}

}  // namespace attest::judge
