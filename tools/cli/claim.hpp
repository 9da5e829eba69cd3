// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "commands.hpp"

/// Claims: what a candidate passed, as a text that can be checked again (specs/decisions/0030-claims.md).
namespace attest::cli {

/// SHA-256 of a candidate's library. Throws InvalidCandidate where there is none that can be read.
std::string hash_of_library(const std::string& candidate);

/// Writes the claim of a report that passes; of one that does not, says on standard error that nothing is written.
/// `library` is the hash of the candidate's library from before the run, `command` is `check` as it was parsed. Throws
/// UsageError where the library is another one now, or the file cannot be written.
void write_claim(const std::string& file, const judge::Report& report, const std::string& candidate,
                 const std::string& library, std::uint64_t seed, const CLI::App& command);

}  // namespace attest::cli
