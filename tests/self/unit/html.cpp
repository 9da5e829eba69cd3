// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "attest/report.hpp"

namespace attest::report {
namespace {

judge::Row row_of(const std::string& capabilities) {
  judge::Row row;
  row.kernel = {"linear.causal", "pairs", "value", "f32", "f32", "nd", capabilities};
  row.cases.judged = row.cases.passed = 3;
  return row;
}

std::string page_of(const judge::Row& row, const std::string& name = "kernel") { return html({{name, "1", {row}}}); }

std::size_t times(const std::string& page, const std::string& text) {
  std::size_t n = 0;
  for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++n;
  return n;
}

/// A kernel that gives each row the weights of the next one; the last row is right.
judge::WeightMap shifted(Index rows, Index columns) {
  judge::WeightMap map{"v",     "o", "attest:q", "head 1", rows,
                       columns, {},  {},         {},       {"row i has the weights of row i + 1"}};
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < columns; ++j) {
      map.expected.push_back(i == j ? 1 : 0);
      map.got.push_back(std::min(i + 1, rows - 1) == j ? 1 : 0);
      map.bound.push_back(1e-6);
    }
  return map;
}

TEST(Html, EscapesWhatStrangersWrite) {
  judge::Row row = row_of("d == \"<b>\"");
  row.notes = {"<i>&\"'"};
  row.failures.push_back({judge::Status::fail, "attest:<u>", "<script>", "<T0>", "<group>"});
  row.groups["<group>"].judged = 1;
  row.regimes.judged = row.regimes.strength = 1;
  row.regimes.excluded["<why>"] = {"<that>"};
  row.regimes.axes = {{"<axis>", {{"<level>", 1, 0}}}};
  row.map = shifted(2, 2);
  row.map->input = row.map->head = row.map->sentences[0] = "<weights>";
  row.errors.maps["<output>"].add(0, 0, 2);
  row.conclude();
  const std::string page = page_of(row, "<name>");
  for (const char* text : {"<b>", "<i>", "<u>", "<script", "<T0>", "<group>", "<why>", "<that>", "<axis>", "<level>",
                           "<weights>", "<output>", "<name>"})
    EXPECT_EQ(times(page, text), 0) << text;
  for (const char* text :
       {"&lt;script&gt;", "&lt;i&gt;&amp;&quot;", "&lt;axis&gt;", "&lt;weights&gt;", "&lt;output&gt;"})
    EXPECT_GE(times(page, text), 1) << text;
}

TEST(Html, ReplacesWhatIsNoUtf8) {
  judge::Row row = row_of("");
  row.notes = {"a\xFF\x01 b\xC0\xAF c\xE2\x82 d\xED\xA0\x80 e\xE2\x82\xAC\tf"};
  const std::string page = page_of(row), bad = "\xEF\xBF\xBD";
  EXPECT_GE(
      times(page, "a" + bad + bad + " b" + bad + bad + " c" + bad + bad + " d" + bad + bad + bad + " e\xE2\x82\xAC\tf"),
      1);
  for (const char byte : {'\xFF', '\x01', '\xC0', '\xED'}) EXPECT_EQ(page.find(byte), std::string::npos);
}

TEST(Html, CountsWeightsBeyondTheirBounds) {
  judge::Row row = row_of("");
  EXPECT_EQ(times(page_of(row), "Weights"), 0);
  row.map = shifted(4, 4);
  const std::string page = page_of(row);
  EXPECT_EQ(times(page, "6 of 16 weights are beyond their bound"), 1);
  EXPECT_GE(times(page, "row i has the weights of row i + 1"), 1);
  EXPECT_EQ(times(page, "attest reproduce &#39;attest:q"), 0);
  EXPECT_EQ(times(page, "attest reproduce 'attest:q'"), 1);
  row.map->got[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(times(page_of(row), "6 of 16 weights are beyond their bound"), 1) << "NaN is wrong, too";
  row.map->got[5] = row.map->expected[5];
  EXPECT_EQ(times(page_of(row), "5 of 16 weights are beyond their bound"), 1);
}

TEST(Html, DrawsManyWeightsInFewCells) {
  judge::Row row = row_of("");
  row.map = shifted(300, 1000);
  EXPECT_LT(page_of(row).size(), 200000);
  EXPECT_GE(times(page_of(row), "class=\"hatch\""), 2);
}

TEST(Html, TellsWherePairsAreMissing) {
  judge::Row row = row_of("");
  row.regimes.judged = row.regimes.strength = 2;
  row.regimes.possible = 5, row.regimes.visited = 5;
  row.regimes.axes = {
      {"n", {{"1", 2, 2}, {"2", 0, 0}}}, {"causal", {{"true", 1, 1}, {"false", 1, 0}}}, {"d", {{"3", 2, 1}}}};
  row.regimes.pairs = {{0, 1, 4, 3, 3}, {0, 2, 2, 2, 2}, {1, 2, 2, 2, 2}};
  std::string page = page_of(row);
  EXPECT_EQ(times(page, "<td class=\"excluded\" style=\"--share:0.25\">3/4</td>"), 1);
  EXPECT_EQ(times(page, " hole\""), 0);
  EXPECT_EQ(times(page, "<td class=\"wrong\" style=\"--share:1.00\">false<small>1 of 1</small></td>"), 1);
  EXPECT_EQ(times(page, "<td>2<small>0 of 0</small></td>"), 1);
  row.regimes.pairs[0].visited = 2;
  EXPECT_EQ(times(page_of(row), "<td class=\"excluded hole\" style=\"--share:0.25\">2/4</td>"), 1);
}

TEST(Html, FoldsUpKernelsThatPassAmongMany) {
  judge::Report report{"many", "1", std::vector<judge::Row>(9, row_of(""))};
  report.rows[4].failures.push_back({judge::Status::fail, "", "wrong", "T2", ""});
  report.rows[4].conclude();
  const std::string page = html({report});
  EXPECT_EQ(times(page, "<details class=\"kernel\""), 8);
  EXPECT_EQ(times(page, "<section class=\"kernel\""), 1);
  EXPECT_EQ(times(page, "8 of 9 kernels pass"), 3);  // title, heading, the report's line
}

}  // namespace
}  // namespace attest::report
