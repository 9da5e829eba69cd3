// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
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

  /// Long text in lines of at most 98 columns, the first and the rest indented by so many.
  void add_wrapped(const std::string& text, std::size_t first = 6, std::size_t rest = 6) {
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t indent = at == 0 ? first : rest;
      std::size_t end = std::min(text.size(), at + 98 - indent);
      if (end < text.size())
        if (const auto space = text.rfind(' ', end); space != std::string::npos && space > at + 40) end = space;
      add("{}{}\n", std::string(indent, ' '), text.substr(at, end - at));
      at = end + (end < text.size() && text[end] == ' ' ? 1 : 0);
    }
  }

  std::string take() { return std::move(text_); }

private:
  std::string text_;
};

constexpr std::size_t kMostFailures = 3;  // of a kernel that are shown
constexpr std::size_t kMostReasons = 5;   // for which cases are left out

}  // namespace

std::string title(const judge::Row& row, const judge::Report& report) {
  const bool again = std::any_of(report.rows.begin(), report.rows.end(), [&](const judge::Row& other) {
    const auto key = [](const judge::KernelId& k) { return std::tie(k.equation, k.form, k.reading, k.profile); };
    return other.kernel.layout != row.kernel.layout && key(other.kernel) == key(row.kernel);
  });
  return row.kernel.title() + (again ? " " + row.kernel.layout : "");
}

std::string reproduce_command(const std::string& query) { return fmt::format("attest reproduce '{}'", query); }

namespace {

std::string coloured(judge::Status status, bool colour) {
  const bool good = status == judge::Status::pass;
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", good ? "32" : "31;1", judge::name(status))
                : std::string(judge::name(status));
}

/// The title of their column; empty where nothing was judged in regimes.
std::string combinations(const judge::Report& report) {
  for (const auto& row : report.rows)
    if (row.regimes.strength > 0) return fmt::format(" {:>9}", combinations_of(row.regimes.strength));
  return "";
}

/// "; 17 of 400 pairs were visited" of a run that ended early.
std::string not_visited(const judge::Row& row) {
  if (row.regimes.strength == 0) return "";
  return fmt::format("; {} of {} {} were visited", row.regimes.visited, row.regimes.possible,
                     combinations_of(row.regimes.strength));
}

void add_lines(Text& text, const judge::Report& report, bool colour) {
  constexpr auto line = "{:<41} {:<9} {:>7}{} {:>5} {:>9} {:>5} {:>8}\n";
  const std::string title_of_regimes = combinations(report);
  text.add(line, "kernel", "prof.", "cases", title_of_regimes, "laws", "err/bound", "bits", "verdict");
  for (const auto& row : report.rows) {
    const Figures figures = figures_of(row);
    text.add(line, clipped(title(row, report), 41), row.kernel.profile, figures.cases,
             title_of_regimes.empty() ? "" : fmt::format(" {:>9}", figures.regimes), figures.laws, figures.ratio,
             figures.bits, coloured(row.status, colour));
  }
}

/// Text for a waiver of the first call that was refused.
std::string waived_refusal(const judge::Row& row, const judge::Report& report) {
  const auto first = std::find_if(row.failures.begin(), row.failures.end(),
                                  [](const judge::Finding& one) { return one.tier == judge::kRefusal; });
  return first == row.failures.end() ? "" : waived(*first, report);
}

void add_failures(Text& text, const judge::Row& row, const judge::Report& report) {
  const auto failures = wrong_answers(row);
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (i == kMostFailures) {
      text.add("    and {} more\n", failures.size() - kMostFailures);
      break;
    }
    text.add_wrapped(std::string(judge::name(failures[i]->status)) + waived(*failures[i], report), 4, 6);
    text.add_wrapped(failures[i]->message);
    if (!failures[i]->query.empty()) text.add("      {}\n", reproduce_command(failures[i]->query));
  }
  for (const auto& line : common_conditions(row)) text.add_wrapped(line);
  if (const auto lines = refusals(row); !lines.empty()) {
    text.add_wrapped("REFUSED" + waived_refusal(row, report), 4, 6);
    for (const auto& line : lines) text.add_wrapped(line);
    text.add("      {}\n", reproduce_command(row.refusals.query));
  }
  if (row.only_refusals()) return;
  const bool seen = row.map && !row.map->sentences.empty();
  if (seen) text.add_wrapped(fmt::format("weights of {}: {}", row.map->input, row.map->sentences[0]));
  if (const auto all = names(row); !all.empty())
    text.add_wrapped(fmt::format("looks like {}; more by `attest diagnose`", all[0]));
  else if (row.diagnosis.first)
    text.add_wrapped("no known fault; more by `attest diagnose`");
}

/// Each kernel that failed. A reason that leaves many kernels without a verdict, such as a missing device, is told
/// once.
void add_failing_kernels(Text& text, const judge::Report& report) {
  std::map<std::string, int> told;
  for (const auto& row : report.rows) {
    if (row.failures.empty()) continue;
    if (row.status == judge::Status::invalid && told[row.failures[0].message]++ > 0) continue;
    text.add("\n  {} ({}): {}\n", title(row, report), row.kernel.profile, judge::name(row.status));
    add_failures(text, row, report);
  }
  for (const auto& [message, kernels] : told)
    if (kernels > 1) {
      text.add("\n  {} more without a verdict:\n", kernels - 1);
      text.add_wrapped(message);
    }
}

}  // namespace

Figures figures_of(const judge::Row& row) {
  return {fmt::format("{}/{}", row.cases.passed, row.cases.judged),
          row.regimes.judged > 0 ? fmt::format("{}/{}", row.regimes.visited, row.regimes.possible) : "-",
          fmt::format("{}/{}", row.laws.held, row.laws.judged),
          row.errors.worst_query.empty() ? "-" : judge::two_digits(row.errors.worst.ratio()),
          row.statistics.elements > 0 ? fmt::format("{:.1f}", row.statistics.bits) : "-"};
}

std::vector<const judge::Finding*> wrong_answers(const judge::Row& row) {
  std::vector<const judge::Finding*> failures;
  for (const auto& failure : row.failures)
    if (failure.tier != judge::kRefusal || row.refusals.message.empty()) failures.push_back(&failure);
  return failures;
}

std::vector<std::string> common_conditions(const judge::Row& row) {
  std::map<std::string, int> of_group;
  for (const auto* failure : wrong_answers(row)) ++of_group[failure->group];
  std::vector<std::string> lines;
  for (const auto* counts : {&row.regimes, &row.real}) {
    if (counts->fails_when.empty()) continue;
    const bool real = counts == &row.real;
    const std::string regimes =
        counts->judged == 0 ? ""
                            : fmt::format("{} of {} regimes{} fail: ", of_group[real ? "real sizes" : "regimes"],
                                          counts->judged, real ? " of real sizes" : "");
    lines.push_back(fmt::format("{}it fails where {}, and passes without any part of that ({} more calls)", regimes,
                                counts->fails_when, counts->condition_calls));
  }
  return lines;
}

std::size_t excluded(const judge::RegimeCounts& counts) {
  std::size_t all = 0;
  for (const auto& [_, combinations] : counts.excluded) all += combinations.size();
  return all;
}

std::vector<std::string> sums(const judge::Report& report) {
  std::map<std::string, int> reasons;
  int not_applicable = 0, passed = 0;
  Index elements = 0;
  for (const auto& row : report.rows) {
    for (const auto& [reason, cases] : row.cases.left_out) reasons[reason] += cases;
    not_applicable += row.laws.not_applicable;
    elements += row.errors.elements;
    passed += row.status == judge::Status::pass;
  }
  return {fmt::format("{} {}: {} of {} kernels pass, {} elements compared", clipped(report.candidate, 40),
                      clipped(report.version, 12), passed, report.rows.size(), elements),
          fmt::format("{}, {} laws did not apply", left_out(reasons), not_applicable)};
}

std::string left_out(const std::map<std::string, int>& reasons) {
  std::vector<std::pair<int, std::string>> order;
  int all = 0;
  for (const auto& [reason, cases] : reasons) {
    order.emplace_back(-cases, reason);
    all += cases;
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> listed;
  int others = all;
  for (const auto& [negative, reason] : order) {
    if (listed.size() == kMostReasons) break;
    listed.push_back(fmt::format("{} {}", -negative, reason));
    others += negative;
  }
  if (others > 0) listed.push_back(fmt::format("{} others", others));
  return fmt::format("{} cases left out{}", all, listed.empty() ? "" : fmt::format(" ({})", fmt::join(listed, ", ")));
}

std::string exclusions(const judge::Report& report) {
  Text text;
  const auto add = [&](const judge::Row& row, const judge::RegimeCounts& counts, const char* where) {
    if (counts.excluded.empty() && counts.unseen == 0) return;
    const std::size_t all = counts.possible + excluded(counts);
    text.add("\n{} ({}): {} of {} {} can be visited{}\n", title(row, report), row.kernel.profile, counts.possible, all,
             combinations_of(counts.strength), where);
    for (const auto& [why, combinations] : counts.excluded) {
      text.add("    {} excluded: {}\n", combinations.size(), why);
      text.add_wrapped(fmt::format("{}", fmt::join(combinations, "; ")));
    }
    if (counts.unseen == 0) return;
    text.add("    {} visited only where results that are 1 % off would pass, the first of them:\n", counts.unseen);
    text.add_wrapped(fmt::format("{}", fmt::join(counts.shown_nowhere, "; ")));
  };
  for (const auto& row : report.rows) {
    add(row, row.regimes, "");
    add(row, row.real, " at real sizes");
  }
  return text.take();
}

std::string waived(const judge::Finding& finding, const judge::Report& report) {
  if (!finding.waiver) return "";
  const judge::Waiver& waiver = report.waivers.at(*finding.waiver);
  return fmt::format(", waived until {}: {}", waiver.expires, waiver.reason);
}

std::vector<std::string> waivers(const judge::Report& report) {
  std::vector<std::string> lines;
  std::ptrdiff_t failures = 0, kernels = 0;
  for (const auto& row : report.rows) {
    const auto of_row = std::count_if(row.failures.begin(), row.failures.end(),
                                      [](const judge::Finding& one) { return one.waiver.has_value(); });
    failures += of_row;
    kernels += of_row > 0;
  }
  if (failures > 0)
    lines.push_back(fmt::format("waived: {} failure{} of {} kernel{}", failures, failures == 1 ? "" : "s", kernels,
                                kernels == 1 ? "" : "s"));
  for (const auto& waiver : report.waivers)
    for (const auto& problem : waiver.problems) lines.push_back("waiver " + problem);
  return lines;
}

std::vector<std::string> remarks(const judge::Report& report) {
  std::vector<std::string> lines;
  for (const auto& row : report.rows)
    for (const auto& note : row.notes)
      lines.push_back(fmt::format("Note on {} ({}): {}", row.kernel.equation, row.kernel.profile, note));
  for (const auto& row : report.rows)
    if (row.real.judged > 0)
      lines.push_back(fmt::format(
          "{} ({}) at real sizes: {} of {} calls are right, {} of {} {}, {}", title(row, report), row.kernel.profile,
          row.real.passed, row.real.judged, row.real.visited, row.real.possible, combinations_of(row.real.strength),
          row.real.whole > 0 ? fmt::format("{} outputs seen whole", row.real.whole) : "some rows of each"));
  for (const auto& row : report.rows)
    if (!row.early_end.by.empty())
      lines.push_back(fmt::format("{}: ended by {} before {} cases, regimes and laws were run{}", row.kernel.equation,
                                  row.early_end.by, row.early_end.not_run, not_visited(row)));
  for (const auto& row : report.rows)
    if (const auto left_out = row.regimes.left_out + row.real.left_out; left_out > 0)
      lines.push_back(fmt::format("{} ({}): the limit on shapes leaves out {} of {} {}", title(row, report),
                                  row.kernel.profile, left_out, row.regimes.possible + row.real.possible,
                                  combinations_of(row.regimes.strength)));
  return lines;
}

std::string verdict(const judge::Report& report, bool colour) {
  const bool whole =
      std::all_of(report.rows.begin(), report.rows.end(), [](const judge::Row& row) { return row.is_whole(); });
  const auto are_waived = std::count_if(report.rows.begin(), report.rows.end(),
                                        [](const judge::Row& row) { return row.status == judge::Status::waived; });
  return coloured(report.status(), colour) + (whole ? "" : " of what was run") +
         (are_waived > 0 ? fmt::format(" ({} of {} kernels waived)", are_waived, report.rows.size()) : "") +
         restricted(report);
}

std::string table(const judge::Report& report, bool colour) {
  Text text;
  add_lines(text, report, colour);
  add_failing_kernels(text, report);
  const auto lines = sums(report);
  text.add("\n{}\n", lines[0]);
  text.add_wrapped(lines[1], 0, 2);
  for (const auto& line : reach(report)) text.add("{}\n", line);
  for (const auto& line : remarks(report)) text.add("{}\n", line);
  for (const auto& line : waivers(report)) text.add("{}\n", line);
  text.add("Verdict: {}\n", verdict(report, colour));
  return text.take();
}

}  // namespace attest::report
