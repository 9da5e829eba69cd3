// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/report.hpp"

namespace attest::report {
namespace {

constexpr std::size_t kMostNames = 3;     // faults that a kernel is said to look like
constexpr std::ptrdiff_t kMostAlike = 3;  // stages that explain as much

using Page = std::vector<Entry>;

void entry(Page& page, const std::string& label, const std::string& text) { page.push_back({label, text}); }

/// A label and a text that is wrapped behind it.
void print(std::string& page, const Entry& entry) {
  constexpr std::size_t indent = 16, width = 98;
  const auto& [label, text, is_command] = entry;
  if (is_command) {
    fmt::format_to(std::back_inserter(page), "  {:<{}}{}\n", label, indent - 2, text);
    return;
  }
  std::size_t at = 0;
  bool first = true;
  do {
    std::size_t end = std::min(text.size(), at + width - indent);
    if (end < text.size())
      if (const auto space = text.rfind(' ', end); space != std::string::npos && space > at + 20) end = space;
    fmt::format_to(std::back_inserter(page), "  {:<{}}{}\n", first ? label : "", indent - 2, text.substr(at, end - at));
    at = end + (end < text.size() && text[end] == ' ' ? 1 : 0);
    first = false;
  } while (at < text.size());
}

/// "with blocks of 64: ": where the fault is one of blocks of another length than the cases have; "in o alone: ": where
/// other outputs are right.
std::string restriction(const Spec& spec, const judge::Name& name) {
  std::string text;
  if (name.block) text += fmt::format("with {} = {}: ", spec.parameter(Role::block_length)->name, *name.block);
  if (!name.outputs.empty()) text += fmt::format("in {} alone: ", fmt::join(name.outputs, " and "));
  return text;
}

std::string described(const Spec& spec, const judge::Name& name) {
  const judge::Fit& fit = name.fit;
  const Fault& fault = *spec.fault(name.fault);
  const std::string factor = fault.amplitude > 0 && std::abs(fit.c) * fault.amplitude < 1
                                 ? fmt::format(", a factor of {:.9g}", 1 + fit.c * fault.amplitude)
                                 : "";
  const std::string share =
      name.whole ? "every case is what that equation gives"
      : name.failing
          ? fmt::format("each of {} failing cases is what that equation gives; it would show in {} others, which pass",
                        name.failing_cases, name.shown_in_passing)
          : fmt::format("explains {} % of the squared error", judge::two_digits(100 * fit.explained));
  const std::string numbers = (fit.may_be_chance() ? "" : fit.text()) + factor;
  return fmt::format("{} ({}): {}{}{}{}", fault.name, fault.change, restriction(spec, name), numbers,
                     numbers.empty() ? "" : "; ", share);
}

std::string described(const judge::StageName& stage) {
  std::string text = fmt::format("{} (form {}): explains {} % of the squared error of the failing cases", stage.text(),
                                 stage.form, judge::two_digits(100 * stage.explained));
  if (!stage.alike.empty())
    text += fmt::format(
        "; as well as {}: these cases do not tell them apart",
        fmt::join(stage.alike.begin(),
                  stage.alike.begin() + std::min<std::ptrdiff_t>(kMostAlike, std::ssize(stage.alike)), ", "));
  return text;
}

std::string described(const std::vector<judge::Fit>& together) {
  std::vector<std::string> texts;
  for (const auto& fit : together) texts.push_back(fmt::format("{} ({})", fit.fault, fit.text()));
  return fmt::format("{}, each of them needed: explain {} % of the squared error together", fmt::join(texts, " and "),
                     judge::two_digits(100 * together[0].explained));
}

std::string title(const judge::Row& row) {
  return fmt::format("{} ({}): {}", row.kernel.title(), row.kernel.profile, judge::name(row.status));
}

void add_where(Page& page, const judge::Row& row) {
  std::map<std::string, int> tiers;
  for (const auto& failure : row.failures) ++tiers[failure.tier];
  std::string found;
  for (const auto& [tier, times] : tiers) found += fmt::format("{}{} ({})", found.empty() ? "" : ", ", tier, times);
  entry(page, "found by", fmt::format("{}; {} of {} cases pass", found, row.cases.passed, row.cases.judged));
  const auto& d = row.diagnosis;
  if (d.first)
    entry(page, "first wrong", d.first->text());
  else
    entry(page, "first", row.failures[0].message);
  if (!d.where.empty()) entry(page, "where", d.where);
}

void add_precision(Page& page, const judge::Statistics& s) {
  const std::string like = s.behaves_like.empty() ? "no profile allows for errors of this size"
                                                  : fmt::format("behaves like {}: {}", s.behaves_like,
                                                                golden::profile(s.behaves_like).meaning);
  entry(page, "precision", fmt::format("{:.1f} effective bits of {:.0f}; {}", s.bits, s.claimed_bits, like));
  entry(page, "bias", fmt::format("{:+.2g} expected errors, {}", s.bias, judge::text_of_z(s.bias_z)));
}

void add_names(Page& page, const judge::Row& row) {
  const char* label = "looks like";
  for (const auto& name : names(row)) entry(page, std::exchange(label, "or"), name);
  if (label == std::string_view("or")) return;
  entry(page, "looks like", "no known fault, and no stage of low precision; what is known:");
  for (const auto& seen : observations(row)) entry(page, "", seen);
}

/// What the weights show, and their map.
void print_map(std::string& page, const judge::WeightMap& map) {
  const char* label = "weights";
  for (const auto& sentence : map.sentences) print(page, {std::exchange(label, ""), sentence});
  if (map.sentences.empty()) print(page, {label, "no simple pattern"});
  const auto weights = judge::compared(map);
  if (std::all_of(weights.begin(), weights.end(),
                  [](judge::Weight one) { return one == judge::Weight::right || one == judge::Weight::zero; }))
    return;
  print(page, {"map", fmt::format("rows of {} down, rows of {} across{}, in this case:", map.output, map.input,
                                  map.head.empty() ? "" : ", " + map.head)});
  page += fmt::format("{}'{}'\n", std::string(16, ' '), map.query);
  const std::string drawn = judge::drawn(map);
  for (std::size_t at = 0; at < drawn.size();) {
    const std::size_t end = drawn.find('\n', at);
    page += std::string(10, ' ') + drawn.substr(at, end + 1 - at);
    at = end + 1;
  }
}

}  // namespace

std::vector<std::string> names(const judge::Row& row) {
  const Spec& spec = find_spec(row.kernel.equation);
  const judge::Diagnosis& diagnosis = row.diagnosis;
  std::vector<std::string> texts;
  const auto add_stage = [&] { texts.push_back(described(*diagnosis.stage)); };
  const bool stage_first =
      diagnosis.stage && (diagnosis.names.empty() || (!diagnosis.names[0].failing &&
                                                      diagnosis.stage->explained > diagnosis.names[0].fit.explained));
  if (stage_first) add_stage();
  for (const auto& name : diagnosis.names) {
    if (texts.size() == kMostNames) return texts;
    texts.push_back(described(spec, name));
  }
  if (diagnosis.stage && !stage_first) add_stage();
  if (!diagnosis.together.empty() && texts.empty()) texts.push_back(described(diagnosis.together));
  return texts;
}

std::vector<std::string> observations(const judge::Row& row) {
  std::vector<std::string> seen;
  for (const auto& line : common_conditions(row)) seen.push_back(line);
  if (!row.diagnosis.where.empty()) seen.push_back(fmt::format("in the first failing case {}", row.diagnosis.where));
  for (const auto& line : row.diagnosis.values) seen.push_back(line);
  if (seen.empty()) seen.push_back(row.failures[0].message);
  return seen;
}

std::vector<Entry> diagnosis_entries(const judge::Row& row) {
  Page page;
  // Where the equation is another one, the errors have no precision.
  const bool whole = !row.diagnosis.names.empty() && row.diagnosis.names[0].whole;
  if (!row.failures.empty()) add_where(page, row);
  if (row.statistics.elements > 0 && !whole) add_precision(page, row.statistics);
  if (const std::string stages = row.precision.text(); !stages.empty()) entry(page, "stages", stages);
  if (!row.failures.empty()) {
    if (!row.only_refusals()) add_names(page, row);
    const char* label = "refused";
    for (const auto& line : refusals(row)) entry(page, std::exchange(label, ""), line);
    const std::string query = !row.diagnosis.query.empty() ? row.diagnosis.query : row.failures[0].query;
    if (!query.empty()) page.push_back({"reproduce", reproduce_command(query), true});
  }
  std::string seen;
  for (const auto& line : reach(row)) seen += (seen.empty() ? "" : "; ") + line;
  if (!seen.empty()) entry(page, "seen", seen);
  for (const auto& note : row.notes) entry(page, "note", note);
  return page;
}

std::string diagnosis(const judge::Row& row) {
  std::string page = fmt::format("\n{}\n", title(row));
  for (const auto& one : diagnosis_entries(row)) print(page, one);
  if (row.map) print_map(page, *row.map);
  return page;
}

}  // namespace attest::report
