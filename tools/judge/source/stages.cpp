// SPDX-License-Identifier: MIT
#include "attest/judge/stages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "attest/golden/agreement.hpp"
#include "attest/judge/faults.hpp"
#include "attest/judge/verdict.hpp"
#include "attest/judge/work.hpp"
#include "case_facts.hpp"
#include "in_parallel.hpp"

namespace attest::judge {
namespace {

using Kind = StageChange::Kind;
using reference::Order;

constexpr auto kFactors = "factors of products", kTotals = "running totals", kInput = "input ";
constexpr std::size_t kMostSamples = 6;
constexpr double kMostWork = 4e5;      // of a sample, by work_of
constexpr std::size_t kFitted = 3;     // samples that amounts are fitted to: the smallest
constexpr std::size_t kLookedAt = 24;  // changes that are tried in every sample, of those that explain most of one
constexpr double kMostScreened = 2e4;  // work of the sample in which all changes are tried
constexpr std::size_t kFewestPassing = 3, kMostPassing = 12;  // cases that pass, in which a change must not show
constexpr double kCarriesEnough = 8;                          // elements of it that carry an error
constexpr std::size_t kPaired = 5;                            // changes that others are tried beside
constexpr double kWorthPairing = 0.1;                         // what such a change explains alone
constexpr double kFewestElements = 4;                         // that carry an error, for a name without a fitted amount
constexpr double kFewestOfFit = 8;                            // and with one
constexpr double kFitLeaves = 1e-3;  // at most, of the squared error: what is fitted can be made to explain much
constexpr double kMuchOfNoise = 4;   // as many times the noise: then a change explains less than another one
constexpr int kSteps = 12;           // of the method of Gauss and Newton
constexpr std::array<Index, 5> kLengths{1, 16, 32, 64, 128};  // of blocks
constexpr std::array kOrdersOfTotals{Order::ascending, Order::pairwise, Order::lanes, Order::blocked,
                                     Order::descending};

/// To that many significant bits, to nearest, ties to even.
template <int Bits>
double to_bits(double x) {
  if (!std::isfinite(x) || x == 0) return x;
  int exponent;
  const double mantissa = std::ldexp(std::frexp(x, &exponent), Bits);
  return std::ldexp(std::nearbyint(mantissa), exponent - Bits);
}
template <int Bits>
double cut_to_bits(double x) {
  if (!std::isfinite(x) || x == 0) return x;
  int exponent;
  const double mantissa = std::ldexp(std::frexp(x, &exponent), Bits);
  return std::ldexp(std::trunc(mantissa), exponent - Bits);
}
template <DType Format>
double to_format(double x) {
  return round_to(Format, x);
}

constexpr std::array<StageFormat, 6> kFormats{{{"bfloat16", to_format<DType::bf16>, 8},
                                               {"bfloat16 (cut)", cut_to_bits<8>, 8},
                                               {"binary16", to_format<DType::f16>, 11},
                                               {"TF32", to_bits<11>, 11},
                                               {"TF32 (cut)", cut_to_bits<11>, 11},
                                               {"binary32", to_format<DType::f32>, 24}}};

const StageFormat& format(std::string_view name) {
  return *std::find_if(kFormats.begin(), kFormats.end(), [&](const auto& one) { return one.name == name; });
}

/// The way in which a reference computes: a form, with blocks of a length, in an order of summation.
struct Way {
  std::string form;
  std::optional<Index> block{};
  Order order = Order::ascending;
};

/// Where a form and its parameters are, and what happens there.
struct Candidate {
  Way way;
  std::vector<StageChange> changes;
  double explained = 0, noise = 0;  // means over the samples that were looked at
};

reference::Change change_of(const StageChange& change, const Problem& problem) {
  switch (change.kind) {
    case Kind::held: return format(change.format).rounded;
    case Kind::factor:
      return [c = change.size.empty() ? change.amount
                                      : std::pow(static_cast<double>(problem.sizes.at(change.size)), change.amount)](
                 double x) { return c * x; };
    case Kind::term: return [c = change.amount](double x) { return x + c; };
    case Kind::at_most: return [c = change.amount](double x) { return std::min(x, c); };
    case Kind::at_least: return [c = change.amount](double x) { return std::max(x, c); };
    case Kind::detached:
    case Kind::parameter: break;
  }
  return {};
}

bool is_result(const Problem& problem, const std::string& place) {
  return golden::is_gradient(place) || problem.spec->output(place);
}

/// Results before they are stored.
Arrays computed(const Problem& original, const Arrays& cotangents, const Way& way, reference::Kernel kernel,
                const std::vector<StageChange>& changes) {
  Problem problem = with_block(original, way.block);
  kernel.order = way.order;
  for (const auto& change : changes) {
    if (change.kind == Kind::parameter) {
      problem.parameters[change.place] = change.amount;
      check_sizes(*problem.spec, problem.sizes, problem.parameters);  // which may depend on it
    } else if (change.place.starts_with(kInput)) {
      const auto input = problem.inputs.find(change.place.substr(std::string_view(kInput).size()));
      if (input == problem.inputs.end()) continue;  // not given in this case
      for (double& x : input->second.values) x = change_of(change, problem)(x);
    } else if (change.kind == Kind::detached) {
      kernel.detached.insert(change.place);
    } else if (change.place == kTotals) {
      kernel.totals = change_of(change, problem);
    } else if (change.place == kFactors) {
      kernel.operand_bits = format(change.format).bits;
      kernel.operand_half = change.format == "binary16";
      kernel.operand_cut = change.format.ends_with("(cut)");
    } else if (!is_result(problem, change.place)) {
      auto& stage = kernel.stages[change.place];
      const auto then = change_of(change, problem);
      stage = stage ? reference::Change([first = stage, then](double x) { return then(first(x)); }) : then;
    }
  }
  Arrays results = emulated(problem, way.form, kernel, cotangents);
  for (const auto& change : changes) {
    if (change.kind == Kind::detached || change.kind == Kind::parameter) continue;  // whatever has the same name
    if (const auto result = results.find(change.place); result != results.end())
      for (double& x : result->second.values) x = change_of(change, problem)(x);
  }
  return results;
}

Arrays computed_by(const Problem& problem, const Arrays& cotangents, const Way& way, const golden::Profile& profile,
                   const std::vector<StageChange>& changes) {
  return stored(problem, computed(problem, cotangents, way, kernel_of(profile), changes), profile);
}

/// The errors of a kernel in a case, in expected errors.
struct Errors {
  const Sample* sample;
  std::vector<std::string> results;
  std::vector<std::size_t> used;    // elements that have an error
  std::vector<std::size_t> beyond;  // elements that the kernel made infinite or NaN
  std::vector<std::size_t> within;  // elements that are infinite or NaN, and that the kernel made finite
  std::vector<double> got, hi, lo, sigma;
  double squares = 0, fourths = 0, work = 0;

  Errors(const Sample& one, const golden::Profile& profile) : sample(&one) {
    work = work_of(*problem().spec, problem().sizes, problem().parameters);
    for (const auto& [name, tensor] : one.c->certified.outputs) {
      const auto given = one.got.find(name);
      if (given == one.got.end()) continue;
      results.push_back(name);
      const auto units = profile.units_of(golden::declaration_of(*problem().spec, name));
      for (std::size_t i = 0; i < tensor.hi.size(); ++i) {
        const std::size_t at = got.size();
        got.push_back(given->second.values[i]);
        hi.push_back(tensor.hi[i]);
        lo.push_back(static_cast<double>(tensor.lo[i]));
        sigma.push_back(sigma_of(tensor, i, units));
        if (!std::isfinite(hi.back())) {
          if (std::isfinite(got.back())) within.push_back(at);
          continue;
        }
        if (!(sigma.back() > 0)) continue;
        if (!std::isfinite(got.back())) {
          beyond.push_back(at);
          continue;
        }
        used.push_back(at);
        const double r = residual(at);
        squares += r * r, fourths += r * r * r * r;
      }
    }
  }

  const Problem& problem() const { return sample->c->problem; }
  bool of_gradients() const { return !results.empty() && golden::is_gradient(results[0]); }
  const Arrays& cotangents() const {
    static const Arrays none;
    return of_gradients() ? sample->c->cotangents : none;
  }
  /// Those results, one after the other.
  std::vector<double> flat(const Arrays& arrays) const {
    std::vector<double> values;
    for (const auto& name : results) {
      const auto& some = arrays.at(name).values;
      values.insert(values.end(), some.begin(), some.end());
    }
    return values;
  }
  double residual(std::size_t i) const { return ((got[i] - hi[i]) - lo[i]) / sigma[i]; }
  double square_beside(const std::vector<double>& values) const {
    double sum = 0;
    for (const std::size_t i : used) sum += std::pow((got[i] - values[i]) / sigma[i], 2);
    return sum;
  }
  /// Of the squared error, what is left where a kernel gives those values; 2 where others are finite.
  double left(const std::vector<double>& values) const {
    for (const std::size_t i : beyond)
      if (std::isfinite(values[i])) return 2;
    for (const std::size_t i : within)
      if (!std::isfinite(values[i])) return 2;
    const double sum = square_beside(values);
    return std::isfinite(sum) ? std::min(2.0, squares > 0 ? sum / squares : 0) : 2;
  }
  /// What a correct kernel's own errors leave.
  double noise() const { return squares > 0 ? static_cast<double>(used.size()) / squares : 0; }
  /// Elements that carry the error, as if it were spread evenly.
  double carrying() const {
    return static_cast<double>(beyond.size() + within.size()) + (fourths > 0 ? squares * squares / fourths : 0);
  }
};

/// Some of the failing cases: small ones first.
std::vector<Errors> some_of(const std::vector<const Sample*>& failing, const golden::Profile& profile) {
  std::vector<std::pair<double, const Sample*>> order;
  for (const Sample* sample : failing) {
    const Problem& problem = sample->c->problem;
    if (!sample->c->certified.alternatives.empty()) continue;
    if (const double work = work_of(*problem.spec, problem.sizes, problem.parameters); work <= kMostWork)
      order.emplace_back(work, sample);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Errors> all, some;
  for (const auto& [_, sample] : order) all.emplace_back(*sample, profile);
  std::erase_if(all, [](const Errors& one) { return one.carrying() < 1; });
  // From the smallest to the largest, evenly: short cases do not show what happens between blocks.
  for (std::size_t i = 0; i < std::min(kMostSamples, all.size()); ++i)
    some.push_back(all[all.size() <= kMostSamples ? i : i * (all.size() - 1) / (kMostSamples - 1)]);
  return some;
}

/// Some of the passing cases, evenly: the flags lie behind each other.
std::vector<const Sample*> small_ones(std::vector<const Sample*> passing) {
  std::erase_if(passing, [](const Sample* sample) {
    const Problem& problem = sample->c->problem;
    return sample->got.empty() || work_of(*problem.spec, problem.sizes, problem.parameters) > kMostScreened;
  });
  std::vector<const Sample*> some;
  for (std::size_t i = 0; i < std::min(kMostPassing, passing.size()); ++i)
    some.push_back(passing[i * passing.size() / std::min(kMostPassing, passing.size())]);
  return some;
}

class Search {
public:
  Search(const std::vector<const Sample*>& failing, const std::vector<const Sample*>& passing,
         const golden::Profile& profile)
      : profile_(profile), samples_(some_of(failing, profile)), passing_(small_ones(passing)) {
    if (samples_.empty()) return;
    std::vector<double> work;
    for (const Errors& one : samples_) work.push_back(one.work);
    std::sort(work.begin(), work.end());
    work_fitted_ = work[std::min(kFitted, work.size()) - 1];
    // All changes are tried in the one that tells the most at little cost.
    const auto tells = [](const Errors& one) {
      return std::pair(one.work <= kMostScreened, std::min(one.carrying(), kCarriesEnough));
    };
    std::iter_swap(samples_.begin(),
                   std::max_element(samples_.begin(), samples_.end(),
                                    [&](const Errors& a, const Errors& b) { return tells(a) < tells(b); }));
    ways_ = ways();
  }

  std::optional<StageName> run() {
    double carrying = 0;
    for (const Errors& one : samples_) carrying += one.carrying();
    if (carrying < kFewestElements || ways_.empty()) return std::nullopt;
    auto discrete = singles();
    const auto of_sizes = powers();
    discrete.insert(discrete.end(), of_sizes.begin(), of_sizes.end());
    std::vector<Candidate> found = best_of(std::move(discrete));
    if (!enough(found) && carrying >= kFewestOfFit && have_two_sizes()) {
      auto fitted = fits();
      found.insert(found.end(), fitted.begin(), fitted.end());
      sort(found);
    }
    if (!enough(found)) {
      found = best_of(pairs(found));
      for (Candidate& one : found)
        if (explains(one)) drop_needless(one);
    }
    std::erase_if(found, [&](const Candidate& one) { return explains(one) && is_contradicted(one); });
    return enough(found) ? std::optional(named(found)) : std::nullopt;
  }

private:
  /// Whether the kernel passes most of the cases that were looked at although the changes would show there.
  bool is_contradicted(const Candidate& candidate) const {
    std::size_t shows = 0;
    for (const Sample* sample : passing_) {
      const auto& c = *sample->c;
      const bool gradients = golden::is_gradient(sample->got.begin()->first);
      const auto results =
          computed_by(c.problem, gradients ? c.cotangents : Arrays(), candidate.way, profile_, candidate.changes);
      Arrays given;
      for (const auto& [name, _] : sample->got) given[name] = results.at(name);
      shows += compare(c.problem, c.certified, given, profile_).failed > 0;
    }
    return passing_.size() >= kFewestPassing && 2 * shows > passing_.size();
  }

  /// Of two changes the one that explains as much alone, in this way of computing.
  void drop_needless(Candidate& candidate) const {
    for (const auto& change : candidate.changes) {
      Candidate alone{candidate.way, {change}};
      look_at(alone, samples_.size());
      if (!explains(alone)) continue;
      candidate = std::move(alone);
      return;
    }
  }

  /// An amount that is fitted to cases of one size may stand for something that depends on it.
  bool have_two_sizes() const {
    return std::any_of(samples_.begin(), samples_.end(),
                       [&](const Errors& one) { return one.problem().sizes != first().sizes; });
  }

  const Problem& first() const { return samples_[0].problem(); }

  /// Ways to compute that give other bits than each other in the first sample.
  std::vector<Way> ways() const {
    std::vector<Way> all;
    const auto* block = first().spec->parameter(Role::block_length);
    for (const auto& form : first().spec->forms) {
      if (!applies_everywhere(form)) continue;
      const auto add = [&](Way way) { all.push_back(std::move(way)); };
      add({form.name});
      if (!block) continue;
      std::set<std::vector<double>> seen{plain(all.back())};
      for (const Index length : kLengths)
        if (const Way way{form.name, length}; length <= longest() && seen.insert(plain(way)).second) add(way);
      // One block that holds everything
      if (const Way way{form.name, longest()}; longest() > 0 && seen.insert(plain(way)).second) add(way);
    }
    return all;
  }

  std::vector<double> plain(const Way& way) const {
    std::vector<double> all;
    for (const Errors& one : samples_) {
      const auto values = emulated_in(one, way, {});
      all.insert(all.end(), values.begin(), values.end());
    }
    for (double& x : all)
      if (std::isnan(x)) x = std::numeric_limits<double>::infinity();
    return all;
  }

  Index longest() const {
    Index longest = 0;
    for (const Errors& one : samples_)
      for (const auto& size : one.problem().spec->sizes)
        if (size.tokens) longest = std::max(longest, one.problem().sizes.at(size.name));
    return longest;
  }

  bool applies_everywhere(const FormDeclaration& form) const {
    return std::all_of(samples_.begin(), samples_.end(),
                       [&](const Errors& one) { return golden::is_modelled(form, one.problem()); });
  }

  std::vector<std::string> places(const Way& way) const {
    std::set<std::string> seen;
    std::vector<std::string> all;
    for (const Errors& one : samples_)
      for (const auto& label : reference::stages_of(one.problem(), way.form))
        if (seen.insert(label).second) all.push_back(label);
    for (const auto& input : first().spec->inputs)
      if (input.element == attest::Element::real) all.push_back(kInput + input.name);
    return all;
  }

  std::vector<Candidate> singles() const {
    std::vector<Candidate> all;
    for (const Way& way : ways_) {
      if (samples_[0].of_gradients())
        for (const auto& label : reference::stages_of(first(), way.form))
          all.push_back({way, {{Kind::detached, label}}});
      for (const StageFormat& format : formats_below(profile_)) {
        const auto held = [&](std::string place) {
          return StageChange{Kind::held, std::move(place), std::string(format.name)};
        };
        for (const auto& place : places(way)) all.push_back({way, {held(place)}});
        all.push_back({way, {held(kFactors)}});
        for (const Order order : kOrdersOfTotals) {
          all.push_back({way, {held(kTotals)}});
          all.back().way.order = order;
        }
      }
    }
    return all;
  }

  /// Two changes in one way of computing, one of which explains some of the errors.
  std::vector<Candidate> pairs(const std::vector<Candidate>& found) const {
    std::vector<Candidate> all;
    const auto others = singles();
    std::set<std::string> seen;
    for (const Candidate& one : found) {
      if (one.explained < kWorthPairing || one.changes[0].kind != Kind::held) continue;
      if (seen.size() == kPaired || !seen.insert(one.changes[0].text()).second) continue;
      for (const auto& other : others)
        if (other.way.form == one.way.form && other.way.block == one.way.block && !(other.changes == one.changes) &&
            other.changes[0].place != one.changes[0].place)
          all.push_back({other.way, {one.changes[0], other.changes[0]}});
    }
    return all;
  }

  std::vector<double> emulated_in(const Errors& one, const Way& way, const std::vector<StageChange>& changes) const {
    return one.flat(computed_by(one.problem(), one.cotangents(), way, profile_, changes));
  }

  /// Means over the first so many samples.
  void look_at(Candidate& candidate, std::size_t samples) const {
    double left = 0, noise = 0;
    for (std::size_t i = 0; i < samples; ++i) {
      left += samples_[i].left(emulated_in(samples_[i], candidate.way, candidate.changes));
      noise += samples_[i].noise();
    }
    candidate.explained = 1 - left / static_cast<double>(samples);
    candidate.noise = noise / static_cast<double>(samples);
  }

  void look_at(std::vector<Candidate>& candidates, std::size_t samples) const {
    in_parallel(candidates.size(), [&](std::size_t i) { look_at(candidates[i], samples); });
    sort(candidates);
  }

  static void sort(std::vector<Candidate>& candidates) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.explained > b.explained; });
  }

  std::vector<Candidate> best_of(std::vector<Candidate> candidates) const {
    look_at(candidates, 1);
    // Of one change in many ways the best alone.
    std::vector<Candidate> best;
    for (auto& one : candidates) {
      if (best.size() == kLookedAt) break;
      const auto same =
          std::count_if(best.begin(), best.end(), [&](const Candidate& other) { return other.changes == one.changes; });
      if (same < 2) best.push_back(std::move(one));
    }
    look_at(best, samples_.size());
    return best;
  }

  static bool explains(const Candidate& candidate) {
    const Kind kind = candidate.changes[0].kind;
    const bool fitted = kind != Kind::held && kind != Kind::detached;
    const double most = fitted ? std::max(kFitLeaves, kMuchOfNoise * candidate.noise) : 1 - kExplains;
    return 1 - candidate.explained <= std::min(most, 1 - kExplains);
  }

  static bool enough(std::vector<Candidate>& found) {
    std::stable_partition(found.begin(), found.end(), explains);
    return !found.empty() && explains(found[0]);
  }

  StageName named(const std::vector<Candidate>& found) const {
    const Candidate& best = found[0];
    StageName name{best.changes, best.way.form, best.explained, {}};
    const double as_well = kMuchOfNoise * std::max(1 - best.explained, best.noise);
    std::set<std::string> seen;
    for (std::size_t i = 1; i < found.size() && explains(found[i]); ++i) {
      const Candidate& other = found[i];
      if (1 - other.explained > as_well || other.changes.size() > best.changes.size()) continue;
      if (places_of(other) == places_of(best)) {
        for (std::size_t c = 0; c < name.changes.size(); ++c) add_format(name.changes[c], other.changes[c]);
      } else if (const std::string text = StageName{other.changes, "", 0, {}}.text(); seen.insert(text).second) {
        name.alike.push_back(text);
      }
    }
    return name;
  }

  static std::vector<std::pair<Kind, std::string>> places_of(const Candidate& candidate) {
    std::vector<std::pair<Kind, std::string>> places;
    for (const auto& change : candidate.changes) places.emplace_back(change.kind, change.place);
    return places;
  }

  /// "binary16 or TF32": formats that these cases do not tell apart.
  static void add_format(StageChange& change, const StageChange& other) {
    if (change.kind == Kind::held && change.format.find(other.format) == std::string::npos)
      change.format += " or " + other.format;
  }

  // --- amounts --------------------------------------------------------------------------------------------------

  /// Values of a stage in the samples, in ascending order.
  std::vector<double> values_at(const Way& way, const std::string& label) const {
    std::vector<double> values;
    for (const Errors& one : samples_) {
      reference::Kernel kernel;
      kernel.stages[label] = [&](double x) { return values.push_back(x), x; };
      emulated(with_block(one.problem(), way.block), way.form, kernel);
    }
    std::erase_if(values, [](double x) { return !std::isfinite(x); });
    std::sort(values.begin(), values.end());
    return values;
  }

  /// Outputs in binary64, where a small amount makes a small difference.
  std::vector<double> smooth(const Errors& one, const Way& way, const StageChange& change) const {
    return one.flat(computed(one.problem(), one.cotangents(), way, {}, {change}));
  }

  /// Least squares in the amount, by steps of Gauss and Newton from where it is; false where that leads nowhere.
  bool fit(Candidate& candidate, double step) const {
    StageChange& change = candidate.changes[0];
    double curvature = 0;
    for (int i = 0; i < kSteps; ++i) {
      StageChange beside = change;
      beside.amount += step;
      double slope = 0;
      curvature = 0;
      for (const Errors& one : samples_) {
        if (!is_fitted(one)) continue;
        const auto here = smooth(one, candidate.way, change), there = smooth(one, candidate.way, beside);
        for (const std::size_t at : one.used) {
          const double d = (there[at] - here[at]) / (step * one.sigma[at]);
          const double r = (one.got[at] - here[at]) / one.sigma[at];
          if (!std::isfinite(d) || !std::isfinite(r)) return false;
          slope += d * r / one.squares, curvature += d * d / one.squares;
        }
      }
      if (!(curvature > 0)) return false;
      const double move = slope / curvature;
      change.amount += move;
      if (!std::isfinite(change.amount)) return false;
      if (std::abs(move) <= 1e-7 * std::abs(change.amount)) break;
      if (i > 0) continue;
      look_at_smooth(candidate);
      if (candidate.explained < kWorthPairing) return true;
    }
    look_at_smooth(candidate);
    change.error = std::sqrt(std::max(1 - candidate.explained, candidate.noise) * static_cast<double>(samples_.size()) /
                             (curvature * carrying()));
    return true;
  }

  double carrying() const {
    double all = 0;
    for (const Errors& one : samples_) all += one.carrying();
    return std::max(all, 1.0);
  }

  /// In the few samples that amounts are fitted to, or in all.
  void look_at_smooth(Candidate& candidate, bool all = false) const {
    double left = 0, noise = 0, looked = 0;
    for (const Errors& one : samples_) {
      if (!all && !is_fitted(one)) continue;
      left += one.left(smooth(one, candidate.way, candidate.changes[0]));
      noise += one.noise(), looked += 1;
    }
    candidate.explained = 1 - left / looked;
    candidate.noise = noise / looked;
  }

  bool is_fitted(const Errors& one) const { return one.work <= work_fitted_; }

  /// Amounts at which the method of Gauss and Newton begins: nothing happens there, or what is seen in kernels.
  static std::vector<double> starts(Kind kind) {
    if (kind == Kind::factor) return {1, 1.4426950408889634, 0.6931471805599453, -1, 2, 0.5, 0};
    return {0};
  }

  /// Factors that are powers of a size.
  std::vector<Candidate> powers() const {
    std::vector<Candidate> all;
    const Way& way = ways_.front();
    auto places = reference::stages_of(first(), way.form);
    places.insert(places.end(), samples_[0].results.begin(), samples_[0].results.end());
    for (const auto& place : places)
      for (const auto& size : first().spec->sizes)
        for (const double exponent : {1.0, -1.0, 0.5, -0.5})
          if (differs(size.name)) all.push_back({way, {{Kind::factor, place, "", exponent, 0, 0, size.name}}});
    return all;
  }

  /// Whether some sample's size is not 1.
  bool differs(const std::string& size) const {
    return std::any_of(samples_.begin(), samples_.end(),
                       [&](const Errors& one) { return one.problem().sizes.at(size) > 1; });
  }

  std::vector<Candidate> fits() const {
    std::vector<Candidate> all;
    const Way& way = ways_.front();
    std::set<std::string> seen;
    for (const Way& one : ways_) {
      for (const auto& label : reference::stages_of(first(), one.form)) {
        if (!seen.insert(label).second) continue;
        const auto values = values_at(one, label);
        if (values.empty()) continue;
        double size = 0;
        for (const double x : values) size += std::abs(x) / static_cast<double>(values.size());
        all.push_back({one, {{Kind::factor, label, "", 1}}});
        all.push_back({one, {{Kind::term, label, "", 0, 0, size}}});
        all.push_back({one, {{Kind::at_most, label}}});
        all.push_back({one, {{Kind::at_least, label}}});
      }
    }
    for (const auto& result : samples_[0].results) all.push_back({way, {{Kind::factor, result, "", 1}}});
    for (const auto& parameter : first().spec->parameters)
      if (parameter.type == ParameterDeclaration::Type::real && same_parameter(parameter.name))
        all.push_back({way, {{Kind::parameter, parameter.name, "", *same_parameter(parameter.name)}}});
    in_parallel(all.size(), [&](std::size_t i) {
      fit_any(all[i]);
      if (all[i].explained >= kExplains) look_at_smooth(all[i], true);
    });
    sort(all);
    return all;
  }

  /// The value of a real parameter where all samples have the same.
  std::optional<double> same_parameter(const std::string& name) const {
    std::optional<double> same;
    for (const Errors& one : samples_) {
      const auto value = setting(one.problem(), name);
      if (!value || !std::holds_alternative<double>(*value)) return std::nullopt;
      if (same && *same != std::get<double>(*value)) return std::nullopt;
      same = std::get<double>(*value);
    }
    return same;
  }

  void fit_any(Candidate& candidate) const try {
    StageChange& change = candidate.changes[0];
    if (change.kind == Kind::at_most || change.kind == Kind::at_least) return limit(candidate);
    if (change.kind == Kind::parameter) {
      change.due = change.amount;
      if (!fit(candidate, change.due != 0 ? 1e-5 * change.due : 1e-6)) candidate.explained = 0;
      return;
    }
    const double size = std::exchange(change.due, 0);
    Candidate best = candidate;
    for (const double start : starts(change.kind)) {
      Candidate one = candidate;
      one.changes[0].amount = start;
      if (fit(one, change.kind == Kind::factor ? 1e-5 : 1e-5 * size) && one.explained > best.explained) best = one;
      if (best.explained >= kExplains) break;
    }
    candidate = best;
  } catch (const SpecError&) {  // no such parameter
    candidate.explained = 0;
  }

  /// The limit that explains most: among quantiles of the stage's values, then between its neighbours.
  void limit(Candidate& candidate) const {
    constexpr std::size_t kQuantiles = 9;
    constexpr int kHalvings = 24;
    StageChange& change = candidate.changes[0];
    const auto values = values_at(candidate.way, change.place);
    const auto explained = [&](double amount) {
      change.amount = amount;
      look_at_smooth(candidate);
      return candidate.explained;
    };
    std::size_t best = 0;
    double most = 0;
    const auto quantile = [&](std::size_t q) { return values[q * (values.size() - 1) / (kQuantiles - 1)]; };
    for (std::size_t q = 0; q < kQuantiles; ++q)
      if (const double e = explained(quantile(q)); e > most) most = e, best = q;
    if (most < kWorthPairing) {
      candidate.explained = 0;
      return;
    }
    double low = quantile(best == 0 ? 0 : best - 1), high = quantile(std::min(best + 1, kQuantiles - 1));
    for (int i = 0; i < kHalvings; ++i) {
      const double a = low + (high - low) / 3, b = high - (high - low) / 3;
      explained(a) < explained(b) ? low = a : high = b;
    }
    explained((low + high) / 2);
    change.error = (high - low) / 2;
  }

  const golden::Profile& profile_;
  std::vector<Errors> samples_;
  std::vector<const Sample*> passing_;
  std::vector<Way> ways_;
  double work_fitted_ = 0;  // of a sample that amounts are fitted to, at most
};

/// A number that is known by a name.
std::string name_of(double x) {
  constexpr std::array<std::pair<double, const char*>, 6> known{{{1.4426950408889634, "log2 e"},
                                                                 {0.6931471805599453, "ln 2"},
                                                                 {2.302585092994046, "ln 10"},
                                                                 {0.4342944819032518, "log10 e"},
                                                                 {1.4142135623730951, "sqrt 2"},
                                                                 {0.7071067811865476, "1/sqrt 2"}}};
  for (const auto& [value, name] : known)
    if (std::abs(x - value) < 1e-3 * value) return fmt::format(" ({})", name);
  return "";
}

/// The digits that the error leaves.
std::string amount_text(const StageChange& change) {
  if (change.error > std::abs(change.amount) / 2) return "0";
  const auto place = [](double x) { return std::floor(std::log10(std::abs(x))); };
  const int digits = change.error > 0 && change.amount != 0
                         ? static_cast<int>(std::clamp(place(change.amount) - place(change.error), 2.0, 6.0))
                         : 6;
  return fmt::format("{:.{}g}", change.amount, digits);
}

/// "1/sqrt(d)"
std::string power_text(const std::string& size, double exponent) {
  const std::string root = std::abs(exponent) == 0.5 ? fmt::format("sqrt({})", size) : size;
  return exponent < 0 ? "1/" + root : root;
}

}  // namespace

std::string StageChange::text() const {
  switch (kind) {
    case Kind::held: return fmt::format("{}: held in {}", place, format);
    case Kind::factor:
      return fmt::format("{}: multiplied by {}", place,
                         size.empty() ? amount_text(*this) + name_of(amount) : power_text(size, amount));
    case Kind::term: return fmt::format("{}: about {} is added", place, amount_text(*this));
    case Kind::at_most: return fmt::format("{}: limited to at most about {}", place, amount_text(*this));
    case Kind::at_least: return fmt::format("{}: limited to at least about {}", place, amount_text(*this));
    case Kind::detached: return fmt::format("{}: the gradient does not go through it", place);
    case Kind::parameter: return fmt::format("{}: as if it were {}, not {:.6g}", place, amount_text(*this), due);
  }
  return "";
}

std::string StageName::text() const {
  std::vector<std::string> texts;
  for (const auto& change : changes) texts.push_back(change.text());
  return fmt::format("{}", fmt::join(texts, " and "));
}

std::vector<StageFormat> formats_below(const golden::Profile& profile) {
  const int bits = profile.units[reference::kAccumulate] > 0x1p-53 ? 24 : 53;
  std::vector<StageFormat> below;
  for (const auto& format : kFormats)
    if (format.bits < bits) below.push_back(format);
  return below;
}

Arrays outputs_with(const Problem& problem, const std::string& form, const golden::Profile& profile,
                    const std::vector<StageChange>& changes) {
  return computed_by(problem, {}, {form}, profile, changes);
}

std::optional<StageName> name_of_stage(const std::vector<const Sample*>& failing,
                                       const std::vector<const Sample*>& passing, const golden::Profile& profile) {
  return Search(failing, passing, profile).run();
}

}  // namespace attest::judge
