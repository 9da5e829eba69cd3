// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attest/golden/store.hpp"
#include "attest/judge/faults.hpp"

namespace attest::judge {

/// What a kernel gave for one case.
struct Sample {
  const golden::GoldenCase* c = nullptr;  // with bounds for the profile that is judged by
  Arrays got;
};

/// The residual's share along one fault's direction.
struct Fit {
  std::string fault;
  double c = 0;          // 1 where the whole fault is there; of a fault with an amplitude: in units of it
  double error = 0;      // of c: from the error model and from correct kernels together
  double z = 0;          // c / error
  double p = 1;          // corrected for the number of faults that were tried
  double explained = 0;  // share of the squared residual that disappears with c times the fault

  /// As where a fault gives NaN: there are no numbers to show.
  bool may_be_chance() const { return p > 0.01; }

  /// "c = 0.061 +- 0.0009, z = 68": the digits that the error leaves to c, two of z. Beyond doubt the error is the
  /// processor's rounding and not the kernel's, so it is not shown: "c = 1, beyond doubt".
  std::string text() const;
};

/// "z = 68", or "beyond doubt".
std::string text_of_z(double z);

/// As %.2g, without an exponent from 1 to 1e6.
std::string two_digits(double x);

/// How a kernel's errors are distributed (tier T3).
struct Statistics {
  Index elements = 0;  // whose expected error is not zero
  double rms = 0;      // of error / expected error
  double bits = 0;     // effective bits: those of the claimed profile when it errs as much as correct kernels do
  double claimed_bits = 0;
  std::string behaves_like;  // the finest profile that allows for errors of this size; empty when none does
  double bias = 0,
         bias_z = 0;          // mean of error / expected error away from zero, and in its spread among correct kernels
  std::vector<Fit> fits;      // of every fault, the largest |z| first
  std::vector<Fit> joint;     // of those faults that are needed together, fitted at once
  std::vector<Fit> rejected;  // faults with an amplitude that are there beyond doubt
};

/// What the cases can show: wrong answers and how many elements would betray them.
struct Vacuity {
  Index elements = 0, distinct = 0;  // expected values compared, and different ones among them
  double nan_share = 0;              // expected to be NaN
  double zeros_differ = 0,
         mean_differs = 0;           // share of elements where 0, or the mean of all, is wrong beyond the bound
  int faults_shown = 0, faults = 0;  // known faults that at least one element would betray by twice its bound; of all
  std::string too_little;            // which limit is not met; empty when all are
};

/// What correct kernels of many forms and orders were accused of.
struct Alarms {
  Index judged = 0;  // kernels x cases
  Index raised = 0;
  double largest_z = 0;  // of any score test
  std::string first;     // what the first alarm was
  double z_squares = 0;  // over all score tests
  Index scores = 0;

  /// 1 where the scores of correct kernels scatter as much as their errors say.
  double rms_z() const { return scores > 0 ? std::sqrt(z_squares / static_cast<double>(scores)) : 0; }
};

/// Everything about one equation's faults at one profile, computed once per case: what each fault would change, and how
/// the scores of correct kernels of many forms and orders are spread.
class Bank {
public:
  Bank(const Spec& spec, const golden::Profile& profile) : spec_(spec), profile_(profile) {}

  /// The statistics of a kernel; `tests` is the number of score tests in the whole run, for the correction of p.
  Statistics statistics(const std::vector<Sample>& samples, double tests);

  /// Judges every correct kernel that the bank runs on those cases: hard bounds case by case, score tests over all.
  Alarms alarms(const std::vector<const golden::GoldenCase*>& cases, double tests);

  Vacuity vacuity(const std::vector<const golden::GoldenCase*>& cases);

  /// The largest error / bound that the fault makes in the case; infinite where it is not finite.
  double shown(const golden::GoldenCase& c, const Fault& fault);

  /// True when the fault changes nothing in the case that any bound could show and no wrong answer would differ.
  bool says_nothing(const golden::GoldenCase& c);

  /// The case as if the fault were the equation.
  const golden::CertifiedTensors& as_equation(const golden::GoldenCase& c, const Fault& fault);

  /// What a planted kernel of the profile gives.
  const Arrays& planted_outputs(const golden::GoldenCase& c, const Fault& fault);

  const Spec& spec() const { return spec_; }
  const golden::Profile& profile() const { return profile_; }

private:
  struct Facts;
  bool rejects(const Fault& fault, const Fit& fit) const;
  const Facts& facts(const golden::GoldenCase& c);

  const Spec& spec_;
  const golden::Profile& profile_;
  std::map<std::string, std::shared_ptr<Facts>> facts_;
  std::map<std::string, golden::CertifiedTensors> equations_;
  std::map<std::string, Arrays> planted_;
};

}  // namespace attest::judge
