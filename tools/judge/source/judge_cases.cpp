// SPDX-License-Identifier: MIT
#include "attest/judge/judge_cases.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "attest/judge/layout.hpp"

namespace attest::judge {
namespace {

/// Results without an element, such as the outputs of no query or the gradients of no token, leave nothing to compare
/// and are right.
bool has_no_element(const Kernel& kernel, const golden::GoldenCase& c) {
  const Spec& spec = *kernel.spec;
  const auto empty = [&](const TensorDeclaration& tensor) { return count(shape_of(tensor, c.problem.sizes)) == 0; };
  if (!kernel.is_gradient()) return empty(spec.outputs[0]);
  return std::all_of(spec.gradient.begin(), spec.gradient.end(),
                     [&](const std::string& input) { return empty(*spec.input(input)); });
}

/// Whether the first wrong element belongs to an exact family.
bool is_exact(const golden::GoldenCase& c, const Comparison& comparison) {
  const auto exact = exact_outputs(c.name);
  return comparison.first && std::count(exact.begin(), exact.end(), comparison.first->output) > 0;
}

class CaseJudge {
public:
  CaseJudge(const Kernel& kernel, const golden::Profile& profile, const Source& source, Row& row)
      : kernel_(kernel), profile_(profile), source_(source), row_(row) {}

  /// Judges one case and counts it in the group of its flag.
  void judge(const golden::GoldenCase& c, std::vector<Sample>& samples) {
    Finding finding = find(c, samples);
    finding.group = c.name.flag;
    Group& group = row_.groups[finding.group];
    ++row_.cases.judged;
    ++group.judged;
    if (finding.status == Status::pass)
      ++row_.cases.passed, ++group.passed;
    else
      row_.failures.push_back(std::move(finding));
  }

private:
  Finding find(const golden::GoldenCase& c, std::vector<Sample>& samples) {
    Finding finding;
    finding.tier = "T0";
    finding.query = golden::query(c.name, profile_.name);
    const Answers answers = source_.answers({{c.problem}, {c.cotangents}, 1, 1, 1}, c);
    finding.status = answers.status;
    finding.message = answers.message;
    if (answers.refused) finding.tier = kRefusal;
    if (finding.status != Status::pass) return finding;
    if (!answers.answers.empty()) samples.push_back({&c, answers.answers[0].outputs[0]});
    for (const auto& answer : answers.answers)
      if (!agrees(c, answer.outputs[0], answer.call, finding)) return finding;
    return finding;
  }

  /// Compares one answer to one problem; the finding says what is wrong where it does not agree.
  bool agrees(const golden::GoldenCase& c, const Arrays& got, const std::string& where, Finding& finding) {
    const Comparison comparison = compare(c.problem, c.certified, got, profile_, &row_.errors.maps);
    const std::string query = golden::query(c.name, profile_.name);
    row_.errors.add(comparison, query);
    const bool nothing = comparison.compared == 0;
    if (comparison.passed() || (nothing && has_no_element(kernel_, c))) return true;
    finding.query = query;
    finding.status = nothing ? Status::invalid : Status::fail;
    finding.tier = nothing ? "vacuity" : is_exact(c, comparison) ? "T1" : "T2";
    finding.message = where + (comparison.first ? comparison.first->text() : "nothing was compared");
    return false;
  }

  const Kernel& kernel_;
  const golden::Profile& profile_;
  const Source& source_;
  Row& row_;
};

}  // namespace

bool gives_up(const Row& row) {
  const auto failed = [&](Status status) {
    return std::count_if(row.failures.begin(), row.failures.end(),
                         [&](const Finding& finding) { return finding.status == status && finding.tier == "T0"; });
  };
  return failed(Status::crashed) >= 2 || failed(Status::invalid) >= 1;
}

bool ended(const CheckOptions& options, Row& row) {
  if (row.early_end.by.empty() && options.stop)
    if (const Stop stop = options.stop(); stop != Stop::no)
      row.early_end.by = stop == Stop::budget ? "budget" : "interrupt";
  return !row.early_end.by.empty();
}

void judge_cases(const Kernel& kernel, const golden::Profile& profile, const Selection& selection, const Source& source,
                 const CheckOptions& options, Row& row, std::vector<Sample>& samples) {
  CaseJudge judge(kernel, profile, source, row);
  for (const auto& [flag, cases] : selection.skipped) row.groups[flag].skipped = cases;
  for (const auto& c : selection.cases) {
    if (ended(options, row)) {
      ++row.early_end.not_run;
      ++row.groups[c.name.flag].skipped;
      continue;
    }
    judge.judge(c, samples);
    if (gives_up(row)) return;
  }
}

}  // namespace attest::judge
