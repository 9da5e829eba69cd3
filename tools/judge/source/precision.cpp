// SPDX-License-Identifier: MIT
#include "attest/judge/precision.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "attest/golden/agreement.hpp"
#include "attest/golden/files.hpp"
#include "attest/judge/faults.hpp"
#include "attest/judge/stages.hpp"
#include "attest/judge/work.hpp"
#include "case_facts.hpp"
#include "golden_members.hpp"
#include "in_parallel.hpp"
#include "kept.hpp"
#include "precision_members.hpp"

namespace attest::judge {
namespace {

constexpr std::size_t kMostSamples = 4;
constexpr double kMostWork = 1e4;      // of a sample, by work_of
constexpr std::size_t kMostHeld = 4;   // stages in lower formats
constexpr double kCertain = 6;         // standard errors between what was measured and what is ruled out
constexpr double kFewestElements = 8;  // in which the rounding of a stage shows
constexpr double kNearOne = 0.15;
constexpr auto kFactors = "factors of products";

bool is_cut(const StageFormat& format) { return format.name.ends_with("(cut)"); }

struct Change {
  std::string place;
  StageFormat format;
};

/// <r, d> / <d, d> with its standard error.
struct Share {
  double c = 0, error = std::numeric_limits<double>::infinity();
  double gain = 0;             // of sum r^2, what d takes away
  std::vector<double> values;  // what such a kernel gives

  bool is_held() const { return c / error >= kCertain && std::abs(c - 1) <= std::max(kNearOne, 2 * error); }
  bool is_finer() const { return (1 - c) / error >= kCertain && c < 0.5; }
};

class Measurement {
public:
  Measurement(const std::vector<Sample>& samples, const golden::Profile& profile) : profile_(profile) {
    std::vector<std::pair<double, const Sample*>> small;
    for (const Sample& sample : samples) {
      const Problem& problem = sample.c->problem;
      const double work = work_of(*problem.spec, problem.sizes, problem.parameters);
      const bool random = sample.c->name.flag.starts_with("random");
      if (work <= kMostWork && sample.c->certified.alternatives.empty() && !sample.got.empty())
        small.emplace_back(random ? work : work / kMostWork, &sample);
    }
    std::stable_sort(small.begin(), small.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < std::min(kMostSamples, small.size()); ++i) samples_.push_back(small[i].second);
  }

  /// Of all that decides what is found: key in a cache.
  std::string kept_as() const {
    ByteWriter all;
    for (const Sample* sample : samples_) {
      all.put(golden::query(sample->c->name, profile_.name));
      all.put(sample->c->problem.inputs);
      all.put(sample->c->certified);
      all.put(sample->got);
    }
    return "precision;" + golden::sha256(all.take());
  }

  Precision run() {
    Precision found;
    if (samples_.empty() || !choose_form()) return found;
    found.form = form_;
    std::vector<std::string> places = places_of_form();
    std::vector<Change> held;
    std::vector<std::pair<Change, Share>> shares;
    for (;;) {
      shares = measured(places, held);
      const auto best = std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
        return std::pair(a.second.is_held(), a.second.gain) < std::pair(b.second.is_held(), b.second.gain);
      });
      if (held.size() == kMostHeld || best == shares.end() || !best->second.is_held()) break;
      found.held.push_back(described(*best, shares));
      held.push_back(best->first);
      std::erase(places, best->first.place);
      for (const auto& place : found.held.back().alike) std::erase(places, place);
      base_ = outputs(held);
    }
    for (const auto& place : places) {
      // Formats go from coarse to fine.
      std::optional<std::string> finer;
      for (const auto& [change, share] : shares)
        if (change.place == place && share.is_finer() && !is_cut(change.format)) finer = change.format.name;
      if (finer)
        found.finer.push_back({place, *finer});
      else
        found.untold.push_back(place);
    }
    return found;
  }

private:
  /// Outputs of all samples, one after the other, by a kernel that holds some stages in lower formats.
  std::vector<double> outputs(const std::vector<Change>& changes) const {
    std::vector<double> values;
    for (const Sample* sample : samples_) {
      reference::Kernel kernel;
      kernel.single = profile_.units[reference::kAccumulate] > 0x1p-53;
      for (const Change& change : changes) {
        if (change.place == kFactors) {
          kernel.operand_bits = change.format.bits;
          kernel.operand_half = change.format.name == "binary16";
          kernel.operand_cut = is_cut(change.format);
        } else {
          kernel.stages[change.place] = change.format.rounded;
        }
      }
      const Problem& problem = sample->c->problem;
      const Arrays results = stored(problem, emulated(problem, form_, kernel), profile_);
      for (const auto& [name, _] : sample->got) {
        const auto& some = results.at(name).values;
        values.insert(values.end(), some.begin(), some.end());
      }
    }
    return values;
  }

  /// What the kernel gave, and the form whose results are nearest to it; false where no form computes all samples.
  bool choose_form() {
    for (const Sample* sample : samples_)
      for (const auto& [name, array] : sample->got) {
        const Spec& spec = *sample->c->problem.spec;
        const auto& tensor = sample->c->certified.outputs.at(name);
        const auto units = profile_.units_of(golden::declaration_of(spec, name));
        got_.insert(got_.end(), array.values.begin(), array.values.end());
        for (std::size_t i = 0; i < tensor.hi.size(); ++i) sigma_.push_back(sigma_of(tensor, i, units));
      }
    double least = std::numeric_limits<double>::infinity();
    std::string nearest;
    for (const auto& form : samples_[0]->c->problem.spec->forms) {
      if (!std::all_of(samples_.begin(), samples_.end(),
                       [&](const Sample* sample) { return golden::is_modelled(form, sample->c->problem); }))
        continue;
      form_ = form.name;
      auto values = outputs({});
      double squares = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (const double r = residual(values, got_, i); std::isfinite(r)) squares += r * r;
      if (squares < least) least = squares, nearest = form.name, base_ = std::move(values);
    }
    form_ = nearest;
    return !form_.empty();
  }

  double residual(const std::vector<double>& from, const std::vector<double>& to, std::size_t i) const {
    return sigma_[i] > 0 ? (to[i] - from[i]) / sigma_[i] : 0;
  }

  std::vector<std::string> places_of_form() const {
    std::vector<std::string> places{kFactors};
    for (const Sample* sample : samples_)
      for (const auto& label : reference::stages_of(sample->c->problem, form_))
        if (std::find(places.begin(), places.end(), label) == places.end()) places.push_back(label);
    return places;
  }

  std::vector<std::pair<Change, Share>> measured(const std::vector<std::string>& places,
                                                 const std::vector<Change>& held) const {
    std::vector<std::pair<Change, Share>> shares;
    for (const auto& place : places)
      for (const auto& format : formats_below(profile_)) shares.push_back({{place, format}, {}});
    in_parallel(shares.size(), [&](std::size_t i) {
      auto changes = held;
      changes.push_back(shares[i].first);
      shares[i].second = share_of(outputs(changes));
    });
    return shares;
  }

  Share share_of(std::vector<double> values) const {
    Share share;
    double rd = 0, dd = 0, rr = 0, fourths = 0;
    std::size_t used = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double r = residual(base_, got_, i), d = residual(base_, values, i);
      if (!std::isfinite(r) || !std::isfinite(d)) continue;
      rd += r * d, dd += d * d, rr += r * r, fourths += d * d * d * d, ++used;
    }
    share.values = std::move(values);
    if (!(dd > 0) || dd * dd / fourths < kFewestElements) return share;
    share.c = rd / dd;
    share.gain = rd * rd / dd;
    // The rest scatters by at least a tenth of an expected error, so that a kernel that gives the very bits of a form
    // is not told from others by rounding alone.
    const double rest = std::max(rr - share.gain, 0.01 * static_cast<double>(used)) / static_cast<double>(used);
    share.error = std::sqrt(rest / dd);
    return share;
  }

  /// With the places and formats that the samples do not tell from it.
  static StagePrecision described(const std::pair<Change, Share>& best,
                                  const std::vector<std::pair<Change, Share>>& shares) {
    StagePrecision one{best.first.place, std::string(best.first.format.name)};
    for (const auto& [change, share] : shares) {
      if (share.values != best.second.values) continue;
      if (change.place == one.place) {
        if (one.format.find(change.format.name) == std::string::npos)
          one.format += fmt::format(" or {}", change.format.name);
      } else if (std::find(one.alike.begin(), one.alike.end(), change.place) == one.alike.end()) {
        one.alike.push_back(change.place);
      }
    }
    return one;
  }

  const golden::Profile& profile_;
  std::vector<const Sample*> samples_;
  std::string form_;
  std::vector<double> got_, sigma_, base_;  // base_: what the form gives with the stages that are known to be held
};

}  // namespace

std::string Precision::text() const {
  std::vector<std::string> parts;
  for (const auto& one : held)
    parts.push_back(fmt::format("{}{} held in {}", one.place,
                                one.alike.empty() ? "" : fmt::format(" (or {})", fmt::join(one.alike, ", ")),
                                one.format));
  std::map<std::string, std::vector<std::string>> by_format;
  for (const auto& one : finer) by_format[one.format].push_back(one.place);
  for (const auto& [format, places] : by_format)
    parts.push_back(fmt::format("{} finer than {}", fmt::join(places, ", "), format));
  if (!untold.empty()) parts.push_back(fmt::format("not seen: {}", fmt::join(untold, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

Precision precision_of(const std::vector<Sample>& samples, const golden::Profile& profile, Cache* cache) {
  Measurement measurement(samples, profile);
  return kept(cache, [&] { return measurement.kept_as(); }, [&] { return measurement.run(); });
}

}  // namespace attest::judge
