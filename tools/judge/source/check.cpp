// SPDX-License-Identifier: MIT
#include "attest/judge/check.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attest/jobs/job.hpp"
#include "attest/judge/glob.hpp"
#include "attest/judge/judge_kernel.hpp"
#include "attest/judge/packed.hpp"
#include "attest/judge/work.hpp"
#include "in_parallel.hpp"
#include "steps.hpp"

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
  Shared(const CheckOptions& options, Cache& cache) : options_(options), cache_(cache) {}

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
    if (!bank) bank = std::make_unique<Bank>(spec, profile, &cache_);
    return *bank;
  }

private:
  const CheckOptions& options_;
  Cache& cache_;
  std::map<std::string, Stored> stored_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Bank>> banks_;
};

}  // namespace

const golden::Profile& profile_for(const Kernel& kernel, const CheckOptions& options) {
  return options.profile ? golden::profile(*options.profile) : kernel.profile();
}

bool can_claim(const Kernel& kernel, const golden::Profile& profile) { return kernel.info.dtype == profile.storage; }

namespace {

/// Judges kernels of one candidate, one after the other.
class Checker {
public:
  Checker(Candidate& candidate, const CheckOptions& options, double tests, Steps& steps)
      : candidate_(candidate), options_(options), tests_(tests), steps_(steps) {}
  Checker(std::unique_ptr<Candidate> candidate, const CheckOptions& options, double tests, Steps& steps)
      : Checker(*candidate, options, tests, steps) {
    owned_ = std::move(candidate);
  }

  void judge(std::size_t index, Row& row) {
    const Kernel& kernel = candidate_.kernels().at(index);
    steps_.next(kernel.name());
    CheckOptions told = options_;
    told.before_call = [&](const std::string& call) { steps_.more(kernel.name() + ", " + call); };
    const golden::Profile& profile = profile_for(kernel, options_);
    const Stored& stored = shared_.stored(*kernel.spec);
    Selection selection = select(*kernel.spec, kernel.info.form, kernel.capabilities, profile, stored.cases,
                                 options_.seed, kernel.is_gradient());
    if (stored.of_other_flags > 0) selection.left_out["flag"] = stored.of_other_flags;
    if (options_.most_cases) selection.limit(*options_.most_cases);
    row = judge_kernel(candidate_, kernel, profile, std::move(selection), shared_.bank(*kernel.spec, profile), known_,
                       told, tests_);
    last_ = &row;
  }

  void settle() {
    if (last_) judge::settle(candidate_, *last_);
  }

private:
  Candidate& candidate_;
  std::unique_ptr<Candidate> owned_{};  // of those but the first
  const CheckOptions& options_;
  const double tests_;
  Steps& steps_;
  Known known_{options_.cache};
  Shared shared_{options_, known_.cache};
  Row* last_ = nullptr;
};

/// What kernels [first, end) of an equation may take to judge, in operations.
double work_of(const std::vector<const Kernel*>& kernels, const std::pair<std::size_t, std::size_t>& equation) {
  const auto [first, end] = equation;
  return static_cast<double>(end - first) * work_of_cases(*kernels[first]->spec);
}

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

/// The equations by what their cases and kernels may take, the longest first: no core waits for one that came last.
std::vector<std::size_t> longest_first(const std::vector<const Kernel*>& kernels,
                                       const std::vector<std::pair<std::size_t, std::size_t>>& equations) {
  std::vector<std::pair<double, std::size_t>> by_work;
  for (std::size_t e = 0; e < equations.size(); ++e) by_work.emplace_back(-work_of(kernels, equations[e]), e);
  std::sort(by_work.begin(), by_work.end());
  std::vector<std::size_t> order;
  for (const auto& [_, e] : by_work) order.push_back(e);
  return order;
}

/// The equations as items of a job, whose results are their rows.
void share(jobs::Job& job, const std::vector<const Kernel*>& kernels,
           const std::vector<std::pair<std::size_t, std::size_t>>& equations, bool side_by_side,
           const Progress& progress, const std::function<Checker&(std::size_t)>& judge, std::vector<Row>& rows) {
  std::vector<jobs::Item> items;
  for (const auto& equation : equations)
    items.push_back({fmt::format("{} from kernel {}", kernels[equation.first]->spec->id, equation.first),
                     work_of(kernels, equation)});
  const auto run = [&](std::size_t e) {
    judge(e).settle();
    const auto at = [&](std::size_t k) { return rows.begin() + static_cast<std::ptrdiff_t>(k); };
    return packed(std::vector<Row>(at(equations[e].first), at(equations[e].second)));
  };
  const auto results = job.run(items, run, side_by_side, progress);
  for (std::size_t e = 0; e < equations.size(); ++e) {
    auto some = unpacked_rows(results[e]);
    std::move(some.begin(), some.end(), rows.begin() + static_cast<std::ptrdiff_t>(equations[e].first));
  }
}

}  // namespace

Report check(Candidate& candidate, const CheckOptions& options, const Progress& progress, const Another& another) {
  const auto kernels = chosen_kernels(candidate, options);
  double tests = 0;
  for (const Kernel* kernel : kernels) tests += static_cast<double>(kernel->spec->faults.size());
  Report report{candidate.host().name(), candidate.host().version(), std::vector<Row>(kernels.size())};
  Steps steps(progress, kernels.size(), options.job);
  const auto equations = by_equation(kernels);
  // Equations side by side, each thread with a candidate of its own; of a single one the true values are computed so.
  // Kernels of several ranks have the cores to themselves: two jobs at once would wait for each other.
  const bool collective = std::any_of(kernels.begin(), kernels.end(),
                                      [](const Kernel* kernel) { return kernel->capabilities.collective(); });
  const bool side_by_side = another && !collective;
  Own<Checker> checkers;
  const auto judge = [&](std::size_t e) -> Checker& {
    Checker& checker = checkers.here([&] {
      return omp_get_thread_num() == 0 ? std::make_unique<Checker>(candidate, options, tests, steps)
                                       : std::make_unique<Checker>(another(), options, tests, steps);
    });
    for (std::size_t k = equations[e].first; k < equations[e].second; ++k)
      checker.judge(static_cast<std::size_t>(kernels[k] - candidate.kernels().data()), report.rows[k]);
    return checker;
  };
  if (options.job) {
    share(*options.job, kernels, equations, side_by_side, progress, judge, report.rows);
    return report;
  }
  const auto order = longest_first(kernels, equations);
  in_parallel(order.size(), [&](std::size_t next) { judge(order[next]); }, side_by_side);
  checkers.each([](Checker& checker) { checker.settle(); });
  steps.finish();
  return report;
}

}  // namespace attest::judge
