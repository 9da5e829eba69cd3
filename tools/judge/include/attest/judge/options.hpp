// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "attest/view.hpp"

namespace attest::jobs {
class Job;
}

namespace attest::judge {

/// Whether a run goes on.
enum class Stop { no, budget, interrupt };

/// Of regimes: beyond this, their number is beyond any time that a user has.
inline constexpr int kMostStrength = 4;

/// Which sizes kernels are called at: small ones, or also those at which they are shipped.
enum class SizesJudged { small, real };

struct CheckOptions {
  std::string only = "*";              // glob over "equation" or "equation.form"
  std::string flags = "*";             // glob over the flags of cases
  std::optional<int> most_cases;       // of one kernel, every flag before a second case of any
  std::function<Stop()> stop;          // asked before every case and law
  std::optional<std::string> profile;  // default: the kernel's dtype
  std::filesystem::path golden;        // folder of the golden files
  std::filesystem::path cache;         // folder in which true values are kept from run to run; empty: they are not
  int law_draws = 6;                   // problems per law
  int property_draws = 6;              // problems per property
  int strength = 2;                    // of regimes: how many conditions are brought together; 0: there are none
  SizesJudged sizes = SizesJudged::small;
  std::optional<int> shapes;           // at most so many shapes in the regimes of one kernel
  std::optional<Index> all_tokens_on;  // of ranks the one that has all tokens; by default they are divided
  int repeat = 1;                      // how many times all cases and regimes are called
  bool single_calls = false;           // regimes are called once, not twice (contract.hpp)
  bool probes = true;      // whether the weights of a kernel that failed are read, and the precision of one that passed
  std::uint64_t seed = 1;  // of the problems of laws and of the cases that are in no file
  std::chrono::milliseconds time_limit{20000};               // of one call of a kernel with little to do
  std::function<void(const std::string& call)> before_call;  // told of each call that may take seconds
  jobs::Job* job = nullptr;  // whose items the equations are; none: they are done here, and nothing is kept
};

/// Told before each kernel (or mutant) how many of all are done, and which is next.
using Progress = std::function<void(std::size_t done, std::size_t total, const std::string& current)>;

}  // namespace attest::judge
