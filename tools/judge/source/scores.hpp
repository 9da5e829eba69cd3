// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <map>
#include <string>
#include <vector>

#include "attest/golden/profile.hpp"
#include "attest/judge/statistics.hpp"
#include "case_facts.hpp"

namespace attest::judge {

/// The fit of one fault: c with its variance, and what follows for that many score tests in the run.
Fit fit_of(const std::string& fault, double c, double variance, double tests);

/// Whether a fit rejects a kernel: a fault with an amplitude, beyond chance in the whole run and beyond a few units.
bool rejects(const Fault& fault, const Fit& fit, const golden::Profile& profile);

/// Mean square of a fault's c among correct kernels.
double spread_of(const Null& null, std::size_t fault, double norm);

/// Adds up the cases of one kernel, then tests; statistics.hpp has the letters and the method.
class Scores {
public:
  Scores(const Spec& spec, const golden::Profile& profile);

  void add(const CaseFacts& facts, const Sample& sample);

  Statistics statistics(double tests) const;

private:
  struct Residuals;
  struct Solution;
  void add_directions(const CaseFacts& facts, const Residuals& residuals);
  void add_profiles(const CaseFacts& facts, const Residuals& residuals, const golden::GoldenCase& c);

  void grade(Statistics& statistics) const;
  std::string finest_profile() const;
  std::vector<Fit> separate_fits(double tests) const;
  std::vector<Fit> joint_fits(double tests) const;
  bool solve(const std::vector<Index>& faults, Solution& solution) const;
  std::vector<Fit> fits_of(const std::vector<Index>& faults, const Solution& solution, double tests) const;

  bool is_scored(std::size_t fault) const;
  double scatter(double squares_left) const;
  double usual_rms() const;

  const Spec& spec_;
  const golden::Profile& profile_;
  Index elements_ = 0;
  Histogram histogram_;             // of r
  double squares_ = 0;              // sum of r^2
  double signed_sum_ = 0;           // sum of r sign(truth)
  std::vector<double> norm_;        // per fault: sum of d^2
  Eigen::VectorXd score_;           // per fault: sum of r d
  Eigen::MatrixXd gram_;            // per two faults: sum of d d'
  Null null_;                       // correct kernels on the same cases
  std::vector<double> of_profile_;  // sum of r^2 in each known profile's expected errors
};

}  // namespace attest::judge
