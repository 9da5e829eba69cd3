// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Covering arrays: few settings of many axes that hold every combination of values of any two axes (or of any t).
/// Most failures need one condition or two: D. R. Kuhn, D. R. Wallace and A. M. Gallo, Software fault interactions and
/// implications for software testing, IEEE Trans. Software Eng. 30 (2004), 418-421. The method is the greedy one of
/// D. M. Cohen, S. R. Dalal, M. L. Fredman and G. C. Patton, The AETG system, IEEE Trans. Software Eng. 23 (1997),
/// 437-444, with conditions on partial settings.
namespace attest::judge {

/// Something that varies. What is covered is its levels; of a level any value will do (a size of 2 to 13).
struct Axis {
  std::string name;
  std::vector<std::vector<std::int64_t>> levels;
};

/// A value per axis: level, and number within it. -1: not set yet.
struct Setting {
  std::vector<int> level, member;
};

/// What a setting must fulfil. A rule is asked when all of its axes are set; one that limits a sum, whenever any is: it
/// holds the sooner the smaller the numbers of the values are.
struct Rule {
  std::string name;
  std::vector<std::size_t> axes;
  std::function<bool(const Setting&)> holds;
  bool limits = false;
};

/// Levels of different axes, in ascending order of the axes.
struct Combination {
  std::vector<std::size_t> axes;
  std::vector<int> levels;
};

/// A combination that no setting has, and the rules that stood in its way the most.
struct Uncovered {
  Combination combination;
  std::string why;
  bool proven = false;  // no values of those levels keep the rules over these axes alone
};

/// Settings that differ along some of these axes have different shapes, and there may be at most so many.
struct ShapeLimit {
  std::vector<std::size_t> axes;
  std::size_t most;
};

struct Covering {
  std::vector<Setting> settings;
  std::size_t combinations = 0;  // of any `strength` axes
  std::vector<Uncovered> uncovered;
  std::vector<Combination> left_out;  // those that no setting of the allowed shapes has

  std::size_t covered() const { return combinations - uncovered.size() - left_out.size(); }
};

/// Settings that cover every combination of `strength` axes (at least 1) that the rules allow. A combination for which
/// a number of attempts found no setting is uncovered. Where shapes are limited, the first ones that are found serve
/// for all other combinations. Every combination of axes that have a level in `plain` (-1: none; empty: no axis has
/// one) is in one setting, too, that is plain along all the others of them where the rules allow that: what is wrong
/// only where nothing else is chosen would be seen nowhere else. The same arguments give the same settings.
Covering cover(const std::vector<Axis>& axes, const std::vector<Rule>& rules, int strength, std::uint64_t seed,
               const std::vector<int>& plain = {}, const std::optional<ShapeLimit>& shapes = {});

/// More settings that have these combinations; along the other axes each has the level of `plain` (-1: any) where the
/// rules allow that.
std::vector<Setting> cover_plainly(const std::vector<Axis>& axes, const std::vector<Rule>& rules,
                                   const std::vector<Combination>& combinations, const std::vector<int>& plain,
                                   std::uint64_t seed);

/// Combinations of `strength` axes that settings have, but none of those at which `shows` is true.
std::vector<Combination> unseen(const std::vector<Axis>& axes, int strength, const std::vector<Setting>& settings,
                                const std::vector<bool>& shows);

/// Every combination of `strength` axes.
std::vector<Combination> combinations_of(const std::vector<Axis>& axes, int strength);

bool has(const Setting& setting, const Combination& combination);

}  // namespace attest::judge
