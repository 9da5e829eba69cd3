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

/// "linear.causal two_level gradient", with the layout where the report has the same in another.
std::string title(const judge::Row& row, const judge::Report& report);

/// The figures of a kernel in a table: "55/55", "1752/1752", "16/16", "0.48", "23.9"; "-" where there are none.
struct Figures {
  std::string cases, regimes, laws, ratio, bits;
};
Figures figures_of(const judge::Row& row);

/// The failures of a kernel but for the calls that refusals() tells.
std::vector<const judge::Finding*> wrong_answers(const judge::Row& row);

/// "8 of 98 regimes fail: it fails where mask = given, ...", of small sizes and of real ones.
std::vector<std::string> common_conditions(const judge::Row& row);

/// The command by which a case is judged again.
std::string reproduce_command(const std::string& query);

/// How many combinations are excluded, by any condition.
std::size_t excluded(const judge::RegimeCounts& counts);

/// How many kernels pass and elements were compared, and what was left out: two lines.
std::vector<std::string> sums(const judge::Report& report);

/// ", waived until 2027-03-31: REASON" of a failure that a waiver covers.
std::string waived(const judge::Finding& finding, const judge::Report& report);

/// How many failures are waived, "waived: 2 failures of 1 kernel", and what is wrong with waivers.
std::vector<std::string> waivers(const judge::Report& report);

/// What else a reader should know: notes, real sizes, what was not run.
std::vector<std::string> remarks(const judge::Report& report);

/// "PASS of what was run (restricted: mask never given)".
std::string verdict(const judge::Report& report, bool colour = false);

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

/// What is known of a kernel that failed beside names: under which conditions, where.
std::vector<std::string> observations(const judge::Row& row);

/// What a covering array of that strength brings together: "pairs".
const char* combinations_of(int strength);

/// " (restricted: mask and bias never given)": what a PASS leaves out; of several kernels how many leave something out.
std::string restricted(const judge::Report& report);

/// A labelled text, or a command that is to be copied as it is.
struct Entry {
  std::string label, text;
  bool is_command = false;
};

/// Diagnosis of one kernel: how it was found, where it is wrong, how precise it is, which fault it looks like.
std::vector<Entry> diagnosis_entries(const judge::Row& row);
std::string diagnosis(const judge::Row& row);

/// One page for a browser with all that is known of these reports: verdicts, diagnoses, failures with the commands that
/// reproduce them, regimes, errors by position and by size, weights. It needs no network, no script and no other file.
std::string html(const std::vector<judge::Report>& reports);

/// JUnit XML, as the readers of Jenkins, GitLab and GitHub take it: a suite for each report, a test for each kernel and
/// profile, and one for each waiver that has a problem.
std::string junit(const std::vector<judge::Report>& reports);

/// SARIF 2.1.0 for annotations: a rule for each equation and tier, a result for each kernel, tier and waiver. `version`
/// is that of attest.
std::string sarif(const std::vector<judge::Report>& reports, const std::string& version);

/// An equation's page as data: formula, tensors, sizes, parameters, forms, constraints, laws, faults, flags.
nlohmann::json page(const Spec& spec);

/// Shows on stderr how far a run is, "checking [###...] 3/9 kernel"; where that is no terminal, by a line a minute.
judge::Progress progress_bar(const std::string& verb);

/// A parameter's value as data.
nlohmann::json setting(const ParameterSetting& value);

}  // namespace attest::report
