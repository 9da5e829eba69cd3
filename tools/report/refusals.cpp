// SPDX-License-Identifier: MIT
// What a kernel refused, in words.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "attest/report.hpp"

namespace attest::report {
namespace {

/// The capability that a kernel lacks.
std::string advice(const judge::Refusals& refused) {
  const int calls = refused.cases + refused.regimes;
  if (refused.answered == 0) return "it refused all that it was asked";
  if (refused.condition.empty())
    return "no condition was found that excludes what it refused, and not most of what it answered";
  if (refused.left == 0 && refused.excluded == 0)
    return fmt::format(
        "let its capabilities say: {} (that excludes all {} calls which it refused, and none of the {} "
        "which it answered)",
        refused.condition, calls, refused.answered);
  return fmt::format(
      "nearest to what it refused is: {} (that excludes {} of the {} calls which it refused, and {} of "
      "the {} which it answered)",
      refused.condition, calls - refused.left, calls, refused.excluded, refused.answered);
}

}  // namespace

std::vector<std::string> refusals(const judge::Row& row) {
  const judge::Refusals& refused = row.refusals;
  if (refused.cases + refused.regimes == 0) return {};
  const std::string regimes =
      refused.regimes > 0 ? fmt::format(" and {} of {} regimes", refused.regimes, row.regimes.judged + row.real.judged)
                          : "";
  return {fmt::format("{} of {} cases{} with an error{}: {}", refused.cases, row.cases.judged, regimes,
                      row.only_refusals() ? ", and every answer is right" : "", refused.message),
          advice(refused)};
}

}  // namespace attest::report
