// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "attest/judge/candidate.hpp"
#include "attest/judge/capabilities.hpp"
#include "attest/judge/options.hpp"
#include "attest/judge/report.hpp"

namespace attest::judge {

/// Judges one case, drawn and certified again from its query: a row for each kernel that does it, by contract, exact
/// families and bounds. Kernels that are judged by the query's profile come alone where there are such; otherwise all
/// of its storage format. Throws SpecError where the query is none, golden::Uncertifiable where the case has no value.
Report reproduce(Candidate& candidate, const std::string& query, const CheckOptions& options);

}  // namespace attest::judge
