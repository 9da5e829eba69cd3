// SPDX-License-Identifier: MIT
#include "attest/judge/bank.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "attest/golden/agreement.hpp"
#include "attest/judge/verdict.hpp"

namespace attest::judge {
namespace {

using reference::kAccumulate;
using reference::kOperand;
using reference::kOrders;
using reference::kStore;
using reference::kUnderflow;

constexpr double kBeyondDoubt = 1e6;      // a z from which on its digits say nothing of the kernel
constexpr std::size_t kManyCases = 12;    // from which on a fault without effect is one that cannot occur
constexpr double kFewUnits = 8;           // a relative amplitude of so many units never rejects
constexpr double kFamilyWise = 1e-6;      // false alarms of a whole run
constexpr std::size_t kMostTogether = 4;  // faults in a joint fit
constexpr double kLargeCase = 2e5;        // product of sizes beyond which fewer correct kernels are run
constexpr double kUnderflowShare = 0.1;   // of the expected error: beyond that, underflow is what an element shows

/// An element of an output, as the statistics see it.
struct Expected {
  double hi = 0, lo = 0, sigma = 0, bound = 0;
};

double sigma_of(const golden::CertifiedTensor& tensor, std::size_t i, const reference::PerChannel& units) {
  double variance = 0;
  for (std::size_t c = 0; c < units.size(); ++c)
    variance += std::pow(units[c] * static_cast<double>(tensor.rms[c][i]), 2);
  return std::sqrt(variance);
}

/// Every output of a case, one after the other; sigma is 0 where an element says nothing about rounding.
std::vector<Expected> flatten(const golden::GoldenCase& c, const golden::Profile& profile) {
  std::vector<Expected> elements;
  const bool two_answers = !c.certified.alternatives.empty();
  for (const auto& output : c.problem.spec->outputs) {
    const auto& tensor = c.certified.outputs.at(output.name);
    const auto units = profile.units_of(output);
    for (std::size_t i = 0; i < tensor.hi.size(); ++i) {
      Expected e{tensor.hi[i], static_cast<double>(tensor.lo[i]), sigma_of(tensor, i, units),
                 golden::bound_of(tensor, i, units)};
      const double underflow = units[kUnderflow] * static_cast<double>(tensor.bound[kUnderflow][i]);
      if (!std::isfinite(e.hi) || two_answers || e.bound == 0 || underflow > kUnderflowShare * e.sigma) e.sigma = 0;
      elements.push_back(e);
    }
  }
  return elements;
}

/// The outputs in the same order; what a kernel does not give is NaN.
std::vector<double> flatten(const Problem& problem, const Arrays& arrays) {
  std::vector<double> values;
  for (const auto& output : problem.spec->outputs) {
    const auto at = arrays.find(output.name);
    const auto size = static_cast<std::size_t>(count(shape_of(output, problem.sizes)));
    if (at == arrays.end())
      values.insert(values.end(), size, std::numeric_limits<double>::quiet_NaN());
    else
      values.insert(values.end(), at->second.values.begin(), at->second.values.end());
  }
  return values;
}

double difference(double got, const Expected& e) { return (got - e.hi) - e.lo; }

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

double two_sided(double z) { return std::erfc(std::abs(z) / std::sqrt(2.0)); }

}  // namespace

std::string two_digits(double x) {
  const double size = std::abs(x);
  if (!(size >= 1 && size < 1e6)) return fmt::format("{:.2g}", x);
  const int decimals = 1 - static_cast<int>(std::floor(std::log10(size)));
  const double unit = std::pow(10.0, -decimals);
  return fmt::format("{:.{}f}", decimals > 0 ? x : std::round(x / unit) * unit, std::max(decimals, 0));
}

std::string text_of_z(double z) { return std::abs(z) >= kBeyondDoubt ? "beyond doubt" : "z = " + two_digits(z); }

std::string Fit::text() const {
  if (std::abs(z) >= kBeyondDoubt) return fmt::format("c = {:.4g}, {}", c, text_of_z(z));
  const auto place = [](double x) { return std::floor(std::log10(std::abs(x))); };
  const int digits =
      std::isfinite(z) && z != 0 ? static_cast<int>(std::clamp(place(c) - place(error) + 1, 1.0, 7.0)) : 1;
  return fmt::format("c = {:.{}g} +- {:.1g}, {}", c, digits, error, text_of_z(z));
}

/// What is known about a case before any kernel is judged by it.
struct Bank::Facts {
  struct Null {                 // one correct kernel on this case
    std::vector<double> score;  // per fault: sum of residual x direction
    double squares = 0, sum = 0;
    double worst = 0;  // error / bound
    Index elements = 0;
  };
  std::vector<Expected> elements;
  std::vector<std::vector<double>> direction;  // per fault: (fault - truth) / sigma, 0 where it says nothing
  std::vector<double> shown;                   // per fault: largest error / bound
  std::vector<double> norm;                    // per fault: sum of squares of its direction
  std::map<std::string, Null> null;            // by form and order
};

const Bank::Facts& Bank::facts(const golden::GoldenCase& c) {
  auto& known = facts_[golden::query(c.name, profile_.name)];
  if (known) return *known;
  known = std::make_shared<Facts>();
  Facts& f = *known;
  f.elements = flatten(c, profile_);
  const std::size_t n = f.elements.size();
  for (const auto& fault : spec_.faults) {
    const auto values = flatten(c.problem, planted(c.problem, fault, kernel_of(golden::profile("f64"))));
    auto& direction = f.direction.emplace_back(n, 0.0);
    double shown = 0, norm = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Expected& e = f.elements[i];
      const double d = difference(values[i], e);
      if (!std::isfinite(e.hi)) {
        if (!golden::agrees_with_convention(e.hi, values[i])) shown = std::numeric_limits<double>::infinity();
      } else if (!std::isfinite(d)) {
        shown = std::numeric_limits<double>::infinity();
      } else {
        if (d != 0)
          shown = std::max(shown, e.bound > 0 ? std::abs(d) / e.bound : std::numeric_limits<double>::infinity());
        if (e.sigma > 0 && !fault.numeric) direction[i] = d / e.sigma, norm += direction[i] * direction[i];
      }
    }
    f.shown.push_back(shown);
    f.norm.push_back(norm);
  }
  double work = 1;
  for (const auto& [_, size] : c.problem.sizes) work *= static_cast<double>(std::max<Index>(size, 1));
  const auto add_null = [&](const std::string& name, const Arrays& outputs) {
    const auto values = flatten(c.problem, stored(c.problem, outputs, profile_));
    Facts::Null null;
    null.score.assign(spec_.faults.size(), 0);
    const bool two_answers = !c.certified.alternatives.empty();
    for (std::size_t i = 0; i < n; ++i) {
      const Expected& e = f.elements[i];
      if (!std::isfinite(e.hi)) {
        if (!golden::agrees_with_convention(e.hi, values[i])) null.worst = std::numeric_limits<double>::infinity();
      } else if (const double d = std::abs(difference(values[i], e)); !(d <= e.bound) || d > 0) {
        if (!two_answers && d != 0)
          null.worst = std::max(null.worst, d / e.bound >= 0 ? d / e.bound : std::numeric_limits<double>::infinity());
      }
      if (e.sigma == 0) continue;
      const double r = difference(values[i], f.elements[i]) / f.elements[i].sigma;
      if (!std::isfinite(r)) continue;
      ++null.elements;
      null.squares += r * r;
      null.sum += std::copysign(r, r * e.hi);
      for (std::size_t k = 0; k < spec_.faults.size(); ++k) null.score[k] += r * f.direction[k][i];
    }
    f.null.emplace(name, std::move(null));
  };
  for (std::size_t o = 0; o<kOrders.size(); o += work> kLargeCase ? 4 : 1) {
    const auto how = kernel_of(profile_, kOrders[o].order, c.name.seed);
    for (const auto& form : spec_.forms)
      if (golden::is_modelled(form, c.problem))
        add_null(std::string(kOrders[o].name) + " " + form.name, emulated(c.problem, form.name, how));
    for (const auto& fault : spec_.faults)
      if (!fault.equivalent.empty())
        add_null(std::string(kOrders[o].name) + " " + fault.name, planted(c.problem, fault, how));
  }
  return f;
}

Statistics Bank::statistics(const std::vector<Sample>& samples, double tests) {
  const std::size_t faults = spec_.faults.size();
  Statistics s;
  double units = 0;
  for (const auto channel : {kAccumulate, kOperand, kStore}) units = std::max(units, profile_.units[channel]);
  s.claimed_bits = -std::log2(units);
  std::vector<double> norm(faults, 0);
  Eigen::VectorXd score = Eigen::VectorXd::Zero(static_cast<Index>(faults));
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(static_cast<Index>(faults), static_cast<Index>(faults));
  std::map<std::string, Facts::Null> null;
  double squares = 0, sum = 0;
  std::vector<double> of_profile(golden::profiles().size(), 0);
  for (const Sample& sample : samples) {
    const Facts& f = facts(*sample.c);
    const auto values = flatten(sample.c->problem, sample.got);
    std::vector<std::size_t> used;
    std::vector<double> residual(f.elements.size(), 0);
    for (std::size_t i = 0; i < f.elements.size(); ++i) {
      if (f.elements[i].sigma == 0) continue;
      const double r = difference(values[i], f.elements[i]) / f.elements[i].sigma;
      if (!std::isfinite(r)) continue;
      used.push_back(i);
      residual[i] = r;
      squares += r * r;
      sum += std::copysign(r, r * f.elements[i].hi);
    }
    s.elements += static_cast<Index>(used.size());
    for (std::size_t k = 0; k < faults; ++k) {
      if (f.norm[k] == 0) continue;
      norm[k] += f.norm[k];
      const auto row = static_cast<Index>(k);
      for (const std::size_t i : used) score[row] += residual[i] * f.direction[k][i];
      for (std::size_t l = 0; l <= k; ++l) {
        if (f.norm[l] == 0) continue;
        double product = 0;
        for (const std::size_t i : used) product += f.direction[k][i] * f.direction[l][i];
        gram(row, static_cast<Index>(l)) += product;
        if (l != k) gram(static_cast<Index>(l), row) += product;
      }
    }
    for (const auto& [name, one] : f.null) {
      auto& all = null[name];
      all.score.resize(faults, 0);
      for (std::size_t k = 0; k < faults; ++k) all.score[k] += one.score[k];
      all.squares += one.squares, all.sum += one.sum, all.elements += one.elements;
    }
    // The same residual in the units of every profile.
    std::size_t at = 0;
    for (const auto& output : spec_.outputs) {
      const auto& tensor = sample.c->certified.outputs.at(output.name);
      for (std::size_t i = 0; i < tensor.hi.size(); ++i, ++at) {
        if (residual[at] == 0) continue;
        for (std::size_t p = 0; p < of_profile.size(); ++p) {
          const double sigma = sigma_of(tensor, i, golden::profiles()[p].units_of(output));
          if (sigma > 0) of_profile[p] += std::pow(residual[at] * f.elements[at].sigma / sigma, 2);
        }
      }
    }
  }
  if (s.elements == 0) return s;
  const double elements = static_cast<double>(s.elements);
  s.rms = std::sqrt(squares / elements);
  s.bias = sum / elements;
  std::vector<double> null_rms;
  double bias_squares = 0, kernels = 0;
  for (const auto& [_, one] : null) {
    if (one.elements == 0) continue;
    null_rms.push_back(std::sqrt(one.squares / static_cast<double>(one.elements)));
    bias_squares += std::pow(one.sum / static_cast<double>(one.elements), 2);
    kernels += 1;
  }
  const double usual = median(null_rms);
  s.bits = s.rms > 0 && usual > 0 ? s.claimed_bits - std::log2(s.rms / usual) : s.claimed_bits;
  s.bias_z = s.bias / std::sqrt(usual * usual / elements + (kernels > 0 ? bias_squares / kernels : 0));
  double finest = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < of_profile.size(); ++p) {
    const auto& known = golden::profiles()[p];
    double coarsest = 0;
    for (const auto channel : {kAccumulate, kOperand, kStore}) coarsest = std::max(coarsest, known.units[channel]);
    if (std::sqrt(of_profile[p] / elements) <= 1 && coarsest < finest) finest = coarsest, s.behaves_like = known.name;
  }

  // Scores: the spread of c among correct kernels is added to what independent errors would give.
  const auto spread = [&](std::size_t k) {
    double total = 0, n = 0;
    for (const auto& [_, one] : null)
      if (one.elements > 0) total += std::pow(one.score[k] / norm[k], 2), n += 1;
    return n > 0 ? total / n : 0;
  };
  const auto fit_of = [&](std::size_t k, double c, double variance) {
    Fit fit;
    fit.fault = spec_.faults[k].name;
    fit.c = c;
    fit.error = std::sqrt(variance);
    fit.z = c / fit.error;
    fit.p = std::min(1.0, two_sided(fit.z) * std::max(tests, 1.0));
    return fit;
  };
  std::vector<Index> scored;
  for (std::size_t k = 0; k < faults; ++k) {
    if (norm[k] == 0 || !spec_.faults[k].equivalent.empty()) continue;
    const double along = score[static_cast<Index>(k)];
    scored.push_back(static_cast<Index>(k));
    // A kernel that is less precise than most, for whatever other reason, scatters more.
    const double scatter = std::max(usual * usual, (squares - along * along / norm[k]) / elements);
    Fit fit = fit_of(k, along / norm[k], scatter / norm[k] + spread(k));
    fit.explained = squares > 0 ? along * along / norm[k] / squares : 0;
    s.fits.push_back(fit);
  }
  std::sort(s.fits.begin(), s.fits.end(), [](const Fit& a, const Fit& b) { return std::abs(a.z) > std::abs(b.z); });

  // Together: faults are taken in one by one, the one that explains most of what is left first, and fitted at once.
  struct Solution {
    Eigen::VectorXd c, variance;
    double left = 0;
  };
  const auto solve = [&](const std::vector<Index>& set) -> std::optional<Solution> {
    const Eigen::VectorXd unit = gram.diagonal()(set).array().rsqrt();  // directions of very different length
    const Eigen::MatrixXd correlation = unit.asDiagonal() * Eigen::MatrixXd(gram(set, set)) * unit.asDiagonal();
    const Eigen::VectorXd right = score(set);
    const Eigen::LDLT<Eigen::MatrixXd> factors(correlation);
    if ((factors.vectorD().array() <= 1e-9).any()) return std::nullopt;  // two are the same
    const Eigen::MatrixXd inverse = factors.solve(Eigen::MatrixXd::Identity(unit.size(), unit.size()));
    Solution solution{unit.cwiseProduct(inverse * unit.cwiseProduct(right)),
                      inverse.diagonal().cwiseProduct(unit.cwiseAbs2()), 0};
    solution.left = squares - solution.c.dot(right);
    return solution;
  };
  const auto fits_of = [&](const std::vector<Index>& set, const Solution& solution) {
    std::vector<Fit> fits;
    for (std::size_t i = 0; i < set.size(); ++i) {
      const auto k = static_cast<std::size_t>(set[i]), at = i;
      const double scatter = std::max(usual * usual, solution.left / elements);
      fits.push_back(fit_of(k, solution.c[static_cast<Index>(at)],
                            scatter * solution.variance[static_cast<Index>(at)] + spread(k)));
      fits.back().explained = squares > 0 ? 1 - solution.left / squares : 0;
    }
    return fits;
  };
  std::vector<Index> chosen;
  while (chosen.size() < kMostTogether) {
    std::optional<Solution> best;
    std::vector<Index> best_set;
    for (const Index k : scored) {
      if (std::count(chosen.begin(), chosen.end(), k)) continue;
      auto set = chosen;
      set.push_back(k);
      auto solution = solve(set);
      if (solution && (!best || solution->left < best->left)) best = std::move(solution), best_set = std::move(set);
    }
    if (!best) break;
    auto fits = fits_of(best_set, *best);
    if (fits.back().p > kFamilyWise) break;
    chosen = std::move(best_set), s.joint = std::move(fits);
  }
  for (const Fit& fit : s.fits)
    if (rejects(*spec_.fault(fit.fault), fit)) s.rejected.push_back(fit);
  std::sort(s.rejected.begin(), s.rejected.end(), [](const Fit& a, const Fit& b) { return a.explained > b.explained; });
  return s;
}

bool Bank::rejects(const Fault& fault, const Fit& fit) const {
  const double unit = std::max(profile_.units[kAccumulate], profile_.units[kOperand]);
  return fault.amplitude > 0 && fit.p <= kFamilyWise && std::abs(fit.c) * fault.amplitude >= kFewUnits * unit;
}

Alarms Bank::alarms(const std::vector<const golden::GoldenCase*>& cases, double tests) {
  Alarms alarms;
  std::map<std::string, Facts::Null> null;
  std::vector<double> norm(spec_.faults.size(), 0);
  const auto note = [&](const std::string& kernel, const std::string& what) {
    ++alarms.raised;
    if (alarms.first.empty()) alarms.first = kernel + ": " + what;
  };
  for (const auto* c : cases) {
    const Facts& f = facts(*c);
    for (std::size_t k = 0; k < norm.size(); ++k) norm[k] += f.norm[k];
    for (const auto& [name, one] : f.null) {
      ++alarms.judged;
      if (!(one.worst <= 1)) note(name, "an element is beyond its bound in " + golden::query(c->name, profile_.name));
      auto& all = null[name];
      all.score.resize(norm.size(), 0);
      for (std::size_t k = 0; k < norm.size(); ++k) all.score[k] += one.score[k];
      all.squares += one.squares, all.elements += one.elements;
    }
  }
  for (std::size_t k = 0; k < norm.size(); ++k) {
    const Fault& fault = spec_.faults[k];
    if (fault.amplitude == 0 || norm[k] == 0) continue;
    double spread = 0;
    for (const auto& [_, one] : null) spread += std::pow(one.score[k] / norm[k], 2) / static_cast<double>(null.size());
    for (const auto& [name, one] : null) {
      Fit fit;
      fit.c = one.score[k] / norm[k];
      const double scatter = one.elements > 0 ? one.squares / static_cast<double>(one.elements) : 0;
      fit.z = fit.c / std::sqrt(scatter / norm[k] + spread);
      fit.p = std::min(1.0, two_sided(fit.z) * std::max(tests, 1.0));
      alarms.largest_z = std::max(alarms.largest_z, std::abs(fit.z));
      alarms.z_squares += fit.z * fit.z, ++alarms.scores;
      if (rejects(fault, fit)) note(name, "the score test finds " + fault.name);
    }
  }
  return alarms;
}

double Bank::shown(const golden::GoldenCase& c, const Fault& fault) {
  if (!fault.numeric) return facts(c).shown[static_cast<std::size_t>(&fault - spec_.faults.data())];
  // It shows in the arithmetic of the profile only.
  const auto& elements = facts(c).elements;
  const auto values = flatten(c.problem, planted_outputs(c, fault));
  double shown = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!std::isfinite(elements[i].hi)) continue;
    const double d = std::abs(difference(values[i], elements[i]));
    if (d != 0)
      shown = std::max(shown, !std::isfinite(d) || elements[i].bound == 0 ? std::numeric_limits<double>::infinity()
                                                                          : d / elements[i].bound);
  }
  return shown;
}

bool Bank::says_nothing(const golden::GoldenCase& c) {
  const Facts& f = facts(c);
  for (const Expected& e : f.elements)
    if (!(std::abs(e.hi) <= e.bound)) return false;
  for (const auto& fault : spec_.faults)
    if (fault.equivalent.empty() && shown(c, fault) > 1) return false;
  return true;
}

Vacuity Bank::vacuity(const std::vector<const golden::GoldenCase*>& cases) {
  Vacuity v;
  std::set<double> distinct;
  double nan = 0, zeros = 0, mean_wrong = 0;
  for (const auto* c : cases) {
    const Facts& f = facts(*c);
    double mean = 0, finite = 0;
    for (const Expected& e : f.elements)
      if (std::isfinite(e.hi)) mean += e.hi, finite += 1;
    mean /= std::max(finite, 1.0);
    for (const Expected& e : f.elements) {
      ++v.elements;
      if (std::isnan(e.hi)) {
        nan += 1, zeros += 1, mean_wrong += 1;
        continue;
      }
      if (distinct.size() < 1000) distinct.insert(e.hi);
      zeros += std::abs(e.hi) > e.bound;
      mean_wrong += !(std::abs(mean - e.hi) <= e.bound);
    }
  }
  for (const auto& fault : spec_.faults) {
    if (!fault.equivalent.empty() || fault.hidden.count(profile_.name)) continue;
    if (fault.amplitude > 0) continue;  // betrayed by all elements together: tier T3
    double most = 0;
    for (const auto* c : cases)
      if ((most = std::max(most, shown(*c, fault))) >= 2) break;
    // Without any effect on many cases, it is excluded by what the kernel declared: no mask, another feature map.
    if (most == 0 && cases.size() >= kManyCases) continue;
    ++v.faults;
    v.faults_shown += most >= 2;
  }
  const double elements = std::max<double>(static_cast<double>(v.elements), 1);
  v.distinct = static_cast<Index>(distinct.size());
  v.nan_share = nan / elements, v.zeros_differ = zeros / elements, v.mean_differs = mean_wrong / elements;
  if (v.elements == 0)
    v.too_little = "nothing was compared";
  else if (v.nan_share > 0.5)
    v.too_little = "more than half of the expected values are NaN";
  else if (v.distinct < 3)
    v.too_little = "fewer than three different values are expected";
  else if (v.zeros_differ < 0.25)
    v.too_little = "three quarters of the expected values could be zero";
  else if (v.mean_differs < 0.25)
    v.too_little = "three quarters of the expected values could be their mean";
  else if (v.faults_shown == 0 && !spec_.faults.empty())
    v.too_little = "no known fault would show";
  else if (2 * v.faults_shown < v.faults)
    v.too_little = "fewer than half of the known faults would show";
  return v;
}

const golden::CertifiedTensors& Bank::as_equation(const golden::GoldenCase& c, const Fault& fault) {
  const std::string key = fault.name + " " + golden::query(c.name, profile_.name);
  const auto at = equations_.find(key);
  if (at != equations_.end()) return at->second;
  return equations_.emplace(key, judge::as_equation(c.problem, fault, profile_)).first->second;
}

const Arrays& Bank::planted_outputs(const golden::GoldenCase& c, const Fault& fault) {
  const std::string key = fault.name + " " + golden::query(c.name, profile_.name);
  const auto at = planted_.find(key);
  if (at != planted_.end()) return at->second;
  return planted_.emplace(key, stored(c.problem, planted(c.problem, fault, kernel_of(profile_)), profile_))
      .first->second;
}

}  // namespace attest::judge
