// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "attest/judge/options.hpp"
#include "attest/judge/report.hpp"
#include "attest/spec.hpp"

namespace attest::report {

/// What no regime of a kernel has, and why: the combinations by the condition that excludes them.
std::string exclusions(const judge::Report& report);

/// "9 cases left out (6 capability causal == true, 3 precision)": the most frequent reasons of CaseCounts::left_out.
std::string left_out(const std::map<std::string, int>& reasons);

/// One line per kernel, of at most 100 columns; then each failure with the command that reproduces it, and the verdict.
std::string table(const judge::Report& report, bool colour = false);

/// What the run could have seen of a kernel that passes, in a line or two: calls, the share of failing calls that they
/// would show, known faults that would show, what never varied. Nothing for one that does not pass.
std::vector<std::string> reach(const judge::Row& row);
/// Of several kernels: the least of it.
std::vector<std::string> reach(const judge::Report& report);

/// How much a kernel refused with an error, the first message, and the capability that would say so: two lines. Nothing
/// for one that refused nothing.
std::vector<std::string> refusals(const judge::Row& row);

/// What a kernel that failed looks like, each name with its evidence, the likeliest first; empty where nothing has any.
std::vector<std::string> names(const judge::Row& row);

/// The condition under which it fails, as a sentence.
std::string when(const judge::RegimeCounts& counts);

/// What is known of a kernel that failed beside names: under which conditions, where.
std::vector<std::string> observations(const judge::Row& row);

/// What a covering array of that strength brings together: "pairs".
const char* combinations_of(int strength);

/// " (restricted: mask and bias never given)": what a PASS leaves out; of several kernels how many leave something out.
std::string restricted(const judge::Report& report);

/// Diagnosis of one kernel: how it was found, where it is wrong, how precise it is, which fault it looks like.
std::string diagnosis(const judge::Row& row);

/// An equation's page as data: formula, tensors, sizes, parameters, forms, constraints, laws, faults, flags.
nlohmann::json page(const Spec& spec);

/// Shows on stderr how far a run is, "checking [###...] 3/9 kernel"; nothing where that is no terminal.
judge::Progress progress_bar(const std::string& verb);

/// A parameter's value as data.
nlohmann::json setting(const ParameterSetting& value);

}  // namespace attest::report
