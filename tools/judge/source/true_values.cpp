// SPDX-License-Identifier: MIT
#include "attest/judge/true_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <utility>

#include "attest/golden/agreement.hpp"
#include "attest/golden/rows.hpp"
#include "attest/judge/faults.hpp"
#include "attest/judge/select.hpp"
#include "attest/judge/work.hpp"
#include "golden_members.hpp"
#include "in_parallel.hpp"

namespace attest::judge {

ATTEST_MEMBERS(TrueProblem, at, rows, certified)

namespace {

constexpr int kDraws = 3;                    // of other seeds, where the inputs break a condition on data
constexpr std::uint64_t kDrawStep = 100000;  // between their seeds
constexpr std::size_t kMostRows = 16;
constexpr auto kAllRows = std::numeric_limits<std::size_t>::max() / 2;

/// The first, the last, and others below n: those beside powers of two, and by chance.
std::vector<Index> some_of(Index n, std::size_t most, std::mt19937_64& random) {
  std::set<Index> some;
  if (n > 0) some = {0, n - 1};
  if (n <= static_cast<Index>(most))
    for (Index i = 0; i < n; ++i) some.insert(i);
  std::vector<Index> borders;
  for (Index power = 16; power < n; power *= 2) borders.insert(borders.end(), {power - 1, power});
  while (some.size() < most / 2 && !borders.empty()) {
    const auto at = borders.begin() + static_cast<std::ptrdiff_t>(random() % borders.size());
    some.insert(*at);
    borders.erase(at);
  }
  while (some.size() < std::min(most, static_cast<std::size_t>(n)))
    some.insert(static_cast<Index>(random() % static_cast<std::uint64_t>(n)));
  return {some.begin(), some.end()};
}

/// Of every problem all rows while that costs little, then rows of a few problems; `problem` is one of so many of a
/// batch.
Plan plan_of(const Problem& problem, const std::string& unstable, std::size_t number, double most) {
  Index n = 1;
  reference::WantedRows last, two;
  for (const auto& output : problem.spec->outputs) {
    const Index height = output.shape.empty() ? 0 : problem.sizes.at(output.shape[0]);
    if (height < 2) continue;
    n = std::max(n, height);
    last[output.shape[0]] = {height - 1};
    two[output.shape[0]] = {height / 2, height - 1};
  }
  const double of_two = operations(problem, unstable, two);
  if (static_cast<double>(number) * static_cast<double>(n) * of_two <= most) return {number, kAllRows};
  const double of_last = n == 1 ? of_two : operations(problem, unstable, last);
  const double of_each = n == 1 ? 0 : std::max(of_two - of_last, 1.0);
  const double of_none = std::max(of_last - of_each, 0.0), whole = of_none + of_each * static_cast<double>(n);
  if (static_cast<double>(number) * whole <= most) return {number, kAllRows};
  const std::size_t problems = std::min(number, kSomeProblems);
  const double of_one = most / static_cast<double>(problems);
  if (whole <= of_one || n == 1) return {problems, kAllRows};
  const double rows = std::floor((of_one - of_none) / of_each);
  return {problems, rows >= static_cast<double>(kMostRows)     ? kMostRows
                    : rows <= static_cast<double>(kFewestRows) ? kFewestRows
                                                               : static_cast<std::size_t>(rows)};
}

std::vector<std::size_t> problems_to_judge(std::size_t problems, std::size_t most, std::mt19937_64& random) {
  std::vector<std::size_t> judged;
  for (const Index p : some_of(static_cast<Index>(problems), std::min(most, problems), random))
    judged.push_back(static_cast<std::size_t>(p));
  return judged;
}

reference::WantedRows rows_to_judge(const golden::Case& c, std::size_t most, std::mt19937_64& random) {
  reference::WantedRows rows;
  for (const auto& output : c.spec->outputs)
    if (!output.shape.empty() && c.sizes.at(output.shape[0]) > static_cast<Index>(most))
      rows[output.shape[0]] = some_of(c.sizes.at(output.shape[0]), most, random);
  return rows;
}

/// Whether a correct kernel has no overflow or underflow on the way that leaves nothing of a value.
bool is_bounded(const golden::CertifiedTensors& results) {
  return std::all_of(results.begin(), results.end(), [](const auto& result) {
    const auto& tensor = result.second;
    for (const auto& channel : tensor.bound)
      for (std::size_t i = 0; i < channel.size(); ++i)
        if (std::isfinite(tensor.hi[i]) && !std::isfinite(channel[i])) return false;
    return true;
  });
}

/// Nothing where the inputs are not of the profile, or have no true value that decides. Throws SpecError where they
/// break a condition on data. `bounds`: null, or those of the same inputs by a profile of larger units and smaller
/// range.
std::optional<golden::Certified> true_values(const Problem& problem, const Arrays* cotangents,
                                             const reference::WantedRows& rows, const std::string& unstable,
                                             const golden::Profile& profile, const golden::CertifiedTensors* bounds) {
  if (!bounds && (!golden::exact_in(problem, profile.storage) || !within_range(problem, profile, rows)))
    return std::nullopt;
  try {
    golden::Certified certified;
    std::vector<std::string> forms;
    for (const auto& form : problem.spec->forms)
      if (golden::is_modelled(form, problem) || form.name == unstable) forms.push_back(form.name);
    certified.outputs = golden::enclose_rows(problem, profile, rows, {forms, cotangents, bounds}).outputs;
    certified.units = profile.name;
    if ((cotangents && !has_gradient(certified.outputs, profile)) || !is_bounded(certified.outputs))
      return std::nullopt;
    return certified;
  } catch (const golden::Uncertifiable&) {
    return std::nullopt;
  }
}

void add_values_to(golden::CertifiedTensor& sum, const golden::CertifiedTensor& one) {
  for (std::size_t i = 0; i < sum.hi.size(); ++i) {
    const double high = sum.hi[i] + one.hi[i];
    const double lost =
        std::abs(sum.hi[i]) >= std::abs(one.hi[i]) ? (sum.hi[i] - high) + one.hi[i] : (one.hi[i] - high) + sum.hi[i];
    sum.lo[i] = static_cast<float>(lost + static_cast<double>(sum.lo[i]) + static_cast<double>(one.lo[i]));
    sum.hi[i] = high;
  }
}

void add_bounds_to(golden::CertifiedTensor& sum, const golden::CertifiedTensor& one, double additions) {
  for (std::size_t i = 0; i < sum.hi.size(); ++i) {
    for (std::size_t channel = 0; channel < sum.bound.size(); ++channel) {
      sum.bound[channel][i] += one.bound[channel][i];
      // As std::hypot of floats, whose symbol is of glibc 2.35, does it.
      const double x = sum.rms[channel][i], y = one.rms[channel][i];
      sum.rms[channel][i] = static_cast<float>(std::sqrt(x * x + y * y));
    }
    // Each term meets at most so many additions.
    sum.bound[reference::kAccumulate][i] += static_cast<float>(additions * std::abs(one.hi[i]));
  }
}

/// The gradient of what problems share is the sum over them, which a kernel may take in any order. All problems are
/// judged, and whole. `bounds`: whether they are of each problem yet, and not of the sums.
void add_shared_gradients(std::vector<TrueProblem>& judged, const Spec& spec, const golden::Grid& grid, bool bounds) {
  const auto heads = static_cast<std::size_t>(grid.heads);
  for (const auto& input : spec.gradient) {
    const Sharing sharing = spec.input(input)->sharing;
    const std::size_t together = sharing == Sharing::batch   ? heads
                                 : sharing == Sharing::group ? heads / static_cast<std::size_t>(grid.groups)
                                                             : 1;
    const std::string name = golden::gradient_of(input);
    if (together == 1 || !judged[0].certified.outputs.count(name)) continue;
    for (std::size_t first = 0; first < judged.size(); first += together) {
      auto& sum = judged[first].certified.outputs.at(name);
      for (std::size_t i = 0; bounds && i < sum.hi.size(); ++i)
        sum.bound[reference::kAccumulate][i] += static_cast<float>(static_cast<double>(together) * std::abs(sum.hi[i]));
      for (std::size_t p = first + 1; p < first + together; ++p) {
        const auto& one = judged[p].certified.outputs.at(name);
        if (bounds) add_bounds_to(sum, one, static_cast<double>(together));
        add_values_to(sum, one);
      }
      for (std::size_t p = first + 1; p < first + together; ++p) judged[p].certified.outputs.at(name) = sum;
    }
  }
}

/// What a cache keeps of a batch: all but the inputs, which are drawn again.
struct Kept {
  std::uint64_t seed = 0;
  std::vector<TrueProblem> judged{};
};
ATTEST_MEMBERS(Kept, seed, judged)

}  // namespace

Plan plan_of_large(std::size_t problems, const ScaledCost& cost, const Sizes& sizes, const golden::Profile& profile) {
  static constexpr std::size_t kRows = 66, kFewest = 2;
  const std::size_t fewest = std::min(problems, kSomeProblems);
  const auto with = [](std::size_t judged) { return Plan{judged, std::max(kFewest, kRows / judged)}; };
  Plan plan = with(std::min(problems, kRows / kFewest));
  while (plan.problems > fewest && work_of(plan, cost, sizes) > most_of_large(profile))
    plan = with(std::max(fewest, plan.problems / 2));
  return plan;
}

double work_of(const Plan& plan, const ScaledCost& cost, const Sizes& sizes) {
  return static_cast<double>(plan.problems) * cost.operations(sizes, plan.rows);
}

double most_of_large(const golden::Profile& profile) {
  constexpr double kMost = 1.2e9;
  return profile.storage == DType::f64 ? kMost / 2 : kMost;
}

std::string unstable_form(const Kernel& kernel) {
  const auto* form = kernel.spec->form(kernel.info.form);
  return form && form->numeric ? form->name : "";
}

Arrays TrueProblem::judged(const Problem& problem, const Arrays& got) const {
  Arrays some;
  for (const auto& [name, array] : got) {
    const auto& declared = golden::declaration_of(*problem.spec, name);
    const auto wanted = declared.shape.empty() || golden::is_gradient(name) ? rows.end() : rows.find(declared.shape[0]);
    if (wanted == rows.end()) {
      some[name] = array;
      continue;
    }
    Array& part = some[name];
    part.shape = array.shape;
    part.shape[0] = static_cast<Index>(wanted->second.size());
    const Index width = array.shape[0] == 0 ? 0 : array.size() / array.shape[0];
    for (const Index row : wanted->second)
      part.values.insert(part.values.end(), array.values.begin() + row * width,
                         array.values.begin() + (row + 1) * width);
  }
  return some;
}

std::vector<Index> TrueProblem::place(const Spec& spec, const std::string& result, std::vector<Index> at_judged) const {
  const auto& declared = golden::declaration_of(spec, result);
  if (declared.shape.empty() || golden::is_gradient(result)) return at_judged;
  if (const auto wanted = rows.find(declared.shape[0]); wanted != rows.end())
    at_judged[0] = wanted->second[static_cast<std::size_t>(at_judged[0])];
  return at_judged;
}

namespace {

/// The cases of a batch, entry by entry; where the layout allows it, entries after the first are shorter, empty or have
/// one token, as far as the kernel can do that.
std::vector<golden::Case> problems_of(const golden::Case& c, const Kernel& kernel) {
  auto problems = golden::problems_of(c);
  if (kernel.ragged_sizes().empty()) return problems;
  const auto length = [&](const SizeSpec& size, Index entry) {
    const Index n = c.sizes.at(size.name), least = std::min<Index>(n, 1);
    switch (entry) {
      case 0: return n;
      case 1: return std::max(least, n * 5 / 8);
      case 2: return size.smallest == 0 ? 0 : least;
      case 3: return least;
      default: return std::max(least, n / 2);
    }
  };
  for (std::size_t p = 0; p < problems.size(); ++p) {
    Sizes sizes = c.sizes;
    for (const auto& name : kernel.ragged_sizes())
      sizes[name] = length(*c.spec->size(name), static_cast<Index>(p) / c.grid->heads);
    try {
      check_sizes(*c.spec, sizes, c.parameters);
    } catch (const SpecError&) {
      continue;
    }
    if (kernel.capabilities.allow(*c.spec, sizes, c.parameters, c.with, *c.grid) &&
        form_applies(*c.spec, kernel.info.form, sizes, c.parameters))
      problems[p].sizes = sizes;
  }
  return problems;
}

/// Whether values and bounds are the same but for a hundredth of a bound: values of rows are within that of the true
/// ones, and the order of their sums depends on where they lie in memory.
bool are_the_same(const golden::CertifiedTensors& kept, const golden::CertifiedTensors& computed, const Spec& spec,
                  const golden::Profile& profile) {
  constexpr double kPart = 0.01;
  const auto close = [](double a, double b, double within) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= within;
  };
  return kept.size() == computed.size() && std::all_of(kept.begin(), kept.end(), [&](const auto& result) {
           const auto& [name, a] = result;
           const auto found = computed.find(name);
           if (found == computed.end() || found->second.shape != a.shape) return false;
           const auto& b = found->second;
           const auto units = profile.units_of(golden::declaration_of(spec, name));
           for (std::size_t i = 0; i < a.hi.size(); ++i) {
             if (!close(a.hi[i], b.hi[i], kPart * golden::bound_of(b, i, units))) return false;
             for (std::size_t channel = 0; channel < a.bound.size(); ++channel) {
               const auto bound = static_cast<double>(b.bound[channel][i]);
               if (!close(static_cast<double>(a.bound[channel][i]), bound, kPart * bound)) return false;
             }
           }
           return true;
         });
}

/// What a cache keeps of a batch against what was computed; empty, and null, where there is none.
bool are_the_same(const std::string& kept, const TrueBatch* computed, const golden::Profile& profile) {
  if (kept.empty() || !computed) return kept.empty() && !computed;
  const auto [seed, judged] = value_of<Kept>(kept);
  const auto same = [&](const auto& a, const auto& b) { return are_the_same(a, b, *computed->name.spec, profile); };
  return seed == computed->name.seed &&
         std::equal(judged.begin(), judged.end(), computed->judged.begin(), computed->judged.end(),
                    [&](const TrueProblem& a, const TrueProblem& b) {
                      const auto &ways = a.certified.alternatives, &others = b.certified.alternatives;
                      return a.at == b.at && a.rows == b.rows && same(a.certified.outputs, b.certified.outputs) &&
                             std::equal(ways.begin(), ways.end(), others.begin(), others.end(), same);
                    });
}

}  // namespace

/// One draw of a batch, part of it judged.
struct TrueValues::Attempt {
  std::string key;
  TrueBatch batch;
  std::vector<golden::Case> problems{};
  std::vector<TrueProblem*> truth{};           // per problem; null: not judged
  std::shared_ptr<const TrueBatch> bounded{};  // by bounds that hold; null: none are known
  std::atomic<bool> impossible = false;
  std::optional<std::string> kept{};  // what a cache has of it
  bool key_is_known = false;

  Attempt(std::string its_key, golden::Case c) : key(std::move(its_key)), batch{std::move(c)} {}

  /// Reads what a cache keeps, and draws the inputs, or takes them from a batch of the same ones; null: there is none.
  /// False where it has no true values.
  bool restore(const Kernel& kernel, const TrueBatch* same_inputs) {
    if (kept->empty()) return false;
    auto [seed, judged] = value_of<Kept>(*kept);
    batch.name.seed = seed;
    problems = problems_of(batch.name, kernel);
    if (same_inputs && same_inputs->name.seed == seed) {
      batch.drawn = same_inputs->drawn;
    } else {
      batch.drawn = nothing_drawn();
      batch.drawn.problems = golden::draw_each(problems);
      for (std::size_t p = 0; kernel.is_gradient() && p < problems.size(); ++p)
        batch.drawn.cotangents[p] = golden::draw_cotangents(problems[p]);
    }
    batch.judged = std::move(judged);
    return true;
  }

  Batch nothing_drawn() const {
    const golden::Grid& grid = *batch.name.grid;
    return {std::vector<Problem>(problems.size()), std::vector<Arrays>(problems.size()), grid.entries, grid.heads,
            grid.groups};
  }

  /// Draws the first problem and decides what is judged.
  void begin(const Kernel& kernel, const golden::Profile& profile, double operations) try {
    const golden::Case& c = batch.name;
    impossible = false;
    if (bounded) {
      batch = *bounded;
      problems = problems_of(c, kernel);
      refer_to_judged();
      return;
    }
    problems = problems_of(c, kernel);
    batch.drawn = nothing_drawn();
    batch.judged.clear();
    std::mt19937_64 random(c.seed);
    // Gradients are of whole outputs, and summed over the problems that share an input.
    Plan plan{problems.size(), kAllRows};
    const Problem& first = batch.drawn.problems[0] = golden::draw(problems[0]);
    if (!kernel.is_gradient())
      plan = is_large(*c.spec, c.sizes, c.parameters)
                 ? plan_of_large(problems.size(), ScaledCost(*c.spec, unstable_form(kernel)), c.sizes, profile)
                 : plan_of(first, unstable_form(kernel), problems.size(), operations);
    for (const std::size_t p : problems_to_judge(problems.size(), plan.problems, random))
      batch.judged.push_back({p, rows_to_judge(problems[p], plan.rows, random)});
    refer_to_judged();
  } catch (const SpecError&) {
    impossible = true;
  }

  void refer_to_judged() {
    truth.assign(problems.size(), nullptr);
    for (TrueProblem& judged : batch.judged) truth[judged.at] = &judged;
  }

  void run(std::size_t p, const Kernel& kernel, const golden::Profile& profile) {
    if (impossible) return;
    try {
      Problem& problem = batch.drawn.problems[p];
      if (!bounded && p > 0) problem = golden::draw(problems[p]);
      if (!bounded && kernel.is_gradient()) batch.drawn.cotangents[p] = golden::draw_cotangents(problems[p]);
      if (!truth[p]) return;
      auto certified = true_values(problem, kernel.is_gradient() ? &batch.drawn.cotangents[p] : nullptr, truth[p]->rows,
                                   unstable_form(kernel), profile, bounded ? &truth[p]->certified.outputs : nullptr);
      if (certified)
        truth[p]->certified = std::move(*certified);
      else
        impossible = true;
    } catch (const SpecError&) {
      impossible = true;
    }
  }
};

std::string TrueValues::key_of(const golden::Case& c, const Kernel& kernel, const golden::Profile& profile) {
  const auto ragged = kernel.ragged_sizes();
  return fmt::format(
      "{};{};{};{}", golden::query(c, profile.name), kernel.is_gradient() ? "gradient" : "value", unstable_form(kernel),
      ragged.empty() ? ""
                     : fmt::format("{};{};{}", fmt::join(ragged, ","), kernel.info.form, kernel.capabilities.text()));
}

std::string TrueValues::key_with_plan(const golden::Case& c, const Kernel& kernel,
                                      const golden::Profile& profile) const {
  const std::string key = key_of(c, kernel, profile);
  return operations_ == kOperations ? key : fmt::format("{};{:g} operations", key, operations_);
}

void TrueValues::prepare(const std::vector<golden::Case>& cases, const Kernel& kernel, const golden::Profile& profile) {
  if (std::exchange(spec_, kernel.spec) != kernel.spec) known_.clear();
  std::vector<std::unique_ptr<Attempt>> open;
  for (const auto& c : cases)
    if (auto key = key_with_plan(c, kernel, profile); !known_.count(key))
      open.push_back(std::make_unique<Attempt>(std::move(key), c));
  if (cache_ && cache_->is_on()) restore(open, kernel);
  take_bounds(open, kernel, profile);
  // A seed whose inputs break a condition is replaced by another one, for the whole batch.
  for (int draw = 0; draw < kDraws && !open.empty(); ++draw) {
    for (const auto& attempt : open)
      if (draw > 0) attempt->batch.name.seed += kDrawStep, attempt->bounded = nullptr;
    in_parallel(open.size(), [&](std::size_t i) { open[i]->begin(kernel, profile, operations_); });
    std::vector<std::pair<Attempt*, std::size_t>> jobs;
    for (const auto& attempt : open)
      for (std::size_t p = 0; !attempt->impossible && p < attempt->problems.size(); ++p)
        jobs.emplace_back(attempt.get(), p);
    in_parallel(jobs.size(), [&](std::size_t j) { jobs[j].first->run(jobs[j].second, kernel, profile); });
    for (const auto& attempt : open) {
      if (attempt->impossible) continue;
      TrueBatch& batch = attempt->batch;
      if (kernel.is_gradient()) add_shared_gradients(batch.judged, *kernel.spec, *batch.name.grid, !attempt->bounded);
      keep(*attempt, &batch, profile);
      known_[attempt->key] = std::make_shared<const TrueBatch>(std::move(batch));
    }
    std::erase_if(open, [](const auto& attempt) { return !attempt->impossible; });
  }
  for (const auto& attempt : open) {
    keep(*attempt, nullptr, profile);
    known_[attempt->key] = nullptr;
  }
}

void TrueValues::take_bounds(std::vector<std::unique_ptr<Attempt>>& open, const Kernel& kernel,
                             const golden::Profile& profile) {
  const auto& binary32 = golden::profile("f32");
  if (profile.storage == binary32.storage || !golden::covers(binary32.units, profile.units)) return;
  std::vector<Attempt*> bounded;
  std::vector<golden::Case> cases;
  for (const auto& attempt : open)
    if (attempt->batch.name.exact == name(binary32.storage))
      bounded.push_back(attempt.get()), cases.push_back(attempt->batch.name);
  prepare(cases, kernel, binary32);
  for (std::size_t i = 0; i < bounded.size(); ++i) bounded[i]->bounded = of(cases[i], kernel, binary32);
}

void TrueValues::restore(std::vector<std::unique_ptr<Attempt>>& open, const Kernel& kernel) {
  std::vector<std::shared_ptr<const TrueBatch>> found(open.size());
  in_parallel(open.size(), [&](std::size_t i) {
    Attempt& attempt = *open[i];
    attempt.kept = cache_->find(attempt.key);
    if (!attempt.kept || cache_->is_to_be_checked()) return;
    const auto of_binary32 = known_.find(key_with_plan(attempt.batch.name, kernel, golden::profile("f32")));
    const TrueBatch* same_inputs = of_binary32 == known_.end() ? nullptr : of_binary32->second.get();
    if (attempt.restore(kernel, same_inputs)) found[i] = std::make_shared<const TrueBatch>(std::move(attempt.batch));
    attempt.key_is_known = true;
  });
  for (std::size_t i = 0; i < open.size(); ++i)
    if (open[i]->key_is_known) known_[open[i]->key] = found[i];
  std::erase_if(open, [](const auto& attempt) { return attempt->key_is_known; });
}

void TrueValues::keep(const Attempt& attempt, const TrueBatch* batch, const golden::Profile& profile) {
  if (!cache_ || !cache_->is_on()) return;
  if (!attempt.kept)
    cache_->keep(attempt.key, batch ? bytes_of(Kept{batch->name.seed, batch->judged}) : "");
  else if (!are_the_same(*attempt.kept, batch, profile))
    cache_->reject(attempt.key);
}

std::optional<TrueProblem> true_rows(const Problem& problem, std::size_t at, const reference::WantedRows& rows,
                                     const Kernel& kernel, const golden::Profile& profile) {
  auto certified = true_values(problem, nullptr, rows, unstable_form(kernel), profile, nullptr);
  if (!certified) return std::nullopt;
  return TrueProblem{at, rows, std::move(*certified)};
}

WhatIsOff what_is_off(const TrueBatch& batch, const Spec& spec, const golden::Profile& profile) {
  const double off = std::max(0.01, 64 * profile.units[reference::kStore]);
  auto found = WhatIsOff::zeros;
  for (const TrueProblem& one : batch.judged)
    for (const auto& [name, tensor] : one.certified.outputs) {
      const auto units = profile.units_of(golden::declaration_of(spec, name));
      for (std::size_t i = 0; i < tensor.hi.size(); ++i) {
        if (!std::isfinite(tensor.hi[i]) || tensor.hi[i] == 0) continue;
        if (off * std::abs(tensor.hi[i]) > golden::bound_of(tensor, i, units)) return WhatIsOff::shown;
        found = WhatIsOff::within_bounds;
      }
    }
  return found;
}

std::shared_ptr<const TrueBatch> TrueValues::of(const golden::Case& c, const Kernel& kernel,
                                                const golden::Profile& profile) {
  prepare({c}, kernel, profile);
  return known_.at(key_with_plan(c, kernel, profile));
}

}  // namespace attest::judge
