// SPDX-License-Identifier: MIT
#include "attest/judge/judge_regimes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "attest/judge/condition.hpp"
#include "attest/judge/judge_cases.hpp"
#include "attest/judge/work.hpp"

namespace attest::judge {
namespace {

constexpr std::size_t kTogether = 16;     // settings whose true values are computed at once
constexpr std::size_t kShownOfLarge = 3;  // problems of a batch at real sizes that are tried with every fault
constexpr std::size_t kMostKept = 12;     // problems for the diagnosis
constexpr double kMostWorkOfKept = 2e5;
constexpr int kCallsOfCondition = 200, kCallsOfReal = 8;  // that look for the condition under which a kernel fails
constexpr double kOperationsOfCondition = 1.0e6;          // a call passes there only where all rows are judged
constexpr std::size_t kMostNotVisited = 20;               // combinations that a report names

/// The array in another shape of as many axes, repeated along those where it has one element; nothing where it does not
/// fit.
std::optional<Array> repeated_to(const Array& array, const std::vector<Index>& shape) {
  if (array.shape.size() != shape.size()) return std::nullopt;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (array.shape[axis] != shape[axis] && array.shape[axis] != 1) return std::nullopt;
  Array result{shape, std::vector<double>(static_cast<std::size_t>(count(shape)))};
  for (std::size_t flat = 0; flat < result.values.size(); ++flat) {
    std::size_t rest = flat, from = 0, stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      if (array.shape[axis] != 1) from += rest % extent * stride;
      stride *= static_cast<std::size_t>(array.shape[axis]);
      rest /= extent;
    }
    result.values[flat] = array.values[from];
  }
  return result;
}

/// Answers that need no kernel: zeros, and inputs handed back, in every row where they have but one. One that meets
/// every case shows that the cases are worth nothing.
class TrivialAnswers {
public:
  explicit TrivialAnswers(const Spec& spec) : spec_(spec) {
    alive_.insert("0");
    for (const auto& input : spec.inputs)
      if (input.element == attest::Element::real && input.shape.size() == spec.outputs[0].shape.size())
        alive_.insert(input.name);
  }

  void add(const Problem& problem, const TrueProblem& truth, const golden::Profile& profile) {
    const std::string& output = spec_.outputs[0].name;
    std::erase_if(alive_, [&](const std::string& answer) {
      Arrays got;
      if (answer != "0" && !problem.inputs.count(answer)) return true;
      got[output] = {truth.certified.outputs.at(output).shape, {}};
      got[output].values.assign(truth.certified.outputs.at(output).hi.size(), 0);
      if (answer != "0") {
        const auto whole = repeated_to(problem.inputs.at(answer), shape_of(spec_.outputs[0], problem.sizes));
        if (!whole) return true;
        got[output] = truth.judged(problem, {{output, *whole}}).at(output);
      }
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
  if (kernel.ragged_sizes().empty())
    return fmt::format("head {} of a batch of {} x {} ({} groups): ", p, batch.batch, batch.heads, batch.groups);
  const auto heads = static_cast<std::size_t>(batch.heads);
  std::string lengths;
  for (const auto& size : kernel.ragged_sizes()) {
    std::vector<Index> each;
    for (std::size_t first = 0; first < batch.problems.size(); first += heads)
      each.push_back(batch.problems[first].sizes.at(size));
    lengths += fmt::format("{}{} = {}", lengths.empty() ? "" : "; ", size, fmt::join(each, ", "));
  }
  return fmt::format("head {} of sequence {} among {} that are {} ({}), {} heads in {} groups: ", p % heads, p / heads,
                     batch.batch,
                     kernel.packed() ? "packed" : fmt::format("in pages of {}", page_length(kernel, batch)), lengths,
                     heads, batch.groups);
}

class Judge {
public:
  /// Counts in the row's group of that name, and in `counts`. Of large problems our own kernel sees whole outputs.
  Judge(const Kernel& kernel, const golden::Profile& profile, const Source& source, std::string group,
        RegimeCounts& counts, Row& row, Witness* witness, const CheckOptions& options, FailedProblems* failed)
      : kernel_(kernel),
        profile_(profile),
        source_(source),
        group_(std::move(group)),
        counts_(counts),
        row_(row),
        witness_(witness),
        options_(options),
        failed_(failed),
        trivial_(*kernel.spec) {}

  bool judge(const TrueBatch& truth) {
    Finding finding = find(truth);
    finding.group = group_;
    Group& group = row_.groups[group_];
    ++group.judged;
    ++counts_.judged;
    if (finding.status == Status::pass) {
      ++group.passed;
      ++counts_.passed;
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
    if (answers.refused) finding.tier = kRefusal;
    if (finding.status != Status::pass) return finding;
    for (const TrueProblem& one : truth.judged) {
      if (!kernel_.is_gradient()) trivial_.add(batch.problems[one.at], one, profile_);
      for (const auto& answer : answers.answers)
        if (!agrees(one, batch, answer.outputs[one.at], answer.call, finding)) {
          keep(truth, one, answer.outputs[one.at]);
          return finding;
        }
    }
    if (witness_) look_at_all_rows(truth, answers.answers[0].outputs, finding);
    return finding;
  }

  /// Keeps a problem that is known whole for the diagnosis.
  void keep(const TrueBatch& truth, const TrueProblem& one, const Arrays& got) {
    const Problem& problem = truth.drawn.problems[one.at];
    if (!failed_ || !one.rows.empty() || failed_->samples.size() == kMostKept) return;
    if (work_of(*problem.spec, problem.sizes, problem.parameters) > kMostWorkOfKept) return;
    golden::Case name = golden::problems_of(truth.name)[one.at];
    name.sizes = problem.sizes;
    failed_->cases.push_back({std::move(name), problem, truth.drawn.cotangents[one.at], one.certified});
    failed_->samples.push_back({&failed_->cases.back(), got, golden::query(truth.name, profile_.name)});
  }

  /// Of one problem, by the seed: the others of a batch would take too long.
  void look_at_all_rows(const TrueBatch& truth, const std::vector<Arrays>& outputs, Finding& finding) {
    const Batch& batch = truth.drawn;
    const std::size_t p = std::mt19937_64(truth.name.seed)() % batch.problems.size();
    const auto rows = witness_->most_different(batch.problems[p], outputs[p], options_);
    if (!rows) return;
    const auto one = true_rows(batch.problems[p], p, *rows, kernel_, profile_);
    if (!one) return;
    ++counts_.whole;
    agrees(*one, batch, outputs[p], "", finding);
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
  const std::string group_;
  RegimeCounts& counts_;
  Row& row_;
  Witness* witness_;
  const CheckOptions& options_;
  FailedProblems* failed_;
  TrivialAnswers trivial_;
};

/// Seed of a regime: apart from those of other checks, and of the draws that replace one without a true value.
std::uint64_t seed_of(std::size_t setting, const CheckOptions& options) {
  return options.seed * 1000000 + static_cast<std::uint64_t>(setting) + 1;
}

/// Of every other setting of a binary64 kernel the inputs are those of binary32 kernels, whose bounds hold for it. The
/// others show what a kernel makes of inputs that are no binary32 numbers.
DType format_of_inputs(std::size_t setting, const golden::Profile& profile) {
  return profile.storage == DType::f64 && setting % 2 == 0 ? DType::f32 : profile.storage;
}

/// Counts the pairs of levels that the judged settings have; all are possible so far.
void count_pairs(const Regimes& regimes, const std::vector<std::size_t>& judged, RegimeCounts& counts) {
  const auto& axes = regimes.axes();
  if (counts.strength != 2) return;
  for (std::size_t first = 0; first < axes.size(); ++first)
    for (std::size_t second = first + 1; second < axes.size(); ++second) {
      const std::size_t all = axes[first].levels.size() * axes[second].levels.size();
      std::set<std::pair<int, int>> visited;
      for (const std::size_t s : judged) {
        const auto& level = regimes.covering().settings[s].level;
        visited.emplace(level[first], level[second]);
      }
      counts.pairs.push_back({first, second, all, all, visited.size()});
    }
}

/// Counts the combinations that the judged settings have.
void count_combinations(const Regimes& regimes, const std::vector<std::size_t>& judged, bool all_drawn,
                        RegimeCounts& counts) {
  const Covering& covering = regimes.covering();
  std::map<std::vector<std::size_t>, std::set<std::vector<int>>> uncovered;
  count_pairs(regimes, judged, counts);
  const auto exclude = [&](const Combination& combination, const std::string& why) {
    counts.excluded[why].push_back(regimes.text_of(combination));
    for (PairCounts& pair : counts.pairs)
      if (combination.axes == std::vector{pair.first, pair.second}) --pair.possible;
  };
  for (const auto& [combination, why, proven] : covering.uncovered) {
    uncovered[combination.axes].insert(combination.levels);
    exclude(combination, why.empty() ? "conditions together" : why);
  }
  counts.left_out = covering.left_out.size();
  counts.possible = covering.covered() + counts.left_out;
  for (const auto& combination : covering.left_out) {
    uncovered[combination.axes].insert(combination.levels);
    if (counts.not_visited.size() < kMostNotVisited) counts.not_visited.push_back(regimes.text_of(combination));
  }
  if (judged.size() == covering.settings.size()) {
    counts.visited = covering.covered();
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
      exclude(combination, "no inputs that the equation allows were found");
    } else if (counts.not_visited.size() < kMostNotVisited) {
      counts.not_visited.push_back(regimes.text_of(combination));
    }
  }
}

/// The settings of one kernel at small sizes or at real ones.
struct Run {
  const Kernel& kernel;
  const golden::Profile& profile;
  const Source& source;
  Known& known;
  const CheckOptions& options;
  Shown& shown;
  FailedProblems& failed;
  Row& row;

  /// Returns why nothing can be judged at such sizes; empty where something was.
  std::string judge(SizesJudged sizes, int strength, RegimeCounts& counts) {
    const bool real = sizes == SizesJudged::real;
    if (real && kernel.is_gradient())
      return "the gradients of a kernel are judged whole, which takes too long at such sizes";
    std::shared_ptr<const Regimes> regimes;
    try {
      regimes = known.regimes.of(kernel, profile, sizes, strength, options.seed, options.shapes);
    } catch (const SpecError& error) {
      return error.what();
    }
    static std::mutex large;  // calls at real sizes take gigabytes: those of one kernel at a time
    std::unique_lock lock(large, std::defer_lock);
    if (real) lock.lock();
    counts.strength = strength;
    for (std::size_t axis = 0; axis < regimes->axes().size(); ++axis) {
      counts.axes.push_back({regimes->axes()[axis].name, {}});
      for (std::size_t level = 0; level < regimes->axes()[axis].levels.size(); ++level)
        counts.axes.back().levels.push_back({regimes->text_of_level(axis, static_cast<int>(level))});
    }
    Judge judge(kernel, profile, source, real ? "real sizes" : "regimes", counts, row, real ? &known.witness : nullptr,
                options, &failed);
    VisitedSettings visited(*regimes, strength);
    Settings all;
    run(*regimes, regimes->covering().settings, real, judge, visited, counts, all);
    count_combinations(*regimes, all.judged, !all.ended, counts);
    // At real sizes one call costs too much to be made again.
    while (!real && !all.ended) {
      const auto again = visited.again(options.seed);
      if (again.empty()) break;
      run(*regimes, again, real, judge, visited, counts, all);
    }
    for (const auto& combination : visited.unseen()) {
      ++counts.unseen;
      if (counts.shown_nowhere.size() < kMostNotVisited) counts.shown_nowhere.push_back(regimes->text_of(combination));
    }
    if (!all.failed.empty() && all.failed.size() < all.answered)
      find_condition(*regimes, smallest_failed(*regimes, all), all, real, counts);
    else if (all.failed.empty() && all.answered > 0)
      find_condition_of_cases(*regimes, all, real, counts);
    if (const auto answer = judge.right_without_a_kernel(); all.answered > 0 && all.failed.empty() && !answer.empty())
      row.failures.push_back({Status::invalid, "",
                              fmt::format("'{}' is right in every case that the kernel can be given ('{}'): nothing of "
                                          "the equation was seen; widen what it can do",
                                          answer, kernel.capabilities.text()),
                              "vacuity", "regimes"});
    return "";
  }

  /// The settings that were run, and which of them were judged, answered, answered wrongly.
  struct Settings {
    std::vector<Setting> settings;
    std::vector<std::size_t> judged, failed;
    std::size_t answered = 0;
    bool ended = false;
  };

  void run(const Regimes& regimes, const std::vector<Setting>& next, bool real, Judge& judge, VisitedSettings& visited,
           RegimeCounts& counts, Settings& all) {
    const std::size_t begin = all.settings.size(), end = begin + next.size();
    all.settings.insert(all.settings.end(), next.begin(), next.end());
    const std::size_t together = real ? 1 : kTogether;
    for (std::size_t first = begin; first < end && !all.ended; first += together) {
      std::vector<golden::Case> cases;
      for (std::size_t s = first; s < std::min(end, first + together); ++s)
        cases.push_back(regimes.case_of(all.settings[s], seed_of(s, options), format_of_inputs(s, profile)));
      if (real && options.before_call)
        options.before_call(fmt::format("{} of {}: {}", first + 1, end, text_of(cases[0])));
      TrueValues large(&known.cache);  // a batch of real size is too much to be kept
      TrueValues& values = real ? large : known.values;
      if (!ended(options, row)) values.prepare(cases, kernel, profile);
      for (std::size_t s = first; s < first + cases.size(); ++s) {
        if (ended(options, row) || gives_up(row)) {
          all.ended = true;
          row.early_end.not_run += static_cast<int>(end - s);
          break;
        }
        const auto truth = values.of(cases[s - first], kernel, profile);
        if (!truth) continue;
        all.judged.push_back(s);
        const bool right = judge.judge(*truth);
        for (std::size_t axis = 0; axis < counts.axes.size(); ++axis) {
          LevelCounts& level = counts.axes[axis].levels[static_cast<std::size_t>(all.settings[s].level[axis])];
          ++level.judged, level.passed += right;
        }
        if (!right && row.failures.back().tier == kRefusal) continue;
        ++all.answered;
        const bool shows = what_is_off(*truth, *kernel.spec, profile) == WhatIsOff::shown;
        visited.add(all.settings[s], !right || shows);
        if (!right) all.failed.push_back(s);
        // There are few settings at real sizes, each with many problems.
        const std::size_t looked_at = std::min<std::size_t>(truth->judged.size(), real ? kShownOfLarge : 1);
        for (std::size_t j = 0; j < looked_at; ++j)
          if (!kernel.is_gradient() && !shown.vacuity().too_little.empty())
            shown.add(truth->drawn.problems[truth->judged[j].at], truth->judged[j]);
      }
    }
  }

  static Setting smallest_failed(const Regimes& regimes, const Settings& all) {
    return all.settings[*std::min_element(all.failed.begin(), all.failed.end(), [&](std::size_t a, std::size_t b) {
      return regimes.work(all.settings[a]) < regimes.work(all.settings[b]);
    })];
  }

  /// From other cases in which it failed.
  void find_condition_of_cases(const Regimes& regimes, const Settings& all, bool real, RegimeCounts& counts) {
    std::vector<Setting> settings;
    for (const Sample& sample : failed.samples)
      if (const auto setting = regimes.setting_of(sample.c->name)) settings.push_back(*setting);
    std::stable_sort(settings.begin(), settings.end(),
                     [&](const Setting& a, const Setting& b) { return regimes.work(a) < regimes.work(b); });
    for (const Setting& setting : settings)
      if (counts.fails_when.empty()) find_condition(regimes, setting, all, real, counts);
  }

  /// By more calls, from a setting that failed. They count in no group: what they say is the condition.
  void find_condition(const Regimes& regimes, const Setting& first, const Settings& all, bool real,
                      RegimeCounts& counts) {
    std::uint64_t seed = seed_of(all.settings.size(), options);
    const auto fails = [&](const Setting& setting) -> std::optional<bool> {
      if (ended(options, row)) return std::nullopt;
      TrueValues values(&known.cache, kOperationsOfCondition);
      const auto truth = values.of(regimes.case_of(setting, seed++, profile.storage), kernel, profile);
      if (!truth) return std::nullopt;
      Row aside = row_of_kernel();
      RegimeCounts none;
      const bool right = Judge(kernel, profile, source, "", none, aside, nullptr, options, &failed).judge(*truth);
      if (right && (!is_whole(*truth) || what_is_off(*truth, *kernel.spec, profile) == WhatIsOff::zeros))
        return std::nullopt;
      if (!right && aside.failures.back().tier == kRefusal) return std::nullopt;
      return !right;
    };
    const auto found = condition_by_calls(regimes, first, real ? kCallsOfReal : kCallsOfCondition, fails);
    counts.fails_when = found.text, counts.condition_calls += found.calls;
  }

  /// Whether all rows of all problems are judged: where not, a kernel may be wrong elsewhere.
  static bool is_whole(const TrueBatch& truth) {
    return truth.judged.size() == truth.drawn.problems.size() &&
           std::all_of(truth.judged.begin(), truth.judged.end(),
                       [](const TrueProblem& one) { return one.rows.empty(); });
  }

  Row row_of_kernel() const {
    Row aside;
    aside.kernel = row.kernel;
    return aside;
  }

  static std::string text_of(const golden::Case& c) {
    std::vector<std::string> sizes;
    for (const auto& size : c.spec->sizes) sizes.push_back(fmt::format("{} = {}", size.name, c.sizes.at(size.name)));
    return fmt::format("{}", fmt::join(sizes, ", "));
  }
};

}  // namespace

void judge_regimes(const Kernel& kernel, const golden::Profile& profile, const Source& source, Known& known,
                   const CheckOptions& options, Shown& shown, FailedProblems& failed, Row& row) {
  if (options.strength == 0) return;
  Run run{kernel, profile, source, known, options, shown, failed, row};
  const std::string no_small = run.judge(SizesJudged::small, options.strength, row.regimes);
  if (options.sizes == SizesJudged::small && no_small.empty()) return;
  const std::string no_real = run.judge(SizesJudged::real, options.strength, row.real);
  if (no_real.empty()) return;
  if (no_small.empty())
    row.notes.push_back("not judged at real sizes: " + no_real);
  else  // nothing that the kernel can do
    row.failures.push_back({Status::invalid, "", no_real, "vacuity", "regimes"});
}

void judge_grid(const golden::Case& c, const Kernel& kernel, const golden::Profile& profile, const Source& source,
                Known& known, const CheckOptions& options, Row& row) {
  if (const auto truth = known.values.of(c, kernel, profile))
    Judge(kernel, profile, source, "regimes", row.regimes, row,
          is_large(*c.spec, c.sizes, c.parameters) ? &known.witness : nullptr, options, nullptr)
        .judge(*truth);
  else
    row.failures.push_back({Status::invalid, golden::query(c, profile.name),
                            "no inputs of this case have true values that the profile can be judged by", "vacuity",
                            "regimes"});
}

}  // namespace attest::judge
