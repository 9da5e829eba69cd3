// SPDX-License-Identifier: MIT
// Reports as JUnit XML. The schema of Jenkins' xunit plugin (junit-10.xsd) has no properties of a test, so that figures
// are properties of the suite, and stand in the output of the test for people.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "attest/report.hpp"
#include "html.hpp"

namespace attest::report {
namespace {

constexpr std::size_t kMostFailures = 10;  // of a kernel, that the text of a failure lists

/// XML as it is written. Line feeds in attributes would be read as spaces.
std::string attribute(std::string_view text) {
  std::string value;
  for (const char one : escaped(text)) one == '\n' ? value += "&#10;" : value += one;
  return value;
}

/// One test; `kind` is "failure", "error" or "skipped", empty for one that passes.
struct Test {
  std::string kind{}, type{}, message{}, text{}, output{};
};

struct Suite {
  std::string tests, properties;
  int all = 0, failures = 0, errors = 0, skipped = 0;

  void add(const std::string& group, const std::string& name, const Test& test) {
    ++all;
    failures += test.kind == "failure";
    errors += test.kind == "error";
    skipped += test.kind == "skipped";
    tests += fmt::format("    <testcase name=\"{}\" classname=\"{}\">\n", attribute(name), attribute(group));
    if (!test.kind.empty())
      tests += fmt::format("      <{0}{1} message=\"{2}\">{3}</{0}>\n", test.kind,
                           test.type.empty() ? "" : fmt::format(" type=\"{}\"", attribute(test.type)),
                           attribute(test.message), escaped(test.text));
    if (!test.output.empty()) tests += fmt::format("      <system-out>{}</system-out>\n", escaped(test.output));
    tests += "    </testcase>\n";
  }

  void add_property(const std::string& name, const std::string& value) {
    properties += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", attribute(name), attribute(value));
  }
};

bool counts(const judge::Row& row, const judge::Finding& finding) { return finding.counted() == row.status; }

/// The failures of the row's status, each with the command that reproduces it.
std::string text_of(const judge::Row& row) {
  std::string text;
  std::size_t shown = 0, all = 0;
  for (const auto& failure : row.failures) {
    if (!counts(row, failure) || ++all > kMostFailures) continue;
    ++shown;
    fmt::format_to(std::back_inserter(text), "{}: {}\n", failure.tier, failure.message);
    if (!failure.query.empty()) text += reproduce_command(failure.query) + "\n";
  }
  if (shown < all) fmt::format_to(std::back_inserter(text), "and {} more\n", all - shown);
  return text;
}

bool was_judged(const judge::Row& row) {
  return row.cases.judged + row.regimes.judged + row.real.judged + row.laws.judged > 0;
}

Test test_of(const judge::Row& row, const judge::Report& report) {
  Test test;
  const Figures figures = figures_of(row);
  test.output =
      fmt::format("verdict {}\ncases {}\nregimes {}\nlaws {}\nerr/bound {}\nbits {}\n", judge::name(row.status),
                  figures.cases, figures.regimes, figures.laws, figures.ratio, figures.bits);
  if (row.status == judge::Status::pass) return test;
  const auto first = std::find_if(row.failures.begin(), row.failures.end(),
                                  [&](const judge::Finding& one) { return counts(row, one); });
  if (first == row.failures.end()) return test;
  test.text = text_of(row);
  test.message = first->message;
  if (row.status == judge::Status::waived) {
    const judge::Waiver& waiver = report.waivers.at(*first->waiver);
    test.kind = "skipped";
    test.message = fmt::format("waived until {}: {}", waiver.expires, waiver.reason);
  } else if (row.status == judge::Status::invalid && !was_judged(row)) {
    test.kind = "skipped";
    test.message = fmt::format("INVALID, nothing was judged: {}", first->message);
  } else {
    test.kind = row.status == judge::Status::fail ? "failure" : "error";
    test.type = first->tier;
    if (!first->query.empty()) test.message += fmt::format(" ({})", first->query);
  }
  return test;
}

Suite suite_of(const judge::Report& report) {
  Suite suite;
  suite.add_property("verdict", verdict(report));
  for (const auto& row : report.rows) {
    const std::string name = fmt::format("{} ({})", title(row, report), row.kernel.profile);
    suite.add(row.kernel.equation, name, test_of(row, report));
    const Figures figures = figures_of(row);
    suite.add_property(name + ": err/bound", figures.ratio);
    suite.add_property(name + ": bits", figures.bits);
  }
  for (const auto& waiver : report.waivers)
    if (!waiver.problems.empty()) {
      std::string text;
      for (const auto& problem : waiver.problems) text += problem + "\n";
      suite.add("waivers", fmt::format("{}:{}", waiver.file, waiver.line),
                {"failure", "waiver", waiver.problems[0], text, ""});
    }
  return suite;
}

}  // namespace

std::string junit(const std::vector<judge::Report>& reports) {
  std::string suites;
  int tests = 0, failures = 0, errors = 0;
  for (const auto& report : reports) {
    const Suite suite = suite_of(report);
    tests += suite.all, failures += suite.failures, errors += suite.errors;
    suites += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n"
        "    <properties>\n{}    </properties>\n{}  </testsuite>\n",
        attribute(report.candidate + (report.version.empty() ? "" : " " + report.version)), suite.all, suite.failures,
        suite.errors, suite.skipped, suite.properties, suite.tests);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"attest\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}</testsuites>\n",
      tests, failures, errors, suites);
}

}  // namespace attest::report
