// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attest/judge/mutants.hpp"
#include "attest/judge/report.hpp"

/// Reports as data. Numbers that JSON cannot hold are texts: "inf", "nan".
namespace attest::judge {

/// What the member "schema" of a report says. specs/report.schema.json describes it; a change that readers must know of
/// counts up.
inline constexpr const char* kReportSchema = "attest report 1";

nlohmann::json to_json(const Report& report);
nlohmann::json to_json(const MutantsReport& report);

}  // namespace attest::judge
