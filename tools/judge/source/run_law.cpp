// SPDX-License-Identifier: MIT
#include "attest/judge/run_law.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "attest/golden/case.hpp"
#include "attest/golden/certify.hpp"
#include "attest/judge/faults.hpp"
#include "attest/judge/process.hpp"
#include "attest/judge/work.hpp"

namespace attest::judge {
namespace {

constexpr Index kLargestDrawn = 40;  // of a size: beyond a tile of 32, and a law still takes milliseconds
constexpr Index kSeeds = 1 << 20;
constexpr int kDiscards = 50;  // draws per draw that the law judges, before it is given up

/// The numbers that a problem is drawn by: an index of the golden entries, the sizes, the seed of the inputs.
using Numbers = std::vector<Index>;

struct Range {
  Index smallest, largest;
  bool grows;  // from its smallest to its largest, as draw follows draw
};

/// Problems of an equation that a kernel can do and a law asks for. Parameters and recipes of inputs come from the
/// equation's golden entries; sizes and seeds are free.
class Problems {
public:
  Problems(const Spec& spec, const std::string& form, const Capabilities& capabilities, const LawClaim& claim,
           LawSizes& sizes)
      : spec_(spec), wanted_(spec, conditions(spec, form, capabilities, claim)), sizes_(sizes) {
    for (const auto& group : spec.vectors)
      for (const auto& entry : group.entries)
        if (wanted_.takes(group.with)) origins_.push_back({&group, &entry});
    ranges_.push_back({0, static_cast<Index>(origins_.size()) - 1, false});
    for (const auto& size : spec.sizes) ranges_.push_back({size.smallest, std::min(size.largest, kLargestDrawn), true});
    ranges_.push_back({1, kSeeds - 1, false});
  }

  bool empty() const { return origins_.empty(); }

  /// `size` is RapidCheck's, from 0 to 100: the share of each range that numbers are drawn from.
  Numbers draw(rc::Random random, int size) const {
    Numbers numbers;
    for (const Range& range : ranges_)
      numbers.push_back(
          rc::gen::inRange(range.smallest, range.largest + 1)(random.split(), range.grows ? size : rc::kNominalSize)
              .value());
    return numbers;
  }

  /// The numbers with one of them smaller: the smallest possible first, of the first number first.
  rc::Seq<Numbers> smaller(const Numbers& numbers) const {
    rc::Seq<Numbers> all;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      all = rc::seq::concat(std::move(all),
                            rc::seq::map(rc::shrink::towards(numbers[i], ranges_[i].smallest), [numbers, i](Index x) {
                              Numbers other = numbers;
                              other[i] = x;
                              return other;
                            }));
    return all;
  }

  /// The case of those numbers, its sizes moved to the nearest that are asked for; nothing where there are none.
  std::optional<golden::Case> of(const Numbers& numbers) const {
    const auto& [group, entry] = origins_[static_cast<std::size_t>(numbers.front())];
    golden::Case c{&spec_, {}, entry->parameters, group->flag, group->exact, group->with, 1, {}};
    for (std::size_t i = 0; i < spec_.sizes.size(); ++i) c.sizes[spec_.sizes[i].name] = numbers[i + 1];
    c.seed = static_cast<std::uint64_t>(numbers.back());
    const auto& moved = sizes_.of(c, wanted_);
    if (!moved) return std::nullopt;
    std::tie(c.sizes, c.parameters) = *moved;
    return c;
  }

private:
  struct Origin {
    const VectorGroup* group;
    const VectorGroup::Entry* entry;
  };

  /// Conditions of the kernel, the law and the form. Sizes are moved to where all hold instead of drawn again.
  static std::string conditions(const Spec& spec, const std::string& form, const Capabilities& capabilities,
                                const LawClaim& claim) {
    std::string conditions = capabilities.text();
    if (!claim.when.empty()) conditions += ";" + claim.when;
    if (const auto* declared = spec.form(form); declared && !declared->when.empty()) conditions += ";" + declared->when;
    return conditions;
  }

  const Spec& spec_;
  Capabilities wanted_;
  LawSizes& sizes_;
  std::vector<Origin> origins_;
  std::vector<Range> ranges_;
};

/// An element that is NaN although the equation gives a number there, and a kernel's errors cannot have taken it away.
std::optional<std::string> lost_number(const Problem& problem, const laws::Outcome& outcome) {
  const auto has_nan = [](const auto& named) {
    return std::any_of(named.second.values.begin(), named.second.values.end(), [](double x) { return std::isnan(x); });
  };
  if (std::none_of(outcome.values.begin(), outcome.values.end(), has_nan)) return std::nullopt;
  try {
    attest::check(problem);
  } catch (const SpecError&) {  // a law may fill with NaN what a mask hides: the equation says nothing of that
    return std::nullopt;
  }
  const Arrays expected = golden::evaluate_in_double(problem, golden::first_modelled_form(problem).name, {});
  for (const auto& [name, got] : outcome.values)
    for (std::size_t i = 0; i < got.values.size(); ++i)
      if (std::isnan(got.values[i]) && !std::isnan(expected.at(name).values[i]) &&
          std::isfinite(outcome.bounds().at(name).values[i]))
        return fmt::format("{}[{}] is NaN where the equation gives {:.9g}", name, i, expected.at(name).values[i]);
  return std::nullopt;
}

/// A problem that a law derives from the drawn one lies outside of the capabilities or of the profile's range.
struct Outside {};

/// The evaluation of a drawn or derived problem gave NaN for a number.
struct Lost {
  std::string text;
};

/// One law on one evaluation.
class Trial {
public:
  struct Result {
    laws::Finding finding;
    bool threw = false;  // the kernel died or refused
  };

  Trial(laws::Law law, const LawClaim& claim, const Capabilities& capabilities, const golden::Profile& profile,
        const laws::Evaluate& evaluate, bool bitwise)
      : law_(law),
        claim_(claim),
        capabilities_(capabilities),
        profile_(profile),
        evaluate_(evaluate),
        bitwise_(bitwise) {}

  /// Not applicable where the case cannot be drawn, or is not of the profile.
  Result on(const golden::Case& c) const {
    Problem problem;
    try {
      problem = golden::draw(c);
    } catch (const SpecError&) {  // the drawn sizes break a constraint on data
      return {laws::Finding::not_applicable()};
    }
    if (!golden::exact_in(problem, profile_.storage) || !within_range(problem, profile_))
      return {laws::Finding::not_applicable()};
    const laws::Evaluate inside = [this](const Problem& derived) { return evaluate_inside(derived); };
    try {
      return {law_({claim_, problem, inside, c.seed, dtype_from(c.exact), bitwise_, capabilities_.hidden_nan()})};
    } catch (const Outside&) {
      return {laws::Finding::not_applicable()};
    } catch (const Lost& lost) {
      return {laws::Finding::broken(lost.text)};
    } catch (const SpecError&) {  // a derived problem that the equation refuses
      return {laws::Finding::not_applicable()};
    } catch (const std::bad_alloc&) {  // this and the next two are no kernel's: the run ends
      throw;
    } catch (const std::system_error&) {
      throw;
    } catch (const WorkerFailure&) {
      throw;
    } catch (const std::exception& error) {
      return {laws::Finding::broken(error.what()), true};
    }
  }

private:
  laws::Outcome evaluate_inside(const Problem& problem) const {
    std::vector<std::string> given;
    for (const auto& [name, _] : problem.inputs) given.push_back(name);
    if (!capabilities_.takes(given)) throw Outside{};
    const Spec& spec = *problem.spec;
    if (!capabilities_.allow(spec,
                             {problem.sizes, problem.parameters, given, {}, true, properties_of(spec, {problem})}) ||
        !within_range(problem, profile_))
      throw Outside{};
    laws::Outcome outcome = evaluate_(problem);
    if (auto lost = lost_number(problem, outcome)) throw Lost{std::move(*lost)};
    return outcome;
  }

  const laws::Law law_;
  const LawClaim& claim_;
  const Capabilities& capabilities_;
  const golden::Profile& profile_;
  const laws::Evaluate& evaluate_;
  const bool bitwise_;
};

/// Takes the first smaller problem that breaks the law, and goes on from there, until none of them breaks it.
/// Evaluations that throw are not shrunk: each may cost a process or a time limit, and may depend on chance.
void shrink(const Problems& problems, const Trial& trial, const golden::Profile& profile, Numbers numbers,
            Trial::Result result, LawRun& run) {
  auto smaller = problems.smaller(numbers);
  const auto note = [&](const golden::Case& c) {
    run.broken = result.finding.text;
    run.query = golden::query(c, profile.name);
  };
  note(*problems.of(numbers));
  while (!result.threw) {
    auto next = smaller.next();
    if (!next) return;
    const auto c = problems.of(*next);
    if (!c) continue;
    auto again = trial.on(*c);
    if (again.finding.kind != laws::Finding::Kind::broken) continue;
    result = std::move(again);
    note(*c);
    smaller = problems.smaller(*next);
  }
}

/// RapidCheck's schedule: sizes grow evenly from 0 to 100 over the draws, and by 1 with every ten that did not apply.
int size_of_draw(int draw, int draws, int discarded) {
  return (draws > 1 ? draw * rc::kNominalSize / (draws - 1) : 0) + discarded / 10;
}

}  // namespace

const LawSizes::Moved& LawSizes::of(const golden::Case& drawn, const Capabilities& wanted) {
  if (std::exchange(spec_, drawn.spec) != drawn.spec) known_.clear();
  std::vector<Index> sizes;
  for (const auto& [_, size] : drawn.sizes) sizes.push_back(size);
  const auto [known, is_new] =
      known_.try_emplace({wanted.text(), std::move(sizes), drawn.parameters, drawn.with}, std::nullopt);
  if (is_new) known->second = wanted.adapted(*drawn.spec, drawn.sizes, drawn.parameters, drawn.with);
  return known->second;
}

LawRun run_law(laws::Law law, const LawClaim& claim, const Spec& spec, const std::string& form,
               const Capabilities& capabilities, const golden::Profile& profile, const laws::Evaluate& evaluate,
               bool bitwise, int draws, std::uint64_t seed, LawSizes* sizes) {
  LawRun run;
  LawSizes own;
  const Problems problems(spec, form, capabilities, claim, sizes ? *sizes : own);
  if (problems.empty()) return run;
  const Trial trial(law, claim, capabilities, profile, evaluate, bitwise);
  rc::Random random(seed);
  int discarded = 0, discarded_since = 0;
  while (run.draws < draws && discarded <= kDiscards * draws) {
    const Numbers numbers = problems.draw(random.split(), size_of_draw(run.draws, draws, discarded_since));
    const auto c = problems.of(numbers);
    if (c && is_large(spec, c->sizes, c->parameters)) return run;  // so is all that the kernel can do
    const Trial::Result result = c ? trial.on(*c) : Trial::Result{laws::Finding::not_applicable()};
    if (result.finding.kind == laws::Finding::Kind::not_applicable) {
      ++discarded, ++discarded_since;
      continue;
    }
    ++run.draws;
    discarded_since = 0;
    if (result.finding.kind == laws::Finding::Kind::noted) run.note = result.finding.text;
    if (result.finding.kind == laws::Finding::Kind::broken) {
      shrink(problems, trial, profile, numbers, result, run);
      break;
    }
  }
  return run;
}

}  // namespace attest::judge
