// SPDX-License-Identifier: MIT
#include "attest/judge/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace attest::judge {
namespace {

constexpr std::size_t kMostFits = 5;  // of a list: the first are the largest
constexpr Index kMostOfMap = 128;     // rows, and columns, of a map whose weights are written

nlohmann::json number(double x) { return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json(fmt::format("{}", x)); }

nlohmann::json to_json(const Fit& fit) {
  return {{"fault", fit.fault}, {"c", number(fit.c)}, {"error", number(fit.error)},
          {"z", number(fit.z)}, {"p", number(fit.p)}, {"explained", number(fit.explained)}};
}

nlohmann::json to_json(const std::vector<Fit>& fits, std::size_t most) {
  auto all = nlohmann::json::array();
  for (std::size_t i = 0; i < fits.size() && i < most; ++i) all.push_back(to_json(fits[i]));
  return all;
}

nlohmann::json to_json(const std::vector<StagePrecision>& stages) {
  auto all = nlohmann::json::array();
  for (const auto& one : stages) all.push_back({{"place", one.place}, {"format", one.format}, {"alike", one.alike}});
  return all;
}

nlohmann::json to_json(const Precision& precision) {
  return {{"form", precision.form},
          {"held", to_json(precision.held)},
          {"finer", to_json(precision.finer)},
          {"untold", precision.untold}};
}

nlohmann::json to_json(const Diagnosis& diagnosis) {
  auto names = nlohmann::json::array();
  for (const Name& name : diagnosis.names) {
    auto one = to_json(name.fit);
    one["whole"] = name.whole;
    one["failing"] = name.failing;
    if (name.block) one["block"] = *name.block;
    if (!name.outputs.empty()) one["outputs"] = name.outputs;
    names.push_back(std::move(one));
  }
  auto stage = nlohmann::json();
  if (diagnosis.stage)
    stage = {{"text", diagnosis.stage->text()},
             {"form", diagnosis.stage->form},
             {"explained", number(diagnosis.stage->explained)},
             {"alike", diagnosis.stage->alike}};
  return {{"names", names},           {"together", to_json(diagnosis.together, kMostFits)},
          {"stage", stage},           {"first", diagnosis.first ? diagnosis.first->text() : ""},
          {"where", diagnosis.where}, {"values", diagnosis.values},
          {"query", diagnosis.query}};
}

nlohmann::json to_json(const WeightMap& map) {
  nlohmann::json json{{"input", map.input}, {"output", map.output},   {"query", map.query},        {"head", map.head},
                      {"rows", map.rows},   {"columns", map.columns}, {"sentences", map.sentences}};
  if (map.rows > kMostOfMap || map.columns > kMostOfMap) {
    json["left_out"] = fmt::format("got and expected: more than {} rows or columns", kMostOfMap);
    return json;
  }
  for (const auto& [name, weights] : {std::pair{"got", &map.got}, std::pair{"expected", &map.expected}}) {
    auto& all = json[name] = nlohmann::json::array();
    for (const double weight : *weights) all.push_back(number(weight));
  }
  return json;
}

nlohmann::json to_json(const std::map<std::string, Group>& groups) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [group, count] : groups)
    all[group] = {{"judged", count.judged}, {"passed", count.passed}, {"skipped", count.skipped}};
  return all;
}

nlohmann::json to_json(const Finding& finding) {
  return {{"status", name(finding.status)},
          {"tier", finding.tier},
          {"group", finding.group},
          {"query", finding.query},
          {"message", finding.message},
          {"waiver", finding.waiver ? nlohmann::json(*finding.waiver) : nlohmann::json()}};
}

nlohmann::json to_json(const Waiver& waiver) {
  return {{"kernel", waiver.kernel},       {"equation", waiver.equation}, {"profile", waiver.profile},
          {"condition", waiver.condition}, {"reason", waiver.reason},     {"expires", waiver.expires},
          {"file", waiver.file},           {"line", waiver.line},         {"failures", waiver.failures},
          {"problems", waiver.problems}};
}

nlohmann::json to_json(const Errors& errors) {
  const bool any = !errors.worst_query.empty();
  return {{"ratio", number(any ? errors.worst.ratio() : 0)},
          {"query", errors.worst_query},
          {"text", any ? errors.worst.text() : ""}};
}

nlohmann::json to_json(const Statistics& statistics) {
  return {{"elements", statistics.elements},
          {"rms", number(statistics.rms)},
          {"bits", number(statistics.bits)},
          {"claimed_bits", statistics.claimed_bits},
          {"behaves_like", statistics.behaves_like},
          {"bias", number(statistics.bias)},
          {"bias_z", number(statistics.bias_z)},
          {"scores", to_json(statistics.fits, kMostFits)},
          {"joint", to_json(statistics.joint, kMostFits)}};
}

nlohmann::json to_json(const Vacuity& vacuity) {
  return {{"elements", vacuity.elements},
          {"distinct", vacuity.distinct},
          {"nan_share", vacuity.nan_share},
          {"zeros_differ", vacuity.zeros_differ},
          {"mean_differs", vacuity.mean_differs},
          {"faults_shown", vacuity.faults_shown},
          {"faults", vacuity.faults}};
}

nlohmann::json to_json(const RegimeCounts& regimes) {
  return {{"strength", regimes.strength},
          {"judged", regimes.judged},
          {"passed", regimes.passed},
          {"visited", regimes.visited},
          {"possible", regimes.possible},
          {"excluded", regimes.excluded},
          {"not_visited", regimes.not_visited},
          {"left_out", regimes.left_out},
          {"whole", regimes.whole},
          {"unseen", regimes.unseen},
          {"shown_nowhere", regimes.shown_nowhere},
          {"fails_when", regimes.fails_when},
          {"condition_calls", regimes.condition_calls}};
}

nlohmann::json to_json(const Refusals& refusals) {
  return {{"cases", refusals.cases},     {"regimes", refusals.regimes},  {"answered", refusals.answered},
          {"message", refusals.message}, {"query", refusals.query},      {"condition", refusals.condition},
          {"left", refusals.left},       {"excluded", refusals.excluded}};
}

nlohmann::json to_json(const Reach& reach) {
  return {{"calls", reach.calls},         {"second_thread", reach.second_thread}, {"replayed", reach.replayed},
          {"law_calls", reach.law_calls}, {"unseen_rate", reach.unseen_rate()},   {"never_varied", reach.never_varied}};
}

nlohmann::json to_json(const Row& row) {
  auto failures = nlohmann::json::array();
  for (const Finding& failure : row.failures) failures.push_back(to_json(failure));
  return {{"equation", row.kernel.equation},
          {"form", row.kernel.form},
          {"reading", row.kernel.reading},
          {"dtype", row.kernel.dtype},
          {"profile", row.kernel.profile},
          {"layout", row.kernel.layout},
          {"capabilities", row.kernel.capabilities},
          {"status", name(row.status)},
          {"cases",
           {{"judged", row.cases.judged},
            {"passed", row.cases.passed},
            {"stored", row.cases.stored},
            {"drawn", row.cases.drawn},
            {"skipped", row.cases.skipped()},
            {"left_out", row.cases.left_out}}},
          {"regimes", to_json(row.regimes)},
          {"real_sizes", to_json(row.real)},
          {"refusals", to_json(row.refusals)},
          {"not_run", row.early_end.not_run},
          {"ended_by", row.early_end.by},
          {"groups", to_json(row.groups)},
          {"laws", {{"judged", row.laws.judged}, {"held", row.laws.held}, {"vacuous", row.laws.not_applicable}}},
          {"elements", row.errors.elements},
          {"worst", to_json(row.errors)},
          {"statistics", to_json(row.statistics)},
          {"vacuity", to_json(row.vacuity)},
          {"diagnosis", to_json(row.diagnosis)},
          {"precision", to_json(row.precision)},
          {"map", row.map ? to_json(*row.map) : nlohmann::json()},
          {"reach", to_json(row.reach)},
          {"restricted", row.reach.restricted},
          {"notes", row.notes},
          {"failures", failures}};
}

}  // namespace

nlohmann::json to_json(const Report& report) {
  auto rows = nlohmann::json::array();
  for (const Row& row : report.rows) rows.push_back(to_json(row));
  auto waivers = nlohmann::json::array();
  for (const Waiver& waiver : report.waivers) waivers.push_back(to_json(waiver));
  return {{"schema", kReportSchema},
          {"candidate", report.candidate},
          {"version", report.version},
          {"status", name(report.status())},
          {"rows", rows},
          {"waivers", waivers}};
}

nlohmann::json to_json(const MutantsReport& report) {
  auto mutants = nlohmann::json::array(), orders = nlohmann::json::array();
  for (const Mutant& m : report.mutants)
    mutants.push_back({{"equation", m.equation},
                       {"fault", m.fault},
                       {"profile", m.profile},
                       {"killed", m.killed},
                       {"tier", m.tier},
                       {"rank", m.rank},
                       {"named", m.named},
                       {"shown", number(m.shown)},
                       {"hidden", m.hidden}});
  for (const auto& o : report.orders)
    orders.push_back({{"equation", o.equation},
                      {"profile", o.profile},
                      {"cases", o.cases},
                      {"judged", o.alarms.judged},
                      {"false_alarms", o.alarms.raised},
                      {"largest_z", o.alarms.largest_z},
                      {"rms_z", o.alarms.rms_z()},
                      {"first", o.alarms.first}});
  auto conditions = nlohmann::json::array();
  for (const auto& one : report.conditions)
    conditions.push_back({{"equation", one.equation},
                          {"profile", one.profile},
                          {"kernels", one.kernels},
                          {"killed", one.killed},
                          {"survived", one.survived}});
  return {{"passed", report.passed()}, {"mutants", mutants}, {"orders", orders}, {"conditions", conditions}};
}

}  // namespace attest::judge
