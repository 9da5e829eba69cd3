// SPDX-License-Identifier: MIT
// Long jobs: items on several ranks (threads that send each other messages), the journal, reports as bytes.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "attest/golden/files.hpp"
#include "attest/jobs/channel.hpp"
#include "attest/jobs/job.hpp"
#include "attest/judge/check.hpp"
#include "attest/judge/json.hpp"
#include "attest/judge/packed.hpp"

namespace attest::jobs {
namespace {

namespace fs = std::filesystem;

class Folder {
public:
  Folder() {
    std::string name = fs::temp_directory_path() / "attest-jobs-XXXXXX";
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path path;
};

/// Ranks that are threads of this process.
class Mailboxes {
public:
  explicit Mailboxes(int ranks) : boxes_(static_cast<std::size_t>(ranks)) {}

  class Rank : public Channel {
  public:
    Rank(Mailboxes& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(all_.boxes_.size()); }
    void send(int to, std::string_view message) override {
      const std::lock_guard lock(all_.mutex_);
      all_.boxes_.at(static_cast<std::size_t>(to)).emplace_back(rank_, message);
    }
    std::optional<std::pair<int, std::string>> arrived() override {
      const std::lock_guard lock(all_.mutex_);
      auto& box = all_.boxes_[static_cast<std::size_t>(rank_)];
      if (box.empty()) return std::nullopt;
      auto message = std::move(box.front());
      box.pop_front();
      return message;
    }

  private:
    Mailboxes& all_;
    int rank_;
  };

private:
  std::vector<std::deque<std::pair<int, std::string>>> boxes_;
  std::mutex mutex_;
};

std::vector<Item> items_named(const std::vector<std::string>& keys) {
  std::vector<Item> items;
  for (const auto& key : keys) items.push_back({key, 1});
  return items;
}

const std::vector<std::string> kKeys{"a", "b", "c", "d", "e", "f", "g"};

/// Runs a job on ranks, of which each tells `run` which one it is; the results of the first.
std::vector<std::string> on_ranks(int ranks, const std::vector<Item>& items, const JobOptions& options,
                                  const std::function<std::string(int rank, std::size_t)>& run,
                                  const std::function<void(int, JobOptions&)>& change = {}) {
  Mailboxes boxes(ranks);
  std::vector<std::string> results;
  std::exception_ptr failure;
  int helped = 0;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Mailboxes::Rank channel(boxes, rank);
      JobOptions own = options;
      if (ranks > 1) own.channel = &channel;
      if (change) change(rank, own);
      try {
        auto some = Job(own).run(items, [&](std::size_t i) { return run(rank, i); }, false);
        const std::lock_guard lock(mutex);
        results = std::move(some);
      } catch (const Helped&) {
        const std::lock_guard lock(mutex);
        ++helped;
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(helped, ranks - 1);
  if (failure) std::rethrow_exception(failure);
  return results;
}

TEST(Job, ResultsAreInTheOrderOfTheItemsOnAnyNumberOfRanks) {
  EXPECT_TRUE(rc::check("", [] {
    const auto count = *rc::gen::inRange(0, 40), ranks = *rc::gen::inRange(1, 6);
    std::vector<Item> items;
    for (int i = 0; i < count; ++i) items.push_back({std::to_string(i), static_cast<double>(*rc::gen::inRange(0, 9))});
    std::vector<int> times(static_cast<std::size_t>(count), 0);
    std::mutex mutex;
    const auto results = on_ranks(ranks, items, {.identity = "x"}, [&](int, std::size_t i) {
      const std::lock_guard lock(mutex);
      ++times[i];
      return std::string(1, '\0') + "result " + std::to_string(i);
    });
    RC_ASSERT(results.size() == items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      RC_ASSERT(times[i] == 1);
      RC_ASSERT(results[i] == std::string(1, '\0') + "result " + std::to_string(i));
    }
  }));
}

TEST(Job, TheLongestIsBegunFirst) {
  const Folder folder;
  JobOptions options{.identity = "x", .costs = folder.path / "costs.json"};
  golden::write_file_atomically(options.costs, R"({"a": 1.0, "b": 3.0, "c": 2.0})");
  std::vector<std::size_t> order;
  const std::vector<Item> items{{"a", 9}, {"b", 1}, {"c", 1}, {"new", 5}, {"new and long", 7}};
  const auto run = [&](int, std::size_t i) {
    order.push_back(i);
    return std::string();
  };
  on_ranks(1, items, options, run);
  EXPECT_EQ(order, (std::vector<std::size_t>{4, 3, 1, 2, 0}));  // what was not measured, then by seconds
  const auto costs = nlohmann::json::parse(golden::read_file(options.costs));
  EXPECT_TRUE(costs.contains("new")) << costs;
  EXPECT_LT(costs.at("b").get<double>(), 3.0) << costs;
}

TEST(Job, AFailureEndsItWithRankAndItem) {
  for (const int ranks : {1, 3}) {
    const auto fails = [&](int, std::size_t i) -> std::string {
      if (kKeys[i] == "d") throw std::out_of_range("too far");
      return "";
    };
    try {
      on_ranks(ranks, items_named(kKeys), {.identity = "x"}, fails);
      FAIL() << ranks;
    } catch (const std::out_of_range& error) {
      EXPECT_EQ(ranks, 1);
      EXPECT_STREQ(error.what(), "too far");
    } catch (const Failed& error) {
      EXPECT_EQ(ranks, 3);
      EXPECT_TRUE(std::string(error.what()).starts_with("rank ")) << error.what();
      EXPECT_TRUE(std::string(error.what()).ends_with(", d: too far")) << error.what();
    }
  }
}

TEST(Job, RanksOfAnotherBuildAreRefused) {
  const auto other = [](int rank, JobOptions& options) {
    if (rank == 1) options.identity = "y";
  };
  EXPECT_THROW(on_ranks(2, items_named(kKeys), {.identity = "x"}, [](int, std::size_t) { return ""; }, other), Failed);
}

std::vector<std::string> done_again(const JobOptions& options, std::vector<std::string>& again) {
  return on_ranks(1, items_named(kKeys), options, [&](int, std::size_t i) {
    again.push_back(kKeys[i]);
    return "result of " + kKeys[i];
  });
}

TEST(Journal, WhatIsFinishedIsNotDoneAgain) {
  for (const int ranks : {1, 3}) {
    const Folder folder;
    JobOptions options{.identity = "x", .journal = folder.path / "journal"};
    std::mutex mutex;
    std::set<std::string> finished;
    EXPECT_ANY_THROW(on_ranks(ranks, items_named(kKeys), options, [&](int, std::size_t i) {
      if (kKeys[i] == "e") throw std::runtime_error("a full disk");
      const std::lock_guard lock(mutex);
      finished.insert(kKeys[i]);
      return "result of " + kKeys[i];
    }));
    EXPECT_ANY_THROW(Job{options});  // it is there already
    options.resume = true;
    std::vector<std::string> again;
    const auto results = done_again(options, again);
    for (std::size_t i = 0; i < kKeys.size(); ++i) EXPECT_EQ(results[i], "result of " + kKeys[i]);
    EXPECT_EQ(again.size() + finished.size(), kKeys.size());
    for (const auto& key : again) EXPECT_FALSE(finished.count(key)) << key;
    again.clear();
    done_again(options, again);
    EXPECT_TRUE(again.empty());
    options.identity = "y";
    EXPECT_ANY_THROW(Job{options});
  }
}

/// Wherever a process is killed while it writes, and whatever a disk does to a byte: items are done again, and no
/// result is another one.
TEST(Journal, AFileThatIsCutOrDamagedLosesItemsAndNothingElse) {
  const Folder folder;
  JobOptions options{.identity = "x", .journal = folder.path / "journal"};
  std::vector<std::string> again;
  done_again(options, again);
  const fs::path file = options.journal / "1-0.journal";
  const std::string whole = golden::read_file(file);
  const std::size_t head = whole.find('\n') + 1;
  options.resume = true;
  const auto judge = [&](const std::string& bytes, std::size_t at) {
    for (const auto& entry : fs::directory_iterator(options.journal)) fs::remove(entry.path());
    golden::write_file_atomically(file, bytes, golden::Sync::no);
    again.clear();
    const auto results = done_again(options, again);
    for (std::size_t i = 0; i < kKeys.size(); ++i) EXPECT_EQ(results[i], "result of " + kKeys[i]) << at;
  };
  std::size_t last = kKeys.size();
  for (std::size_t cut = 1; cut <= whole.size(); cut += 7) {
    judge(whole.substr(0, cut), cut);
    EXPECT_LE(again.size(), last) << cut;
    last = again.size();
  }
  EXPECT_LE(last, 1U);
  for (std::size_t at = head; at < whole.size(); at += 11) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    judge(damaged, at);
    EXPECT_GE(again.size(), at + 2 < whole.size() ? 1U : 0U) << at;
  }
}

TEST(Packed, AReportIsTheSameAfterwards) {
  judge::CheckOptions options;
  options.golden = std::string(ATTEST_PROJECT_DIR) + "/golden";
  options.strength = 1, options.law_draws = 1, options.property_draws = 1;
  for (const char* name : {"fault:attention.softmax.base2", "fault:linear.causal.eps_added", "order:pairwise"}) {
    options.only = name == std::string("order:pairwise") ? "positional.alibi" : "*";
    judge::Candidate candidate(name);
    judge::Report report = judge::check(candidate, options);
    ASSERT_FALSE(report.rows.empty()) << name;
    report.rows[0].errors.worst.got = -std::numeric_limits<double>::quiet_NaN();
    report.rows[0].statistics.bias = -0.0;
    const auto bytes = judge::packed(report.rows);
    judge::Report same = report;
    same.rows = judge::unpacked_rows(bytes);
    EXPECT_EQ(judge::to_json(same).dump(), judge::to_json(report).dump()) << name;
    EXPECT_EQ(judge::packed(same.rows), bytes) << name;
    EXPECT_TRUE(std::signbit(same.rows[0].errors.worst.got));
    for (std::size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 100)
      EXPECT_ANY_THROW(judge::unpacked_rows(bytes.substr(0, size))) << size << " of " << bytes.size() << " bytes";
    EXPECT_ANY_THROW(judge::unpacked_rows(bytes + "x"));
  }
}

}  // namespace
}  // namespace attest::jobs
