// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/golden/case.hpp"
#include "attest/judge/cache.hpp"
#include "attest/judge/covering.hpp"
#include "attest/judge/kernel.hpp"
#include "attest/judge/options.hpp"

/// The conditions under which a kernel may be called, and settings that bring every pair of them together.
namespace attest::judge {

/// Inputs with a row for each token that outputs are linear in.
std::vector<std::string> probed_inputs(const Spec& spec);

/// The axes of a kernel, from its equation's spec and what it can do: a class of each size (1, a few, one below, at and
/// above the lengths of tiles, several tiles), which of two token sizes is larger, the values of every parameter,
/// optional inputs given or not, states of zeros, what masks hide, the magnitude of the inputs, how they lie in memory;
/// where the layout has them entries of a batch, heads, and heads that share a group. At real sizes: thousands of
/// tokens, the widths that are shipped, and values with one number a column, which show the weight of single tokens.
class Regimes {
public:
  /// `strength` axes at a time are brought together, in calls of at most `shapes` different sizes and extents of the
  /// batch; 0: there are no settings. Settings are found in the cache where one is given, and kept there. Throws
  /// SpecError where the kernel can do no such size, or each of its calls is too large.
  Regimes(const Kernel& kernel, const golden::Profile& profile, SizesJudged sizes, int strength, std::uint64_t seed,
          std::optional<int> shapes = {}, Cache* cache = nullptr);

  Regimes(const Regimes&) = delete;  // its rules refer to it
  Regimes& operator=(const Regimes&) = delete;

  /// The same for kernels that share their regimes.
  static std::string key_of(const Kernel& kernel, const golden::Profile& profile, SizesJudged sizes, int strength,
                            std::uint64_t seed, std::optional<int> shapes);
  /// Of regimes that were made for this kernel, which decides how much work a call may be: key in a cache.
  static std::string kept_as(const Kernel& kernel, const golden::Profile& profile, SizesJudged sizes, int strength,
                             std::uint64_t seed, std::optional<int> shapes);

  const std::vector<Axis>& axes() const { return axes_; }
  const Covering& covering() const { return covering_; }

  /// More settings for combinations that settings have only where a kernel that is off would not show: as far as the
  /// rules allow with inputs as drawn, parameters at their defaults, states that are not zeros. None where the number
  /// of shapes is limited.
  std::vector<Setting> again(const std::vector<Combination>& combinations, std::uint64_t seed) const;

  /// The case of a setting, with inputs that are numbers of that format; its grid is 1 x 1 x 1 where the kernel's
  /// layout has none.
  golden::Case case_of(const Setting& setting, std::uint64_t seed, DType exact) const;

  /// The setting of a case, dense and of one problem, plain where an axis has not what the case has; nothing where that
  /// is one of its sizes.
  std::optional<Setting> setting_of(const golden::Case& c) const;

  /// "2 to 13", "given": the axis at that level.
  std::string text_of_level(std::size_t axis, int level) const;
  /// "heads in {8, 32}", "s >= 128": an axis at some of its levels.
  std::string text_of(std::size_t axis, const std::vector<int>& levels) const;
  /// "n = 1 and causal = true".
  std::string text_of(const Combination& combination) const;

  /// "n >= 130 (not 129)", "heads > 1", "S = given": where along an axis a kernel fails, beside where it passes.
  std::string text_of_failing(std::size_t axis, const std::vector<Setting>& failing,
                              const std::vector<Setting>& passing) const;

  /// Whether these settings have a size of at most 1 along that axis, all of them.
  bool are_of_one(std::size_t axis, const std::vector<Setting>& settings) const;

  /// "d % 4 != 0", "n > 16 and n % 16 != 0", "n % 32 == 0": a power of two that tells the sizes at which a kernel fails
  /// from those at which it passes; empty where there is none.
  std::string text_of_multiples(std::size_t axis, const std::vector<Setting>& failing,
                                const std::vector<Setting>& passing) const;

  /// "n < s": where the relation of that size to another one tells them apart; empty where it does not.
  std::string text_of_order(std::size_t axis, const std::vector<Setting>& failing,
                            const std::vector<Setting>& passing) const;

  /// Whether all values at which it fails lie on one side of those at which it passes; true where the axis has no
  /// order.
  bool is_threshold(std::size_t axis, const std::vector<Setting>& failing, const std::vector<Setting>& passing) const;

  /// The setting at every other value of a size whose levels have several, where the rules allow it; none where the
  /// number of shapes is limited.
  std::vector<Setting> between_levels(const Setting& setting, std::size_t axis) const;

  /// Those of them between the nearest two values of which it fails at one and passes at the other, in ascending order.
  std::vector<Setting> between(const Setting& setting, std::size_t axis, const std::vector<Setting>& failing,
                               const std::vector<Setting>& passing) const;

  /// Two of them on either side of these two.
  std::vector<Setting> beside(const Setting& setting, std::size_t axis, const std::vector<Setting>& failing,
                              const std::vector<Setting>& passing) const;

  /// Of each axis the level that asks the least of a kernel: few tokens, one head, parameters left at their defaults,
  /// optional inputs absent, inputs as they are drawn, dense. -1 where an axis follows from others.
  std::vector<int> plain_levels() const;

  bool shapes_are_limited() const { return limited_; }

  bool is_size(std::size_t axis) const { return meanings_[axis].kind == Kind::size; }

  /// The setting with that axis at another level, and sizes that must follow it; nothing where the rules forbid it.
  std::optional<Setting> with_level(const Setting& setting, std::size_t axis, int level) const;
  /// The setting with two sizes at other levels and equal: the largest that both levels have and the rules allow.
  std::optional<Setting> with_equal_sizes(const Setting& setting, std::size_t one, int level, std::size_t other,
                                          int level_of_other) const;

  /// What a call does at a setting, in operations.
  double work(const Setting& setting) const;

private:
  enum class Kind { size, parameter, input, order, draw, magnitude, values, memory, entries, heads, sharing };

  /// What an axis stands for; values are sizes, or numbers of what follows.
  struct Meaning {
    Kind kind;
    std::vector<std::optional<ParameterSetting>> settings{};  // of a parameter; nothing: left at its default
    std::vector<std::string> flags{};                         // of draws
    std::vector<std::map<std::string, bool>> properties{};    // of the integer inputs that each flag draws
  };

  /// What a call has to do; what is not set yet counts as the least.
  struct Extent {
    Sizes sizes;
    double problems = 1;
  };

  struct Maker;  // of axes and rules

  /// The setting at a member of a level of that axis, and sizes that must follow it.
  std::optional<Setting> with_member(const Setting& setting, std::size_t axis, int level, std::size_t member) const;
  /// The two sizes that an axis of order, "n - s", compares.
  std::pair<std::string, std::string> sizes_of(std::size_t order) const;
  bool is_number(std::size_t axis) const;
  std::set<std::int64_t> values_of(std::size_t axis, const std::vector<Setting>& settings) const;
  /// Where values at which it fails meet values at which it passes: the nearest two, the lower one first.
  std::pair<std::int64_t, std::int64_t> border_of(std::size_t axis, const std::vector<Setting>& failing,
                                                  const std::vector<Setting>& passing) const;

  /// Of each axis that a caller chooses along, parameters, optional inputs, sizes that are equal or not, the level that
  /// most calls have; -1 of other axes. Kernels have a path of their own for calls that choose nothing.
  std::vector<int> plain_choices() const;

  std::optional<std::size_t> axis_of(std::string_view name) const;
  std::int64_t value(const Setting& setting, std::size_t axis) const;
  golden::Grid grid_of(const Setting& setting) const;
  Extent extent_of(const Setting& setting) const;
  /// Work of one problem. Not for two threads at a time: it keeps the last one, which several rules ask for.
  double work_of_one(const Sizes& sizes) const;
  int level_of(std::size_t axis, std::int64_t value) const;
  bool keeps_rules(const Setting& setting) const;
  void follow_order(Setting& setting) const;
  /// Of all inputs that are given and all outputs of the batch, as far as the setting is set.
  double bytes_of(const Setting& setting) const;
  /// Value of a size, a parameter, a property or an extent of the batch in a condition.
  std::optional<Value> variable(const Setting& setting, std::string_view name) const;
  void set_magnitude(golden::Case& c, std::int64_t magnitude) const;

  const Spec* spec_;
  SizesJudged sizes_;
  bool grid_, limited_;
  Cache* cache_;
  std::string kept_as_;
  std::vector<Axis> axes_;
  std::vector<Meaning> meanings_;
  std::vector<Rule> rules_;
  Covering covering_;
  mutable Sizes last_sizes_;
  mutable double last_work_ = 0;
};

/// The settings that were visited, and what they showed.
class VisitedSettings {
public:
  VisitedSettings(const Regimes& regimes, int strength) : regimes_(regimes), strength_(strength) {}

  /// `shows`: whether a kernel that is off there would have been seen.
  void add(const Setting& setting, bool shows);
  /// Settings that bring combinations together again that were visited only where nothing shows: the first time all of
  /// them, the second time what is left; then none.
  std::vector<Setting> again(std::uint64_t seed);
  /// Combinations that were visited only where nothing shows.
  std::vector<Combination> unseen() const;

private:
  static constexpr int kTimes = 2;

  const Regimes& regimes_;
  int strength_;
  int times_ = 0;
  std::vector<Setting> settings_;
  std::vector<bool> shows_;
};

/// Regimes by what decides them: kernels of one equation that can do the same share theirs.
class KnownRegimes {
public:
  /// The cache keeps their settings from run to run; null: nothing does.
  explicit KnownRegimes(Cache* cache = nullptr) : cache_(cache) {}

  std::shared_ptr<const Regimes> of(const Kernel& kernel, const golden::Profile& profile, SizesJudged sizes,
                                    int strength, std::uint64_t seed, std::optional<int> shapes);

private:
  Cache* cache_;
  std::map<std::string, std::shared_ptr<const Regimes>> known_;
};

}  // namespace attest::judge
