// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// What tells some of many calls from the others: conditions on one thing each, and few of them together.
namespace attest::judge {

/// A condition, and for which of the calls it holds.
struct Literal {
  std::string text;
  std::vector<char> holds;
};

using Literals = std::vector<const Literal*>;

/// Whether all of them hold for that call.
bool hold(const Literals& literals, std::size_t call);

/// Literals that hold for every wanted call and together for none of the others, found greedily; each is needed. Empty
/// where there are none. Calls are places in Literal::holds.
Literals common_to(const std::vector<Literal>& literals, const std::vector<std::size_t>& wanted,
                   const std::vector<std::size_t>& others);

/// Pairs of literals, or single ones, none of which holds for any of the others, until every wanted call has one of
/// them; those that hold for the most first, and of these the first. Empty where more than `most` would be needed.
std::vector<Literals> cover_by_pairs(const std::vector<Literal>& literals, std::vector<std::size_t> wanted,
                                     const std::vector<std::size_t>& others, std::size_t most);

/// The literal or pair that holds for every wanted call and the fewest others. Empty where there is none.
Literals nearest_pair(const std::vector<Literal>& literals, const std::vector<std::size_t>& wanted,
                      const std::vector<std::size_t>& others);

}  // namespace attest::judge
