// SPDX-License-Identifier: MIT
// What a check sees of kernels that are wrong later, rarely, or from another thread, and what it says that it cannot.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attest/judge/check.hpp"
#include "attest/judge/contract.hpp"
#include "attest/judge/process.hpp"
#include "off_under.hpp"

namespace attest::judge {
namespace {

const std::string kPlugin = std::string(ATTEST_TEST_PLUGIN_DIR) + "/libattention.so";

/// Whether the call of that number, from 1 on, is to be wrong.
using When = std::function<bool(std::size_t call, const CallOptions& options)>;

/// 1 % off, or by a last bit that no bound can see, in some calls.
class OffIn : public Wrapped {
public:
  OffIn(Candidate& right, When when, bool by_a_bit) : Wrapped(right), when_(std::move(when)), by_a_bit_(by_a_bit) {}

  Response call(std::size_t kernel, const Request& request, const CallOptions& options) override {
    Response response = Wrapped::call(kernel, request, options);
    if (!when_(++calls_, options)) return response;
    if (!by_a_bit_)
      put_off(request, response);
    else if (!response.outputs.empty() && !response.outputs[0].empty())
      response.outputs[0][0] ^= std::byte{1};
    return response;
  }

private:
  When when_;
  bool by_a_bit_;
  std::size_t calls_ = 0;
};

CheckOptions quick(const std::string& form, int repeat = 1) {
  CheckOptions options;
  options.golden = std::string(ATTEST_PROJECT_DIR) + "/golden";
  options.only = "attention.scaled_dot_product." + form;
  options.strength = options.law_draws = options.property_draws = 0;
  options.repeat = repeat;
  return options;
}

Row row_of(const When& when, const CheckOptions& options, bool by_a_bit = false) {
  Candidate right(kPlugin);
  Candidate off("off", std::make_unique<OffIn>(right, when, by_a_bit));
  return check(off, options).rows.at(0);
}

Row row_of(const CheckOptions& options) {
  Candidate candidate(kPlugin);
  return check(candidate, options).rows.at(0);
}

bool never(std::size_t, const CallOptions&) { return false; }

When after(std::size_t calls) {
  return [calls](std::size_t call, const CallOptions&) { return call > calls; };
}

std::string first_message(const Row& row) { return row.failures.empty() ? "" : row.failures[0].message; }

/// Calls of the correct kernel until the last ones begin, which ask 4 cases in two calls each.
std::size_t first_calls(int repeat = 1) {
  return static_cast<std::size_t>(row_of(never, quick("correct", repeat)).reach.calls) - 8;
}

TEST(Again, AKernelThatIsWrongLaterIsWrong) {
  const std::size_t calls = first_calls();
  const Row row = row_of(after(calls), quick("correct"));
  EXPECT_EQ(row.status, Status::fail);
  EXPECT_EQ(row.cases.passed, row.cases.judged) << "each was right at first";
  EXPECT_TRUE(first_message(row).starts_with(
      fmt::format("right in call 1 of the kernel, wrong in call {} of the same case: o(", calls + 1)))
      << first_message(row);
  EXPECT_FALSE(row.failures[0].query.empty());
}

TEST(Again, AKernelThatIsWrongAfterCall300IsWrongWhereThereAreSoManyCalls) {
  EXPECT_LT(first_calls(), 300u);
  const Row row = row_of(after(300), quick("correct", 2));
  EXPECT_EQ(row.status, Status::fail);
  EXPECT_NE(first_message(row).find("wrong in call 301 of the same case"), std::string::npos) << first_message(row);
  EXPECT_LE(row.failures.size(), 3u) << "a few are enough";
}

TEST(Again, RareFailuresAreSeenInAsManyCallsAsTheReportSays) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937_64 random(seed);
    const When rarely = [&](std::size_t, const CallOptions&) { return random() % 300 == 0; };
    EXPECT_EQ(row_of(rarely, quick("correct", 10)).status, Status::fail) << seed;
  }
  EXPECT_GT(row_of(never, quick("correct")).reach.unseen_rate(), 1.0 / 300);
  EXPECT_LT(row_of(never, quick("correct", 10)).reach.unseen_rate(), 1.0 / 300);
}

TEST(Again, CallsOfRegimesTakeTurns) {
  CheckOptions twice = quick("correct"), once = twice;
  twice.strength = once.strength = 1;
  once.single_calls = true;
  const auto calls = [](const CheckOptions& options) { return row_of(never, options).reach.calls; };
  const int of_cases = row_of(never, quick("correct")).reach.calls;
  const int regimes = row_of(never, once).regimes.judged;
  ASSERT_GT(regimes, 3);
  constexpr int of_last_regimes = 4;  // two regimes in two calls each
  EXPECT_EQ(calls(twice), of_cases + 2 * regimes + of_last_regimes);
  EXPECT_EQ(calls(once), of_cases + regimes + of_last_regimes);

  using Ways = std::set<std::pair<Placement, unsigned char>>;
  for (const auto& [options, number] : {std::pair(once, 1), std::pair(twice, 2)}) {
    const auto each = static_cast<std::size_t>(number);
    const std::size_t first = first_calls(), last = first + each * static_cast<std::size_t>(regimes);
    Ways firsts, ways;
    const Row row = row_of(
        [&](std::size_t call, const CallOptions& how) {
          if (call > first && call <= last) {
            ways.emplace(how.placement, how.poison);
            if ((call - first) % each == 1) firsts.emplace(how.placement, how.poison);
          }
          return call == last;
        },
        options);
    EXPECT_EQ(ways.size(), 3u);
    if (each == 2) {
      EXPECT_EQ(firsts, (Ways{{Placement::end_at_guard, kPoison[0]}}));
    }
    EXPECT_EQ(row.status, Status::fail) << "each is judged";
    EXPECT_EQ(row.regimes.passed, regimes - 1);
  }
}

TEST(Again, WhatIsWrongInOneWayOfCallingRegimesAloneIsWrong) {
  CheckOptions options = quick("correct");
  options.strength = 1;
  const std::size_t first = first_calls();
  const auto calls_of_regimes = [&](Placement placement, unsigned char poison) {
    return [=](std::size_t call, const CallOptions& how) {
      return call > first && how.placement == placement && how.poison == poison;
    };
  };
  const Row cached = row_of(calls_of_regimes(Placement::start_at_guard, kPoison[1]), options);
  EXPECT_EQ(cached.status, Status::fail);
  EXPECT_NE(first_message(cached).find("at addresses that earlier calls had: "), std::string::npos)
      << first_message(cached);
  constexpr bool by_a_bit = true;
  const Row other = row_of(calls_of_regimes(Placement::end_at_guard, kPoison[1]), options, by_a_bit);
  EXPECT_EQ(other.status, Status::fail);
  EXPECT_EQ(first_message(other), "the same call gave two different answers");
}

TEST(Again, RegimesAreCalledInEveryRound) {
  CheckOptions options = quick("correct");
  options.strength = 1;
  const auto calls_in = [&](int rounds) {
    options.repeat = rounds;
    const Row row = row_of(never, options);
    EXPECT_EQ(row.status, Status::pass) << first_message(row);
    return row.reach.calls;
  };
  const auto once = calls_in(1), round = calls_in(2) - once;
  EXPECT_GT(round, row_of(never, quick("correct", 2)).reach.calls - row_of(never, quick("correct")).reach.calls);
  EXPECT_EQ(calls_in(5), once + 4 * round);
}

TEST(Again, MoreCallsThanCanBeCountedAreNotRunEither) {
  CheckOptions options = quick("correct", 1000000000);
  const auto calls = row_of(never, quick("correct")).reach.calls;
  options.stop = [&, asked = 0]() mutable { return ++asked > 3 * calls ? Stop::budget : Stop::no; };
  const Row row = row_of(never, options);
  EXPECT_EQ(row.early_end.by, "budget");
  EXPECT_EQ(row.early_end.not_run, std::numeric_limits<int>::max());
}

TEST(Again, AnAnswerOfOtherBitsIsAnotherAnswer) {
  const std::size_t calls = first_calls();
  const Row row = row_of(after(calls), quick("correct"), true);
  EXPECT_EQ(row.status, Status::fail);
  EXPECT_EQ(first_message(row),
            fmt::format("the same call gave two different answers: call 1 and call {} of the kernel", calls + 1));
}

TEST(Again, AKernelThatIsWrongOffItsThreadIsWrong) {
  const Row row = row_of(quick("one_thread"));
  EXPECT_EQ(row.status, Status::fail);
  EXPECT_TRUE(first_message(row).starts_with("called from a second thread: o(0, 0): got ")) << first_message(row);
}

TEST(Again, AKernelMaySayThatOneThreadCallsIt) {
  const Row row = row_of(quick("says_one_thread"));
  EXPECT_EQ(row.status, Status::pass) << first_message(row);
  EXPECT_EQ(row.reach.second_thread, 0);
  EXPECT_EQ(row_of(quick("correct")).reach.second_thread, 4);
}

TEST(Again, WhatTimeDoesNotAllowIsCounted) {
  const auto cases = static_cast<int>(row_of(quick("correct")).cases.judged);
  CheckOptions options = quick("correct", 2);
  int asked = 0;
  options.stop = [&] { return ++asked > cases + 10 ? Stop::budget : Stop::no; };
  const Row row = row_of(options);
  EXPECT_EQ(row.status, Status::pass) << first_message(row);
  EXPECT_EQ(row.cases.judged, cases);
  EXPECT_EQ(row.early_end.by, "budget");
  EXPECT_EQ(row.reach.replayed + row.early_end.not_run, cases + 4);
  EXPECT_GT(row.early_end.not_run, 4);
}

TEST(Again, ACrashOffTheThreadIsReported) {
  PluginProcess plugin(std::string(ATTEST_TEST_PLUGIN_DIR) + "/libcrashes.so");
  CallOptions second_thread;
  second_thread.second_thread = true;
  constexpr double aborts = 2, fills_its_stack = 4;
  for (const double how : {aborts, fills_its_stack}) {
    Request request{
        "test.copy", "plain", {{{"x", DType::f32, {1}}, std::vector<std::byte>(4)}}, {{"y", DType::f32, {1}}}, {}};
    encode(DType::f32, std::vector{how}, request.inputs[0].bytes.data());
    const Response first = plugin.call(0, request), second = plugin.call(0, request, second_thread);
    EXPECT_EQ(second.end, Response::End::crashed);
    const auto without_address = [](const std::string& text) { return text.substr(0, text.find(" (address")); };
    EXPECT_EQ(without_address(second.message), without_address(first.message));
  }
}

TEST(Reach, WhatWasNeverGivenOrVariedIsSaid) {
  const Row plain = row_of(quick("plain"));
  EXPECT_EQ(plain.status, Status::pass) << first_message(plain);
  EXPECT_EQ(plain.reach.restricted,
            (std::vector<std::string>{"bias never given", "causal = false", "mask never given"}))
      << "neither the length of blocks nor a convention is a part of the equation";
  const auto& fixed = plain.reach.never_varied;
  EXPECT_EQ(std::count(fixed.begin(), fixed.end(), "block = 8"), 1);
  EXPECT_EQ(std::count(fixed.begin(), fixed.end(), "empty_row = zero"), 1);
  EXPECT_TRUE(row_of(quick("correct")).reach.restricted.empty());
}

TEST(Reach, EveryCallIsCounted) {
  const Row once = row_of(quick("correct")), thrice = row_of(quick("correct", 3));
  EXPECT_EQ(once.reach.calls, 3 * once.cases.judged + 8);
  EXPECT_EQ(once.reach.replayed, 4);
  EXPECT_EQ(thrice.reach.calls, 9 * once.cases.judged + 8);
  EXPECT_EQ(thrice.reach.replayed, 2 * once.cases.judged + 4);
  EXPECT_EQ(once.reach.law_calls, 0);
}

}  // namespace
}  // namespace attest::judge
