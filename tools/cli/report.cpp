// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include "commands.hpp"

namespace attest::cli {
namespace {

std::string coloured(std::string_view text, bool good) {
  if (!isatty(STDOUT_FILENO)) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", good ? "32" : "31;1", text);
}

std::string clipped(const std::string& text, std::size_t width) { return text.size() <= width ? text : text.substr(0, width - 2) + ".."; }

/// Long text in lines of at most 96 columns, indented.
void print_wrapped(const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = std::min(text.size(), at + 92);
    if (end < text.size())
      if (const auto space = text.rfind(' ', end); space != std::string::npos && space > at + 40) end = space;
    fmt::print("      {}\n", text.substr(at, end - at));
    at = end + (end < text.size() && text[end] == ' ' ? 1 : 0);
  }
}

}  // namespace

judge::Progress progress_bar(const std::string& verb) {
  if (!isatty(STDERR_FILENO)) return {};
  return [verb](std::size_t done, std::size_t total, const std::string& current) {
    constexpr std::size_t width = 30;
    const std::size_t filled = total ? done * width / total : width;
    fmt::print(stderr, "\r\x1b[K{} [{}{}] {}/{} {}", verb, std::string(filled, '#'), std::string(width - filled, '.'), done, total, clipped(current, 44));
    if (done == total) fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  };
}

void print(const judge::Report& report) {
  fmt::print("{:<46} {:<9} {:>9} {:>7} {:>9} {:>5} {:>8}\n", "kernel", "prof.", "cases", "laws", "err/bound", "bits", "verdict");
  int skipped = 0, vacuous = 0, passed = 0;
  Index elements = 0;
  for (const auto& row : report.rows) {
    const std::string name = row.equation + (row.form.empty() ? "" : " " + row.form) + (row.reading == "gradient" ? " gradient" : "");
    const std::string ratio = row.worst_query.empty() ? "-" : fmt::format("{:.3g}", row.worst.ratio());
    const std::string bits = row.statistics.elements > 0 ? fmt::format("{:.1f}", row.statistics.bits) : "-";
    fmt::print("{:<46} {:<9} {:>9} {:>7} {:>9} {:>5} {:>8}\n", clipped(name, 46), row.profile, fmt::format("{}/{}", row.cases_passed, row.cases),
               fmt::format("{}/{}", row.laws_held, row.laws), ratio, bits, coloured(judge::name(row.status), row.status == judge::Status::pass));
    skipped += row.skipped;
    vacuous += row.laws_vacuous;
    elements += row.elements;
    passed += row.status == judge::Status::pass;
  }
  for (const auto& row : report.rows) {
    if (row.failures.empty()) continue;
    fmt::print("\n  {} {}{} ({}): {}\n", row.equation, row.form, row.reading == "gradient" ? " gradient" : "", row.profile, judge::name(row.status));
    std::size_t shown = 0;
    for (const auto& failure : row.failures) {
      if (shown++ == 3) {
        fmt::print("    and {} more\n", row.failures.size() - 3);
        break;
      }
      fmt::print("    {}\n", judge::name(failure.status));
      print_wrapped(failure.message);
      if (!failure.query.empty()) fmt::print("      attest reproduce '{}'\n", failure.query);
    }
    if (!row.diagnosis.names.empty()) {
      const auto& first = row.diagnosis.names[0];
      print_wrapped(fmt::format("looks like {}: {} (c = {:.4g}, z = {:.3g}); more by `attest diagnose`", first.fault, find_spec(row.equation).fault(first.fault)->change, first.fit.c, first.fit.z));
    }
  }
  fmt::print("\n{} {}: {} of {} kernels pass, {} elements compared\n", clipped(report.candidate, 40), clipped(report.version, 12), passed,
             report.rows.size(), elements);
  fmt::print("{} golden cases are outside a kernel's precision or capabilities, {} laws had nothing to say\n", skipped, vacuous);
  fmt::print("Verdict: {}\n", coloured(judge::name(report.status()), report.status() == judge::Status::pass));
}

}  // namespace attest::cli
