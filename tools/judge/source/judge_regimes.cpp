// SPDX-License-Identifier: MIT
#include "attest/judge/judge_regimes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "attest/judge/judge_cases.hpp"

namespace attest::judge {
namespace {

constexpr std::size_t kTogether = 16;        // settings whose true values are computed at once
constexpr std::size_t kMostNotVisited = 20;  // combinations that a report names

/// Answers that need no kernel: zeros, and inputs handed back. One that meets every case shows that the cases are worth
/// nothing.
class TrivialAnswers {
public:
  explicit TrivialAnswers(const Spec& spec) : spec_(spec) {
    alive_.insert("0");
    for (const auto& input : spec.inputs)
      if (input.element == attest::Element::real && input.shape == spec.outputs[0].shape) alive_.insert(input.name);
  }

  void add(const Problem& problem, const TrueProblem& truth, const golden::Profile& profile) {
    const std::string& output = spec_.outputs[0].name;
    std::erase_if(alive_, [&](const std::string& answer) {
      Arrays got;
      if (answer != "0" && !problem.inputs.count(answer)) return true;
      got[output] = {truth.certified.outputs.at(output).shape, {}};
      got[output].values.assign(truth.certified.outputs.at(output).hi.size(), 0);
      if (answer != "0") got[output] = truth.judged(problem, {{output, problem.inputs.at(answer)}}).at(output);
      return compare(problem, truth.certified, got, profile).failed > 0;
    });
  }

  /// One that is right everywhere, as "o = v"; empty where there is none.
  std::string right() const {
    return alive_.empty() ? "" : fmt::format("{} = {}", spec_.outputs[0].name, *alive_.begin());
  }

private:
  const Spec& spec_;
  std::set<std::string> alive_;
};

/// "head 3 of a batch of 2 x 4 (2 groups): ".
std::string name_of_head(std::size_t p, const Kernel& kernel, const Batch& batch) {
  if (!kernel.packed())
    return fmt::format("head {} of a batch of {} x {} ({} groups): ", p, batch.batch, batch.heads, batch.groups);
  const auto heads = static_cast<std::size_t>(batch.heads);
  std::string lengths;
  for (const auto& size : kernel.token_sizes()) {
    std::vector<Index> each;
    for (std::size_t first = 0; first < batch.problems.size(); first += heads)
      each.push_back(batch.problems[first].sizes.at(size));
    lengths += fmt::format("{}{} = {}", lengths.empty() ? "" : "; ", size, fmt::join(each, ", "));
  }
  return fmt::format("head {} of sequence {} among {} that are packed ({}), {} heads in {} groups: ", p % heads,
                     p / heads, batch.batch, lengths, heads, batch.groups);
}

class Judge {
public:
  Judge(const Kernel& kernel, const golden::Profile& profile, const Source& source, Row& row)
      : kernel_(kernel), profile_(profile), source_(source), row_(row), trivial_(*kernel.spec) {}

  bool judge(const TrueBatch& truth) {
    Finding finding = find(truth);
    finding.group = "regimes";
    Group& group = row_.groups["regimes"];
    ++group.judged;
    ++row_.regimes.judged;
    if (finding.status == Status::pass) {
      ++group.passed;
      ++row_.regimes.passed;
      return true;
    }
    row_.failures.push_back(std::move(finding));
    return false;
  }

  std::string right_without_a_kernel() const { return kernel_.is_gradient() ? "" : trivial_.right(); }

private:
  Finding find(const TrueBatch& truth) {
    Finding finding;
    finding.tier = "T0";
    finding.query = golden::query(truth.name, profile_.name);
    const Batch& batch = truth.drawn;
    const golden::GoldenCase first{truth.name, batch.problems[0], batch.cotangents[0], {}};
    const Answers answers = source_.answers(batch, first);
    finding.status = answers.status;
    finding.message = answers.message;
    if (finding.status != Status::pass) return finding;
    for (const TrueProblem& one : truth.judged) {
      if (!kernel_.is_gradient()) trivial_.add(batch.problems[one.at], one, profile_);
      for (const auto& answer : answers.answers)
        if (!agrees(one, batch, answer.outputs[one.at], answer.call, finding)) return finding;
    }
    return finding;
  }

  bool agrees(const TrueProblem& one, const Batch& batch, const Arrays& got, const std::string& call,
              Finding& finding) {
    const Problem& problem = batch.problems[one.at];
    Comparison comparison = compare(problem, one.certified, one.judged(problem, got), profile_);
    for (Element* element : {&comparison.worst, comparison.first ? &*comparison.first : nullptr})
      if (element && !element->output.empty())
        element->at = one.place(*kernel_.spec, element->output, std::move(element->at));
    row_.errors.add(comparison, finding.query);
    if (comparison.failed == 0) return true;
    finding.status = Status::fail;
    finding.tier = "T2";
    const std::string where = batch.problems.size() > 1 ? name_of_head(one.at, kernel_, batch) : "";
    finding.message = where + call + comparison.first->text();
    return false;
  }

  const Kernel& kernel_;
  const golden::Profile& profile_;
  const Source& source_;
  Row& row_;
  TrivialAnswers trivial_;
};

/// Seed of a regime: apart from those of other checks, and of the draws that replace one without a true value.
std::uint64_t seed_of(std::size_t setting, const CheckOptions& options) {
  return options.seed * 1000000 + static_cast<std::uint64_t>(setting) + 1;
}

/// Counts the combinations that the judged settings have.
void count_combinations(const Regimes& regimes, const std::vector<std::size_t>& judged, bool all_drawn,
                        RegimeCounts& counts) {
  const Covering& covering = regimes.covering();
  std::map<std::vector<std::size_t>, std::set<std::vector<int>>> uncovered;
  for (const auto& [combination, why, proven] : covering.uncovered) {
    uncovered[combination.axes].insert(combination.levels);
    counts.excluded[why.empty() ? "conditions together" : why].push_back(regimes.text_of(combination));
  }
  counts.possible = covering.covered();
  if (judged.size() == covering.settings.size()) {
    counts.visited = counts.possible;
    return;
  }
  for (const auto& combination :
       combinations_of(regimes.axes(), std::min<int>(counts.strength, static_cast<int>(regimes.axes().size())))) {
    if (uncovered[combination.axes].count(combination.levels)) continue;
    const bool visited = std::any_of(judged.begin(), judged.end(),
                                     [&](std::size_t s) { return has(covering.settings[s], combination); });
    if (visited) {
      ++counts.visited;
    } else if (all_drawn) {
      --counts.possible;
      counts.excluded["no inputs that the equation allows were found"].push_back(regimes.text_of(combination));
    } else if (counts.not_visited.size() < kMostNotVisited) {
      counts.not_visited.push_back(regimes.text_of(combination));
    }
  }
}

}  // namespace

void judge_regimes(const Kernel& kernel, const golden::Profile& profile, const Source& source, Known& known,
                   const CheckOptions& options, Shown& shown, Row& row) {
  if (options.strength == 0) return;
  std::shared_ptr<const Regimes> regimes;
  try {
    regimes = known.regimes.of(kernel, profile, options.strength, options.seed);
  } catch (const SpecError& error) {  // nothing that the kernel can do
    row.failures.push_back({Status::invalid, "", error.what(), "vacuity", "regimes"});
    return;
  }
  const auto& settings = regimes->covering().settings;
  row.regimes.strength = options.strength;
  Judge judge(kernel, profile, source, row);
  std::vector<std::size_t> judged, failed;
  bool all_drawn = true;
  for (std::size_t first = 0; first < settings.size() && all_drawn; first += kTogether) {
    std::vector<golden::Case> cases;
    for (std::size_t s = first; s < std::min(settings.size(), first + kTogether); ++s)
      cases.push_back(regimes->case_of(settings[s], seed_of(s, options)));
    if (!ended(options, row)) known.values.prepare(cases, kernel, profile);
    for (std::size_t s = first; s < first + cases.size(); ++s) {
      if (ended(options, row) || gives_up(row)) {
        all_drawn = false;
        row.early_end.not_run += static_cast<int>(settings.size() - s);
        break;
      }
      const auto truth = known.values.of(cases[s - first], kernel, profile);
      if (!truth) continue;
      judged.push_back(s);
      if (!judge.judge(*truth)) failed.push_back(s);
      if (!kernel.is_gradient() && !shown.vacuity().too_little.empty())
        shown.add(truth->drawn.problems[truth->judged[0].at], truth->judged[0]);
    }
  }
  count_combinations(*regimes, judged, all_drawn, row.regimes);
  if (!failed.empty() && failed.size() < judged.size()) row.regimes.fails_when = regimes->condition_of(judged, failed);
  if (const auto answer = judge.right_without_a_kernel(); !judged.empty() && failed.empty() && !answer.empty())
    row.failures.push_back({Status::invalid, "",
                            fmt::format("'{}' is right in every case that the kernel can be given ('{}'): nothing of "
                                        "the equation was seen; widen what it can do",
                                        answer, kernel.capabilities.text()),
                            "vacuity", "regimes"});
}

void judge_grid(const golden::Case& c, const Kernel& kernel, const golden::Profile& profile, const Source& source,
                TrueValues& values, Row& row) {
  if (const auto truth = values.of(c, kernel, profile))
    Judge(kernel, profile, source, row).judge(*truth);
  else
    row.failures.push_back({Status::invalid, golden::query(c, profile.name),
                            "no inputs of this case have true values that the profile can be judged by", "vacuity",
                            "regimes"});
}

}  // namespace attest::judge
