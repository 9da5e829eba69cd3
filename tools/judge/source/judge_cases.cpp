// SPDX-License-Identifier: MIT
#include "attest/judge/judge_cases.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "attest/judge/heads.hpp"
#include "attest/judge/layout.hpp"

namespace attest::judge {
namespace {

/// A case's outputs without an element, such as those of no query, leave nothing to compare and are right.
bool has_no_element(const Spec& spec, const golden::GoldenCase& c) {
  return count(shape_of(spec.outputs[0], c.problem.sizes)) == 0;
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

  /// Judges one case or a batch of heads, whose certified values are those of `cases`, and counts it in its group.
  void judge(const Batch& batch, const std::vector<const golden::GoldenCase*>& cases, const std::string& group,
             std::vector<Sample>* samples) {
    Finding finding = find(batch, cases, samples);
    finding.group = group;
    ++row_.cases.judged;
    ++row_.groups[group].judged;
    if (finding.status == Status::pass)
      ++row_.cases.passed, ++row_.groups[group].passed;
    else
      row_.failures.push_back(std::move(finding));
  }

private:
  Finding find(const Batch& batch, const std::vector<const golden::GoldenCase*>& cases, std::vector<Sample>* samples) {
    Finding finding;
    finding.tier = "T0";
    finding.query = golden::query(cases[0]->name, profile_.name);
    const Answers answers = source_.answers(batch, *cases[0]);
    finding.status = answers.status;
    finding.message = answers.message;
    if (finding.status != Status::pass) return finding;
    for (std::size_t p = 0; p < cases.size(); ++p) {
      if (samples && !answers.answers.empty()) samples->push_back({cases[p], answers.answers[0].outputs[p]});
      for (const auto& answer : answers.answers) {
        const std::string where = cases.size() > 1 ? name_of_head(p, kernel_, batch) : "";
        if (!agrees(*cases[p], answer.outputs[p], where + answer.call, finding)) return finding;
      }
    }
    return finding;
  }

  /// Compares one answer to one problem; the finding says what is wrong where it does not agree.
  bool agrees(const golden::GoldenCase& c, const Arrays& got, const std::string& where, Finding& finding) {
    const Comparison comparison = compare(c.problem, c.certified, got, profile_);
    const std::string query = golden::query(c.name, profile_.name);
    row_.errors.add(comparison, query);
    const bool nothing = comparison.compared == 0;
    if (comparison.passed() || (nothing && has_no_element(*kernel_.spec, c))) return true;
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

bool judge_cases(const Kernel& kernel, const golden::Profile& profile, const Selection& selection, const Source& source,
                 const CheckOptions& options, Row& row, std::vector<Sample>& samples) {
  CaseJudge judge(kernel, profile, source, row);
  for (const auto& [flag, cases] : selection.skipped) row.groups[flag].skipped = cases;
  for (const auto& c : selection.cases) {
    if (ended(options, row)) {
      ++row.early_end.not_run;
      ++row.groups[c.name.flag].skipped;
      continue;
    }
    judge.judge({{c.problem}, {c.cotangents}, 1, 1, 1}, {&c}, c.name.flag, &samples);
    if (gives_up(row)) return false;
  }
  if (!source.batches || selection.cases.empty()) return true;
  for (const Grid grid : {Grid::first, Grid::second}) {
    if (ended(options, row)) {
      ++row.early_end.not_run;
      continue;
    }
    const auto heads = draw_heads(kernel, profile, selection, grid);
    if (!heads) {
      ++row.groups["batch"].skipped;
      continue;
    }
    std::vector<const golden::GoldenCase*> cases;
    for (const auto& c : heads->cases) cases.push_back(&c);
    judge.judge(heads->batch, cases, "batch", nullptr);
    ++row.cases.drawn;
  }
  return true;
}

}  // namespace attest::judge
