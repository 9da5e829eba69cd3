// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attest/judge/candidate.hpp"

namespace attest::cli {

/// "2/3": of everything that is much the same, every third, from the second on.
struct Part {
  std::size_t number = 1, of = 1;

  /// Throws UsageError.
  static Part parse(const std::string& text);
  /// Nothing for the empty text.
  static std::optional<Part> parse_option(const std::string& text);

  /// Whether the i-th of `count` such things is in it: of each count there is at least one.
  bool has(std::size_t i, std::size_t count) const;
};

/// A plugin with some of its kernels: of each equation, reading and dtype a part, and never none.
std::unique_ptr<judge::Candidate> part_of(const std::string& candidate, const Part& part, Index ranks = judge::kRanks);

/// Says on standard output what a part leaves out.
void print_left_out(const Part& part, std::size_t taken, std::size_t all, const std::string& things);

/// The same of the kernels that part_of left to a candidate.
void print_left_out(const Part& part, const std::string& candidate, const judge::Candidate& some);

}  // namespace attest::cli
