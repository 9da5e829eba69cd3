// SPDX-License-Identifier: MIT
// What the formats for CI systems make of reports that no kernel gives on command; tests/self/cli/test_reports.py reads
// those that the command writes.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "attest/report.hpp"

namespace attest::report {
namespace {

judge::Report report_of(judge::Row row) {
  row.kernel = {"linear.causal", "pairs", "value", "f32", "f32", "nd", ""};
  row.conclude();
  return {"kernel", "1", {row}};
}

judge::Report failing(const std::string& message, judge::Status status = judge::Status::fail) {
  judge::Row row;
  row.cases.judged = 3;
  row.failures.push_back({status, "attest:q", message, "T2", "random"});
  return report_of(row);
}

std::size_t times(const std::string& page, const std::string& text) {
  std::size_t n = 0;
  for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++n;
  return n;
}

TEST(JUnit, EscapesWhatXmlForbids) {
  const std::string bad = "\xEF\xBF\xBD";
  const std::string page =
      junit({failing("a\x01\x1F\n<b>&\"\xEF\xBF\xBE\xEF\xBF\xBF\xED\xA0\x80\xC0\xAF]]>\tc\xE2\x82\xAC")});
  const std::string tail = "&lt;b&gt;&amp;&quot;" + bad + bad + bad + bad + bad + bad + bad + "]]&gt;\tc\xE2\x82\xAC";
  EXPECT_EQ(times(page, "message=\"a" + bad + bad + "&#10;" + tail + " (attest:q)\""), 1);
  EXPECT_EQ(times(page, "T2: a" + bad + bad + "\n" + tail + "\n"), 1);
}

TEST(JUnit, TellsFailuresFromErrors) {
  EXPECT_EQ(times(junit({failing("x")}), "<failure type=\"T2\""), 1);
  for (const auto status : {judge::Status::crashed, judge::Status::invalid}) {
    const std::string page = junit({failing("x", status)});
    EXPECT_EQ(times(page, "<error type=\"T2\""), 1);
    EXPECT_EQ(times(page, "errors=\"1\""), 2);
    EXPECT_EQ(times(page, "failures=\"0\""), 2);
  }
}

TEST(JUnit, FirstMessageIsThatOfTheStatus) {
  auto report = failing("too little", judge::Status::invalid);
  report.rows[0].failures.push_back({judge::Status::crashed, "", "it died", "T0", "contract"});
  report.rows[0].conclude();
  EXPECT_EQ(times(junit({report}), "<error type=\"T0\" message=\"it died\">"), 1);
}

TEST(JUnit, HasASuiteForEachReport) {
  const std::string page = junit({failing("x"), report_of({})});
  EXPECT_EQ(times(page, "<testsuite "), 2);
  EXPECT_EQ(times(page, "<testsuites name=\"attest\" tests=\"2\" failures=\"1\" errors=\"0\">"), 1);
}

TEST(Sarif, CountsWhatIsAlike) {
  auto report = failing("first");
  for (const char* tier : {"T2", "T2", "law"})
    report.rows[0].failures.push_back({judge::Status::fail, "", "more", tier, ""});
  report.waivers.push_back({});
  report.rows[0].failures[1].waiver = 0;
  const auto results = nlohmann::json::parse(sarif({report}, "1.0")).at("runs").at(0).at("results");
  ASSERT_EQ(results.size(), 3);  // T2, T2 under the waiver, law
  EXPECT_EQ(results[0].at("occurrenceCount"), 2);
  EXPECT_EQ(results[0].at("message").at("text"), "linear.causal pairs (f32): first (and 1 more)");
  EXPECT_FALSE(results[0].contains("suppressions"));
  EXPECT_TRUE(results[1].contains("suppressions"));
  EXPECT_EQ(results[2].at("ruleId"), "linear.causal/law");
}

TEST(Sarif, PlacesAreUrisOfFilesAndLines) {
  auto report = failing("x");
  const auto physical = [&] {
    const auto log = nlohmann::json::parse(sarif({report}, "1.0"));
    return log.at("runs").at(0).at("results").at(0).at("locations").at(0).value("physicalLocation", nlohmann::json());
  };
  EXPECT_TRUE(physical().is_null());
  report.place = {"a folder/\xC3\xA4.py", 7};
  EXPECT_EQ(physical().at("artifactLocation").at("uri"), "a%20folder/%C3%A4.py");
  EXPECT_EQ(physical().at("region").at("startLine"), 7);
  report.place = {"/elsewhere/x.so", 0};
  EXPECT_EQ(physical().at("artifactLocation").at("uri"), "file:///elsewhere/x.so");
  EXPECT_EQ(physical().at("region").at("startLine"), 1);
  report.place = {(std::filesystem::current_path() / "sub" / ".." / "y.so").string(), 0};
  EXPECT_EQ(physical().at("artifactLocation").at("uri"), "y.so");
}

TEST(Sarif, ReplacesWhatIsNoUtf8) { EXPECT_TRUE(nlohmann::json::accept(sarif({failing("a\xFFz")}, "1.0"))); }

}  // namespace
}  // namespace attest::report
