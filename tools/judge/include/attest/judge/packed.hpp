// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "attest/judge/coverage.hpp"
#include "attest/judge/covering.hpp"
#include "attest/judge/mutants.hpp"
#include "attest/judge/report.hpp"

/// Reports, and conditions of regimes, as bytes for another process of the same build: every member, every bit of every
/// number.
namespace attest::judge {

std::string packed(const std::vector<Row>& rows);
std::string packed(const MutantsReport& report);
std::string packed(const Coverage& row);
std::string packed(const Covering& covering);

/// Throws std::exception where the bytes are not those of packed().
std::vector<Row> unpacked_rows(const std::string& bytes);
MutantsReport unpacked_mutants(const std::string& bytes);
Coverage unpacked_coverage(const std::string& bytes);
Covering unpacked_covering(const std::string& bytes);

}  // namespace attest::judge
