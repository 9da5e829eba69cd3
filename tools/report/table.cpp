// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "attest/report.hpp"

namespace attest::report {
namespace {

std::string clipped(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

/// Text that is written piece by piece.
class Text {
public:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  /// Long text in lines of at most 96 columns, indented.
  void add_wrapped(const std::string& text) {
    std::size_t at = 0;
    while (at < text.size()) {
      std::size_t end = std::min(text.size(), at + 92);
      if (end < text.size())
        if (const auto space = text.rfind(' ', end); space != std::string::npos && space > at + 40) end = space;
      add("      {}\n", text.substr(at, end - at));
      at = end + (end < text.size() && text[end] == ' ' ? 1 : 0);
    }
  }

  std::string take() { return std::move(text_); }

private:
  std::string text_;
};

/// "linear.causal two_level gradient", with the layout where the report has the same in another.
std::string title(const judge::Row& row, const judge::Report& report) {
  const bool again = std::any_of(report.rows.begin(), report.rows.end(), [&](const judge::Row& other) {
    return other.layout != row.layout && std::tie(other.equation, other.form, other.reading, other.profile) ==
                                             std::tie(row.equation, row.form, row.reading, row.profile);
  });
  return row.equation + (row.form.empty() ? "" : " " + row.form) + (row.reading == "gradient" ? " gradient" : "") +
         (again ? " " + row.layout : "");
}

}  // namespace

std::string table(const judge::Report& report, bool colour) {
  const auto coloured = [colour](std::string_view word, bool good) {
    return colour ? fmt::format("\x1b[{}m{}\x1b[0m", good ? "32" : "31;1", word) : std::string(word);
  };
  Text text;
  text.add("{:<46} {:<9} {:>9} {:>7} {:>9} {:>5} {:>8}\n", "kernel", "prof.", "cases", "laws", "err/bound", "bits",
           "verdict");
  int skipped = 0, vacuous = 0, passed = 0;
  Index elements = 0;
  for (const auto& row : report.rows) {
    const std::string ratio = row.worst_query.empty() ? "-" : judge::two_digits(row.worst.ratio());
    const std::string bits = row.statistics.elements > 0 ? fmt::format("{:.1f}", row.statistics.bits) : "-";
    text.add("{:<46} {:<9} {:>9} {:>7} {:>9} {:>5} {:>8}\n", clipped(title(row, report), 46), row.profile,
             fmt::format("{}/{}", row.cases_passed, row.cases), fmt::format("{}/{}", row.laws_held, row.laws), ratio,
             bits, coloured(judge::name(row.status), row.status == judge::Status::pass));
    skipped += row.skipped;
    vacuous += row.laws_vacuous;
    elements += row.elements;
    passed += row.status == judge::Status::pass;
  }
  // What leaves a whole plugin without a verdict, a device that is not there, is told once.
  std::map<std::string, int> told;
  for (const auto& row : report.rows) {
    if (row.failures.empty()) continue;
    if (row.status == judge::Status::invalid && told[row.failures[0].message]++ > 0) continue;
    text.add("\n  {} ({}): {}\n", title(row, report), row.profile, judge::name(row.status));
    std::size_t shown = 0;
    for (const auto& failure : row.failures) {
      if (shown++ == 3) {
        text.add("    and {} more\n", row.failures.size() - 3);
        break;
      }
      text.add("    {}\n", judge::name(failure.status));
      text.add_wrapped(failure.message);
      if (!failure.query.empty()) text.add("      attest reproduce '{}'\n", failure.query);
    }
    if (!row.diagnosis.names.empty()) {
      const auto& first = row.diagnosis.names[0];
      const std::string numbers = first.fit.may_be_chance() ? "" : fmt::format(" ({})", first.fit.text());
      text.add_wrapped(fmt::format("looks like {}: {}{}; more by `attest diagnose`", first.fault,
                                   find_spec(row.equation).fault(first.fault)->change, numbers));
    }
  }
  for (const auto& [message, kernels] : told)
    if (kernels > 1) {
      text.add("\n  {} more without a verdict:\n", kernels - 1);
      text.add_wrapped(message);
    }
  text.add("\n{} {}: {} of {} kernels pass, {} elements compared\n", clipped(report.candidate, 40),
           clipped(report.version, 12), passed, report.rows.size(), elements);
  text.add("{} golden cases are outside a kernel's precision or capabilities, {} laws had nothing to say\n", skipped,
           vacuous);
  for (const auto& row : report.rows)
    for (const auto& note : row.notes) text.add("Note on {} ({}): {}\n", row.equation, row.profile, note);
  for (const auto& row : report.rows)
    if (!row.ended_by.empty())
      text.add("{}: ended by {} before {} cases and laws were run\n", row.equation, row.ended_by, row.not_run);
  text.add("Verdict: {}\n", coloured(judge::name(report.status()), report.status() == judge::Status::pass));
  return text.take();
}

}  // namespace attest::report
