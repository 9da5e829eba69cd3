// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attest/judge/check.hpp"
#include "attest/judge/evidence.hpp"

namespace attest::judge {

/// Of so many listed, so many stand: what shows them was run and holds. Of others some of the evidence is declared: it
/// could not be run here, and nothing else of it fails.
struct Share {
  int stand = 0, listed = 0, declared = 0;
};

/// A name that [backends] of a spec may have, and the candidate whose kernels are run for it: CUDA kernels are run
/// without a device.
struct Backend {
  const char* name;
  const char* candidate;
};
inline constexpr std::array<Backend, 2> kBackends{{{"openmp", "openmp"}, {"cuda", "cuda-emulated"}}};

/// The state of one operation of specs/catalogue.toml.
struct Coverage {
  enum class Status { planned, partial, complete };

  std::string id, title;
  Status status = Status::planned;
  Share forms, laws, faults, errata,
      claims;      // forms that agree, invariants that hold, faults that are killed, errata and claims that are shown
  int golden = 0;  // cases
  bool gradient = false;                                    // certified and tried, or the operation is one or has none
  std::map<std::string, std::vector<std::string>> kernels;  // by backend: dtypes whose kernels pass
  std::vector<std::string> open;                            // what is missing or wrong; empty for a complete operation
  std::vector<std::string> declared;                        // evidence that could not be run here, with the reason
  std::vector<std::string> left_out;  // forms, invariants, faults, errata and claims not taken, with the reason
};

/// Where this build has its unit tests; an installed command has none.
std::filesystem::path test_programs();

struct CoverageOptions {
  std::filesystem::path project;                     // the source tree: specs/catalogue.toml, golden/, tests/self/unit/
  std::filesystem::path programs = test_programs();  // the folder of the unit tests' programs
  std::string only = "*";                            // glob over operations
  jobs::Job* job = nullptr;                          // whose items the operations are; none: they are done here
  std::map<std::string, nlohmann::json>
      reports{};  // of attest check, by backend: their verdicts stand, and those kernels are not run again
};

/// Runs what the specs promise, operation by operation: forms against each other on every golden case, laws and kernels
/// by a check in binary32 and binary64, every fault by its mutant, gradients against difference quotients, costs by
/// counting, constraints by inputs that break them, unit tests by their programs. What cannot be run here is declared.
/// Throws SpecError where the catalogue cannot be read.
std::vector<Coverage> coverage(const CoverageOptions& options, const Progress& progress = {});

nlohmann::json to_json(const std::vector<Coverage>& rows);

std::string_view name(Coverage::Status status);

}  // namespace attest::judge
