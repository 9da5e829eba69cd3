// SPDX-License-Identifier: MIT
#include "attest/jobs/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "attest/golden/files.hpp"
#include "attest/jobs/channel.hpp"
#include "journal.hpp"

namespace attest::jobs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// An item that was done.
struct Finished {
  std::size_t item = 0;
  double seconds = 0;
  std::string result;
};

/// Where threads get their items, and leave what they have done.
class Desk {
public:
  virtual ~Desk() = default;
  /// Takes a result, where there is one, and gives an item, where there is one left.
  virtual std::optional<std::size_t> next(std::optional<Finished> finished) = 0;
  /// An item failed: no more are given.
  virtual void fail(const std::string& key, const std::exception_ptr& failure) = 0;
};

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "something that is no exception was thrown";
  }
}

/// Seconds that items took, by key, from a file; nothing where it cannot be read.
std::map<std::string, double> costs_in(const fs::path& file) {
  if (file.empty() || !fs::exists(file)) return {};
  try {
    return json::parse(golden::read_file(file)).get<std::map<std::string, double>>();
  } catch (const std::exception&) {  // it decides nothing but the order
    return {};
  }
}

/// The items of a job, at the first rank.
class Schedule : public Desk {
public:
  Schedule(const std::vector<Item>& items, const std::map<std::string, Journal::Done>& kept, const fs::path& costs_file,
           const Progress& progress)
      : items_(items), costs_file_(costs_file), costs_(costs_in(costs_file)), progress_(progress) {
    results_.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto at = kept.find(items[i].key);
      if (at == kept.end()) {
        order_.push_back(i);
      } else {
        results_[i] = at->second.result;
        costs_[items[i].key] = at->second.seconds;
      }
    }
    begun_ = items.size() - order_.size();
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return cost(a) > cost(b); });
  }

  std::size_t left() const { return order_.size(); }

  std::optional<std::size_t> next(std::optional<Finished> finished) override {
    const std::lock_guard lock(mutex_);
    if (finished) {
      costs_[items_[finished->item].key] = finished->seconds;
      results_[finished->item] = std::move(finished->result);
    }
    if (given_ == order_.size() || !why_.empty()) return std::nullopt;
    const std::size_t item = order_[given_++];
    if (progress_) progress_(begun_++, items_.size(), items_[item].key);
    return item;
  }

  void fail(const std::string& key, const std::exception_ptr& failure) override {
    fail(0, key, text_of(failure), failure);
  }
  void fail(int rank, const std::string& key, const std::string& why, const std::exception_ptr& failure = {}) {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) why_ = fmt::format("rank {}, {}: {}", rank, key, why), failure_ = failure;
  }

  /// Throws what an item threw; with rank and item where there are several ranks.
  std::vector<std::string> results(bool alone) {
    if (failure_ && alone) std::rethrow_exception(failure_);
    if (!why_.empty()) throw Failed(why_);
    keep_costs();
    if (progress_) progress_(items_.size(), items_.size(), "");
    return std::move(results_);
  }

private:
  /// Of those that were measured the longest first; what was not is in the order of its estimate, before them.
  std::pair<bool, double> cost(std::size_t i) const {
    const auto at = costs_.find(items_[i].key);
    return at == costs_.end() ? std::pair(true, items_[i].work) : std::pair(false, at->second);
  }

  void keep_costs() const {
    if (costs_file_.empty()) return;
    try {
      fs::create_directories(costs_file_.parent_path());
      golden::write_file_atomically(costs_file_, json(costs_).dump(1) + "\n", golden::Sync::no);
    } catch (const std::exception&) {  // the next run has the order of the estimates
    }
  }

  const std::vector<Item>& items_;
  const fs::path costs_file_;
  std::map<std::string, double> costs_;
  const Progress& progress_;
  std::vector<std::string> results_;
  std::vector<std::size_t> order_;
  std::size_t given_ = 0, begun_ = 0;
  std::string why_;             // the first failure, with rank and item
  std::exception_ptr failure_;  // of this rank
  std::mutex mutex_;
};

/// What ranks say to the first: {"say": ...}.
constexpr auto kHello = "hello", kNext = "next", kFailed = "failed", kEnd = "end";

std::string packed(const json& message) {
  const auto bytes = json::to_msgpack(message);
  return {bytes.begin(), bytes.end()};
}

json unpacked(const std::string& bytes) { return json::from_msgpack(bytes.begin(), bytes.end()); }

json binary(const std::string& bytes) { return json::binary({bytes.begin(), bytes.end()}); }

/// The first rank's desk, from another rank.
class Remote : public Desk {
public:
  Remote(Channel& channel, const std::string& what) : channel_(channel) {
    channel_.send(0, packed({{"say", kHello}, {"what", what}}));
  }
  ~Remote() override {
    try {
      channel_.send(0, packed({{"say", kEnd}}));
    } catch (const std::exception&) {  // the first rank waits, and MPI ends the job
    }
  }
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  std::optional<std::size_t> next(std::optional<Finished> finished) override {
    json message{{"say", kNext}};
    if (finished)
      message["item"] = finished->item, message["seconds"] = finished->seconds,
      message["result"] = binary(finished->result);
    const std::lock_guard lock(mutex_);
    channel_.send(0, packed(message));
    const json answer = unpacked(receive(channel_).second);
    return answer.is_null() ? std::nullopt : std::optional(answer.get<std::size_t>());
  }

  void fail(const std::string& key, const std::exception_ptr& failure) override {
    const std::lock_guard lock(mutex_);
    channel_.send(0, packed({{"say", kFailed}, {"key", key}, {"why", text_of(failure)}}));
  }

private:
  Channel& channel_;
  std::mutex mutex_;
};

/// Answers the other ranks until all of them have ended.
void serve(Channel& channel, Schedule& schedule, const std::string& what) {
  int ended = 0;
  while (ended < channel.size() - 1) {
    const auto [rank, bytes] = receive(channel);
    const json message = unpacked(bytes);
    const auto& say = message["say"].get_ref<const std::string&>();
    if (say == kEnd) {
      ++ended;
    } else if (say == kFailed) {
      schedule.fail(rank, message["key"], message["why"]);
    } else if (say == kHello) {
      if (message["what"] != what)
        schedule.fail(rank, "its items", "they are not those of rank 0; are both the same build, with the same data?");
    } else {
      std::optional<Finished> finished;
      if (message.contains("item")) {
        const auto& result = message["result"].get_binary();
        finished = Finished{message["item"], message["seconds"], {result.begin(), result.end()}};
      }
      const auto item = schedule.next(std::move(finished));
      channel.send(rank, packed(item ? json(*item) : json()));
    }
  }
}

}  // namespace

struct Job::State {
  JobOptions options;
  Journal::Kept kept;
  std::optional<Journal> journal;

  int rank() const { return options.channel ? options.channel->rank() : 0; }
  bool alone() const { return !options.channel || options.channel->size() == 1; }

  explicit State(JobOptions given) : options(std::move(given)) {
    if (options.journal.empty()) return;
    // The first rank reads; each writes a file of its own.
    if (rank() == 0) {
      if (options.resume)
        kept = Journal::read(options.journal, options.identity);
      else if (fs::exists(options.journal) && !fs::is_empty(options.journal))
        throw std::runtime_error(
            fmt::format("{} is there already, and not empty: --resume goes on from a journal, --journal begins one",
                        options.journal.string()));
    }
    int run = kept.runs + 1;
    if (!alone()) {
      Channel& channel = *options.channel;
      if (rank() == 0)
        for (int other = 1; other < channel.size(); ++other) channel.send(other, std::to_string(run));
      else
        run = std::stoi(receive(channel).second);
    }
    journal.emplace(options.journal, run, rank(), options.identity);
  }

  void work(Desk& desk, const std::vector<Item>& items, const std::function<std::string(std::size_t)>& run,
            bool side_by_side) {
    const auto one_after_the_other = [&] {
      std::string key;
      try {
        std::optional<Finished> finished;
        while (const auto item = desk.next(std::exchange(finished, std::nullopt))) {
          key = items.at(*item).key;
          if (journal) journal->began(key);
          const auto begin = std::chrono::steady_clock::now();
          std::string result = run(*item);
          const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
          if (journal) journal->done(key, seconds, result);
          finished = Finished{*item, seconds, std::move(result)};
        }
      } catch (...) {
        desk.fail(key, std::current_exception());
      }
    };
#pragma omp parallel if (side_by_side)
    one_after_the_other();
  }
};

Job::Job(JobOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Job::~Job() = default;

std::vector<std::string> Job::run(const std::vector<Item>& items, const std::function<std::string(std::size_t)>& run,
                                  bool side_by_side, const Progress& progress) {
  State& state = *state_;
  std::string what = state.options.identity;
  for (const Item& item : items) what += "\n" + item.key;
  what = golden::sha256(what);
  if (state.rank() > 0) {
    {
      Remote desk(*state.options.channel, what);
      state.work(desk, items, run, side_by_side);
    }
    state.options.channel->ended = true;
    throw Helped();
  }
  Schedule schedule(items, state.kept.done, state.options.costs, progress);
  if (state.options.resume) {
    fmt::print(stderr, "attest: {} of {} items are in the journal\n", items.size() - schedule.left(), items.size());
    for (const auto& [key, rank] : state.kept.under_way)
      fmt::print(stderr, "attest: {} was under way on rank {} when the job ended; it is done again\n", key, rank);
  }
  std::exception_ptr failure;
  std::thread server;
  if (!state.alone())
    server = std::thread([&] {
      try {
        serve(*state.options.channel, schedule, what);
      } catch (...) {
        failure = std::current_exception();
      }
    });
  state.work(schedule, items, run, side_by_side && schedule.left() > 1);
  if (server.joinable()) server.join();
  if (state.options.channel) state.options.channel->ended = !failure;
  if (failure) std::rethrow_exception(failure);
  return schedule.results(state.alone());
}

}  // namespace attest::jobs
