// SPDX-License-Identifier: MIT
#include "attest/judge/regimes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "attest/golden/files.hpp"
#include "attest/judge/memory.hpp"
#include "attest/judge/true_values.hpp"
#include "attest/judge/work.hpp"
#include "covering_members.hpp"
#include "kept.hpp"

namespace attest::judge {

ATTEST_MEMBERS(CostOfRows, last, each)
ATTEST_MEMBERS(Growth, from, cost, powers)
ATTEST_MEMBERS(CostOfTruth, by_work, by_work_or_pairs, shared, growths)

namespace {

std::vector<std::int64_t> range(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> all;
  for (auto size = from; size <= to; ++size) all.push_back(size);
  return all;
}

using Classes = std::vector<std::vector<std::int64_t>>;

/// Classes of sizes: kernels go wrong at one, below the length of a vector, and beside the borders of tiles. Of widths,
/// one class is on both sides of a border.
Classes classes_of_sizes(bool tokens) {
  Classes classes{{0}, {1}, range(2, 13), {16, 32}, {64, 128}, range(130, 200)};
  const Classes beside{{15, 31, 63, 127}, {17, 33, 65, 129}};
  if (tokens) {
    classes.insert(classes.end(), beside.begin(), beside.end());
    classes.push_back(range(257, 400));
  } else {
    classes.push_back(beside[0]);
    classes.back().insert(classes.back().end(), beside[1].begin(), beside[1].end());
  }
  return classes;
}

/// Sizes at which kernels are shipped: decoding of one token, prefills with and without a rest, long contexts; widths
/// of heads up to those of multi-head latent attention. Where many widths multiply they are smaller.
Classes classes_of_real_sizes(bool tokens, bool few_widths) {
  if (tokens) return {{1}, {4096}, {4095, 4097, 5000}, {16384}, {32768}, {65536}};
  return few_widths ? Classes{{64}, {128}, {256}, {512}, {576}} : Classes{{16}, {64}, {128}};
}

constexpr std::size_t kFewestSizes = 3;       // that an axis of a size has where the kernel allows so many
constexpr std::int64_t kLargestSize = 8192;   // that is looked for where the classes have too few
constexpr std::int64_t kLargestReal = 65536;  // at real sizes
constexpr std::size_t kMostSettings = 5;      // of a parameter that is a number
constexpr double kLittleCalled = 1.0e5, kMostCalled = 3.0e5;  // work of one batch
constexpr double kLittleCertified = 2.0e4;                    // work of its certificates
constexpr double kMostOperations = 1.2e6;                     // of the error model, for one batch
constexpr double kRoom = 1.5;                                 // beyond what any two levels need
constexpr double kSmallest = 8;            // times the smallest case of a kernel that has only large ones
constexpr double kMostOfSmallest = 2.0e7;  // work of that case, and operations of its certificate
constexpr double kMostCalledReal = 4.0e10, kMostBytesReal = 0x1p32;  // at real sizes
constexpr double kBytesPerNumber = 32;  // two binary64 copies, the kernel's tensor and those of its calls
constexpr double kBytesPerBoolean = 12;
constexpr auto kWorkOfCall = "the work of one call is limited",
               kWorkOfCertificate = "the work of one certificate is limited";
constexpr auto kMinus = " - ", kSharing = "heads per group", kDraw = "draw", kMemory = "memory";

std::string memory_of(std::size_t level) { return level == 0 ? "" : golden::kMemories[level - 1]; }

/// Whether outputs are linear in the claim's inputs, so that these may be large.
bool is_linear(const LawClaim& claim) { return claim.law == "linear" || claim.law == "affine"; }

/// Each distinct number in the text of a condition.
std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < text.size();) {
    const bool starts = std::isdigit(static_cast<unsigned char>(text[at])) &&
                        (at == 0 || (!std::isalnum(static_cast<unsigned char>(text[at - 1])) && text[at - 1] != '_'));
    std::size_t used = 1;
    if (starts) numbers.push_back(std::stod(text.substr(at), &used));
    at += used;
  }
  return numbers;
}

bool concerns(const Expression& condition, const std::string& name) {
  const auto names = condition.variables();
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string text_of_setting(const std::optional<ParameterSetting>& setting) {
  if (!setting) return "default";
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, *setting);
}

/// A few of many, the first, the last and some between; of one, the first.
template <class T>
void thin(std::vector<T>& items, std::size_t most) {
  if (items.size() <= most) return;
  std::vector<T> kept;
  for (std::size_t i = 0; i < most; ++i)
    kept.push_back(items[i * (items.size() - 1) / std::max<std::size_t>(most - 1, 1)]);
  items = std::move(kept);
}

}  // namespace

std::vector<std::string> probed_inputs(const Spec& spec) {
  std::vector<std::string> probed;
  for (const auto& claim : spec.laws) {
    if (!is_linear(claim)) continue;  // others are of parameters and properties, too
    for (const auto& name : claim.of)
      if (const auto& shape = spec.input(name)->shape; shape.size() == 2 && spec.size(shape[0])->tokens)
        probed.push_back(name);
  }
  return probed;
}

/// Makes the axes and rules of a kernel.
struct Regimes::Maker {
  Regimes& regimes;
  const Kernel& kernel;
  const golden::Profile& profile;
  const Spec& spec = *kernel.spec;
  std::vector<Expression> conditions{};  // the kernel's and the equation's

  void make() {
    conditions = kernel.capabilities.conditions();
    for (const auto& constraint : spec.constraints)
      if (constraint.require) conditions.push_back(*constraint.require);
    if (const auto* form = spec.form(kernel.info.form); form && !form->when.empty())
      conditions.push_back(Expression::parse(form->when));
    for (const auto& size : spec.sizes) add_size(size);
    for (const auto& size : spec.sizes) leave_possible(size.name);
    for (const auto& parameter : spec.parameters) add_parameter(parameter);
    for (const auto& input : spec.inputs) add_input(input);
    add_draws();
    add_magnitudes();
    if (real() && !probed_inputs(spec).empty()) add("values", {Kind::values}, {{0}, {1}});
    if (regimes.grid_) add_grid();
    add_memory();
    for (const auto& condition : conditions) add_rule(condition);
    add_orders();
    real() ? add_real_work() : add_work();
  }

  bool real() const { return regimes.sizes_ == SizesJudged::real; }

  std::size_t add(std::string name, Meaning meaning, std::vector<std::vector<std::int64_t>> levels) {
    regimes.axes_.push_back({std::move(name), std::move(levels)});
    regimes.meanings_.push_back(std::move(meaning));
    return regimes.axes_.size() - 1;
  }

  /// Whether the conditions on that name alone hold for a value of it.
  bool alone(const std::string& name, const Value& value) const {
    return std::all_of(conditions.begin(), conditions.end(), [&](const Expression& condition) {
      if (names_in(condition) != std::vector{name}) return true;
      return condition.holds([&](std::string_view) { return std::optional(value); });
    });
  }

  Classes classes_of(const SizeSpec& size) const {
    if (!real()) return classes_of_sizes(size.tokens);
    const auto widths =
        std::count_if(spec.sizes.begin(), spec.sizes.end(), [](const auto& one) { return !one.tokens; });
    Classes classes = classes_of_real_sizes(size.tokens, widths <= 2);
    // Of a single token the queries may be, and in a call with others.
    if (const auto tokens = kernel.token_sizes(); size.tokens && (tokens.size() < 2 || size.name != tokens[0]))
      classes.erase(classes.begin());
    return classes;
  }

  void add_size(const SizeSpec& size) {
    const auto allowed = [&](std::int64_t value) {
      return (value > 0 || size.smallest == 0) && alone(size.name, Value(static_cast<double>(value)));
    };
    std::vector<std::vector<std::int64_t>> levels;
    std::set<std::int64_t> all;
    const std::int64_t largest = real() ? kLargestReal : kLargestSize;
    const auto add_level = [&](const std::vector<std::int64_t>& members) {
      std::vector<std::int64_t> kept;
      for (const auto member : members)
        if (allowed(member) && all.insert(member).second) kept.push_back(member);
      if (!kept.empty()) levels.push_back(std::move(kept));
    };
    for (const auto& members : classes_of(size)) add_level(members);
    for (const auto& condition : conditions)
      if (concerns(condition, size.name))
        for (const double number : numbers_in(condition.text()))
          if (number <= static_cast<double>(largest)) add_level({static_cast<std::int64_t>(number)});
    // Where these are too few: at real sizes rather large ones.
    for (std::int64_t value = largest; real() && value > 1 && all.size() < kFewestSizes; value /= 2) add_level({value});
    for (std::int64_t value = 1; value <= kLargestSize && all.size() < kFewestSizes; ++value) add_level({value});
    if (levels.empty()) throw no_size(size.name);
    std::sort(levels.begin(), levels.end());
    add(size.name, {Kind::size}, std::move(levels));
  }

  /// Leaves out the values of a size for which no other size keeps a condition on both: of s, where n == s and n is a
  /// multiple of 64, all but these multiples.
  void leave_possible(const std::string& size) {
    Axis& axis = regimes.axes_[*axis_of(size)];
    for (const auto& condition : conditions) {
      const auto names = condition.variables();
      if (names.size() != 2 || !concerns(condition, size) || !spec.size(names[0]) || !spec.size(names[1])) continue;
      const auto& others = regimes.axes_[*axis_of(names[names[0] == size ? 1 : 0])].levels;
      const auto keeps = [&](std::int64_t value, std::int64_t other) {
        return condition.holds([&](std::string_view name) {
          return std::optional<Value>(static_cast<double>(name == size ? value : other));
        });
      };
      const auto possible = [&](std::int64_t value) {
        return std::any_of(others.begin(), others.end(), [&](const auto& level) {
          return std::any_of(level.begin(), level.end(), [&](std::int64_t other) { return keeps(value, other); });
        });
      };
      for (auto& level : axis.levels) std::erase_if(level, [&](std::int64_t value) { return !possible(value); });
    }
    std::erase_if(axis.levels, [](const auto& level) { return level.empty(); });
    if (axis.levels.empty()) throw no_size(size);
  }

  SpecError no_size(const std::string& size) const {
    return SpecError(fmt::format("{}: '{}' leaves no size {} from 0 to {}", spec.id, kernel.capabilities.text(), size,
                                 kLargestSize));
  }

  void add_parameter(const ParameterDeclaration& parameter) {
    using Type = ParameterDeclaration::Type;
    std::vector<std::optional<ParameterSetting>> settings;
    if (parameter.type == Type::boolean) settings = {false, true};
    for (const auto& choice : parameter.choices) settings.emplace_back(choice);
    if (parameter.type == Type::integer || parameter.type == Type::real) settings = numbers_of(parameter);
    const auto fits = [&](const std::optional<ParameterSetting>& setting) {
      const Situation one{{}, setting ? Parameters{{parameter.name, *setting}} : Parameters{}, {}};
      return std::all_of(conditions.begin(), conditions.end(), [&](const Expression& condition) {
        if (names_in(condition) != std::vector{parameter.name}) return true;
        try {
          return condition.holds([&](std::string_view name) { return value_in(spec, one, name); });
        } catch (const std::invalid_argument&) {
          return true;  // its default depends on the sizes: a rule will tell
        }
      });
    };
    std::erase_if(settings, [&](const auto& setting) { return !fits(setting); });
    if (settings.empty()) settings.emplace_back();  // its default
    std::vector<std::vector<std::int64_t>> levels;
    for (std::size_t i = 0; i < settings.size(); ++i) levels.push_back({static_cast<std::int64_t>(i)});
    add(parameter.name, {Kind::parameter, std::move(settings)}, std::move(levels));
  }

  /// The default, what the golden cases have, and what conditions name.
  std::vector<std::optional<ParameterSetting>> numbers_of(const ParameterDeclaration& parameter) const {
    std::set<double> numbers;
    for (const auto& group : spec.vectors)
      for (const auto& entry : group.entries)
        if (const auto at = entry.parameters.find(parameter.name); at != entry.parameters.end())
          numbers.insert(std::get<double>(*lookup(spec, {}, entry.parameters, parameter.name)));
    for (const auto& condition : kernel.capabilities.conditions())
      if (concerns(condition, parameter.name))
        for (const double number : numbers_in(condition.text())) numbers.insert(number);
    std::vector<double> some(numbers.begin(), numbers.end());
    thin(some, real() ? 1 : kMostSettings - 1);
    std::vector<std::optional<ParameterSetting>> settings{std::nullopt};
    for (const double number : some)
      settings.emplace_back(parameter.type == ParameterDeclaration::Type::integer
                                ? ParameterSetting(static_cast<Index>(number))
                                : ParameterSetting(number));
    std::erase_if(settings, [&](const auto& setting) { return setting && setting == parameter.fallback; });
    return settings;
  }

  void add_input(const TensorDeclaration& input) {
    std::vector<std::vector<std::int64_t>> levels;  // 0 absent, 1 drawn, 2 zeros
    if (input.optional && alone(input.name, 0.0)) levels.push_back({0});
    if (!input.optional || kernel.capabilities.gives(input.name)) {
      levels.push_back({1});
      if (input.state) levels.push_back({2});
    }
    if (input.optional || levels.size() > 1) add(input.name, {Kind::input}, std::move(levels));
  }

  /// Inputs that choose what is computed: masks, biases, positions; as the golden cases of each flag draw them.
  void add_draws() {
    const auto chooses = [&](const TensorDeclaration& input) {
      return input.element != attest::Element::real || input.role == Role::bias;
    };
    Meaning meaning{Kind::draw};
    std::set<std::map<std::string, std::string>> seen;
    std::vector<std::vector<std::int64_t>> levels;
    for (const auto& group : spec.vectors) {
      std::map<std::string, std::string> fill;
      bool only_those = group.same_bits.empty();
      for (const auto& [name, recipe] : group.fill)
        if (const auto& input = *spec.input(name); chooses(input))
          fill[name] = recipe;
        else
          only_those = false;
      const bool given = std::all_of(fill.begin(), fill.end(), [&](const auto& named) {
        return !spec.input(named.first)->optional || kernel.capabilities.gives(named.first);
      });
      if (!only_those || !given || !seen.insert(fill).second) continue;
      levels.push_back({static_cast<std::int64_t>(meaning.flags.size())});
      meaning.flags.push_back(group.flag);
      meaning.properties.push_back(properties_of_draw(fill));
    }
    if (meaning.flags.empty()) return;
    const auto flags = meaning.flags;
    const auto axis = add(kDraw, std::move(meaning), std::move(levels));
    for (std::size_t f = 0; f < flags.size(); ++f)
      for (const auto& [name, _] : spec.group(flags[f])->fill)
        if (const auto input = axis_of(name); input)
          regimes.rules_.push_back({fmt::format("draw '{}' is of {}", flags[f], name),
                                    {*input, axis},
                                    [this_ = &regimes, f, axis, input = *input](const Setting& s) {
                                      return this_->value(s, axis) != static_cast<std::int64_t>(f) ||
                                             this_->value(s, input) == 1;
                                    }});
    keep_padding_from_windows(axis, flags);
  }

  /// Padding hides the last keys, which are those that a window leaves: together nothing would be seen.
  void keep_padding_from_windows(std::size_t draw, const std::vector<std::string>& flags) {
    const auto* mask = spec.input(Role::mask);
    const auto* left = spec.parameter(Role::window_left);
    const auto window = left ? axis_of(left->name) : std::nullopt;
    for (std::size_t f = 0; mask && window && f < flags.size(); ++f) {
      const auto& fill = spec.group(flags[f])->fill;
      if (const auto recipe = fill.find(mask->name); recipe == fill.end() || !recipe->second.starts_with("padding"))
        continue;
      regimes.rules_.push_back({fmt::format("draw '{}' hides what a window leaves", flags[f]),
                                {*window, draw},
                                [&r = regimes, f, draw, left, window = *window](const Setting& s) {
                                  if (r.value(s, draw) != static_cast<std::int64_t>(f)) return true;
                                  return std::get<double>(*r.variable(s, left->name)) < 0;
                                }});
    }
  }

  /// Properties of the integer inputs that a flag draws, whatever the seed; seen at some rows of two problems.
  std::map<std::string, bool> properties_of_draw(const std::map<std::string, std::string>& fill) const {
    constexpr Index kRows = 17;
    std::vector<Problem> drawn(2);
    for (const auto& input : spec.inputs) {
      if (input.element != attest::Element::integer) continue;
      const auto recipe = fill.find(input.name);
      for (std::size_t p = 0; p < drawn.size(); ++p)
        drawn[p].inputs[input.name] =
            golden::draw_array(recipe == fill.end() ? input.draw : recipe->second,
                               std::vector<Index>(input.shape.size(), kRows), DType::f64, p + 1, input.name);
    }
    return properties_of(spec, drawn);
  }

  void add_magnitudes() {
    // 0 as drawn, 1 all inputs small, 2 what the outputs are linear in large
    if (real()) return;
    const bool linear = std::any_of(spec.laws.begin(), spec.laws.end(), is_linear);
    std::vector<std::vector<std::int64_t>> levels{{0}, {1}};
    if (linear) levels.push_back({2});
    add("magnitude", {Kind::magnitude}, std::move(levels));
  }

  /// 0 dense, then golden::kMemories.
  void add_memory() {
    if (real()) return;
    std::vector<std::vector<std::int64_t>> levels;
    for (std::size_t i = 0; i <= golden::kMemories.size(); ++i)
      if (alone(kContiguous, is_contiguous(memory_of(i)) ? 1.0 : 0.0)) levels.push_back({static_cast<std::int64_t>(i)});
    if (!levels.empty()) add(kMemory, {Kind::memory}, std::move(levels));
  }

  void add_grid() {
    using Levels = std::vector<std::vector<std::int64_t>>;
    add(kGridNames[0], {Kind::entries}, real() ? Levels{{1}, {2}} : Levels{{1}, {2}, {3}, {5}});
    const auto heads =
        add(name_of_heads(), {Kind::heads}, real() ? Levels{{1}, {8}, {32}} : Levels{{1}, {3, 6}, {8}, {32}});
    if (std::none_of(spec.inputs.begin(), spec.inputs.end(),
                     [](const TensorDeclaration& input) { return input.sharing == Sharing::group; }))
      return;
    const auto sharing =  // 0: all; 3 of 6: in two groups that no shift of the head's number tells apart
        add(kSharing, {Kind::sharing}, real() ? Levels{{1}, {4}} : Levels{{1}, {2}, {3}, {4}, {0}});
    regimes.rules_.push_back(
        {"groups divide the heads", {heads, sharing}, [&r = regimes, heads, sharing](const Setting& s) {
           const auto all = r.value(s, heads), per = r.value(s, sharing);
           return per == 0 ? all > 1 : all % per == 0 && (per == 1 || per < all);
         }});
  }

  /// An equation may have a size of that name.
  std::string name_of_heads() const { return spec.size(kGridNames[1]) ? "heads of a batch" : kGridNames[1]; }

  std::optional<std::size_t> axis_of(std::string_view name) const { return regimes.axis_of(name); }

  void add_rule(const Expression& condition) {
    const auto names = names_in(condition);
    if (names.size() == 1 && spec.size(names[0])) return;  // all values were asked
    std::set<std::size_t> axes;
    const auto add_axis = [&](const std::string& name) {
      if (const auto axis = axis_of(name)) axes.insert(*axis);
    };
    for (const auto& name : names) {
      add_axis(name);
      if (name == kContiguous) add_axis(kMemory);
      if (name == kGridNames[2] && !axis_of(name)) add_axis(name_of_heads()), add_axis(kSharing);
      if (const auto* input = spec.input(name); input && input->element == attest::Element::integer) add_axis(kDraw);
      if (const auto* parameter = spec.parameter(name); parameter && !parameter->fallback)
        for (const auto& other : names_in_default(*parameter)) add_axis(other);
    }
    const auto holds = [&r = regimes, condition](const Setting& setting) {
      try {
        return condition.holds([&](std::string_view name) { return r.variable(setting, name); });
      } catch (const std::invalid_argument&) {
        return false;
      }
    };
    regimes.rules_.push_back({condition.text(), {axes.begin(), axes.end()}, holds});
  }

  /// Which of the first two token sizes is larger; at small sizes of the first two widths, too.
  void add_orders() {
    if (const auto tokens = kernel.token_sizes(); tokens.size() > 1) {
      add_order(tokens[0], tokens[1]);
      if (real()) add_shapes(*axis_of(tokens[0]), *axis_of(tokens[1]));
    }
    std::vector<std::string> widths;
    for (const auto& size : spec.sizes)
      if (!size.tokens) widths.push_back(size.name);
    if (!real() && widths.size() > 1) add_order(widths[0], widths[1]);
  }

  void add_order(const std::string& first, const std::string& second) {
    const auto one = *axis_of(first), other = *axis_of(second);
    const auto signs = orders_of(one, other);
    if (signs.size() < 2) return;
    const auto axis = add(first + kMinus + second, {Kind::order}, signs);
    regimes.rules_.push_back({"the order of " + first + " and " + second,
                              {one, other, axis},
                              [&r = regimes, one, other, axis](const Setting& s) {
                                const auto a = r.value(s, one), b = r.value(s, other);
                                return (a > b) - (a < b) == r.value(s, axis);
                              }});
  }

  /// Signs of the difference of two sizes that the conditions on these two allow, in ascending order.
  std::vector<std::vector<std::int64_t>> orders_of(std::size_t one, std::size_t other) const {
    const auto& names = {regimes.axes_[one].name, regimes.axes_[other].name};
    const auto keeps = [&](std::int64_t a, std::int64_t b) {
      return std::all_of(conditions.begin(), conditions.end(), [&](const Expression& condition) {
        const auto of = names_in(condition);
        const bool of_both = !of.empty() && std::all_of(of.begin(), of.end(), [&](const auto& name) {
          return std::find(names.begin(), names.end(), name) != names.end();
        });
        return !of_both || condition.holds([&](std::string_view name) {
          return std::optional<Value>(static_cast<double>(name == regimes.axes_[one].name ? a : b));
        });
      });
    };
    std::set<std::int64_t> signs;
    for (const auto& level : regimes.axes_[one].levels)
      for (const auto a : level)
        for (const auto& other_level : regimes.axes_[other].levels)
          for (const auto b : other_level)
            if (const auto sign = (a > b) - (a < b); !signs.count(sign) && keeps(a, b)) signs.insert(sign);
    std::vector<std::vector<std::int64_t>> levels;
    for (const auto sign : signs) levels.push_back({sign});
    return levels;
  }

  /// As many queries as keys, or one query: where the kernel can do that.
  void add_shapes(std::size_t one, std::size_t other) {
    const auto values = [&](std::size_t axis) {
      std::set<std::int64_t> all;
      for (const auto& level : regimes.axes_[axis].levels) all.insert(level.begin(), level.end());
      return all;
    };
    const auto first = values(one), second = values(other);
    const bool some =
        first.count(1) || std::any_of(first.begin(), first.end(), [&](auto n) { return second.count(n); });
    if (!some) return;
    regimes.rules_.push_back({"a prefill has as many queries as keys, decoding has one",
                              {one, other},
                              [&r = regimes, one, other](const Setting& s) {
                                return r.value(s, one) == r.value(s, other) || r.value(s, one) == 1;
                              }});
  }

  std::vector<std::size_t> axes_of(std::initializer_list<Kind> kinds) const {
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < regimes.axes_.size(); ++axis)
      if (std::find(kinds.begin(), kinds.end(), regimes.meanings_[axis].kind) != kinds.end()) axes.push_back(axis);
    return axes;
  }

  /// Calls and certificates take time. Each is limited to little more than what the two most costly levels need
  /// together, and to what takes a fraction of a second; beyond that, one level beside the lowest of all others.
  void add_work() {
    const auto axes = axes_of({Kind::size, Kind::entries, Kind::heads});
    add_limit(kWorkOfCall, axes, kLittleCalled, kMostCalled, [&r = regimes](const Setting& s) { return r.work(s); });
    const std::string also = unstable_form(kernel);
    const auto cost = kept(
        regimes.cache_, [&] { return fmt::format("cost of truth;{};{}", spec.id, also); },
        [&] { return cost_of_truth(spec, also); });
    const double most = kernel.info.dtype == DType::f64 ? kMostOperations / 2 : kMostOperations;
    const double little = std::min(most, kLittleCertified * cost.by_work);
    add_limit(kWorkOfCertificate, axes, little, most,
              [&r = regimes, cost, gradient = kernel.is_gradient()](const Setting& setting) {
                const Extent extent = r.extent_of(setting);
                const double work = r.work_of_one(extent.sizes);
                if (gradient)  // of all problems and rows
                  return extent.problems *
                         cost.operations(*r.spec_, extent.sizes, work, rows_of(*r.spec_, extent.sizes));
                return std::min(extent.problems, static_cast<double>(kSomeProblems)) *
                       cost.operations(*r.spec_, extent.sizes, work, static_cast<Index>(kFewestRows));
              });
  }

  /// At real sizes, to what takes some seconds and gigabytes.
  void add_real_work() {
    const auto axes = axes_of({Kind::size, Kind::entries, Kind::heads});
    add_limit(kWorkOfCall, axes, kMostCalledReal, kMostCalledReal,
              [&r = regimes](const Setting& s) { return r.work(s); });
    add_limit("the memory of one call is limited", axes_of({Kind::size, Kind::entries, Kind::heads, Kind::input}),
              kMostBytesReal, kMostBytesReal, [&r = regimes](const Setting& s) { return r.bytes_of(s); });
    const double most = most_of_large(profile);
    add_limit(
        kWorkOfCertificate, axes, most, most,
        [&r = regimes, cost = ScaledCost(spec, unstable_form(kernel)), &profile = profile](const Setting& setting) {
          const Extent extent = r.extent_of(setting);
          const auto problems = static_cast<std::size_t>(extent.problems);
          return judge::work_of(plan_of_large(problems, cost, extent.sizes, profile), cost, extent.sizes);
        });
  }

  void add_limit(const std::string& name, const std::vector<std::size_t>& axes, double little, double most,
                 const std::function<double(const Setting&)>& work) {
    Setting setting{std::vector<int>(regimes.axes_.size(), -1), std::vector<int>(regimes.axes_.size(), 0)};
    const auto set_highest = [&](std::size_t axis) {
      setting.level[axis] = static_cast<int>(regimes.axes_[axis].levels.size()) - 1;
    };
    double needed = little, alone = 0;  // by every two levels, by each level beside the lowest of all others
    for (const std::size_t one : axes) {
      set_highest(one);
      alone = std::max(alone, work(setting));
      setting.level[one] = -1;
      for (const std::size_t other : axes) {
        set_highest(one), set_highest(other);
        needed = std::max(needed, kRoom * work(setting));
        setting.level[one] = setting.level[other] = -1;
      }
    }
    const double smallest = work(setting);
    if (const double largest = real() ? most : kMostOfSmallest; smallest > largest)
      throw SpecError(fmt::format("{}: {}, and the smallest that '{}' allows takes {:.1e}; at most {:.0e} are judged",
                                  spec.id, name, kernel.capabilities.text(), smallest, largest));
    const double limit = std::max(std::min(needed, most), real() ? 0 : kSmallest * smallest);
    const double limit_alone = real() ? limit : std::max(limit, std::min(alone, kMostOfSmallest));
    regimes.rules_.push_back({name, axes,
                              [work, limit, limit_alone, axes](const Setting& one) {
                                const double taken = work(one);
                                if (taken <= limit || taken > limit_alone) return taken <= limit;
                                return std::count_if(axes.begin(), axes.end(),
                                                     [&](std::size_t axis) { return one.level[axis] > 0; }) <= 1;
                              },
                              true});
  }
};

std::string Regimes::key_of(const Kernel& kernel, const golden::Profile& profile, SizesJudged sizes, int strength,
                            std::uint64_t seed, std::optional<int> shapes) {
  const auto* form = kernel.spec->form(kernel.info.form);
  return fmt::format("regimes;{};{};{};{};{};{};{};{};{};{}", kernel.spec->id, kernel.batched(),
                     sizes == SizesJudged::real ? name(profile.storage) : "any format", kernel.is_gradient(),
                     kernel.capabilities.text(), form ? form->when : "", static_cast<int>(sizes), strength, seed,
                     shapes.value_or(0));
}

std::string Regimes::kept_as(const Kernel& kernel, const golden::Profile& profile, SizesJudged sizes, int strength,
                             std::uint64_t seed, std::optional<int> shapes) {
  return fmt::format("{};{};{};{};{}", key_of(kernel, profile, sizes, strength, seed, shapes), name(kernel.info.dtype),
                     kernel.info.form, kernel.info.layout, profile.name);
}

Regimes::Regimes(const Kernel& kernel, const golden::Profile& profile, SizesJudged sizes, int strength,
                 std::uint64_t seed, std::optional<int> shapes, Cache* cache)
    : spec_(kernel.spec),
      sizes_(sizes),
      grid_(kernel.batched()),
      limited_(shapes.has_value()),
      cache_(cache),
      kept_as_(kept_as(kernel, profile, sizes, strength, seed, shapes)) {
  Maker maker{*this, kernel, profile};
  maker.make();
  std::optional<ShapeLimit> limit;
  if (shapes)
    limit = {maker.axes_of({Kind::size, Kind::order, Kind::entries, Kind::heads, Kind::sharing}),
             static_cast<std::size_t>(*shapes)};
  // At real sizes calls are few and cost seconds.
  const auto plain = sizes == SizesJudged::small ? plain_choices() : std::vector<int>{};
  if (strength > 0)
    covering_ =
        kept(cache, [&] { return kept_as_; }, [&] { return cover(axes_, rules_, strength, seed, plain, limit); });
}

std::vector<Setting> Regimes::again(const std::vector<Combination>& combinations, std::uint64_t seed) const {
  if (limited_) return {};
  std::vector<int> plain(axes_.size(), -1);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const Meaning& meaning = meanings_[axis];
    const auto& levels = axes_[axis].levels;
    const auto level_of = [&](std::int64_t value) {
      const auto at = std::find(levels.begin(), levels.end(), std::vector{value});
      return at == levels.end() ? -1 : static_cast<int>(at - levels.begin());
    };
    if (meaning.kind == Kind::draw || meaning.kind == Kind::magnitude || meaning.kind == Kind::values)
      plain[axis] = level_of(0);
    if (meaning.kind == Kind::parameter && !meaning.settings[0]) plain[axis] = level_of(0);
    if (meaning.kind == Kind::input && level_of(2) >= 0) plain[axis] = level_of(1);
  }
  const auto key = [&] {
    return fmt::format("{};again;{};{}", kept_as_, seed, golden::sha256(judge::bytes_of(combinations)));
  };
  return kept(cache_, key, [&] { return cover_plainly(axes_, rules_, combinations, plain, seed); });
}

std::optional<std::size_t> Regimes::axis_of(std::string_view name) const {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    if (axes_[axis].name == name) return axis;
  return std::nullopt;
}

std::int64_t Regimes::value(const Setting& setting, std::size_t axis) const {
  return axes_[axis]
      .levels[static_cast<std::size_t>(setting.level[axis])][static_cast<std::size_t>(setting.member[axis])];
}

Regimes::Extent Regimes::extent_of(const Setting& setting) const {
  Extent extent;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const Kind kind = meanings_[axis].kind;
    if (kind != Kind::size && kind != Kind::entries && kind != Kind::heads) continue;
    const auto least = axes_[axis].levels[0][0];
    const auto extent_of_axis = setting.level[axis] >= 0 ? value(setting, axis) : least;
    if (kind == Kind::size)
      extent.sizes[axes_[axis].name] = extent_of_axis;
    else
      extent.problems *= static_cast<double>(extent_of_axis);
  }
  return extent;
}

double Regimes::work(const Setting& setting) const {
  const Extent extent = extent_of(setting);
  return extent.problems * work_of_one(extent.sizes);
}

double Regimes::work_of_one(const Sizes& sizes) const {
  if (last_sizes_ != sizes) last_work_ = work_of(*spec_, sizes, {}), last_sizes_ = sizes;
  return last_work_;
}

double Regimes::bytes_of(const Setting& setting) const {
  const Extent extent = extent_of(setting);
  const auto of = [&](const TensorDeclaration& tensor) {
    return static_cast<double>(count(shape_of(tensor, extent.sizes))) *
           (tensor.element == attest::Element::boolean ? kBytesPerBoolean : kBytesPerNumber);
  };
  double bytes = 0;
  for (const auto& output : spec_->outputs) bytes += of(output);
  for (const auto& input : spec_->inputs) {
    const auto axis = axis_of(input.name);
    const bool given = !input.optional || (axis && setting.level[*axis] >= 0 && value(setting, *axis) != 0);
    if (given) bytes += of(input);
  }
  return extent.problems * bytes;
}

golden::Grid Regimes::grid_of(const Setting& setting) const {
  golden::Grid grid;
  std::int64_t per_group = 1;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (setting.level[axis] < 0) continue;  // a rule asks for the extents of its own axes
    const Kind kind = meanings_[axis].kind;
    if (kind == Kind::entries) grid.entries = value(setting, axis);
    if (kind == Kind::heads) grid.heads = value(setting, axis);
    if (kind == Kind::sharing) per_group = value(setting, axis);
  }
  grid.groups = per_group == 0 ? 1 : grid.heads / per_group;
  return grid;
}

std::optional<Value> Regimes::variable(const Setting& setting, std::string_view name) const {
  const auto chosen = [&](std::size_t axis) { return static_cast<std::size_t>(value(setting, axis)); };
  if (name.ends_with(')')) {  // a property
    const std::string of(name.substr(name.find('(') + 1, name.size() - name.find('(') - 2));
    Situation one;
    if (const auto axis = axis_of(spec_->parameter(of) ? of : kDraw); axis && spec_->parameter(of)) {
      if (const auto& set = meanings_[*axis].settings[chosen(*axis)]) one.parameters[of] = *set;
    } else if (axis) {
      one.properties = meanings_[*axis].properties[chosen(*axis)];
    }
    return value_in(*spec_, one, name);
  }
  if (name == kContiguous) {
    const auto memory = axis_of(kMemory);
    return Value(!memory || is_contiguous(memory_of(chosen(*memory))) ? 1.0 : 0.0);
  }
  const auto axis = axis_of(name);
  const Kind kind = axis ? meanings_[*axis].kind : Kind::order;
  if (kind == Kind::size) return Value(static_cast<double>(value(setting, *axis)));
  if (kind == Kind::parameter) {
    Situation one;
    if (const auto& set = meanings_[*axis].settings[chosen(*axis)]) one.parameters[std::string(name)] = *set;
    for (std::size_t size = 0; size < axes_.size(); ++size)
      if (meanings_[size].kind == Kind::size && setting.level[size] >= 0)
        one.sizes[axes_[size].name] = value(setting, size);
    return value_in(*spec_, one, name);
  }
  if (kind == Kind::input || spec_->input(name)) return Value(axis && value(setting, *axis) != 0 ? 1.0 : 0.0);
  if (!grid_) return Value(1.0);
  const golden::Grid grid = grid_of(setting);
  return Value(static_cast<double>(name == kGridNames[0]   ? grid.entries
                                   : name == kGridNames[1] ? grid.heads
                                                           : grid.groups));
}

golden::Case Regimes::case_of(const Setting& setting, std::uint64_t seed, DType exact) const {
  golden::Case c;
  c.spec = spec_;
  c.flag = spec_->vectors.front().flag;
  c.exact = name(exact);
  c.seed = seed;
  c.grid = grid_of(setting);
  for (const auto& input : spec_->inputs) {
    const auto axis = axis_of(input.name);
    if (input.optional && axis && value(setting, *axis) != 0) c.with.push_back(input.name);
    if (axis && value(setting, *axis) == 2) c.magnitudes[input.name] = 0;
  }
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const auto chosen = static_cast<std::size_t>(value(setting, axis));
    switch (const Meaning& meaning = meanings_[axis]; meaning.kind) {
      case Kind::size: c.sizes[axes_[axis].name] = value(setting, axis); break;
      case Kind::parameter:
        if (meaning.settings[chosen]) c.parameters[axes_[axis].name] = *meaning.settings[chosen];
        break;
      case Kind::draw: c.flag = meaning.flags[chosen]; break;
      case Kind::magnitude: set_magnitude(c, value(setting, axis)); break;
      case Kind::values:
        if (chosen == 1)
          for (const auto& name : probed_inputs(*spec_)) c.recipes[name] = "probes";
        break;
      case Kind::memory: c.memory = memory_of(chosen); break;
      case Kind::input:
      case Kind::order:
      case Kind::entries:
      case Kind::heads:
      case Kind::sharing: break;
    }
  }
  return c;
}

std::optional<Setting> Regimes::setting_of(const golden::Case& c) const {
  Setting setting{plain_levels(), std::vector<int>(axes_.size(), 0)};
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const std::string& name = axes_[axis].name;
    std::int64_t chosen = 0;
    switch (const Meaning& meaning = meanings_[axis]; meaning.kind) {
      case Kind::size: chosen = c.sizes.at(name); break;
      case Kind::parameter: {
        const auto given = c.parameters.find(name);
        const auto set = given == c.parameters.end() ? std::nullopt : std::optional(given->second);
        const auto at = std::find(meaning.settings.begin(), meaning.settings.end(), set);
        chosen = at == meaning.settings.end() ? -1 : at - meaning.settings.begin();
        break;
      }
      case Kind::input: chosen = std::find(c.with.begin(), c.with.end(), name) != c.with.end(); break;
      case Kind::draw: {
        const auto at = std::find(meaning.flags.begin(), meaning.flags.end(), c.flag);
        chosen = at == meaning.flags.end() ? 0 : at - meaning.flags.begin();
        break;
      }
      case Kind::entries:
      case Kind::heads:
      case Kind::sharing: chosen = 1; break;
      case Kind::order:
      case Kind::magnitude:
      case Kind::values:
      case Kind::memory: break;
    }
    const int level = level_of(axis, chosen);
    if (level < 0 && is_size(axis)) return std::nullopt;
    if (level < 0 || meanings_[axis].kind == Kind::order) continue;  // plain, or it follows
    setting.level[axis] = level;
    const auto& members = axes_[axis].levels[static_cast<std::size_t>(setting.level[axis])];
    setting.member[axis] = static_cast<int>(std::find(members.begin(), members.end(), chosen) - members.begin());
  }
  follow_order(setting);
  return keeps_rules(setting) ? std::optional(setting) : std::nullopt;
}

void Regimes::set_magnitude(golden::Case& c, std::int64_t magnitude) const {
  const bool narrow = c.exact == name(DType::f16);
  const auto scale = [&](const TensorDeclaration& input, double factor) {
    if (input.element == attest::Element::real && input.role != Role::bias)
      c.magnitudes.try_emplace(input.name, factor);
  };
  if (magnitude == 1)
    for (const auto& input : spec_->inputs) scale(input, narrow ? 0x1p-3 : 0x1p-20);
  if (magnitude == 2)
    for (const auto& claim : spec_->laws)
      if (is_linear(claim))
        for (const auto& name : claim.of) scale(*spec_->input(name), narrow ? 0x1p3 : 0x1p12);
}

std::string Regimes::text_of_level(std::size_t axis, int level) const {
  const Meaning& meaning = meanings_[axis];
  const auto& members = axes_[axis].levels[static_cast<std::size_t>(level)];
  const auto first = members.front(), last = members.back();
  const auto at = static_cast<std::size_t>(first);
  switch (meaning.kind) {
    case Kind::parameter: return text_of_setting(meaning.settings[at]);
    case Kind::input: return first == 0 ? "absent" : first == 1 ? "given" : "zeros";
    case Kind::order: return first < 0 ? "negative" : first == 0 ? "0" : "positive";
    case Kind::draw: return meaning.flags[at];
    case Kind::memory: return first == 0 ? "dense" : memory_of(at);
    case Kind::values: return first == 0 ? "drawn" : "probes";
    case Kind::magnitude: return first == 0 ? "1" : first == 1 ? "small" : "large";
    case Kind::sharing: return first == 0 ? "all" : fmt::format("{}", first);
    case Kind::size:
    case Kind::entries:
    case Kind::heads:
      return members.size() > 4 ? fmt::format("{} to {}", first, last) : fmt::format("{}", fmt::join(members, ", "));
  }
  return "";
}

std::string Regimes::text_of(std::size_t axis, const std::vector<int>& levels) const {
  const std::string& name = axes_[axis].name;
  std::vector<std::string> texts;
  for (const int level : levels) texts.push_back(text_of_level(axis, level));
  const bool one = texts.size() == 1 && texts[0].find(' ') == std::string::npos;
  return one ? fmt::format("{} = {}", name, texts[0]) : fmt::format("{} in {{{}}}", name, fmt::join(texts, ", "));
}

std::string Regimes::text_of(const Combination& combination) const {
  std::string text;
  for (std::size_t i = 0; i < combination.axes.size(); ++i)
    text += (i > 0 ? " and " : "") + text_of(combination.axes[i], {combination.levels[i]});
  return text;
}

bool Regimes::is_number(std::size_t axis) const {
  const Kind kind = meanings_[axis].kind;
  return kind == Kind::size || kind == Kind::entries || kind == Kind::heads;
}

std::set<std::int64_t> Regimes::values_of(std::size_t axis, const std::vector<Setting>& settings) const {
  std::set<std::int64_t> values;
  for (const Setting& setting : settings) values.insert(value(setting, axis));
  return values;
}

bool Regimes::is_threshold(std::size_t axis, const std::vector<Setting>& failing,
                           const std::vector<Setting>& passing) const {
  if (!is_number(axis)) return true;
  const auto fails = values_of(axis, failing), passes = values_of(axis, passing);
  return fails.empty() || passes.empty() || *passes.rbegin() < *fails.begin() || *fails.rbegin() < *passes.begin();
}

std::string Regimes::text_of_failing(std::size_t axis, const std::vector<Setting>& failing,
                                     const std::vector<Setting>& passing) const {
  if (!is_number(axis)) {
    std::set<int> levels;
    for (const Setting& setting : failing) levels.insert(setting.level[axis]);
    return text_of(axis, {levels.begin(), levels.end()});
  }
  const auto fails = values_of(axis, failing), passes = values_of(axis, passing);
  const std::string& name = axes_[axis].name;
  // Of the values that were tried
  if (passes.empty()) return fmt::format("{} in {{{}}}", name, fmt::join(fails, ", "));
  if (*passes.rbegin() < *fails.begin())
    return meanings_[axis].kind == Kind::size ? fmt::format("{} >= {} (not {})", name, *fails.begin(), *passes.rbegin())
                                              : fmt::format("{} > {}", name, *passes.rbegin());
  if (*fails.rbegin() < *passes.begin())
    return fmt::format("{} <= {} (not {})", name, *fails.rbegin(), *passes.begin());
  const std::string values =
      fails.size() == 1 ? fmt::format("= {}", *fails.begin()) : fmt::format("in {{{}}}", fmt::join(fails, ", "));
  return fmt::format("{} {} (not {})", name, values, fmt::join(passes, ", "));
}

bool Regimes::are_of_one(std::size_t axis, const std::vector<Setting>& settings) const {
  return meanings_[axis].kind == Kind::size && *values_of(axis, settings).rbegin() <= 1;
}

std::string Regimes::text_of_multiples(std::size_t axis, const std::vector<Setting>& failing,
                                       const std::vector<Setting>& passing) const {
  constexpr std::size_t kFewest = 2;
  const auto fails = values_of(axis, failing), passes = values_of(axis, passing);
  if (fails.size() < kFewest || passes.size() < kFewest) return "";
  const std::string& name = axes_[axis].name;
  const auto all = [](const std::set<std::int64_t>& values, const auto& holds) {
    return std::all_of(values.begin(), values.end(), holds);
  };
  for (std::int64_t of = 2; of <= 128; of *= 2) {
    const auto multiple = [of](std::int64_t value) { return value % of == 0; };
    const auto other = [of](std::int64_t value) { return value % of != 0; };
    if (all(fails, other) && all(passes, multiple)) return fmt::format("{} % {} != 0", name, of);
    if (all(fails, multiple) && all(passes, other)) return fmt::format("{} % {} == 0", name, of);
    if (all(fails, [&](std::int64_t value) { return value > of && other(value); }) &&
        all(passes, [&](std::int64_t value) { return value < of || multiple(value); }))
      return fmt::format("{} > {} and {} % {} != 0", name, of, name, of);
  }
  return "";
}

std::string Regimes::text_of_order(std::size_t axis, const std::vector<Setting>& failing,
                                   const std::vector<Setting>& passing) const {
  for (std::size_t order = 0; order < axes_.size(); ++order) {
    if (meanings_[order].kind != Kind::order || failing.empty() || passing.empty()) continue;
    const auto [a, b] = sizes_of(order);
    if (a != axes_[axis].name && b != axes_[axis].name) continue;
    const auto signs = values_of(order, failing), others = values_of(order, passing);
    if (std::any_of(signs.begin(), signs.end(), [&](std::int64_t sign) { return others.count(sign) > 0; })) continue;
    if (signs.size() == 2) return fmt::format("{} {} {}", a, !signs.count(0) ? "!=" : signs.count(1) ? ">=" : "<=", b);
    return fmt::format("{} {} {}", a, signs.count(0) ? "=" : signs.count(1) ? ">" : "<", b);
  }
  return "";
}

int Regimes::level_of(std::size_t axis, std::int64_t value) const {
  const auto& levels = axes_[axis].levels;
  const auto at = std::find_if(levels.begin(), levels.end(), [&](const auto& members) {
    return std::find(members.begin(), members.end(), value) != members.end();
  });
  return at == levels.end() ? -1 : static_cast<int>(at - levels.begin());
}

std::vector<int> Regimes::plain_levels() const {
  constexpr std::int64_t few = 5;  // of tokens, and the width of a head
  std::vector<int> plain(axes_.size(), -1);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    switch (const Meaning& meaning = meanings_[axis]; meaning.kind) {
      case Kind::order: break;
      case Kind::size:
        plain[axis] = level_of(axis, few);
        if (plain[axis] < 0) plain[axis] = 0;
        break;
      case Kind::parameter:
        for (std::size_t i = 0; i < meaning.settings.size(); ++i)
          if (!meaning.settings[i] || meaning.settings[i] == spec_->parameter(axes_[axis].name)->fallback)
            plain[axis] = level_of(axis, static_cast<std::int64_t>(i));
        break;
      case Kind::input: plain[axis] = level_of(axis, level_of(axis, 0) >= 0 ? 0 : 1); break;
      case Kind::entries:
      case Kind::heads:
      case Kind::sharing: plain[axis] = level_of(axis, 1); break;
      default: plain[axis] = level_of(axis, 0);
    }
  }
  return plain;
}

std::vector<int> Regimes::plain_choices() const {
  std::vector<int> plain = plain_levels();
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const Kind kind = meanings_[axis].kind;
    if (kind == Kind::order)
      plain[axis] = level_of(axis, 0);
    else if (kind == Kind::parameter)
      plain[axis] = std::max(plain[axis], 0);
    else if (kind != Kind::input)
      plain[axis] = -1;
  }
  return plain;
}

bool Regimes::keeps_rules(const Setting& setting) const {
  return std::all_of(rules_.begin(), rules_.end(), [&](const Rule& rule) { return rule.holds(setting); });
}

std::pair<std::string, std::string> Regimes::sizes_of(std::size_t order) const {
  const std::string& name = axes_[order].name;
  const auto between = name.find(kMinus);
  return {name.substr(0, between), name.substr(between + std::string_view(kMinus).size())};
}

void Regimes::follow_order(Setting& setting) const {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (meanings_[axis].kind != Kind::order) continue;
    const auto [first, second] = sizes_of(axis);
    const auto a = value(setting, *axis_of(first)), b = value(setting, *axis_of(second));
    if (const int level = level_of(axis, (a > b) - (a < b)); level >= 0)
      setting.level[axis] = level, setting.member[axis] = 0;
  }
}

std::optional<Setting> Regimes::with_level(const Setting& setting, std::size_t axis, int level) const {
  if (meanings_[axis].kind == Kind::order) return std::nullopt;
  // The largest that the rules allow: more of a kernel is seen.
  for (std::size_t member = axes_[axis].levels[static_cast<std::size_t>(level)].size(); member-- > 0;)
    if (const auto other = with_member(setting, axis, level, member)) return other;
  return std::nullopt;
}

std::optional<Setting> Regimes::with_equal_sizes(const Setting& setting, std::size_t one, int level, std::size_t other,
                                                 int level_of_other) const {
  const auto& sizes = axes_[one].levels[static_cast<std::size_t>(level)];
  const auto& of_other = axes_[other].levels[static_cast<std::size_t>(level_of_other)];
  for (std::size_t member = sizes.size(); member-- > 0;) {
    const auto same = std::find(of_other.begin(), of_other.end(), sizes[member]);
    if (same == of_other.end()) continue;
    const auto half = with_member(setting, one, level, member);
    if (!half) continue;
    const auto both = with_member(*half, other, level_of_other, static_cast<std::size_t>(same - of_other.begin()));
    if (both && value(*both, one) == value(*both, other)) return both;
  }
  return std::nullopt;
}

std::vector<Setting> Regimes::between_levels(const Setting& setting, std::size_t axis) const {
  std::vector<Setting> others;
  if (limited_ || meanings_[axis].kind != Kind::size) return others;
  for (int level = 0; level < static_cast<int>(axes_[axis].levels.size()); ++level) {
    const std::size_t members = axes_[axis].levels[static_cast<std::size_t>(level)].size();
    for (std::size_t member = 0; member + 1 < members; ++member)  // the last stands for the level
      if (const auto other = with_member(setting, axis, level, member)) others.push_back(*other);
  }
  std::sort(others.begin(), others.end(),
            [&](const Setting& a, const Setting& b) { return value(a, axis) < value(b, axis); });
  return others;
}

std::pair<std::int64_t, std::int64_t> Regimes::border_of(std::size_t axis, const std::vector<Setting>& failing,
                                                         const std::vector<Setting>& passing) const {
  const auto fails = values_of(axis, failing), passes = values_of(axis, passing);
  if (fails.empty() || passes.empty()) return {0, 0};
  if (*passes.rbegin() < *fails.begin()) return {*passes.rbegin(), *fails.begin()};
  return {*fails.rbegin(), *passes.begin()};
}

std::vector<Setting> Regimes::between(const Setting& setting, std::size_t axis, const std::vector<Setting>& failing,
                                      const std::vector<Setting>& passing) const {
  const auto [low, high] = border_of(axis, failing, passing);
  auto settings = between_levels(setting, axis);
  std::erase_if(settings, [&, from = low, to = high](const Setting& one) {
    return value(one, axis) <= from || value(one, axis) >= to;
  });
  return settings;
}

std::vector<Setting> Regimes::beside(const Setting& setting, std::size_t axis, const std::vector<Setting>& failing,
                                     const std::vector<Setting>& passing) const {
  constexpr std::ptrdiff_t kOnEachSide = 2;
  const auto [low, high] = border_of(axis, failing, passing);
  const auto settings = between_levels(setting, axis);
  const auto above = std::find_if(settings.begin(), settings.end(),
                                  [&, to = high](const Setting& one) { return value(one, axis) > to; });
  const auto below = std::find_if(settings.begin(), settings.end(),
                                  [&, from = low](const Setting& one) { return value(one, axis) >= from; });
  std::vector<Setting> some(below - std::min(kOnEachSide, below - settings.begin()), below);
  some.insert(some.end(), above, above + std::min(kOnEachSide, settings.end() - above));
  return some;
}

std::optional<Setting> Regimes::with_member(const Setting& setting, std::size_t axis, int level,
                                            std::size_t member) const {
  Setting other = setting;
  other.level[axis] = level, other.member[axis] = static_cast<int>(member);
  follow_order(other);
  if (keeps_rules(other)) return other;
  const auto only_limits = [&](const Rule& rule) { return rule.limits || rule.holds(other); };
  if (meanings_[axis].kind != Kind::size || std::all_of(rules_.begin(), rules_.end(), only_limits)) return std::nullopt;
  // Sizes that must be equal
  const std::int64_t size = axes_[axis].levels[static_cast<std::size_t>(level)][member];
  for (std::size_t partner = 0; partner < axes_.size(); ++partner) {
    if (partner == axis || meanings_[partner].kind != Kind::size) continue;
    const int same = level_of(partner, size);
    if (same < 0) continue;
    const auto& values = axes_[partner].levels[static_cast<std::size_t>(same)];
    Setting both = other;
    both.level[partner] = same;
    both.member[partner] = static_cast<int>(std::find(values.begin(), values.end(), size) - values.begin());
    follow_order(both);
    if (keeps_rules(both)) return both;
  }
  return std::nullopt;
}

void VisitedSettings::add(const Setting& setting, bool shows) {
  settings_.push_back(setting);
  shows_.push_back(shows);
}

std::vector<Setting> VisitedSettings::again(std::uint64_t seed) {
  return ++times_ > kTimes ? std::vector<Setting>{}
                           : regimes_.again(unseen(), seed + static_cast<std::uint64_t>(times_));
}

std::vector<Combination> VisitedSettings::unseen() const {
  return judge::unseen(regimes_.axes(), strength_, settings_, shows_);
}

std::shared_ptr<const Regimes> KnownRegimes::of(const Kernel& kernel, const golden::Profile& profile, SizesJudged sizes,
                                                int strength, std::uint64_t seed, std::optional<int> shapes) {
  auto& known = known_[Regimes::key_of(kernel, profile, sizes, strength, seed, shapes)];
  if (!known) known = std::make_shared<const Regimes>(kernel, profile, sizes, strength, seed, shapes, cache_);
  return known;
}

}  // namespace attest::judge
