// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "attest/judge/check.hpp"

namespace attest::report {

/// A table of at most 100 columns, with what went wrong and how to reproduce it.
std::string table(const judge::Report& report, bool colour = false);

/// What is wrong with one kernel and how precise it is, in words.
std::string diagnosis(const judge::Row& row);

/// An equation's page as data: formula, tensors, sizes, parameters, forms, constraints, laws, faults, flags.
nlohmann::json page(const Spec& spec);

/// A parameter's value as data.
nlohmann::json setting(const ParameterSetting& value);

}  // namespace attest::report
