// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/// Long jobs: many items, each of which can be done by itself. Threads of this process do them, and those of the other
/// ranks where the process is one of an MPI job; what is finished is kept in a journal, so that a job that was ended
/// goes on from there.
namespace attest::jobs {

class Channel;

struct Item {
  std::string key;  // no other item of the job has it: "linear.causal f32"
  double work = 0;  // an estimate, in any unit: counts where no time was measured yet
};

/// Told how many items are begun, of all, and which is next.
using Progress = std::function<void(std::size_t begun, std::size_t total, const std::string& key)>;

struct JobOptions {
  /// All that results depend on beside the items, as a sentence: a journal of another job is refused.
  std::string identity;
  std::filesystem::path journal{};  // folder; empty: nothing is kept
  bool resume = false;              // the folder has what was finished; otherwise it is new, or empty
  std::filesystem::path costs{};    // file with the seconds that items took; empty: none are read or kept
  Channel* channel = nullptr;       // to the other ranks; none: this process is alone
};

/// An item failed on one of several ranks: "rank 1, linear.causal f32: why".
class Failed : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Thrown where the items of a rank other than the first are done: the first one has all results.
struct Helped {};

class Job {
public:
  /// Throws std::runtime_error where the journal cannot be written, is there already, or is of another job.
  explicit Job(JobOptions options);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Does the items, the longest first, and returns their results in the order of the items. On a rank other than the
  /// first it throws Helped in place of that. What an item throws ends the job when those under way have ended: as it
  /// is where this process is alone, as Failed where it is not.
  /// Where `side_by_side` is true, `run` is called from all threads of OpenMP.
  std::vector<std::string> run(const std::vector<Item>& items, const std::function<std::string(std::size_t)>& run,
                               bool side_by_side, const Progress& progress = {});

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attest::jobs
