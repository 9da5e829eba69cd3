// SPDX-License-Identifier: MIT
#include "attest/judge/waivers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "attest/judge/glob.hpp"
#include "attest/spec.hpp"

namespace attest::judge {
namespace {

const char* const kFirst = "attest:linear.causal:f32;n=9;c=4;m=4;flag=random;seed=1";
const char* const kSecond = "attest:linear.causal:f32;n=3;c=4;m=4;flag=random;seed=1";

Row row_of(std::vector<Finding> failures, const std::string& form = "pairs") {
  Row row;
  row.kernel = {"linear.causal", form, "value", "f32", "f32", "nd", ""};
  row.failures = std::move(failures);
  row.conclude();
  return row;
}

Finding finding(Status status, const std::string& query = "", const std::string& tier = "T2") {
  return {status, query, "message", tier, "random"};
}

Waiver waiver_of(const std::string& kernel, const std::string& condition = "") {
  Waiver waiver;
  waiver.kernel = kernel;
  waiver.condition = condition;
  waiver.reason = "known";
  waiver.expires = "2027-03-31";
  waiver.file = "waivers.toml";
  waiver.line = 3;
  return waiver;
}

Report applied(std::vector<Waiver> waivers, std::vector<Row> rows, bool less = false,
               const std::string& day = "2027-01-01") {
  Report report{"kernel", "1", std::move(rows)};
  apply_waivers(std::move(waivers), day, less, report);
  return report;
}

/// The message of the SpecError about that text; empty where there is none.
std::string refusal(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / ("attest-waivers-" + std::to_string(::getpid()));
  std::ofstream(path) << text;
  std::string message;
  try {
    read_waivers(path);
  } catch (const SpecError& error) {
    message = error.what();
    if (!message.starts_with(path.string() + ":")) return "no place in " + message;
    message.erase(0, path.string().size() + 1);
  }
  std::filesystem::remove(path);
  return message;
}

const std::string kWhole = "[[waiver]]\nkernel = 'linear.*'\nreason = 'known'\nexpires = 2027-03-31\n";

/// What a glob means, letter by letter.
bool means(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') return means(pattern.substr(1), text) || (!text.empty() && means(pattern, text.substr(1)));
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) && means(pattern.substr(1), text.substr(1));
}

/// All texts of up to that length.
std::vector<std::string> texts_of(std::string_view letters, std::size_t length) {
  std::vector<std::string> all{""};
  for (std::size_t at = 0; at < all.size(); ++at)
    for (const char letter : all[at].size() < length ? letters : "") all.push_back(all[at] + letter);
  return all;
}

TEST(Glob, MatchesWhatItMeans) {
  const auto texts = texts_of("ab", 5);
  for (const auto& pattern : texts_of("ab*?", 5))
    for (const auto& text : texts) ASSERT_EQ(matches(pattern, text), means(pattern, text)) << pattern << " " << text;
}

TEST(Glob, ManyStarsAreQuick) {
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "*a";
  EXPECT_FALSE(matches(pattern + "b", std::string(5000, 'a')));
}

TEST(Waivers, CoverFailuresAndCrashes) {
  const auto report = applied({waiver_of("linear.causal *")},
                              {row_of({finding(Status::fail, kFirst), finding(Status::crashed, kSecond)})});
  EXPECT_EQ(report.rows[0].status, Status::waived);
  EXPECT_EQ(report.status(), Status::pass);
  EXPECT_EQ(report.waivers[0].failures, 2);
  EXPECT_TRUE(report.waivers[0].problems.empty());
  EXPECT_EQ(exit_code(report.rows[0].status), 0);
}

TEST(Waivers, LeaveOtherKernelsAsTheyAre) {
  const auto report =
      applied({waiver_of("linear.causal pairs")},
              {row_of({finding(Status::fail, kFirst)}), row_of({finding(Status::fail, kFirst)}, "two_level")});
  EXPECT_EQ(report.rows[0].status, Status::waived);
  EXPECT_EQ(report.rows[1].status, Status::fail);
  EXPECT_EQ(report.status(), Status::fail);
  auto of_profile = waiver_of("*");
  of_profile.profile = "tf32";
  EXPECT_EQ(applied({of_profile}, {row_of({finding(Status::fail, kFirst)})}).status(), Status::fail);
  auto of_equation = waiver_of("*");
  of_equation.equation = "linear.attention";
  EXPECT_EQ(applied({of_equation}, {row_of({finding(Status::fail, kFirst)})}).status(), Status::fail);
}

TEST(Waivers, DoNotCoverWhatIsInvalid) {
  const auto report = applied({waiver_of("*")}, {row_of({finding(Status::invalid, "", "vacuity")})});
  EXPECT_EQ(report.status(), Status::invalid);
  EXPECT_EQ(report.waivers[0].failures, 0);
  EXPECT_TRUE(report.waivers[0].problems.empty());
  EXPECT_EQ(applied({waiver_of("*")}, {row_of({finding(Status::fail, kFirst), finding(Status::invalid)})}).status(),
            Status::invalid);
}

TEST(Waivers, OfAConditionCoverCasesThatMeetIt) {
  const std::vector<Row> rows{row_of({finding(Status::fail, kFirst), finding(Status::fail, kSecond)})};
  const auto some = applied({waiver_of("*", "n > 5")}, rows);
  EXPECT_EQ(some.status(), Status::fail);
  EXPECT_EQ(some.waivers[0].failures, 1);
  EXPECT_TRUE(some.rows[0].failures[0].waiver);
  EXPECT_FALSE(some.rows[0].failures[1].waiver);
  EXPECT_EQ(applied({waiver_of("*", "n > 5"), waiver_of("*", "n <= 5")}, rows).status(), Status::pass);
  // What is found over all cases together is no failing case.
  EXPECT_EQ(applied({waiver_of("*", "n > 5")}, {row_of({finding(Status::fail, "", "T3")})}).status(), Status::fail);
}

TEST(Waivers, HoldUntilTheEndOfTheirLastDay) {
  const std::vector<Row> rows{row_of({finding(Status::fail, kFirst)})};
  EXPECT_EQ(applied({waiver_of("*")}, rows, false, "2027-03-31").status(), Status::pass);
  const auto expired = applied({waiver_of("*")}, rows, false, "2027-04-01");
  EXPECT_EQ(expired.status(), Status::fail);
  EXPECT_EQ(expired.rows[0].status, Status::fail);
  ASSERT_EQ(expired.waivers[0].problems.size(), 1);
  EXPECT_NE(expired.waivers[0].problems[0].find("expired on 2027-03-31"), std::string::npos);
  EXPECT_EQ(applied({waiver_of("*")}, {row_of({})}, false, "2027-04-01").status(), Status::fail);
}

TEST(Waivers, HaveAProblemWhereNothingFails) {
  const auto report = applied({waiver_of("*")}, {row_of({})});
  EXPECT_EQ(report.status(), Status::fail);
  EXPECT_EQ(report.rows[0].status, Status::pass);
  ASSERT_EQ(report.waivers[0].problems.size(), 1);
  EXPECT_EQ(report.waivers[0].problems[0],
            "waivers.toml:3: linear.causal pairs (f32) passes; remove the waiver or make it narrower");
  const auto other = applied({waiver_of("*", "n > 100")}, {row_of({finding(Status::fail, kFirst)})});
  ASSERT_EQ(other.waivers[0].problems.size(), 1);
  EXPECT_NE(other.waivers[0].problems[0].find("has no failure under the condition 'n > 100'"), std::string::npos);
}

TEST(Waivers, HaveNoneWhereTheRunDidLess) {
  EXPECT_EQ(applied({waiver_of("*")}, {row_of({})}, true).status(), Status::pass);
  Row early = row_of({});
  early.early_end = {"budget", 3};
  EXPECT_EQ(applied({waiver_of("*")}, {early}).status(), Status::pass);
  CheckOptions options;
  EXPECT_FALSE(does_less(options));
  options.single_calls = true;
  EXPECT_TRUE(does_less(options));
  options.single_calls = false;
  options.most_cases = 3;
  EXPECT_TRUE(does_less(options));
  options = {};
  options.strength = 1;
  EXPECT_TRUE(does_less(options));
}

TEST(Waivers, AreReadWithTheirPlace) {
  const auto path = std::filesystem::temp_directory_path() / ("attest-waivers-" + std::to_string(::getpid()));
  std::ofstream(path) << "# a comment\n" << kWhole << "profile = 'bf16'\ncondition = 'n > 5'\n\n" << kWhole;
  const auto waivers = read_waivers(path);
  std::filesystem::remove(path);
  ASSERT_EQ(waivers.size(), 2);
  EXPECT_EQ(waivers[0].line, 2);
  EXPECT_EQ(waivers[0].kernel, "linear.*");
  EXPECT_EQ(waivers[0].equation, "*");
  EXPECT_EQ(waivers[0].profile, "bf16");
  EXPECT_EQ(waivers[0].condition, "n > 5");
  EXPECT_EQ(waivers[0].reason, "known");
  EXPECT_EQ(waivers[0].expires, "2027-03-31");
  EXPECT_EQ(waivers[1].line, 9);
}

TEST(Waivers, ThatAreWrittenWronglyAreRefused) {
  EXPECT_EQ(refusal(kWhole), "");
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(refusal(kWhole + "reson = 'x'\n"),
            "5: unknown key 'reson'; did you mean 'reason'?; allowed: kernel, equation, profile, condition, reason, "
            "expires");
  EXPECT_EQ(refusal("[[waivers]]\n"), "1: unknown key 'waivers'; did you mean 'waiver'?; allowed: waiver");
  EXPECT_EQ(refusal("[waiver]\nkernel = '*'\n"), "1: each waiver is written as [[waiver]]");
  EXPECT_EQ(refusal("[[waiver]]\nreason = 'x'\nexpires = 2027-03-31\n"),
            "1: 'kernel' or 'equation' is missing: a glob over the names that the report prints");
  EXPECT_EQ(refusal("[[waiver]]\nkernel = '*'\nexpires = 2027-03-31\n"),
            "1: 'reason' is missing: why this failure is accepted");
  EXPECT_EQ(refusal("[[waiver]]\nkernel = '*'\nreason = ' '\nexpires = 2027-03-31\n"),
            "3: 'reason' must be a string that is not empty");
  const std::string day = "the last day of the waiver, a date without quotes and without a time, as in 2027-03-31";
  EXPECT_EQ(refusal("[[waiver]]\nkernel = '*'\nreason = 'x'\n"), "1: 'expires' is missing: " + day);
  for (const char* wrong : {"'2027-03-31'", "2027-03-31T10:00:00", "true", "20270331"})
    EXPECT_EQ(refusal("[[waiver]]\nkernel = '*'\nreason = 'x'\nexpires = " + std::string(wrong) + "\n"),
              "4: 'expires' is no date: " + day);
  EXPECT_TRUE(refusal("[[waiver]]\nkernel = '*'\nreason = 'x'\nexpires = 2027-02-30\n").starts_with("4: "));
}

TEST(Waivers, MustMatchAKernelOfTheCandidate) {
  Kernel kernel;
  kernel.info = {"linear.causal", "pairs", "value", DType::f32, "cpu", "nd", ""};
  kernel.spec = &find_spec("linear.causal");
  const auto message = [&](const Waiver& waiver) -> std::string {
    try {
      check_waivers({waiver}, {kernel});
    } catch (const SpecError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(waiver_of("linear.causal pairs")), "");
  EXPECT_EQ(message(waiver_of("linear.causal pairs nd")), "");
  EXPECT_EQ(message(waiver_of("linear.causal pears")),
            "waivers.toml:3: no kernel is called 'linear.causal pears', of equation '*' and profile '*'; did you mean "
            "'linear.causal pairs'?");
  auto of_profile = waiver_of("*");
  of_profile.profile = "tf32";
  EXPECT_EQ(message(of_profile), "");
  of_profile.profile = "bf16";
  EXPECT_NE(message(of_profile), "");
  EXPECT_EQ(message(waiver_of("*", "n > 3 and batch == 1")), "");
  EXPECT_EQ(message(waiver_of("*", "s > 3")),
            "waivers.toml:3: condition: linear.causal has no 's'; a condition is about sizes, parameters, optional "
            "inputs, batch, heads, groups and contiguous");
  for (const char* wrong : {"n >", "page == 64", "default(n)", "n > 3; c > 3", "sorted(q)"})
    EXPECT_TRUE(message(waiver_of("*", wrong)).starts_with("waivers.toml:3: condition: ")) << wrong;
}

}  // namespace
}  // namespace attest::judge
