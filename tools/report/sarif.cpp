// SPDX-License-Identifier: MIT
// Reports as SARIF 2.1.0 (OASIS standard, 2020).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/report.hpp"

namespace attest::report {
namespace {

using nlohmann::json;

constexpr const char* kWaiver = "waiver";  // the rule about waivers

std::string about(std::string_view tier) {
  if (tier == "T0") return "the contract between kernel and caller is kept";
  if (tier == "T1") return "inputs for which every correct kernel gives the same bits give these";
  if (tier == "T2") return "every element is within its bound";
  if (tier == "T3") return "all errors together show no known fault";
  if (tier == "law") return "the laws of the equation hold";
  if (tier == "vacuity") return "enough was judged for a verdict";
  if (tier == judge::kRefusal) return "calls that the capabilities allow are answered";
  return "the kernel is right";
}

/// A path relative to the working folder where it lies there, as URIs of a repository are; otherwise file:///...
std::string uri_of(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path whole = fs::absolute(file, error).lexically_normal();
  const fs::path near = whole.lexically_relative(fs::current_path(error));
  const bool within = !near.empty() && *near.begin() != "..";
  std::string uri = within ? "" : "file://";
  for (const unsigned char one : (within ? near : whole).string()) {
    const bool plain = (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') ||
                       std::string_view("/-._~").find(static_cast<char>(one)) != std::string_view::npos;
    plain ? uri += static_cast<char>(one) : uri += fmt::format("%{:02X}", one);
  }
  return uri;
}

/// One run: what it refers to is numbered when it is first named.
class Run {
public:
  std::size_t rule(const std::string& id, const std::string& text) {
    const auto [known, fresh] = rule_numbers_.try_emplace(id, rules_.size());
    if (fresh)
      rules_.push_back(
          {{"id", id}, {"shortDescription", {{"text", text}}}, {"defaultConfiguration", {{"level", "error"}}}});
    return known->second;
  }

  json location(const judge::Place& place) {
    const std::string uri = uri_of(place.file);
    const auto [known, fresh] = artifact_numbers_.try_emplace(uri, artifacts_.size());
    if (fresh) artifacts_.push_back({{"location", {{"uri", uri}}}});
    json physical = {{"artifactLocation", {{"uri", uri}, {"index", known->second}}}};
    physical["region"] = {{"startLine", std::max(place.line, 1)}};
    return physical;
  }

  void add(const std::string& rule_id, const std::string& about_rule, const std::string& message, json more) {
    more["ruleId"] = rule_id;
    more["ruleIndex"] = rule(rule_id, about_rule);
    more["level"] = "error";
    more["message"] = {{"text", message}};
    results_.push_back(std::move(more));
  }

  json take(const judge::Report& report, const std::string& version) {
    return {
        {"tool", {{"driver", {{"name", "attest"}, {"version", version}, {"rules", rules_}}}}},
        {"artifacts", artifacts_},
        {"results", results_},
        {"columnKind", "unicodeCodePoints"},
        {"properties", {{"candidate", report.candidate}, {"version", report.version}, {"verdict", verdict(report)}}}};
  }

private:
  json rules_ = json::array(), artifacts_ = json::array(), results_ = json::array();
  std::map<std::string, std::size_t> rule_numbers_, artifact_numbers_;
};

/// Findings of a kernel that are of one tier and under one waiver, or none.
struct Alike {
  const judge::Finding* first = nullptr;
  int times = 0;
};

json located(Run& run, const judge::Waiver& waiver) {
  return {{"physicalLocation", run.location({waiver.file, waiver.line})}};
}

void add_row(Run& run, const judge::Row& row, const judge::Report& report) {
  std::map<std::pair<std::string, std::optional<std::size_t>>, Alike> all;
  for (const auto& failure : row.failures) {
    Alike& alike = all[{failure.tier, failure.waiver}];
    if (alike.times++ == 0) alike.first = &failure;
  }
  const std::string name = title(row, report);
  for (const auto& [key, alike] : all) {
    const judge::Finding& finding = *alike.first;
    const std::string more = alike.times > 1 ? fmt::format(" (and {} more)", alike.times - 1) : "";
    const json logical = {{"name", name}, {"fullyQualifiedName", report.candidate + "/" + name}, {"kind", "function"}};
    json location = {{"logicalLocations", json::array({logical})}};
    if (!report.place.file.empty()) location["physicalLocation"] = run.location(report.place);
    json result = {
        {"locations", json::array({location})},
        {"occurrenceCount", alike.times},
        {"partialFingerprints",
         {{"kernel/v1", fmt::format("{} {} {} {}", name, row.kernel.profile, row.kernel.layout, finding.tier)}}},
        {"properties",
         {{"status", judge::name(finding.status)},
          {"query", finding.query},
          {"tier", finding.tier},
          {"group", finding.group},
          {"equation", row.kernel.equation},
          {"kernel", name},
          {"profile", row.kernel.profile}}}};
    if (!finding.query.empty()) result["properties"]["reproduce"] = reproduce_command(finding.query);
    if (finding.waiver) {
      const judge::Waiver& waiver = report.waivers.at(*finding.waiver);
      json suppression = {{"kind", "external"}, {"status", "accepted"}, {"justification", waiver.reason}};
      suppression["location"] = located(run, waiver);
      suppression["properties"] = {{"expires", waiver.expires}};
      result["suppressions"] = json::array({suppression});
    }
    run.add(row.kernel.equation + "/" + finding.tier, fmt::format("{}: {}", row.kernel.equation, about(finding.tier)),
            fmt::format("{} ({}): {}{}", name, row.kernel.profile, finding.message, more), std::move(result));
  }
}

}  // namespace

std::string sarif(const std::vector<judge::Report>& reports, const std::string& version) {
  json runs = json::array();
  for (const auto& report : reports) {
    Run run;
    for (const auto& row : report.rows) add_row(run, row, report);
    for (const auto& waiver : report.waivers)
      for (const auto& problem : waiver.problems)
        run.add(kWaiver, "every waiver covers a failure, and has not expired", problem,
                {{"locations", json::array({located(run, waiver)})}});
    runs.push_back(run.take(report, version));
  }
  const json whole = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", runs}};
  return whole.dump(2, ' ', false, json::error_handler_t::replace) + "\n";  // bytes of anybody that are no UTF-8
}

}  // namespace attest::report
