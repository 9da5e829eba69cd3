// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "attest/judge/candidate.hpp"
#include "attest/judge/contract.hpp"
#include "attest/judge/reach.hpp"
#include "attest/judge/report.hpp"

namespace attest::judge {

/// What one kernel was asked in a run, and what it answered first: so that it can be asked again, and so that the
/// report can say what was never asked.
class Asked {
public:
  /// Keeps references to its arguments; without a candidate answers come from files.
  Asked(const Kernel& kernel, const golden::Profile& profile, const Candidate* candidate = nullptr);

  /// The source, noting what it is asked. The Asked must outlive it, here and below.
  Source first(Source source);
  /// The source for cases that were asked before: messages about their answers say in which calls they were right and
  /// wrong. An answer of other bits is kept for `changed`.
  Source again(Source source);

  /// Cases that were answered by other bits later. None for a kernel that says "deterministic == false".
  const std::vector<Finding>& changed() const { return changed_; }

  /// Cases with a grid that is small, in the order in which they were asked first.
  const std::vector<golden::Case>& grids() const { return grids_; }

  /// Number of cases that were asked again.
  int replayed() const { return counts_.replayed; }

  Reach reach() const;

  /// What was refused of the cases that were asked first, and the capability that would say so.
  Refusals refusals() const;

private:
  struct FirstAnswer {
    std::uint64_t bits = 0;
    std::size_t call = 0;
  };

  /// Number of calls of this kernel until now.
  std::size_t calls() const;
  void count(std::size_t calls_before, std::size_t second_thread_before);
  void note(const Batch& batch, const golden::Case& name);
  void note_situation(const Batch& batch, const golden::Case& name, const Answers& answers);
  /// Puts in front of messages when the case was right and when not, and compares the bits.
  void compare(const std::string& query, std::size_t calls_before, Answers& answers);

  const Kernel& kernel_;
  const golden::Profile& profile_;
  const Candidate* candidate_;
  CallCounts at_begin_;
  Reach counts_;
  std::map<std::string, std::set<std::string>> values_;  // of sizes, parameters, inputs, extents: at most two of each
  std::map<std::string, FirstAnswer> answers_;           // by query
  std::vector<golden::Case> grids_;
  std::vector<Finding> changed_;
  std::vector<Situation> refused_, answered_;
  Refusals refusals_;
};

}  // namespace attest::judge
