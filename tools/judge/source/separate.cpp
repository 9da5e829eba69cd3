// SPDX-License-Identifier: MIT
#include "attest/judge/separate.hpp"

#include <algorithm>
#include <functional>

namespace attest::judge {
namespace {

std::size_t count_in(const Literals& literals, const std::vector<std::size_t>& calls) {
  return static_cast<std::size_t>(
      std::count_if(calls.begin(), calls.end(), [&](std::size_t call) { return hold(literals, call); }));
}

/// Calls visit(literals) for every single one that holds for some wanted call, then for every pair of these.
void each_pair(const std::vector<Literal>& literals, const std::vector<std::size_t>& wanted,
               const std::function<void(const Literals&)>& visit) {
  Literals some;
  for (const Literal& literal : literals)
    if (count_in({&literal}, wanted) > 0) some.push_back(&literal);
  for (const Literal* one : some) visit({one});
  for (std::size_t a = 0; a < some.size(); ++a)
    for (std::size_t b = a + 1; b < some.size(); ++b) visit({some[a], some[b]});
}

}  // namespace

bool hold(const Literals& literals, std::size_t call) {
  return std::all_of(literals.begin(), literals.end(),
                     [&](const Literal* literal) { return literal->holds[call] != 0; });
}

Literals common_to(const std::vector<Literal>& literals, const std::vector<std::size_t>& wanted,
                   const std::vector<std::size_t>& others) {
  if (wanted.empty()) return {};
  Literals common;
  for (const Literal& literal : literals)
    if (count_in({&literal}, wanted) == wanted.size()) common.push_back(&literal);
  Literals chosen;
  for (auto rest = others; !rest.empty();) {
    const auto best = std::min_element(common.begin(), common.end(), [&](const Literal* a, const Literal* b) {
      return count_in({a}, rest) < count_in({b}, rest);
    });
    if (best == common.end() || count_in({*best}, rest) == rest.size()) return {};
    chosen.push_back(*best);
    std::erase_if(rest, [&](std::size_t call) { return !hold({*best}, call); });
  }
  // One that was chosen first may not be needed in the end.
  for (std::size_t i = 0; i < chosen.size();) {
    Literals without = chosen;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    if (count_in(without, others) == 0)
      chosen = std::move(without);
    else
      ++i;
  }
  return chosen;
}

std::vector<Literals> cover_by_pairs(const std::vector<Literal>& literals, std::vector<std::size_t> wanted,
                                     const std::vector<std::size_t>& others, std::size_t most) {
  std::vector<Literals> chosen;
  while (!wanted.empty()) {
    Literals best;
    std::size_t covered = 0;
    each_pair(literals, wanted, [&](const Literals& some) {
      const std::size_t of_these = count_in(some, wanted);
      if (of_these > covered && count_in(some, others) == 0) best = some, covered = of_these;
    });
    if (best.empty() || chosen.size() == most) return {};
    std::erase_if(wanted, [&](std::size_t call) { return hold(best, call); });
    chosen.push_back(std::move(best));
  }
  return chosen;
}

Literals nearest_pair(const std::vector<Literal>& literals, const std::vector<std::size_t>& wanted,
                      const std::vector<std::size_t>& others) {
  Literals best;
  std::size_t fewest = others.size();
  each_pair(literals, wanted, [&](const Literals& some) {
    if (count_in(some, wanted) < wanted.size()) return;
    if (const std::size_t excluded = count_in(some, others); excluded < fewest) best = some, fewest = excluded;
  });
  return best;
}

}  // namespace attest::judge
