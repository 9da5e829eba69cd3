// SPDX-License-Identifier: MIT
#include "attest/judge/diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "attest/golden/agreement.hpp"
#include "attest/judge/value_sentences.hpp"
#include "attest/judge/work.hpp"

namespace attest::judge {
namespace {

constexpr double kCertain = 1e-6;     // corrected p above which a fit names nothing: a wrong name in a million runs
constexpr double kNearOne = 0.05;     // c of a fault that is there as a whole
constexpr double kMostOfAFault = 2;   // c
constexpr std::size_t kFewCases = 6;  // failing ones that may look like a fault by chance
constexpr std::size_t kMostShownElsewhere = 4;             // passing cases in which it would show, for each of them
constexpr double kExplainsInPart = 0.999;                  // of the squared error, for a name of what is there in part
constexpr std::array<Index, 4> kLengths{16, 32, 64, 128};  // of blocks that kernels have

/// Distance of a kernel from a fault taken as the equation.
struct Distance {
  double squares = 0;                  // sum of (error / bound)^2
  Index elements = 0, told_apart = 0;  // elements where the fault and the truth differ by more than both bounds
};

/// A magnitude below which a kernel does not overflow: some powers of two below the largest number of the format.
double largest_of(DType storage) { return storage == DType::f16 ? 0x1p15 : storage == DType::f64 ? 0x1p1022 : 0x1p126; }

/// Whether a kernel may have overflowed where a value of that size is due.
bool overflowed(double got, double due, DType storage) {
  return !std::isfinite(got) && std::isfinite(due) && std::abs(due) > largest_of(storage);
}

/// Whether every result of these outputs (of all where there are none) is what the fault's equation gives, within the
/// bounds of a correct kernel of it; adds to the distance.
bool matches_equation(Bank& bank, const Sample& sample, const Fault& fault, std::optional<Index> block,
                      const std::vector<std::string>& outputs, Distance& distance) {
  const auto* wrong = bank.as_equation(sample, fault, block);
  if (!wrong) return false;
  for (const auto& [name, got] : sample.got) {
    if (!outputs.empty() && std::find(outputs.begin(), outputs.end(), name) == outputs.end()) continue;
    const auto& tensor = wrong->at(name);
    const auto& truth = sample.c->certified.outputs.at(name);
    const auto units = bank.profile().units_of(golden::declaration_of(bank.spec(), name));
    for (std::size_t i = 0; i < tensor.hi.size(); ++i) {
      const double x = got.values[i];
      if (overflowed(x, tensor.hi[i], bank.profile().storage)) {
        distance.told_apart += std::isfinite(truth.hi[i]);
        continue;
      }
      if (!golden::agrees(tensor, i, x, units)) return false;
      if (!std::isfinite(tensor.hi[i])) {
        distance.told_apart += std::isfinite(truth.hi[i]);
        continue;
      }
      const double bound = golden::bound_of(tensor, i, units), error = golden::error_of(tensor, i, x);
      distance.told_apart += !(std::abs(tensor.hi[i] - truth.hi[i]) <= bound + golden::bound_of(truth, i, units));
      if (bound > 0) distance.squares += error * error / (bound * bound), ++distance.elements;
    }
  }
  return true;
}

/// A fault of the arithmetic has no equation: whether every output is what an emulated kernel with the fault gives, to
/// half of the fault's effect.
bool matches_emulation(Bank& bank, const Sample& sample, const Fault& fault, Distance& distance) {
  const auto& wrong = bank.outputs_of_fault(*sample.c, fault);
  for (const auto& output : bank.spec().outputs) {
    const auto got = sample.got.find(output.name);
    if (got == sample.got.end()) continue;
    const auto& truth = sample.c->certified.outputs.at(output.name);
    const auto units = bank.profile().units_of(output);
    for (std::size_t i = 0; i < truth.hi.size(); ++i) {
      const double x = got->second.values[i], y = wrong.at(output.name).values[i];
      if (std::isfinite(x) != std::isfinite(y)) return false;
      if (!std::isfinite(truth.hi[i]) || !std::isfinite(y)) {
        if (std::isfinite(y) && !(std::abs(x - y) <= std::abs(y) / 2)) return false;
        distance.told_apart += std::isfinite(truth.hi[i]) != std::isfinite(y);
        continue;
      }
      const double bound = golden::bound_of(truth, i, units), off = std::abs(y - truth.hi[i]);
      if (!(std::abs(x - y) <= bound + off / 2)) return false;
      distance.told_apart += off > 2 * bound;
      if (bound > 0) distance.squares += std::pow((x - y) / bound, 2), ++distance.elements;
    }
  }
  return true;
}

/// "rows 4 to 8 of 9", "column 0 of 3"; empty where there is only one.
std::string extent(const std::string& word, const std::set<Index>& hit, Index size) {
  if (static_cast<Index>(hit.size()) == size) return size == 1 ? "" : fmt::format("every {}", word);
  const bool run = *hit.rbegin() - *hit.begin() + 1 == static_cast<Index>(hit.size());
  if (hit.size() == 1) return fmt::format("{} {} of {}", word, *hit.begin(), size);
  if (run) return fmt::format("{}s {} to {} of {}", word, *hit.begin(), *hit.rbegin(), size);
  if (hit.size() <= 8) return fmt::format("{}s {} of {}", word, fmt::join(hit, ", "), size);
  return fmt::format("{} of {} {}s", hit.size(), size, word);
}

/// Where the wrong rows lie in the kernel's blocks or segments.
std::string stripes(const Problem& problem, const std::set<Index>& rows, Index size) {
  for (const Role role : {Role::block_length, Role::segment_length}) {
    const auto value = setting(problem, role);
    if (!value) continue;
    const std::string& name = problem.spec->parameter(role)->name;
    const Index width = std::get<Index>(*value);
    if (width < 2 || width >= size || static_cast<Index>(rows.size()) == size) continue;
    std::set<Index> places;
    for (const Index row : rows) places.insert(row % width);
    if (places.size() == 1) return fmt::format("; row {} of its {} of {}", *places.begin(), name, width);
    if (*rows.begin() >= width) return fmt::format("; all behind the first {} of {}", name, width);
    if (*rows.rbegin() < width) return fmt::format("; all in the first {} of {}", name, width);
  }
  return "";
}

std::string where(const Sample& sample, const golden::Profile& profile) {
  std::vector<std::string> sentences;
  const Problem& problem = sample.c->problem;
  for (const auto& [name, got] : sample.got) {
    const auto& truth = sample.c->certified.outputs.at(name);
    const auto units = profile.units_of(golden::declaration_of(*problem.spec, name));
    const Index columns = truth.shape.empty() ? 1 : truth.shape.back();
    std::set<Index> rows, wrong_columns;
    Index wrong = 0;
    for (std::size_t i = 0; i < truth.hi.size(); ++i) {
      const double x = got.values[i];
      const bool fine = golden::agrees(truth, i, x, units);
      if (fine) continue;
      ++wrong;
      rows.insert(static_cast<Index>(i) / std::max<Index>(columns, 1));
      wrong_columns.insert(static_cast<Index>(i) % std::max<Index>(columns, 1));
    }
    if (wrong == 0) continue;
    const Index height = static_cast<Index>(truth.hi.size()) / std::max<Index>(columns, 1);
    std::vector<std::string> parts;
    for (const auto& part : {extent("row", rows, height), extent("column", wrong_columns, columns)})
      if (!part.empty()) parts.push_back(part);
    const std::string places = fmt::format("{}{}", fmt::join(parts, ", "), stripes(problem, rows, height));
    sentences.push_back(fmt::format("{}: {} of {} elements{}", name, wrong, truth.hi.size(),
                                    places.empty() ? "" : fmt::format(" ({})", places)));
  }
  return fmt::format("{}", fmt::join(sentences, "; "));
}

/// Where values are labels, which key was read instead of the right one: "; 3 is the label of row 2 of v, ...".
std::string label(const Sample& sample, const Element& element) {
  const auto* group = sample.c->problem.spec->group(sample.c->name.flag);
  if (exact_outputs(sample.c->name).empty() || element.at.empty() || element.at.back() != 0) return "";
  for (const auto& [input, recipe] : group->fill) {
    if (recipe != "labels") continue;
    const auto rows = static_cast<double>(sample.c->problem.inputs.at(input).shape[0]);
    if (element.got >= 1 && element.got <= rows && element.got == std::floor(element.got))
      return fmt::format("; {} is the label of row {} of {}, that of row {} was due", element.got, element.got - 1,
                         input, element.expected - 1);
  }
  return "";
}

/// A fault whose equation gives what failed.
struct Match {
  const Fault* fault = nullptr;
  std::optional<Index> block{};
  std::vector<std::string> outputs{};  // that have it, where others are right
  Distance distance{};
  bool whole = false;  // it gives all other cases, too

  double each() const { return distance.squares / static_cast<double>(distance.elements + 1); }
};

/// The lengths of blocks with which the fault gives other results in these cases than with their own.
std::vector<Index> other_lengths(const Bank& bank, const std::vector<const Sample*>& long_ones, const Fault& fault) {
  const auto* block = bank.spec().parameter(Role::block_length);
  if (!block || fault.numeric) return {};
  std::vector<Index> lengths;
  std::set<std::vector<double>> seen;
  const auto outputs = [&](std::optional<Index> length) {
    std::vector<double> all;
    for (const Sample* sample : long_ones)
      for (const auto& [_, array] : bank.outputs_in_binary64(*sample->c, fault, length))
        all.insert(all.end(), array.values.begin(), array.values.end());
    for (double& x : all)
      if (std::isnan(x)) x = std::numeric_limits<double>::infinity();
    return all;
  };
  seen.insert(outputs(std::nullopt));
  for (const Index length : kLengths) {
    const auto allows = [&](const Sample* sample) { return bank.allows_block(*sample, length); };
    if (!std::all_of(long_ones.begin(), long_ones.end(), allows)) continue;
    if (seen.insert(outputs(length)).second) lengths.push_back(length);
  }
  return lengths;
}

/// Some of the cases in which blocks of other lengths may show: the longest of those that cost little.
std::vector<const Sample*> long_ones(std::vector<const Sample*> samples) {
  constexpr std::size_t kSome = 3;
  constexpr double kMostWork = 5e4;
  const auto work = [](const Sample* sample) {
    return work_of(*sample->c->problem.spec, sample->c->problem.sizes, sample->c->problem.parameters);
  };
  std::erase_if(samples, [&](const Sample* sample) { return work(sample) > kMostWork; });
  std::stable_sort(samples.begin(), samples.end(), [&](const Sample* a, const Sample* b) { return work(a) > work(b); });
  samples.resize(std::min(samples.size(), kSome));
  return samples;
}

/// In how many of those cases, which pass, the fault would show.
std::size_t shown_in(Bank& bank, const Fault& fault, const std::vector<const Sample*>& passing) {
  return static_cast<std::size_t>(std::count_if(passing.begin(), passing.end(), [&](const Sample* sample) {
    return !golden::is_gradient(sample->got.begin()->first) && bank.shown(*sample->c, fault) > 1;
  }));
}

/// The outputs that are wrong in any of these cases; none where all are.
std::vector<std::string> wrong_outputs(const Bank& bank, const std::vector<const Sample*>& failing) {
  std::set<std::string> wrong, all;
  for (const Sample* sample : failing)
    for (const auto& [name, got] : sample->got) {
      all.insert(name);
      const auto& truth = sample->c->certified.outputs.at(name);
      const auto units = bank.profile().units_of(golden::declaration_of(bank.spec(), name));
      for (std::size_t i = 0; i < truth.hi.size() && !wrong.count(name); ++i)
        if (!golden::agrees(truth, i, got.values[i], units)) wrong.insert(name);
    }
  return wrong == all ? std::vector<std::string>() : std::vector<std::string>(wrong.begin(), wrong.end());
}

/// Faults that give every failing case: where some give every case those alone, and of these, where some give every
/// output, those alone. The nearest first.
std::vector<Match> matching_faults(Bank& bank, const std::vector<const Sample*>& failing,
                                   const std::vector<const Sample*>& passing) {
  const bool gradients = golden::is_gradient(failing[0]->got.begin()->first);
  const auto long_failing = long_ones(failing);
  const auto some_outputs = wrong_outputs(bank, failing);
  std::vector<Match> matches;
  const auto all_match = [&](const std::vector<const Sample*>& some, Match& match) {
    return std::all_of(some.begin(), some.end(), [&](const Sample* sample) {
      return match.fault->numeric
                 ? matches_emulation(bank, *sample, *match.fault, match.distance)
                 : matches_equation(bank, *sample, *match.fault, match.block, match.outputs, match.distance);
    });
  };
  const auto try_match = [&](const Fault& fault, std::optional<Index> block,
                             const std::vector<std::string>& outputs = {}) {
    Match match{&fault, block, outputs};
    if (!all_match(failing, match)) return false;
    const Distance of_failing = match.distance;
    match.whole = all_match(passing, match);
    if (!match.whole) match.distance = of_failing;
    if (match.distance.told_apart > 0) matches.push_back(match);
    return true;
  };
  for (const Fault& fault : bank.spec().faults) {
    if (!fault.equivalent.empty() || fault.amplitude > 0 || (gradients ? fault.numeric : fault.gradient)) continue;
    if (try_match(fault, std::nullopt)) continue;
    if (!some_outputs.empty() && !fault.numeric && try_match(fault, std::nullopt, some_outputs)) continue;
    for (const Index length : other_lengths(bank, long_failing, fault))
      if (try_match(fault, length)) break;
  }
  // What gives every output is nearer than what gives some, however near each number is.
  const auto rank = [](const Match& one) { return std::tuple(!one.whole, !one.outputs.empty(), one.each()); };
  std::sort(matches.begin(), matches.end(), [&](const Match& a, const Match& b) { return rank(a) < rank(b); });
  std::erase_if(matches, [&, best = matches.empty() ? Match{} : matches[0]](const Match& one) {
    return one.whole != best.whole || one.outputs.empty() != best.outputs.empty();
  });
  return matches;
}

/// The fit of that fault; one that may be chance where there is none.
Fit fit_of(const std::vector<Fit>& fits, const std::string& fault) {
  const auto fit = std::find_if(fits.begin(), fits.end(), [&](const Fit& one) { return one.fault == fault; });
  if (fit != fits.end()) return *fit;
  Fit none;
  none.fault = fault;
  return none;
}

/// The largest share first. Of faults that explain as much, the one that is there as a whole (c = 1) is the likelier.
std::vector<Fit> by_likelihood(std::vector<Fit> fits) {
  std::sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) {
    const auto percent = [](const Fit& fit) { return std::round(100 * fit.explained); };
    const auto oddness = [](const Fit& fit) { return std::abs(std::log(std::max(fit.c, 1e-300))); };
    return percent(a) != percent(b) ? percent(a) > percent(b) : oddness(a) < oddness(b);
  });
  return fits;
}

/// Faults whose direction explains enough of the failing cases: one alone, else two together, each there as a whole.
void add_fits(Bank& bank, const std::vector<const Sample*>& failing, const Statistics& statistics,
              Diagnosis& diagnosis) {
  if (failing.empty()) return;
  // More than all of a fault is none; an amplitude may be any.
  const auto is_share = [&](const Fit& fit) {
    return std::abs(fit.c) <= kMostOfAFault || bank.spec().fault(fit.fault)->amplitude > 0;
  };
  // A share of a fault can be fitted to much that is something else.
  const auto is_whole = [&](const Fit& fit) {
    return std::abs(fit.c - 1) <= kNearOne && bank.spec().fault(fit.fault)->amplitude == 0;
  };
  std::vector<Fit> fits;
  for (Fit fit : statistics.fits)
    if (fit.p <= kCertain && is_share(fit)) {
      fit.explained = bank.explained(failing, {fit});
      if (fit.explained >= (is_whole(fit) ? kExplains : kExplainsInPart)) fits.push_back(fit);
    }
  for (const Fit& fit : by_likelihood(std::move(fits)))
    diagnosis.names.push_back({fit.fault, false, false, {}, {}, fit});
  const auto& joint = statistics.joint;
  if (!diagnosis.names.empty() || joint.size() != 2 || !std::all_of(joint.begin(), joint.end(), is_whole)) return;
  const double explained = bank.explained(failing, statistics.joint);
  if (explained < kExplains) return;
  diagnosis.together = statistics.joint;
  for (Fit& fit : diagnosis.together) fit.explained = explained;
}

}  // namespace

namespace {

/// Cases by what the kernel gave in them.
struct Failures {
  std::vector<const Sample*> failing, passing, failing_golden;

  Failures(const Bank& bank, const std::vector<Sample>& samples, const std::vector<Sample>& of_regimes) {
    const auto add = [&](const Sample& sample, bool golden) {
      const auto comparison = compare(sample.c->problem, sample.c->certified, sample.got, bank.profile());
      (comparison.failed == 0 ? passing : failing).push_back(&sample);
      if (comparison.failed > 0 && golden) failing_golden.push_back(&sample);
    };
    for (const Sample& sample : samples) add(sample, true);
    for (const Sample& sample : of_regimes) add(sample, false);
  }
};

Diagnosis named_by_equation(Bank& bank, const Failures& failures, const Statistics& statistics) {
  Diagnosis diagnosis;
  const auto& failing = failures.failing;
  if (failing.empty()) {
    for (const Fit& fit : by_likelihood(statistics.rejected))
      diagnosis.names.push_back({fit.fault, false, false, {}, {}, fit});
    return diagnosis;
  }
  const golden::GoldenCase& first = *failing[0]->c;
  diagnosis.first = compare(first.problem, first.certified, failing[0]->got, bank.profile()).first;
  const std::string& batch = failing[0]->batch_query;
  diagnosis.query = batch.empty() ? golden::query(first.name, bank.profile().name) : batch;
  diagnosis.where = where(*failing[0], bank.profile()) + label(*failing[0], *diagnosis.first);
  for (const Match& match : matching_faults(bank, failing, failures.passing)) {
    diagnosis.names.push_back(
        {match.fault->name, match.whole, true, match.block, match.outputs, fit_of(statistics.fits, match.fault->name)});
    Name& name = diagnosis.names.back();
    name.failing_cases = failing.size();
    if (!match.whole) name.shown_in_passing = shown_in(bank, *match.fault, failures.passing);
    // A few cases may look like what is seen nowhere else.
    if (name.failing_cases < kFewCases && name.shown_in_passing > kMostShownElsewhere * name.failing_cases)
      diagnosis.names.pop_back();
  }
  return diagnosis;
}

}  // namespace

Diagnosis name_by_equation(Bank& bank, const std::vector<Sample>& samples, const std::vector<Sample>& of_regimes,
                           const Statistics& statistics) {
  return named_by_equation(bank, Failures(bank, samples, of_regimes), statistics);
}

Diagnosis diagnose(Bank& bank, const std::vector<Sample>& samples, const std::vector<Sample>& of_regimes,
                   const Statistics& statistics) {
  const Failures failures(bank, samples, of_regimes);
  Diagnosis diagnosis = named_by_equation(bank, failures, statistics);
  if (!diagnosis.names.empty() || failures.failing.empty()) return diagnosis;
  diagnosis.stage = name_of_stage(failures.failing, failures.passing, bank.profile());
  add_fits(bank, failures.failing_golden, statistics, diagnosis);
  if (!diagnosis.names_something())
    diagnosis.values = what_values_show(failures.failing, failures.passing, bank.profile());
  return diagnosis;
}

}  // namespace attest::judge
