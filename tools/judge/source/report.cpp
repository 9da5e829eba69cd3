// SPDX-License-Identifier: MIT
#include "attest/judge/report.hpp"

#include <algorithm>
#include <numeric>

namespace attest::judge {
namespace {

/// The status of both together: crashed before fail before invalid before waived before pass.
Status worse(Status a, Status b) {
  for (const Status status : {Status::crashed, Status::fail, Status::invalid, Status::waived})
    if (a == status || b == status) return status;
  return Status::pass;
}

}  // namespace

std::string_view name(Status status) {
  switch (status) {
    case Status::pass: return "PASS";
    case Status::fail: return "FAIL";
    case Status::crashed: return "CRASH";
    case Status::invalid: return "INVALID";
    case Status::waived: return "WAIVED";
  }
  return "?";
}

int exit_code(Status status) {
  if (status == Status::waived) return 0;
  return status == Status::pass ? 0 : status == Status::fail ? 1 : 3;
}

std::string KernelId::title() const {
  return equation + (form.empty() ? "" : " " + form) + (reading == "gradient" ? " gradient" : "");
}

int CaseCounts::skipped() const {
  return std::accumulate(left_out.begin(), left_out.end(), 0,
                         [](int sum, const auto& reason) { return sum + reason.second; });
}

void Errors::add(const Comparison& comparison, const std::string& query) {
  elements += comparison.compared;
  if (comparison.compared > 0 && (worst_query.empty() || comparison.worst.ratio() > worst.ratio())) {
    worst = comparison.worst;
    worst_query = query;
  }
}

bool Row::only_refusals() const {
  return std::all_of(failures.begin(), failures.end(), [](const Finding& one) { return one.tier == kRefusal; });
}

void Row::conclude() {
  for (const auto& failure : failures) status = worse(status, failure.counted());
}

Status Report::status() const {
  if (rows.empty()) return Status::invalid;
  Status worst = Status::pass;
  for (const auto& row : rows) worst = worse(worst, row.status);
  for (const auto& waiver : waivers)
    if (!waiver.problems.empty()) worst = worse(worst, Status::fail);
  return worst == Status::waived ? Status::pass : worst;
}

}  // namespace attest::judge
