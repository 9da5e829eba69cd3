// SPDX-License-Identifier: MIT
#include "attest/judge/condition.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace attest::judge {
namespace {

class Isolation {
public:
  Isolation(const Regimes& regimes, Setting failing, int most_calls,
            const std::function<std::optional<bool>(const Setting&)>& fails)
      : regimes_(regimes), setting_(std::move(failing)), left_(most_calls), calls_(most_calls), fails_(fails) {}

  FailingCondition run() {
    const auto plain = regimes_.plain_levels();
    std::set<std::size_t> needed;
    for (bool changed = true; changed && left_ > 0;) {
      changed = false;
      needed.clear();
      for (std::size_t axis = 0; axis < plain.size(); ++axis) {
        if (plain[axis] < 0 || setting_.level[axis] == plain[axis]) continue;
        const auto plainer = regimes_.with_level(setting_, axis, plain[axis]);
        const auto failed = plainer ? call(*plainer) : std::nullopt;
        if (!failed) continue;
        if (*failed)
          setting_ = *plainer, changed = true;
        else
          needed.insert(axis);
      }
    }
    std::vector<std::string> texts;
    // The same setting with other inputs: a kernel that fails by chance has no condition.
    if (!needed.empty() && call(setting_) == true)
      for (const std::size_t axis : needed) texts.push_back(text_of(axis));
    return {fmt::format("{}", fmt::join(texts, " and ")), calls_ - left_};
  }

private:
  std::optional<bool> call(const Setting& setting) {
    if (left_ == 0) return std::nullopt;
    --left_;
    return fails_(setting);
  }

  /// The levels of an axis at which it fails, everything else as it is.
  std::string text_of(std::size_t axis) {
    std::vector<int> failing, passing;
    for (int level = 0; level < static_cast<int>(regimes_.axes()[axis].levels.size()); ++level) {
      if (level == setting_.level[axis]) {
        failing.push_back(level);
        continue;
      }
      const auto other = regimes_.with_level(setting_, axis, level);
      const auto failed = other ? call(*other) : std::nullopt;
      if (failed) (*failed ? failing : passing).push_back(level);
    }
    return regimes_.text_of_failing(axis, failing, passing);
  }

  const Regimes& regimes_;
  Setting setting_;
  int left_;
  const int calls_;
  const std::function<std::optional<bool>(const Setting&)>& fails_;
};

}  // namespace

FailingCondition condition_by_calls(const Regimes& regimes, Setting failing, int most_calls,
                                    const std::function<std::optional<bool>(const Setting&)>& fails) {
  return Isolation(regimes, std::move(failing), most_calls, fails).run();
}

}  // namespace attest::judge
