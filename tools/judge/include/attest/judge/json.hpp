// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attest/judge/mutants.hpp"
#include "attest/judge/report.hpp"

/// Reports as data. Numbers that JSON cannot hold are texts: "inf", "nan".
namespace attest::judge {

nlohmann::json to_json(const Report& report);
nlohmann::json to_json(const MutantsReport& report);

}  // namespace attest::judge
