// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "attest/judge/report.hpp"
#include "attest/spec.hpp"

namespace attest::report {

/// One line per kernel, of at most 100 columns; then each failure with the command that reproduces it, and the verdict.
/// What no regime of a kernel has, and why: the combinations by the condition that excludes them.
std::string exclusions(const judge::Report& report);

std::string table(const judge::Report& report, bool colour = false);

/// Diagnosis of one kernel: how it was found, where it is wrong, how precise it is, which fault it looks like.
std::string diagnosis(const judge::Row& row);

/// An equation's page as data: formula, tensors, sizes, parameters, forms, constraints, laws, faults, flags.
nlohmann::json page(const Spec& spec);

/// A parameter's value as data.
nlohmann::json setting(const ParameterSetting& value);

}  // namespace attest::report
