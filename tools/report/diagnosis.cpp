// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "attest/report.hpp"

namespace attest::report {
namespace {

constexpr std::size_t kMostNames = 3;  // faults that a kernel is said to look like

/// A label and a text that is wrapped behind it.
void entry(std::string& page, const std::string& label, const std::string& text) {
  constexpr std::size_t indent = 16, width = 98;
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

std::string described(const Spec& spec, const judge::Name& name) {
  const judge::Fit& fit = name.fit;
  const Fault& fault = *spec.fault(fit.fault);
  const std::string factor = fault.amplitude > 0 && std::abs(fit.c) * fault.amplitude < 1
                                 ? fmt::format(", a factor of {:.9g}", 1 + fit.c * fault.amplitude)
                                 : "";
  const std::string share =
      name.whole     ? "every case is what that equation gives"
      : name.failing ? "every failing case is what that equation gives, and the others pass"
                     : fmt::format("explains {} % of the squared error", judge::two_digits(100 * fit.explained));
  const std::string numbers = (fit.may_be_chance() ? "" : fit.text()) + factor;
  return fmt::format("{} ({}): {}{}{}", fault.name, fault.change, numbers, numbers.empty() ? "" : "; ", share);
}

std::string title(const judge::Row& row) {
  const judge::KernelId& kernel = row.kernel;
  return fmt::format("{}{}{} ({}): {}", kernel.equation, kernel.form.empty() ? "" : " " + kernel.form,
                     kernel.reading == "gradient" ? " gradient" : "", kernel.profile, judge::name(row.status));
}

void add_where(std::string& page, const judge::Row& row) {
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

void add_precision(std::string& page, const judge::Statistics& s) {
  const std::string like = s.behaves_like.empty() ? "no profile allows for errors of this size"
                                                  : fmt::format("behaves like {}: {}", s.behaves_like,
                                                                golden::profile(s.behaves_like).meaning);
  entry(page, "precision", fmt::format("{:.1f} effective bits of {:.0f}; {}", s.bits, s.claimed_bits, like));
  entry(page, "bias", fmt::format("{:+.2g} expected errors, {}", s.bias, judge::text_of_z(s.bias_z)));
}

/// Faults that it looks like; `whole`: only those whose equation gives every case.
void add_names(std::string& page, const judge::Row& row, bool whole) {
  const Spec& spec = find_spec(row.kernel.equation);
  std::size_t shown = 0;
  for (const auto& name : row.diagnosis.names) {
    if (shown == kMostNames || (whole && !name.whole)) break;
    entry(page, shown == 0 ? "looks like" : "or", described(spec, name));
    ++shown;
  }
  const auto& s = row.statistics;
  if (shown == 0 && s.elements > 0) entry(page, "looks like", "no fault in the bank");
  if (s.joint.size() < 2 || whole) return;
  std::string together;
  for (const auto& fit : s.joint)
    together += fmt::format("{}{} ({})", together.empty() ? "" : ", ", fit.fault, fit.text());
  entry(page, "together",
        fmt::format("{} explain {} % of the squared error", together, judge::two_digits(100 * s.joint[0].explained)));
}

}  // namespace

std::string diagnosis(const judge::Row& row) {
  std::string page = fmt::format("\n{}\n", title(row));
  // Where the equation is another one, the errors have no precision.
  const bool whole = !row.diagnosis.names.empty() && row.diagnosis.names[0].whole;
  if (!row.failures.empty()) add_where(page, row);
  if (row.statistics.elements > 0 && !whole) add_precision(page, row.statistics);
  if (!row.failures.empty()) {
    if (!row.only_refusals()) add_names(page, row, whole);
    const char* label = "refused";
    for (const auto& line : refusals(row)) entry(page, std::exchange(label, ""), line);
    const std::string query = !row.diagnosis.query.empty() ? row.diagnosis.query : row.failures[0].query;
    if (!query.empty()) fmt::format_to(std::back_inserter(page), "  {:<14}attest reproduce '{}'\n", "reproduce", query);
  }
  std::string seen;
  for (const auto& line : reach(row)) seen += (seen.empty() ? "" : "; ") + line;
  if (!seen.empty()) entry(page, "seen", seen);
  for (const auto& note : row.notes) entry(page, "note", note);
  return page;
}

}  // namespace attest::report
