// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <vector>

#include "attest/golden/profile.hpp"
#include "attest/judge/capabilities.hpp"
#include "attest/judge/true_values.hpp"
#include "attest/judge/vacuity.hpp"
#include "attest/spec.hpp"

namespace attest::judge {

struct Expected;

/// Gathers what the cases of one kernel can show: which faults, and whether zeros or the mean would be wrong in them.
class Shown {
public:
  /// Keeps references to spec and profile.
  Shown(const Spec& spec, const golden::Profile& profile, Capabilities capabilities = {});

  /// A case by what is expected of its elements; `error` gives the largest error / bound that a fault makes there, and
  /// is asked only of faults that no case has shown yet.
  void add(const std::vector<Expected>& elements, const std::function<double(const Fault&)>& error);
  /// A problem of a batch, by its judged rows.
  void add(const Problem& problem, const TrueProblem& truth);

  Vacuity vacuity() const;

private:
  /// Whether the fault can show in one element at that profile.
  bool counts(const Fault& fault) const;
  /// Whether the kernel says that it does without all that the fault's golden cases are about.
  bool left_out(const Fault& fault) const;
  /// Whether it can, and no case showed it yet; by its number in the spec.
  bool asks_for(std::size_t fault) const;

  const Spec& spec_;
  const golden::Profile& profile_;
  const Capabilities capabilities_;
  std::size_t cases_ = 0;
  Vacuity sums_;  // its shares are numbers of elements
  std::set<double> distinct_;
  std::vector<double> most_;  // per fault: largest error / bound
};

}  // namespace attest::judge
