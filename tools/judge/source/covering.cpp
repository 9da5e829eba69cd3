// SPDX-License-Identifier: MIT
#include "attest/judge/covering.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

namespace attest::judge {
namespace {

constexpr int kCandidates = 3;      // settings of which the one with the most new combinations is taken
constexpr int kAttempts = 30;       // at a setting with a given combination
constexpr int kMembersTried = 256;  // values of a level, where the first ones keep no rule

/// Calls visit(axes) for every ascending choice of so many of the first `axes` axes.
void each_choice(std::size_t axes, int strength, const std::function<void(const std::vector<std::size_t>&)>& visit) {
  std::vector<std::size_t> choice(static_cast<std::size_t>(strength));
  std::iota(choice.begin(), choice.end(), 0u);
  if (choice.size() > axes) return;
  for (;;) {
    visit(choice);
    std::size_t i = choice.size();
    while (i > 0 && choice[i - 1] == axes - (choice.size() - i) - 1) --i;
    if (i == 0) return;
    ++choice[i - 1];
    for (; i < choice.size(); ++i) choice[i] = choice[i - 1] + 1;
  }
}

/// The same order with every standard library.
template <class T>
void shuffle(std::vector<T>& items, std::mt19937_64& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random() % i]);
}

class Builder {
public:
  Builder(const std::vector<Axis>& axes, const std::vector<Rule>& rules, int strength, std::uint64_t seed,
          const std::optional<ShapeLimit>& limit)
      : axes_(axes),
        rules_(rules),
        limit_(limit),
        strength_(std::min<int>(strength, static_cast<int>(axes.size()))),
        random_(seed),
        plain_(axes.size(), -1),
        limited_(axes.size()),
        rules_of_(axes.size()),
        blocked_(rules.size(), 0),
        open_(power(axes.size(), strength_)) {
    for (std::size_t r = 0; r < rules.size(); ++r)
      for (const std::size_t axis : rules[r].axes) {
        rules_of_[axis].push_back(r);
        if (rules[r].limits) limited_[axis] = true;
      }
  }

  Covering build(const std::vector<int>& plain) {
    if (axes_.empty()) {
      covering_.settings.emplace_back();
      return std::move(covering_);
    }
    auto open = combinations_of(axes_, strength_);
    covering_.combinations = open.size();
    shuffle(open, random_);
    for (const auto& combination : open) is_open(combination) = 1;
    if (!plain.empty()) add_plain(open, plain);
    for (const auto& combination : open) {
      if (is_open(combination) == 0) continue;
      if (!is_possible(combination)) {
        covering_.uncovered.push_back({combination, blocking(), true});
      } else if (const auto setting = best_setting(combination)) {
        add(*setting);
        continue;
      } else if (shapes_are_spent()) {
        covering_.left_out.push_back(combination);
      } else {
        covering_.uncovered.push_back({combination, blocking(), false});
      }
      is_open(combination) = 0;
    }
    return std::move(covering_);
  }

  std::vector<Setting> build_plainly(std::vector<Combination> open, const std::vector<int>& plain) {
    plain_ = plain;
    put_plain_first(open);
    for (const auto& combination : open) is_open(combination) = 1;
    for (const auto& combination : open) {
      if (is_open(combination) == 0) continue;
      is_open(combination) = 0;
      if (const auto setting = best_with(combination)) {
        covering_.settings.push_back(*setting);
        mark(*setting);
      }
    }
    return std::move(covering_.settings);
  }

private:
  /// Combinations that are plain themselves come first: a setting for another one is less plain, and has many of these.
  void put_plain_first(std::vector<Combination>& combinations) const {
    std::stable_sort(combinations.begin(), combinations.end(),
                     [&](const Combination& a, const Combination& b) { return odd_levels(a) < odd_levels(b); });
  }

  int odd_levels(const Combination& combination) const {
    int odd = 0;
    for (std::size_t i = 0; i < combination.axes.size(); ++i)
      odd += plain_[combination.axes[i]] >= 0 && plain_[combination.axes[i]] != combination.levels[i];
    return odd;
  }
  int odd_levels(const Setting& setting) const {
    int odd = 0;
    for (std::size_t axis = 0; axis < plain_.size(); ++axis)
      odd += plain_[axis] >= 0 && plain_[axis] != setting.level[axis];
    return odd;
  }

  /// A setting for each combination of axes that have a plain level, plain along the others of them.
  void add_plain(std::vector<Combination> combinations, const std::vector<int>& plain) {
    std::erase_if(combinations, [&](const Combination& combination) {
      return std::any_of(combination.axes.begin(), combination.axes.end(),
                         [&](std::size_t axis) { return plain[axis] < 0; });
    });
    plain_ = plain;
    put_plain_first(combinations);
    for (const auto& combination : combinations) {
      int least = std::numeric_limits<int>::max();
      for (const Setting& setting : covering_.settings)
        if (has(setting, combination)) least = std::min(least, odd_levels(setting));
      if (least == odd_levels(combination) || !is_possible(combination)) continue;
      if (const auto setting = best_setting(combination); setting && odd_levels(*setting) < least) add(*setting);
    }
    plain_.assign(axes_.size(), -1);
  }

  std::optional<Setting> best_setting(const Combination& combination) {
    return shapes_are_spent() ? best_of_shapes(combination) : best_with(combination);
  }

  void add(const Setting& setting) {
    covering_.settings.push_back(setting);
    mark(setting);
    note_shape(setting);
  }

  bool shapes_are_spent() const { return limit_ && shapes_.size() >= limit_->most; }

  /// Keeps the setting's levels and members along the axes of shapes, where no other setting has the same.
  void note_shape(const Setting& setting) {
    if (!limit_) return;
    Setting shape = none();
    for (const std::size_t axis : limit_->axes)
      shape.level[axis] = setting.level[axis], shape.member[axis] = setting.member[axis];
    const auto same = [&](const Setting& other) { return other.level == shape.level && other.member == shape.member; };
    if (std::none_of(shapes_.begin(), shapes_.end(), same)) shapes_.push_back(std::move(shape));
  }

  Setting none() const { return {std::vector<int>(axes_.size(), -1), std::vector<int>(axes_.size(), -1)}; }

  static std::size_t power(std::size_t base, int exponent) {
    std::size_t power = 1;
    for (int i = 0; i < exponent; ++i) power *= base;
    return power;
  }

  /// Whether the combination has still to be covered.
  char& is_open(const Combination& combination) {
    std::size_t choice = 0;
    for (const std::size_t axis : combination.axes) choice = choice * axes_.size() + axis;
    auto& of_axes = open_[choice];
    if (of_axes.empty()) {
      std::size_t size = 1;
      for (const std::size_t axis : combination.axes) size *= axes_[axis].levels.size();
      of_axes.assign(size, 0);
    }
    std::size_t at = 0;
    for (std::size_t i = 0; i < combination.axes.size(); ++i)
      at = at * axes_[combination.axes[i]].levels.size() + static_cast<std::size_t>(combination.levels[i]);
    return of_axes[at];
  }

  void mark(const Setting& setting) {
    Combination combination;
    each_choice(axes_.size(), strength_, [&](const std::vector<std::size_t>& choice) {
      combination.axes = choice;
      combination.levels.clear();
      for (const std::size_t axis : choice) combination.levels.push_back(setting.level[axis]);
      is_open(combination) = 0;
    });
  }

  /// Of the rules over that axis those that can be asked, or the limits alone.
  bool keeps_rules(const Setting& setting, std::size_t axis, bool limits_alone = false) {
    for (const std::size_t r : rules_of_[axis]) {
      const Rule& rule = rules_[r];
      const auto is_set = [&](std::size_t other) { return setting.level[other] >= 0; };
      const bool asked = rule.limits || (!limits_alone && std::all_of(rule.axes.begin(), rule.axes.end(), is_set));
      if (asked && !rule.holds(setting)) {
        ++blocked_[r];
        return false;
      }
    }
    return true;
  }

  /// Whether the first value of the level keeps the limits; no other does where it does not.
  bool keeps_limits(Setting& setting, std::size_t axis) {
    setting.member[axis] = 0;
    return keeps_rules(setting, axis, true);
  }

  /// Sets an axis to some value of the level that keeps the rules.
  bool set(Setting& setting, std::size_t axis, int level) {
    const auto& members = axes_[axis].levels[static_cast<std::size_t>(level)];
    const auto size = members.size();
    // Mistakes mostly begin at some size: the larger of two values shows more of them.
    const auto one = random_() % size, other = random_() % size,
               first = least_ && limited_[axis] ? 0 : std::max(one, other);
    setting.level[axis] = level;
    const bool open = size == 1 || keeps_limits(setting, axis);
    for (std::size_t i = 0; open && i < size && i < kMembersTried; ++i) {
      setting.member[axis] = static_cast<int>((first + i) % size);
      if (keeps_rules(setting, axis)) return true;
    }
    setting.level[axis] = setting.member[axis] = -1;
    return false;
  }

  /// Whether some values of those levels keep the rules over these axes alone.
  bool is_possible(const Combination& combination) {
    std::fill(blocked_.begin(), blocked_.end(), 0);
    Setting setting = none();
    const std::function<bool(std::size_t)> from = [&](std::size_t i) {
      if (i == combination.axes.size()) return true;
      const std::size_t axis = combination.axes[i];
      const auto& members = axes_[axis].levels[static_cast<std::size_t>(combination.levels[i])];
      setting.level[axis] = combination.levels[i];
      const bool open = keeps_limits(setting, axis);
      for (std::size_t m = 0; open && m < members.size(); ++m) {
        setting.member[axis] = static_cast<int>(m);
        if (keeps_rules(setting, axis) && from(i + 1)) return true;
      }
      setting.level[axis] = setting.member[axis] = -1;
      return false;
    };
    return from(0);
  }

  /// New combinations that the level would add to what is set.
  int gain(const Setting& setting, const std::vector<std::size_t>& done, std::size_t axis, int level) {
    if (strength_ == 1) return is_open({{axis}, {level}});
    int sum = 0;
    Combination combination;
    each_choice(done.size(), strength_ - 1, [&](const std::vector<std::size_t>& choice) {
      combination.axes.assign(1, axis);
      for (const std::size_t i : choice) combination.axes.push_back(done[i]);
      std::sort(combination.axes.begin(), combination.axes.end());
      combination.levels.clear();
      for (const std::size_t a : combination.axes) combination.levels.push_back(a == axis ? level : setting.level[a]);
      sum += is_open(combination);
    });
    return sum;
  }

  /// A setting with the combination, and of that shape; an empty shape leaves it free.
  std::optional<Setting> with(const Combination& combination, int& gained, const Setting& shape) {
    Setting setting = shape;
    std::vector<std::size_t> done;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis)
      if (shape.level[axis] >= 0) done.push_back(axis);
    for (std::size_t i = 0; i < combination.axes.size(); ++i) {
      const std::size_t axis = combination.axes[i];
      if (shape.level[axis] >= 0 ? shape.level[axis] != combination.levels[i]
                                 : !set(setting, axis, combination.levels[i]))
        return std::nullopt;
      if (shape.level[axis] < 0) done.push_back(axis);
    }
    std::vector<std::size_t> rest;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis)
      if (setting.level[axis] < 0) rest.push_back(axis);
    shuffle(rest, random_);
    if (least_) std::stable_partition(rest.begin(), rest.end(), [&](std::size_t axis) { return limited_[axis]; });
    std::stable_partition(rest.begin(), rest.end(), [&](std::size_t axis) { return plain_[axis] >= 0; });
    gained = 1;
    for (const std::size_t axis : rest) {
      std::vector<std::pair<int, int>> levels;  // gain, level
      for (int level = 0; level < static_cast<int>(axes_[axis].levels.size()); ++level)
        levels.emplace_back(gain(setting, done, axis, level), level);
      shuffle(levels, random_);
      std::stable_sort(levels.begin(), levels.end(), [&](auto& a, auto& b) {
        return least_ && limited_[axis] ? a.second < b.second : a.first > b.first;
      });
      std::stable_partition(levels.begin(), levels.end(), [&](auto& level) { return level.second == plain_[axis]; });
      const auto fits = std::find_if(levels.begin(), levels.end(),
                                     [&](const auto& level) { return set(setting, axis, level.second); });
      if (fits == levels.end()) return std::nullopt;
      gained += fits->first;
      done.push_back(axis);
    }
    return setting;
  }

  std::optional<Setting> best_with(const Combination& combination) {
    std::optional<Setting> best;
    int most = -1, found = 0;
    std::fill(blocked_.begin(), blocked_.end(), 0);
    for (int attempt = 0; attempt < kAttempts && found < kCandidates; ++attempt) {
      int gained = 0;
      auto setting = with(combination, gained, none());
      if (!setting) continue;
      ++found;
      if (gained > most) most = gained, best = std::move(setting);
    }
    if (best) return best;
    // Along the axes that a limit is over, by first levels and values: no setting with the combination takes less.
    least_ = true;
    int gained = 0;
    best = with(combination, gained, none());
    least_ = false;
    return best;
  }

  /// The same, with one of the shapes that there are.
  std::optional<Setting> best_of_shapes(const Combination& combination) {
    std::optional<Setting> best;
    int most = -1;
    for (const Setting& shape : shapes_) {
      int gained = 0;
      if (auto setting = with(combination, gained, shape); setting && gained > most)
        most = gained, best = std::move(setting);
    }
    return best;
  }

  /// The rule that was broken the most since the attempts began.
  std::string blocking() const {
    const auto most = std::max_element(blocked_.begin(), blocked_.end());
    return most == blocked_.end() || *most == 0 ? "" : rules_[static_cast<std::size_t>(most - blocked_.begin())].name;
  }

  const std::vector<Axis>& axes_;
  const std::vector<Rule>& rules_;
  const std::optional<ShapeLimit>& limit_;
  std::vector<Setting> shapes_;
  int strength_;
  std::mt19937_64 random_;
  std::vector<int> plain_;
  std::vector<bool> limited_;  // whether a rule that limits is over the axis
  bool least_ = false;
  std::vector<std::vector<std::size_t>> rules_of_;
  std::vector<long> blocked_;
  std::vector<std::vector<char>> open_;  // by axes; by levels
  Covering covering_;
};

}  // namespace

std::vector<Combination> combinations_of(const std::vector<Axis>& axes, int strength) {
  std::vector<Combination> all;
  each_choice(axes.size(), strength, [&](const std::vector<std::size_t>& choice) {
    std::vector<int> levels(choice.size(), 0);
    for (;;) {
      all.push_back({choice, levels});
      std::size_t i = choice.size();
      while (i > 0 && levels[i - 1] + 1 == static_cast<int>(axes[choice[i - 1]].levels.size())) levels[--i] = 0;
      if (i == 0) return;
      ++levels[i - 1];
    }
  });
  return all;
}

std::vector<Setting> cover_plainly(const std::vector<Axis>& axes, const std::vector<Rule>& rules,
                                   const std::vector<Combination>& combinations, const std::vector<int>& plain,
                                   std::uint64_t seed) {
  if (combinations.empty()) return {};
  const auto strength = static_cast<int>(combinations[0].axes.size());
  const std::optional<ShapeLimit> any_shape;
  return Builder(axes, rules, strength, seed, any_shape).build_plainly(combinations, plain);
}

std::vector<Combination> unseen(const std::vector<Axis>& axes, int strength, const std::vector<Setting>& settings,
                                const std::vector<bool>& shows) {
  auto combinations = combinations_of(axes, std::min<int>(strength, static_cast<int>(axes.size())));
  std::erase_if(combinations, [&](const Combination& combination) {
    bool visited = false;
    for (std::size_t s = 0; s < settings.size(); ++s) {
      if (!has(settings[s], combination)) continue;
      if (shows[s]) return true;
      visited = true;
    }
    return !visited;
  });
  return combinations;
}

bool has(const Setting& setting, const Combination& combination) {
  for (std::size_t i = 0; i < combination.axes.size(); ++i)
    if (setting.level[combination.axes[i]] != combination.levels[i]) return false;
  return true;
}

Covering cover(const std::vector<Axis>& axes, const std::vector<Rule>& rules, int strength, std::uint64_t seed,
               const std::vector<int>& plain, const std::optional<ShapeLimit>& shapes) {
  return Builder(axes, rules, strength, seed, shapes).build(plain);
}

}  // namespace attest::judge
