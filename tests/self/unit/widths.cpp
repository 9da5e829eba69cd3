// SPDX-License-Identifier: MIT
#include "attest/golden/widths.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace attest::golden {
namespace {

/// The spec as it would be if its author had not said that the form cancels or overflows.
Spec without_numeric(const Spec& spec, const std::string& form) {
  std::string text = spec.text;
  const auto at = text.find("name = \"" + form + "\"");
  EXPECT_NE(at, std::string::npos) << form;
  const std::string word = "numeric = true";
  const auto numeric = text.find(word, at);
  EXPECT_LT(numeric, text.find('}', at)) << form;
  text.replace(numeric, word.size(), "numeric = false");
  return parse_spec(text, spec.family() + "/" + spec.stem() + ".toml", reasons());
}

/// Forms that overflow or cancel are found where the spec does not say so.
TEST(Widths, AFormThatCancelsIsFound) {
  const std::vector<std::pair<std::string, std::string>> forms{{"attention.softmax", "direct"},
                                                               {"positional.sinusoidal", "rotation"},
                                                               {"infini.memory_update_delta", "affine_scan"},
                                                               {"positional.rotary", "composed"}};
  for (const auto& one_of : forms) {
    const std::string &id = one_of.first, &form = one_of.second;
    const auto names = [&](const std::vector<WideForm>& wide) {
      return std::count_if(wide.begin(), wide.end(), [&](const WideForm& one) { return one.worst.form == form; });
    };
    EXPECT_EQ(names(wide_forms(find_spec(id))), 0) << id;
    const Spec unmarked = without_numeric(find_spec(id), form);
    EXPECT_EQ(names(wide_forms(unmarked)), 1) << id << " " << form;
  }
}

/// The limit lies in the tail of what forms do today: 1 of 200 cases is beyond it at most. Prints the worst.
TEST(Widths, TheLimitIsBeyondWhatFormsDo) {
  int factors = 0, wide = 0;
  for (const auto& [id, spec] : specs()) {
    for (const auto& c : stored_cases(spec)) factors += static_cast<int>(widths(draw(c), draw_cotangents(c)).size());
    for (const auto& form : wide_forms(spec)) {
      wide += form.wide;
      std::printf("%s: %s\n", id.c_str(), form.text().c_str());
    }
  }
  EXPECT_GT(factors, 3000);
  EXPECT_LE(200 * wide, factors) << wide << " of " << factors;
}

}  // namespace
}  // namespace attest::golden
