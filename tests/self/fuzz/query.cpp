// SPDX-License-Identifier: MIT
// Query strings, as users paste them: parsed, written again, and small ones drawn.
#include "attest/golden/case.hpp"
#include "fuzz.hpp"

using namespace attest;

namespace {

bool is_small(const golden::Case& c) {
  constexpr Index kMost = 64;
  Index product = 1;
  for (const auto& [_, size] : c.sizes)
    if (size > kMost || (product *= std::max<Index>(size, 1)) > kMost * kMost) return false;
  return true;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto [c, profile] = golden::parse_query(fuzz::text_of(data, size));
    const std::string text = golden::query(c, profile);
    const auto [same, same_profile] = golden::parse_query(text);
    fuzz::require(golden::query(same, same_profile) == text, "a query that is written is read as it is");
    if (!is_small(c)) return 0;
    for (const golden::Case& one : golden::problems_of(c)) golden::draw(one);
  } catch (const SpecError&) {
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
