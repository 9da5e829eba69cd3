// SPDX-License-Identifier: MIT
#include "attest/judge/diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "attest/golden/agreement.hpp"

namespace attest::judge {
namespace {

constexpr double kCertain = 1e-6;  // corrected p above which a fit names nothing

/// How far a kernel is from a fault taken as the equation, in expected errors; nothing when it is beyond a bound.
struct Distance {
  double squares = 0;
  Index elements = 0, told_apart = 0;  // elements where the fault and the truth differ by more than both bounds
};

/// A magnitude that every order of summation can still store.
double largest_of(DType storage) { return storage == DType::f16 ? 0x1p15 : storage == DType::f64 ? 0x1p1022 : 0x1p126; }

bool matches_equation(Bank& bank, const Sample& sample, const Fault& fault, Distance& distance) {
  const auto& wrong = bank.as_equation(*sample.c, fault);
  for (const auto& output : bank.spec().outputs) {
    const auto got = sample.got.find(output.name);
    if (got == sample.got.end()) continue;
    const auto& tensor = wrong.at(output.name);
    const auto& truth = sample.c->certified.outputs.at(output.name);
    const auto units = bank.profile().units_of(output);
    for (std::size_t i = 0; i < tensor.hi.size(); ++i) {
      const double x = got->second.values[i];
      if (!std::isfinite(tensor.hi[i])) {
        if (std::isfinite(x)) return false;
        distance.told_apart += std::isfinite(truth.hi[i]);
        continue;
      }
      if (!std::isfinite(x) &&
          std::abs(tensor.hi[i]) > largest_of(bank.profile().storage)) {  // overflowed on the way out
        distance.told_apart += std::isfinite(truth.hi[i]);
        continue;
      }
      const double bound = golden::bound_of(tensor, i, units), error = golden::error_of(tensor, i, x);
      if (!golden::is_within(error, bound)) return false;
      distance.told_apart += !(std::abs(tensor.hi[i] - truth.hi[i]) <= bound + golden::bound_of(truth, i, units));
      if (bound > 0) distance.squares += error * error / (bound * bound), ++distance.elements;
    }
  }
  return true;
}

/// A fault of the arithmetic has no equation: a planted kernel shows what it does.
bool matches_planted(Bank& bank, const Sample& sample, const Fault& fault, Distance& distance) {
  const auto& wrong = bank.planted_outputs(*sample.c, fault);
  for (const auto& output : bank.spec().outputs) {
    const auto got = sample.got.find(output.name);
    if (got == sample.got.end()) continue;
    const auto& truth = sample.c->certified.outputs.at(output.name);
    const auto units = bank.profile().units_of(output);
    for (std::size_t i = 0; i < truth.hi.size(); ++i) {
      const double x = got->second.values[i], y = wrong.at(output.name).values[i];
      if (!std::isfinite(truth.hi[i])) continue;
      if (!std::isfinite(y)) {
        if (std::isfinite(x)) return false;
        ++distance.told_apart;
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

/// "rows 4 to 8 of 9", "column 0 of 3", ...
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
  for (const auto& output : problem.spec->outputs) {
    const auto got = sample.got.find(output.name);
    if (got == sample.got.end()) continue;
    const auto& truth = sample.c->certified.outputs.at(output.name);
    const auto units = profile.units_of(output);
    const Index columns = truth.shape.empty() ? 1 : truth.shape.back();
    std::set<Index> rows, wrong_columns;
    Index wrong = 0;
    for (std::size_t i = 0; i < truth.hi.size(); ++i) {
      const double x = got->second.values[i];
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
    sentences.push_back(fmt::format("{}: {} of {} elements ({}{})", output.name, wrong, truth.hi.size(),
                                    fmt::join(parts, ", "), stripes(problem, rows, height)));
  }
  return fmt::format("{}", fmt::join(sentences, "; "));
}

/// Where values are labels, the output says which key was read.
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

}  // namespace

Diagnosis diagnose(Bank& bank, const std::vector<Sample>& samples, const Statistics& statistics) {
  Diagnosis diagnosis;
  std::vector<const Sample*> failing, passing;
  for (const Sample& sample : samples) {
    const auto comparison = compare(sample.c->problem, sample.c->certified, sample.got, bank.profile());
    (comparison.failed == 0 ? passing : failing).push_back(&sample);
    if (comparison.failed == 0 || failing.size() > 1) continue;
    diagnosis.first = comparison.first;
    diagnosis.query = golden::query(sample.c->name, bank.profile().name);
  }
  const auto fit_of = [&](const std::string& fault) {
    for (const Fit& fit : statistics.fits)
      if (fit.fault == fault) return fit;
    Fit none;
    none.fault = fault;
    return none;
  };
  if (!failing.empty()) {
    diagnosis.where = where(*failing[0], bank.profile()) + label(*failing[0], *diagnosis.first);
    struct Match {
      const Fault* fault;
      Distance distance;
      bool whole;
      double each() const { return distance.squares / static_cast<double>(distance.elements + 1); }
    };
    std::vector<Match> matches;
    for (const Fault& fault : bank.spec().faults) {
      if (!fault.equivalent.empty() || fault.amplitude > 0) continue;
      Distance distance;
      const auto all_match = [&](const std::vector<const Sample*>& some) {
        return std::all_of(some.begin(), some.end(), [&](const Sample* sample) {
          return fault.numeric ? matches_planted(bank, *sample, fault, distance)
                               : matches_equation(bank, *sample, fault, distance);
        });
      };
      if (!all_match(failing)) continue;
      Match match{&fault, distance, all_match(passing)};
      if (match.whole) match.distance = distance;
      if (match.distance.told_apart > 0) matches.push_back(match);
    }
    std::sort(matches.begin(), matches.end(),
              [](const Match& a, const Match& b) { return a.whole != b.whole ? a.whole : a.each() < b.each(); });
    for (const Match& one : matches)
      if (one.whole == matches[0].whole)
        diagnosis.names.push_back({one.fault->name, one.whole, true, fit_of(one.fault->name)});
  }
  std::vector<Fit> fits = failing.empty() ? statistics.rejected : statistics.fits;
  // Of faults that explain as much, the one that is there as a whole (c = 1) is the likelier.
  std::sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) {
    const auto percent = [](const Fit& fit) { return std::round(100 * fit.explained); };
    const auto oddness = [](const Fit& fit) { return std::abs(std::log(std::max(fit.c, 1e-300))); };
    return percent(a) != percent(b) ? percent(a) > percent(b) : oddness(a) < oddness(b);
  });
  for (const Fit& fit : fits) {
    const bool named = std::any_of(diagnosis.names.begin(), diagnosis.names.end(),
                                   [&](const Name& name) { return name.fault == fit.fault; });
    if (!named && fit.p <= kCertain && fit.explained >= 0.01) diagnosis.names.push_back({fit.fault, false, false, fit});
  }
  return diagnosis;
}

}  // namespace attest::judge
