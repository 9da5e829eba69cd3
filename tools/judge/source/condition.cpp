// SPDX-License-Identifier: MIT
#include "attest/judge/condition.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace attest::judge {
namespace {

constexpr int kConfirmations = 3;  // calls with other inputs, of what is said

class Isolation {
public:
  Isolation(const Regimes& regimes, Setting failing, int most_calls,
            const std::function<std::optional<bool>(const Setting&)>& fails)
      : regimes_(regimes), setting_(std::move(failing)), left_(most_calls), calls_(most_calls), fails_(fails) {}

  FailingCondition run() {
    const auto plain = regimes_.plain_levels();
    if (const auto all = with_plain_sizes(plain); all && call(*all) == true) setting_ = *all;
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
      if (!changed) changed = two_sizes_plainer(plain, needed);
    }
    if (!again(setting_, true)) return {"", calls_ - left_};  // it fails by chance
    std::vector<std::string> texts, trivial;
    for (const std::size_t axis : needed)
      if (is_needed(axis, plain[axis])) texts.push_back(text_of_needed(axis));
    where_plain_fails(plain, needed, texts, trivial);
    std::erase(texts, "");
    if (texts.empty()) texts = trivial;
    return {fmt::format("{}", fmt::join(texts, " and ")), calls_ - left_};
  }

private:
  std::optional<bool> call(const Setting& setting) {
    if (left_ == 0) return std::nullopt;
    --left_;
    --left_;
    return fails_(setting);
  }

  /// All sizes at once: one alone would break what they have in common (n = s).
  std::optional<Setting> with_plain_sizes(const std::vector<int>& plain) const {
    Setting other = setting_;
    for (std::size_t axis = 0; axis < plain.size(); ++axis) {
      if (!regimes_.is_size(axis)) continue;
      const auto plainer = regimes_.with_level(other, axis, plain[axis]);
      if (!plainer) return std::nullopt;
      other = *plainer;
    }
    return other;
  }

  /// Two sizes at once, as one alone breaks what they have in common (n = s) and all together may be too much.
  bool two_sizes_plainer(const std::vector<int>& plain, const std::set<std::size_t>& needed) {
    for (const std::size_t one : needed)
      for (const std::size_t other : needed) {
        if (other <= one || !regimes_.is_size(one) || !regimes_.is_size(other)) continue;
        const auto plainer = regimes_.with_equal_sizes(setting_, one, plain[one], other, plain[other]);
        if (!plainer || call(*plainer) != true) continue;
        setting_ = *plainer;
        return true;
      }
    return false;
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

  /// Along which of the axes that are plain it passes. With one token or column many mistakes do not show: that is said
  /// where there is nothing else.
  void where_plain_fails(const std::vector<int>& plain, const std::set<std::size_t>& needed,
                         std::vector<std::string>& texts, std::vector<std::string>& trivial) {
    std::vector<std::pair<std::size_t, Tried>> all;
    Tried everything;
    for (std::size_t axis = 0; axis < plain.size(); ++axis) {
      if (plain[axis] < 0 || needed.count(axis) || (regimes_.is_size(axis) && regimes_.shapes_are_limited())) continue;
      Tried tried = along(axis);
      everything.failing.insert(everything.failing.end(), tried.failing.begin(), tried.failing.end());
      everything.passing.insert(everything.passing.end(), tried.passing.begin(), tried.passing.end());
      if (!tried.passing.empty() && again(tried.passing.back(), false)) all.emplace_back(axis, std::move(tried));
    }
    for (auto& [axis, tried] : all) {
      std::string text = regimes_.text_of_order(axis, everything.failing, everything.passing);
      if (text.empty()) text = text_of(axis, tried);
      auto& some = regimes_.are_of_one(axis, tried.passing) ? trivial : texts;
      if (std::find(some.begin(), some.end(), text) == some.end()) some.push_back(text);
    }
    std::erase(trivial, "");
  }

  /// Settings that differ along one axis, by what the kernel did there.
  struct Tried {
    std::vector<Setting> failing, passing;
  };

  void try_at(const Setting& setting, Tried& tried) {
    if (const auto failed = call(setting)) (*failed ? tried.failing : tried.passing).push_back(setting);
  }

  /// The levels of an axis, everything else as it is.
  Tried along(std::size_t axis) {
    Tried tried{{setting_}, {}};
    for (int level = 0; level < static_cast<int>(regimes_.axes()[axis].levels.size()); ++level)
      if (level != setting_.level[axis])
        if (const auto other = regimes_.with_level(setting_, axis, level)) try_at(*other, tried);
    return tried;
  }

  /// A size at which it passes beside one at which it fails may be a border of its own, or be that of another size:
  /// then what passes there fails where the other one is changed.
  std::string text_of_needed(std::size_t axis) {
    Tried tried = along(axis);
    const std::string text = text_of(axis, tried);
    const std::string order = regimes_.text_of_order(axis, tried.failing, tried.passing);
    if (order.empty()) return text;
    Tried beside = tried;
    const auto fails_there = [&] { return beside.failing.size() > tried.failing.size(); };
    for (std::size_t passed = 0; passed < tried.passing.size() && !fails_there(); ++passed)
      for (std::size_t other = 0; other < regimes_.axes().size(); ++other) {
        if (other == axis || !regimes_.is_size(other)) continue;
        for (int level = 0; level < static_cast<int>(regimes_.axes()[other].levels.size()); ++level)
          if (const auto changed = regimes_.with_level(tried.passing[passed], other, level)) try_at(*changed, beside);
      }
    return fails_there() && regimes_.text_of_order(axis, beside.failing, beside.passing) == order ? order : text;
  }

  /// Of a size more values than its levels are tried: between the nearest that pass and fail; where it fails neither
  /// from a value on nor up to one, all, for what they are multiples of. Without such a rule its levels are tried
  /// again, and what changes is chance.
  std::string text_of(std::size_t axis, Tried& tried) {
    const auto is_threshold = [&] { return regimes_.is_threshold(axis, tried.failing, tried.passing); };
    if (is_threshold()) {
      for (auto between = regimes_.between(setting_, axis, tried.failing, tried.passing); !between.empty();
           between = regimes_.between(setting_, axis, tried.failing, tried.passing)) {
        const std::size_t known = tried.failing.size() + tried.passing.size();
        try_at(between[between.size() / 2], tried);
        if (tried.failing.size() + tried.passing.size() == known) break;  // it told nothing
      }
      for (const Setting& other : regimes_.beside(setting_, axis, tried.failing, tried.passing)) try_at(other, tried);
      if (is_threshold()) return regimes_.text_of_failing(axis, tried.failing, tried.passing);
    }
    Tried more = tried;
    for (const Setting& other : regimes_.between_levels(setting_, axis)) try_at(other, more);
    const std::string multiples = regimes_.text_of_multiples(axis, more.failing, more.passing);
    if (!multiples.empty()) return multiples;
    const auto does = [&](bool fails) { return [this, fails](const Setting& one) { return call(one) == fails; }; };
    if (!std::all_of(tried.failing.begin(), tried.failing.end(), does(true)) ||
        !std::all_of(tried.passing.begin(), tried.passing.end(), does(false)))
      return "";
    return regimes_.text_of_failing(axis, tried.failing, tried.passing);
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
