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

constexpr int kConfirmations = 2;  // calls with other inputs, of what is said

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
    for (const std::size_t axis : needed)
      if (is_needed(axis, plain[axis])) texts.push_back(text_of(axis));
    if (!again(setting_, true)) texts.clear();  // it fails by chance
    return {fmt::format("{}", fmt::join(texts, " and ")), calls_ - left_};
  }

private:
  std::optional<bool> call(const Setting& setting) {
    if (left_ == 0) return std::nullopt;
    --left_;
    return fails_(setting);
  }

  /// Whether the kernel does the same with other inputs.
  bool again(const Setting& setting, bool fails) {
    for (int i = 0; i < kConfirmations; ++i)
      if (call(setting) != fails) return false;
    return true;
  }

  bool is_needed(std::size_t axis, int plain) {
    const auto plainer = regimes_.with_level(setting_, axis, plain);
    return plainer && again(*plainer, false);
  }

  /// The levels of an axis at which it fails, everything else as it is.
  std::string text_of(std::size_t axis) {
    std::vector<Setting> failing, passing;
    for (int level = 0; level < static_cast<int>(regimes_.axes()[axis].levels.size()); ++level) {
      const auto other = level == setting_.level[axis] ? setting_ : regimes_.with_level(setting_, axis, level);
      const auto failed = level == setting_.level[axis] ? true : other ? call(*other) : std::nullopt;
      if (failed) (*failed ? failing : passing).push_back(*other);
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
