// SPDX-License-Identifier: MIT
#include "attest/judge/judge_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "attest/judge/asked.hpp"
#include "attest/judge/diagnosis.hpp"
#include "attest/judge/faults.hpp"
#include "attest/judge/judge_again.hpp"
#include "attest/judge/judge_cases.hpp"
#include "attest/judge/judge_laws.hpp"
#include "attest/judge/judge_statistics.hpp"
#include "attest/judge/probe.hpp"
#include "attest/judge/work.hpp"

namespace attest::judge {
namespace {

/// Time for threads that go on after the last call to do their harm: they run at once, unless the machine is crowded.
constexpr std::chrono::milliseconds kPatience{100};

constexpr std::size_t kMostNamed = 8;  // faults in a message

std::string too_few(int judged, const Row& row, const Kernel& kernel) {
  if (row.early_end.by.empty())
    return fmt::format(
        "only {} case(s) fit what the kernel says it can do ('{}') in profile {}; at least {} are needed", judged,
        kernel.capabilities.text(), row.kernel.profile, kFewestCases);
  return fmt::format("only {} case(s) were judged before the {} ended the run; at least {} are needed", judged,
                     row.early_end.by, kFewestCases);
}

std::string too_little(const Vacuity& vacuity, const Kernel& kernel) {
  const std::size_t some = std::min(kMostNamed, vacuity.hidden.size());
  std::string hidden = fmt::format("{}", fmt::join(vacuity.hidden.begin(), vacuity.hidden.begin() + some, ", "));
  if (some < vacuity.hidden.size()) hidden += fmt::format(" and {} more", vacuity.hidden.size() - some);
  return fmt::format("these cases prove too little: {}{}; they are what the kernel says it can do ('{}')",
                     vacuity.too_little, hidden.empty() ? "" : " (not shown: " + hidden + ")",
                     kernel.capabilities.text());
}

/// Judges by the selected cases and their statistics, and gathers what they show.
Row judge_selected(const Kernel& kernel, const golden::Profile& profile, Selection& selection, const Source& source,
                   Bank& bank, const CheckOptions& options, double tests, Shown& shown, std::vector<Sample>& samples) {
  Row row = row_of(kernel, profile);
  if (!kernel.is_gradient()) selection.drop_vacuous_drawn(bank);
  row.cases.stored = selection.stored;
  row.cases.drawn = selection.drawn;
  row.cases.left_out = selection.left_out;
  judge_cases(kernel, profile, selection, source, options, row, samples);
  if (kernel.is_gradient()) return row;
  if (row.cases.judged >= kFewestCases) judge_statistics(bank, samples, tests, row);
  for (const Sample& sample : samples) bank.show(*sample.c, shown);
  return row;
}

/// Calls the kernel with other inputs in some of the cases in which it failed, so that a name is not owed to few
/// numbers.
void ask_again(const Kernel& kernel, const golden::Profile& profile, const Source& source,
               const std::vector<Sample>& samples, FailedProblems& failed) {
  constexpr std::size_t kCases = 4;
  constexpr std::uint64_t kSeeds = 2, kOtherSeeds = 7000;
  constexpr double kMostWork = 2e4;
  std::set<std::string> flags;
  for (const Sample& sample : samples) {
    golden::Case c = sample.c->name;
    if (flags.size() == kCases || flags.count(c.flag) || work_of(*c.spec, c.sizes, c.parameters) > kMostWork ||
        compare(sample.c->problem, sample.c->certified, sample.got, profile).failed == 0)
      continue;
    flags.insert(c.flag);
    c.seed += kOtherSeeds;
    for (std::uint64_t i = 0; i < kSeeds; ++i, ++c.seed) try {
        auto certified = golden::certify_case(c, {.check_witnesses = false, .gradients = kernel.is_gradient()});
        if (!golden::exact_in(certified.problem, profile.storage) || !within_range(certified.problem, profile))
          continue;
        failed.cases.push_back(judged_by(std::move(certified), profile));
        const golden::GoldenCase& fresh = failed.cases.back();
        const Answers answers = source.answers({{fresh.problem}, {fresh.cotangents}, 1, 1, 1}, fresh);
        if (answers.status == Status::pass && !answers.answers.empty())
          failed.samples.push_back({&fresh, answers.answers[0].outputs[0]});
      } catch (const SpecError&) {  // these inputs break a condition on data
      } catch (const golden::Uncertifiable&) {
      }
  }
}

/// Some failing cases of a kernel of ranks, called again with all tokens on one rank.
struct OnOneRank {
  std::size_t asked = 0, right = 0;

  bool all_right() const { return asked > 0 && right == asked; }
  bool all_wrong() const { return asked > 0 && right == 0; }
};

OnOneRank ask_on_one_rank(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                          CheckOptions options, const std::vector<Sample>& samples, const FailedProblems& failed,
                          Index rank) {
  constexpr std::size_t kCases = 4;
  options.all_tokens_on = rank;
  const Source source = single_calls_of(candidate, kernel, profile, options);
  const auto fails = [&](const Sample& sample, const Arrays& got) {
    return compare(sample.c->problem, sample.c->certified, got, profile).failed > 0;
  };
  OnOneRank here;
  for (const auto* some : {&samples, &failed.samples})
    for (const Sample& sample : *some) {
      if (here.asked == kCases || !fails(sample, sample.got)) continue;
      ++here.asked;
      const Answers answers = source.answers({{sample.c->problem}, {sample.c->cotangents}, 1, 1, 1}, *sample.c);
      here.right += answers.status == Status::pass && !fails(sample, answers.answers[0].outputs[0]);
    }
  return here;
}

/// Adds to the diagnosis whether failing cases are right where the first rank has all tokens, or the last.
void ask_one_rank(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                  const CheckOptions& options, const std::vector<Sample>& samples, const FailedProblems& failed,
                  Row& row) {
  if (!kernel.capabilities.collective() || candidate.host().ranks() == 1) return;
  bool all_wrong = true;
  for (const auto& [rank, name] : {std::pair(Index{0}, "first"), std::pair(candidate.host().ranks() - 1, "last")}) {
    const auto here = ask_on_one_rank(candidate, kernel, profile, options, samples, failed, rank);
    if (here.all_right()) {
      row.diagnosis.where +=
          fmt::format("; only where tokens are divided over ranks: {} failing case{} right when the {} rank has all",
                      here.asked, here.asked == 1 ? " is" : "s are", name);
      return;
    }
    all_wrong = all_wrong && here.all_wrong();
  }
  if (all_wrong) row.diagnosis.where += "; also where one rank has all tokens";
}

/// The condition under which a kernel fails that failed in golden cases: regimes were not judged.
void find_condition(const Kernel& kernel, const golden::Profile& profile, const Source& source, Known& known,
                    const CheckOptions& options, FailedProblems& failed, Row& row) {
  const bool wrong = std::any_of(row.failures.begin(), row.failures.end(),
                                 [](const Finding& finding) { return finding.tier == "T1" || finding.tier == "T2"; });
  if (row.regimes.judged > 0 || !wrong || options.strength == 0) return;
  CheckOptions quick = options;
  quick.strength = 1;
  quick.sizes = SizesJudged::small;
  Row aside = row_of(kernel, profile);
  Shown shown(*kernel.spec, profile, kernel.capabilities);
  judge_regimes(kernel, profile, source, known, quick, shown, failed, aside);
  row.regimes.fails_when = aside.regimes.fails_when;
  row.regimes.condition_calls = aside.regimes.condition_calls;
}

/// Adds a failure where all that was judged shows too little to tell right from wrong.
void judge_vacuity(const Kernel& kernel, const Shown& shown, Row& row) {
  if (!kernel.is_gradient()) row.vacuity = shown.vacuity();
  if (!row.failures.empty()) return;
  const auto add = [&](std::string message) {
    row.failures.push_back({Status::invalid, "", std::move(message), "vacuity", "contract"});
  };
  if (const int judged = row.cases.judged + row.regimes.judged + row.real.judged; judged < kFewestCases)
    add(too_few(judged, row, kernel));
  else if (!row.vacuity.too_little.empty())
    add(too_little(row.vacuity, kernel));
}

}  // namespace

Row row_of(const Kernel& kernel, const golden::Profile& profile) {
  Row row;
  row.kernel = {
      kernel.info.equation, kernel.info.form,   kernel.info.reading,       std::string(name(kernel.info.dtype)),
      profile.name,         kernel.info.layout, kernel.capabilities.text()};
  return row;
}

Row judge_selection(const Kernel& kernel, const golden::Profile& profile, Selection selection, const Source& source,
                    Bank& bank, const CheckOptions& options, double tests) {
  Shown shown(*kernel.spec, profile, kernel.capabilities);
  Asked asked(kernel, profile);
  std::vector<Sample> samples;
  Row row = judge_selected(kernel, profile, selection, asked.first(source), bank, options, tests, shown, samples);
  if (!row.failures.empty()) row.diagnosis = diagnose(bank, samples, {}, row.statistics);
  judge_vacuity(kernel, shown, row);
  row.reach = asked.reach();
  row.conclude();
  return row;
}

Row judge_kernel(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, Selection selection,
                 Bank& bank, Known& known, const CheckOptions& options, double tests) {
  Asked asked(kernel, profile, &candidate);
  const Source source = asked.first(calls_of(candidate, kernel, profile, options));
  Shown shown(*kernel.spec, profile, kernel.capabilities);
  std::vector<Sample> samples;
  FailedProblems failed;
  Row row = judge_selected(kernel, profile, selection, source, bank, options, tests, shown, samples);
  const Source regimes = asked.first(regime_calls_of(candidate, kernel, profile, options));
  if (row.only_refusals()) judge_regimes(kernel, profile, regimes, known, options, shown, failed, row);
  if (options.single_calls && row.regimes.judged + row.real.judged > 0)
    row.notes.push_back(
        "regimes were called once each: only of cases is it known that the same call has the same answer");
  if (!row.failures.empty()) {
    row.diagnosis = name_by_equation(bank, samples, failed.samples, row.statistics);
    if (row.diagnosis.names.empty() || !row.diagnosis.names[0].whole) {
      ask_again(kernel, profile, source, samples, failed);
      row.diagnosis = diagnose(bank, samples, failed.samples, row.statistics);
    }
    ask_one_rank(candidate, kernel, profile, options, samples, failed, row);
    if (!row.diagnosis.names_something()) find_condition(kernel, profile, source, known, options, failed, row);
  }
  judge_vacuity(kernel, shown, row);
  if (!kernel.is_gradient() && row.failures.empty())
    judge_laws(candidate, kernel, profile, options, known.law_bounds, known.law_sizes, row);
  judge_again(candidate, kernel, profile, selection, asked, known, options, shown, row);
  row.reach = asked.reach();
  row.refusals = asked.refusals();
  if (row.early_end.by == "interrupt")
    row.failures.push_back({Status::invalid, "",
                            fmt::format("interrupted; {} cases, regimes and laws were not run", row.early_end.not_run),
                            "T0", "contract"});
  row.conclude();
  probe(candidate, kernel, profile, known, options, row);
  if (options.probes && !kernel.is_gradient() && row.status == Status::pass)
    row.precision = precision_of(samples, profile, &known.cache);
  return row;
}

void settle(Candidate& candidate, Row& last) {
  for (const auto& violation : candidate.host().settle(kPatience))
    last.failures.push_back({Status::fail, "", violation, "T0", "contract"});
  last.conclude();
}

}  // namespace attest::judge
