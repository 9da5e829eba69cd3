// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/check.hpp"

namespace attest::judge {

/// One planted fault in one precision.
struct Mutant {
  std::string equation, fault, profile;
  bool killed = false;
  std::string tier;    // the first that noticed
  int rank = 0;        // place of its own name in the diagnosis, from 1; 0: not named
  std::string named;   // what it was called
  double shown = 0;    // largest error / bound in the cases of its flag
  std::string hidden;  // why the precision cannot show it; empty when it must be killed
};

/// What a run over the fault bank found, and what correct kernels were accused of.
struct MutantsReport {
  std::vector<Mutant> mutants;
  struct Orders {
    std::string equation, profile;
    Index kernels = 0;  // correct kernels: forms x orders, equivalents x orders
    Index cases = 0;
    Alarms alarms;
  };
  std::vector<Orders> orders;

  /// Every fault that can show was killed, named first in at least 95 of 100 in binary32 and binary64, and nobody was
  /// accused falsely.
  bool passed() const;
};

struct MutantsOptions {
  std::string only = "*";        // glob over EQUATION or EQUATION.FAULT
  std::filesystem::path golden;  // folder of the golden files
  std::vector<std::string> profiles = {"f32", "f64", "bf16", "f16"};
  int seeds = 1000;  // drawn cases per equation that correct kernels are judged by
};

/// Plants every fault in binary32, binary64, bfloat16 and binary16, judges it like any candidate, and asks for its
/// name; then judges correct kernels of every form and order on drawn cases.
MutantsReport mutants(const MutantsOptions& options, const Progress& progress = {});

nlohmann::json to_json(const MutantsReport& report);

}  // namespace attest::judge
