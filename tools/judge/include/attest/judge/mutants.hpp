// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attest/judge/options.hpp"
#include "attest/judge/statistics.hpp"

namespace attest::judge {

/// A kernel with one fault in one precision, and what the judge made of it.
struct Mutant {
  std::string equation, fault, profile;
  bool killed = false;
  std::string tier;    // the first that noticed
  int rank = 0;        // place of its own name in the diagnosis, from 1; 0: not named
  std::string named;   // what it was called
  double shown = 0;    // largest error / bound of the fault in the cases of its flag
  std::string hidden;  // why the precision cannot show it; empty when it must be killed
};

/// Verdicts on the mutants of the fault bank, and what correct kernels were accused of.
struct MutantsReport {
  std::vector<Mutant> mutants;
  struct Orders {
    std::string equation, profile;
    Index kernels = 0;  // correct kernels: forms x orders, equivalents x orders
    Index cases = 0;
    Alarms alarms;
  };
  std::vector<Orders> orders;
  /// Kernels whose results are 1 % off (64 units in the last place of a 16-bit format) where conditions of the
  /// equation's regimes meet, one kernel for each combination that is visited; none where all right results are zeros.
  struct Conditions {
    std::string equation, profile;
    std::size_t kernels = 0, killed = 0;
    std::vector<std::string> survived;  // "magnitude.v = 0 and heads = 3": the first ones
  };
  std::vector<Conditions> conditions;

  /// Every mutant whose fault the precision can show was killed, 95 of 100 in binary32 and binary64 named first, and no
  /// correct kernel was accused; 99 of 100 kernels that are off under conditions were killed in binary32 and binary64.
  bool passed() const;
};

struct MutantsOptions {
  std::string only = "*";         // glob over EQUATION or EQUATION.FAULT
  std::filesystem::path golden;   // folder of the golden files
  std::filesystem::path cache{};  // folder in which true values are kept from run to run; empty: they are not
  std::vector<std::string> profiles = {"f32", "f64", "bf16", "f16"};
  int seeds = 1000;          // drawn cases per equation that correct kernels are judged by
  int strength = 2;          // conditions that meet where a kernel is off
  jobs::Job* job = nullptr;  // whose items equations in a profile are; none: they are done here, and nothing is kept
};

/// Judges a mutant of every fault in every profile of the options like any candidate, and asks for its name; then
/// judges correct kernels of every form and order on drawn cases. Empty where the options name no fault.
MutantsReport mutants(const MutantsOptions& options, const Progress& progress = {});

}  // namespace attest::judge
