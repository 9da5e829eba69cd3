// SPDX-License-Identifier: MIT
#include "scores.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attest::judge {
namespace {

using reference::kAccumulate;
using reference::kOperand;
using reference::kStore;

constexpr double kFamilyWise = 1e-6;  // chance of a false alarm in a whole run: one in a million runs
// A relative amplitude of so many units never rejects: a factor that a correct kernel rounds once or twice more, as a
// scale in its own precision, is off by a unit or two.
constexpr double kFewUnits = 8;
constexpr std::size_t kMostTogether = 4;  // faults in a joint fit; with more, it describes the residual, not a mistake
// Smallest pivot of the correlation matrix: below, two directions are the same but for rounding.
constexpr double kSmallestPivot = 1e-9;

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

/// The chance that a standard normal variable is as far from 0.
double two_sided(double z) { return std::erfc(std::abs(z) / std::sqrt(2.0)); }

double coarsest_unit(const golden::Profile& profile) {
  double coarsest = 0;
  for (const auto channel : {kAccumulate, kOperand, kStore}) {
    const bool cut = channel == kOperand && profile.cuts;  // as many bits as where they are rounded
    coarsest = std::max(coarsest, profile.units[channel] / (cut ? 2 : 1));
  }
  return coarsest;
}

}  // namespace

Fit fit_of(const std::string& fault, double c, double variance, double tests) {
  Fit fit;
  fit.fault = fault;
  fit.c = c;
  fit.error = std::sqrt(variance);
  fit.z = c / fit.error;
  fit.p = std::min(1.0, two_sided(fit.z) * std::max(tests, 1.0));
  return fit;
}

bool rejects(const Fault& fault, const Fit& fit, const golden::Profile& profile) {
  const double unit = std::max(profile.units[kAccumulate], profile.units[kOperand]);
  return fault.amplitude > 0 && fit.p <= kFamilyWise && std::abs(fit.c) * fault.amplitude >= kFewUnits * unit;
}

double spread_of(const Null& null, std::size_t fault, double norm) {
  double total = 0, kernels = 0;
  for (const auto& [_, one] : null)
    if (one.elements > 0) total += std::pow(one.score[fault] / norm, 2), kernels += 1;
  return kernels > 0 ? total / kernels : 0;
}

struct Scores::Residuals {
  std::vector<double> r;          // 0 where there is none
  std::vector<std::size_t> used;  // elements that have one
};

struct Scores::Solution {
  Eigen::VectorXd c;
  Eigen::VectorXd variance;  // of c, for a scatter of 1
  double left = 0;           // sum of r^2 without the faults
};

Scores::Scores(const Spec& spec, const golden::Profile& profile)
    : spec_(spec),
      profile_(profile),
      norm_(spec.faults.size(), 0),
      score_(Eigen::VectorXd::Zero(static_cast<Index>(spec.faults.size()))),
      gram_(Eigen::MatrixXd::Zero(score_.size(), score_.size())),
      of_profile_(golden::profiles().size(), 0) {}

void Scores::add(const CaseFacts& facts, const Sample& sample) {
  const auto values = flatten(sample.c->problem, sample.got);
  Residuals residuals;
  residuals.r.resize(facts.elements.size(), 0);
  for (std::size_t i = 0; i < facts.elements.size(); ++i) {
    const double r = facts.elements[i].residual(values[i]);
    if (!std::isfinite(r)) continue;
    residuals.used.push_back(i);
    residuals.r[i] = r;
    histogram_.add(r);
    squares_ += r * r;
    signed_sum_ += std::copysign(r, r * facts.elements[i].hi);
  }
  elements_ += static_cast<Index>(residuals.used.size());
  add_directions(facts, residuals);
  for (const auto& [name, one] : facts.null) null_[name].add(one);
  add_profiles(facts, residuals, *sample.c);
}

void Scores::add_directions(const CaseFacts& facts, const Residuals& residuals) {
  for (std::size_t k = 0; k < norm_.size(); ++k) {
    if (facts.norm[k] == 0) continue;
    norm_[k] += facts.norm[k];
    const auto row = static_cast<Index>(k);
    for (const std::size_t i : residuals.used) score_[row] += residuals.r[i] * facts.direction[k][i];
    for (std::size_t l = 0; l <= k; ++l) {
      if (facts.norm[l] == 0) continue;
      double product = 0;
      for (const std::size_t i : residuals.used) product += facts.direction[k][i] * facts.direction[l][i];
      gram_(row, static_cast<Index>(l)) += product;
      if (l != k) gram_(static_cast<Index>(l), row) += product;
    }
  }
}

void Scores::add_profiles(const CaseFacts& facts, const Residuals& residuals, const golden::GoldenCase& c) {
  std::size_t at = 0;
  for (const auto& output : spec_.outputs) {
    const auto& tensor = c.certified.outputs.at(output.name);
    for (std::size_t i = 0; i < tensor.hi.size(); ++i, ++at) {
      if (residuals.r[at] == 0) continue;
      for (std::size_t p = 0; p < of_profile_.size(); ++p) {
        const double sigma = sigma_of(tensor, i, golden::profiles()[p].units_of(output));
        if (sigma > 0) of_profile_[p] += std::pow(residuals.r[at] * facts.elements[at].sigma / sigma, 2);
      }
    }
  }
}

Statistics Scores::statistics(double tests) const {
  Statistics statistics;
  statistics.elements = elements_;
  statistics.histogram = histogram_;
  statistics.claimed_bits = -std::log2(coarsest_unit(profile_));
  if (elements_ == 0) return statistics;
  grade(statistics);
  statistics.fits = separate_fits(tests);
  statistics.joint = joint_fits(tests);
  for (const Fit& fit : statistics.fits)
    if (rejects(*spec_.fault(fit.fault), fit, profile_)) statistics.rejected.push_back(fit);
  std::sort(statistics.rejected.begin(), statistics.rejected.end(),
            [](const Fit& a, const Fit& b) { return a.explained > b.explained; });
  return statistics;
}

void Scores::grade(Statistics& statistics) const {
  const double elements = static_cast<double>(elements_), usual = usual_rms();
  statistics.rms = std::sqrt(squares_ / elements);
  statistics.bits = statistics.claimed_bits;
  if (statistics.rms > 0 && usual > 0) statistics.bits -= std::log2(statistics.rms / usual);
  double bias_squares = 0, kernels = 0;
  for (const auto& [_, one] : null_)
    if (one.elements > 0) bias_squares += std::pow(one.bias(), 2), kernels += 1;
  statistics.bias = signed_sum_ / elements;
  statistics.bias_z =
      statistics.bias / std::sqrt(usual * usual / elements + (kernels > 0 ? bias_squares / kernels : 0));
  statistics.behaves_like = finest_profile();
}

std::string Scores::finest_profile() const {
  std::string name;
  double finest = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < of_profile_.size(); ++p) {
    const auto& known = golden::profiles()[p];
    const double coarsest = coarsest_unit(known);
    if (std::sqrt(of_profile_[p] / static_cast<double>(elements_)) <= 1 && coarsest < finest)
      finest = coarsest, name = known.name;
  }
  return name;
}

double Scores::usual_rms() const {
  std::vector<double> rms;
  for (const auto& [_, one] : null_)
    if (one.elements > 0) rms.push_back(std::sqrt(one.mean_square()));
  return median(rms);
}

bool Scores::is_scored(std::size_t fault) const { return norm_[fault] > 0 && spec_.faults[fault].equivalent.empty(); }

/// Mean square of what faults leave of the residual. A kernel that is less precise than most correct ones, for whatever
/// other reason, scatters more.
double Scores::scatter(double squares_left) const {
  const double usual = usual_rms();
  return std::max(usual * usual, squares_left / static_cast<double>(elements_));
}

std::vector<Fit> Scores::separate_fits(double tests) const {
  std::vector<Fit> fits;
  for (std::size_t k = 0; k < norm_.size(); ++k) {
    if (!is_scored(k)) continue;
    const double score = score_[static_cast<Index>(k)], taken = score * score / norm_[k];
    fits.push_back(fit_of(spec_.faults[k].name, score / norm_[k],
                          scatter(squares_ - taken) / norm_[k] + spread_of(null_, k, norm_[k]), tests));
    fits.back().explained = squares_ > 0 ? taken / squares_ : 0;
  }
  std::sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return std::abs(a.z) > std::abs(b.z); });
  return fits;
}

/// Forward selection: the fault that explains most of what is left is taken in, and all are fitted again at once, as
/// long as the newest is needed beyond chance.
std::vector<Fit> Scores::joint_fits(double tests) const {
  std::vector<Index> chosen;
  std::vector<Fit> fits;
  while (chosen.size() < kMostTogether) {
    std::vector<Index> best;
    Solution best_solution;
    for (std::size_t k = 0; k < norm_.size(); ++k) {
      const auto fault = static_cast<Index>(k);
      if (!is_scored(k) || std::count(chosen.begin(), chosen.end(), fault)) continue;
      auto faults = chosen;
      faults.push_back(fault);
      Solution solution;
      if (!solve(faults, solution)) continue;
      if (best.empty() || solution.left < best_solution.left)
        best = std::move(faults), best_solution = std::move(solution);
    }
    if (best.empty()) break;
    auto next = fits_of(best, best_solution, tests);
    if (next.back().p > kFamilyWise) break;
    chosen = std::move(best), fits = std::move(next);
  }
  return fits;
}

/// Least squares in those faults; false where two of them have the same direction.
bool Scores::solve(const std::vector<Index>& faults, Solution& solution) const {
  const Eigen::VectorXd unit = gram_.diagonal()(faults).array().rsqrt();  // directions of very different length
  const Eigen::MatrixXd correlation = unit.asDiagonal() * Eigen::MatrixXd(gram_(faults, faults)) * unit.asDiagonal();
  const Eigen::VectorXd right = score_(faults);
  const Eigen::LDLT<Eigen::MatrixXd> factors(correlation);
  if ((factors.vectorD().array() <= kSmallestPivot).any()) return false;
  const Eigen::MatrixXd inverse = factors.solve(Eigen::MatrixXd::Identity(unit.size(), unit.size()));
  solution.c = unit.cwiseProduct(inverse * unit.cwiseProduct(right));
  solution.variance = inverse.diagonal().cwiseProduct(unit.cwiseAbs2());
  solution.left = squares_ - solution.c.dot(right);
  return true;
}

std::vector<Fit> Scores::fits_of(const std::vector<Index>& faults, const Solution& solution, double tests) const {
  std::vector<Fit> fits;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const auto k = static_cast<std::size_t>(faults[i]);
    const auto at = static_cast<Index>(i);
    fits.push_back(fit_of(spec_.faults[k].name, solution.c[at],
                          scatter(solution.left) * solution.variance[at] + spread_of(null_, k, norm_[k]), tests));
    fits.back().explained = squares_ > 0 ? 1 - solution.left / squares_ : 0;
  }
  return fits;
}

}  // namespace attest::judge
