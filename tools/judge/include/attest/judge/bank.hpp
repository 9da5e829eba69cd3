// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attest/golden/store.hpp"
#include "attest/judge/cache.hpp"
#include "attest/judge/faults.hpp"
#include "attest/judge/shown.hpp"
#include "attest/judge/statistics.hpp"

namespace attest::judge {

struct CaseFacts;

/// The fault bank of one equation at one profile, computed once per case: what each fault would change, and how the
/// scores of correct kernels of many forms and orders are spread.
class Bank {
public:
  /// Keeps references to both. The cache keeps what is known of cases from run to run; null: nothing does.
  Bank(const Spec& spec, const golden::Profile& profile, Cache* cache = nullptr)
      : spec_(spec), profile_(profile), cache_(cache) {}

  /// By what a cache keeps a case: its name, what its file says, and how functions of the C library round here.
  static std::string kept_as(const golden::GoldenCase& c, const golden::Profile& profile);

  /// The statistics of a kernel; `tests` is the number of score tests in the whole run, for the correction of p.
  Statistics statistics(const std::vector<Sample>& samples, double tests);

  /// Judges every correct kernel that the bank runs on those cases: hard bounds case by case, score tests over all.
  Alarms alarms(const std::vector<const golden::GoldenCase*>& cases, double tests);

  /// Adds what the case shows.
  void show(const golden::GoldenCase& c, Shown& shown);

  /// The largest error / bound that the fault makes in the case; infinite where it is not finite.
  double shown(const golden::GoldenCase& c, const Fault& fault);

  /// True when zeros would be within every bound, and no fault would be beyond any.
  bool is_vacuous(const golden::GoldenCase& c);

  /// The sample's case as if the fault, with blocks of a length where one is given, were the equation; its gradients,
  /// too, where the sample has some. Null where a decision of the fault is a tie that no precision settles.
  const golden::CertifiedTensors* as_equation(const Sample& sample, const Fault& fault,
                                              std::optional<Index> block = {});

  /// Whether the equation has values with blocks of that length.
  bool allows_block(const Sample& sample, Index block) const;

  /// Outputs of the fault in binary64.
  Arrays outputs_in_binary64(const golden::GoldenCase& c, const Fault& fault, std::optional<Index> block) const;

  /// The share of the squared error of these cases, each counting the same, that the faults' directions take away with
  /// the shares c of the fits.
  double explained(const std::vector<const Sample*>& samples, const std::vector<Fit>& fits);

  /// Outputs of a kernel of the profile that has the fault, stored in the profile's formats.
  const Arrays& outputs_of_fault(const golden::GoldenCase& c, const Fault& fault);

  const Spec& spec() const { return spec_; }
  const golden::Profile& profile() const { return profile_; }

private:
  const CaseFacts& facts(const golden::GoldenCase& c);

  const Spec& spec_;
  const golden::Profile& profile_;
  Cache* cache_;
  std::map<std::string, std::shared_ptr<CaseFacts>> facts_;                   // by query
  std::map<std::string, std::optional<golden::CertifiedTensors>> equations_;  // by fault and query
  std::map<std::string, Arrays> outputs_;                                     // by fault and query
};

}  // namespace attest::judge
