// SPDX-License-Identifier: MIT
#include "attest/judge/value_sentences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "attest/golden/agreement.hpp"
#include "attest/judge/statistics.hpp"

namespace attest::judge {
namespace {

constexpr Index kFewest = 3;            // wrong elements from which a pattern is told
constexpr double kSlack = 2;            // bounds that a value may lie beside what a pattern says
constexpr double kSharpest = 0.1;       // a factor f is known to so much of |f - 1|
constexpr double kFewestBits = 5;       // of precision that is called one
constexpr Index kFewestOfASide = 5;     // wrong elements, all of which are too large
constexpr double kOddsOfALimit = 1e8;   // against a limit that is chance
constexpr std::size_t kMostPlaces = 4;  // columns in a sentence

/// One output of one case. Its rows are all but the last axis.
struct Output {
  const Sample* sample;
  const Array* got;
  const golden::CertifiedTensor* due;
  std::vector<double> bound;
  std::vector<bool> wrong;
  Index columns, rows;

  bool any_wrong() const { return std::find(wrong.begin(), wrong.end(), true) != wrong.end(); }
  bool is_number(std::size_t i) const { return std::isfinite(got->values[i]) && std::isfinite(due->hi[i]); }
};

Output output_of(const Sample& sample, const std::string& name, const golden::Profile& profile) {
  Output output{&sample, &sample.got.at(name), &sample.c->certified.outputs.at(name), {}, {}, 1, 1};
  const auto units = profile.units_of(golden::declaration_of(*sample.c->problem.spec, name));
  for (std::size_t i = 0; i < output.due->hi.size(); ++i) {
    output.bound.push_back(golden::bound_of(*output.due, i, units));
    output.wrong.push_back(!golden::agrees(*output.due, i, output.got->values[i], units));
  }
  if (!output.due->shape.empty()) output.columns = std::max<Index>(output.due->shape.back(), 1);
  output.rows = static_cast<Index>(output.due->hi.size()) / output.columns;
  return output;
}

/// Numbers that a factor may be, or a constant.
struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();

  static Range nothing() { return {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}; }
  void add(double x) { low = std::min(low, x), high = std::max(high, x); }
  void meet(double a, double b) { low = std::max(low, std::min(a, b)), high = std::min(high, std::max(a, b)); }
  bool is_empty() const { return !(low <= high); }
  double middle() const { return (low + high) / 2; }
  /// Whether it says more than that something is off.
  bool is_sharp(double right) const {
    return !is_empty() && high - low <= kSharpest * std::abs(middle() - right) && std::isfinite(middle());
  }
};

class Pattern {
public:
  Pattern(std::string name, std::vector<Output> outputs) : name_(std::move(name)), outputs_(std::move(outputs)) {
    for (const Output& output : outputs_)
      wrong_ += static_cast<Index>(std::count(output.wrong.begin(), output.wrong.end(), true));
  }

  std::vector<std::string> sentences() const {
    std::vector<std::string> texts;
    if (wrong_ < kFewest) return texts;
    const auto add = [&](const std::string& text) {
      if (!text.empty()) texts.push_back(fmt::format("{}: {}", name_, text));
    };
    const std::string everywhere = limits(false);
    add(everywhere.empty() ? limits(true) : everywhere);
    const std::string what = first_of({[&] { return one_value(); }, [&] { return input_as_it_is(); },
                                       [&] { return moved(); }, [&] { return factors(); }, [&] { return constants(); },
                                       [&] { return precision(); }, [&] { return side(); }});
    add(what);
    return texts;
  }

private:
  static std::string first_of(const std::vector<std::function<std::string()>>& patterns) {
    for (const auto& pattern : patterns)
      if (std::string text = pattern(); !text.empty()) return text;
    return "";
  }

  /// Whether it holds for each wrong element.
  bool each_wrong(const std::function<bool(const Output&, std::size_t)>& holds) const {
    for (const Output& output : outputs_)
      for (std::size_t i = 0; i < output.wrong.size(); ++i)
        if (output.wrong[i] && !holds(output, i)) return false;
    return true;
  }

  std::string one_value() const {
    const auto is_zero = [](const Output& output, std::size_t i) { return output.got->values[i] == 0; };
    const auto is_nan = [](const Output& output, std::size_t i) { return std::isnan(output.got->values[i]); };
    const auto is_infinite = [](const Output& output, std::size_t i) { return std::isinf(output.got->values[i]); };
    if (each_wrong(is_zero)) return "every wrong element is 0";
    if (each_wrong(is_nan)) return "every wrong element is NaN";
    if (each_wrong(is_infinite)) return "every wrong element is infinite";
    Range given, due = Range::nothing();
    const bool numbers = each_wrong([&](const Output& output, std::size_t i) {
      const double got = output.got->values[i], slack = kSlack * output.bound[i];
      given.meet(got - slack, got + slack);
      due.add(output.due->hi[i]);
      return output.is_number(i);
    });
    const bool one = numbers && !given.is_empty() && given.high - given.low <= kSharpest * (due.high - due.low);
    return one ? fmt::format("every wrong element is {:.4g}", given.middle()) : "";
  }

  /// Elements of an input of the output's shape.
  std::string input_as_it_is() const {
    for (const auto& of_first : outputs_[0].sample->c->problem.inputs) {
      const std::string& name = of_first.first;
      const auto holds = [&](const Output& output, std::size_t i) {
        const auto& inputs = output.sample->c->problem.inputs;
        const auto input = inputs.find(name);
        return input != inputs.end() && input->second.shape == output.due->shape &&
               input->second.values[i] == output.got->values[i];
      };
      if (each_wrong(holds)) return fmt::format("every wrong element is the element of {} as it is", name);
    }
    return "";
  }

  static bool is_due_at(const Output& output, std::size_t i, std::size_t place) {
    const double due = output.due->hi[place];
    return std::isfinite(due) &&
           std::abs(output.got->values[i] - due) <= kSlack * (output.bound[i] + output.bound[place]);
  }

  /// What is due elsewhere: some columns or rows on, or in other columns.
  std::string moved() const {
    constexpr Index farthest = 8;
    for (const bool columns : {true, false})
      for (Index distance = 1; distance <= farthest; ++distance)
        for (const Index by : {distance, -distance}) {
          const auto holds = [&](const Output& output, std::size_t i) {
            const Index row = row_of(output, i), column = column_of(output, i);
            const Index to = (columns ? column : row) + by;
            if (to < 0 || to >= (columns ? output.columns : output.rows)) return false;
            return is_due_at(
                output, i,
                static_cast<std::size_t>(columns ? row * output.columns + to : to * output.columns + column));
          };
          if (each_wrong(holds))
            return fmt::format("every wrong element is what is due {} {}{} {}", distance, columns ? "column" : "row",
                               distance > 1 ? "s" : "", by > 0 ? "later" : "before");
        }
    const auto transposed = [&](const Output& output, std::size_t i) {
      return output.rows == output.columns &&
             is_due_at(output, i, static_cast<std::size_t>(column_of(output, i) * output.columns + row_of(output, i)));
    };
    if (each_wrong(transposed)) return "it is transposed";
    return other_columns();
  }

  /// Columns that hold what is due in one other column, in all rows. Told of the widest case.
  std::string other_columns() const {
    std::string text;
    Index widest = 0;
    for (const Output& output : outputs_) {
      if (!output.any_wrong()) continue;
      std::vector<std::string> places;
      for (Index column = 0; column < output.columns; ++column) {
        if (is_right(output, column)) continue;
        const auto from = source_of(output, column);
        if (!from) return "";
        places.push_back(fmt::format("column {} holds what is due in column {}", column, *from));
      }
      if (output.columns <= widest || output.rows < 2) continue;
      widest = output.columns;
      const std::size_t told = std::min(kMostPlaces, places.size());
      text = fmt::format("{}{}, of {} columns", fmt::join(places.begin(), places.begin() + told, ", "),
                         told < places.size() ? fmt::format(", and {} more so", places.size() - told) : "",
                         output.columns);
    }
    return text;
  }

  static bool is_right(const Output& output, Index column) {
    for (Index row = 0; row < output.rows; ++row)
      if (output.wrong[static_cast<std::size_t>(row * output.columns + column)]) return false;
    return true;
  }

  static std::optional<Index> source_of(const Output& output, Index column) {
    for (Index from = 0; from < output.columns; ++from) {
      bool all = from != column;
      for (Index row = 0; row < output.rows && all; ++row)
        all = is_due_at(output, static_cast<std::size_t>(row * output.columns + column),
                        static_cast<std::size_t>(row * output.columns + from));
      if (all) return from;
    }
    return std::nullopt;
  }

  /// What got / due may be.
  static void meet_factor(const Output& output, std::size_t i, Range& range) {
    const double due = output.due->hi[i], slack = kSlack * output.bound[i];
    if (std::abs(due) > slack)
      range.meet((output.got->values[i] - slack) / due, (output.got->values[i] + slack) / due);
    else if (std::abs(output.got->values[i]) > 2 * slack)
      range.meet(1, 0);  // no factor
  }

  static void meet_constant(const Output& output, std::size_t i, Range& range) {
    const double off = output.got->values[i] - output.due->hi[i], slack = kSlack * output.bound[i];
    range.meet(off - slack, off + slack);
  }

  using Meet = void (*)(const Output&, std::size_t, Range&);

  /// The range of all wrong elements together; nothing where there is none.
  std::optional<Range> of_all(Meet meet, double right) const {
    Range range;
    const bool numbers = each_wrong([&](const Output& output, std::size_t i) {
      if (!output.is_number(i)) return false;
      meet(output, i, range);
      return true;
    });
    return numbers && range.is_sharp(right) ? std::optional(range) : std::nullopt;
  }

  /// The ranges of parts (the case, or a row or column of it), each from at least two wrong elements, as far as they
  /// have any; nothing where a part has none, or where too few parts tell.
  std::optional<Range> of_parts(Meet meet, double right,
                                const std::function<Index(const Output&, std::size_t)>& part) const {
    Range all = Range::nothing();
    Index telling = 0;
    for (const Output& output : outputs_) {
      std::map<Index, std::pair<Range, Index>> parts;
      for (std::size_t i = 0; i < output.wrong.size(); ++i) {
        if (!output.wrong[i]) continue;
        if (!output.is_number(i)) return std::nullopt;
        auto& [range, count] = parts[part(output, i)];
        meet(output, i, range), ++count;
      }
      for (const auto& [_, one] : parts) {
        const auto& [range, count] = one;
        if (range.is_empty()) return std::nullopt;
        if (count < 2 || !range.is_sharp(right)) continue;
        ++telling;
        all.add(range.middle());
      }
    }
    return telling >= 2 ? std::optional(all) : std::nullopt;
  }

  static Index row_of(const Output& output, std::size_t i) { return static_cast<Index>(i) / output.columns; }
  static Index column_of(const Output& output, std::size_t i) { return static_cast<Index>(i) % output.columns; }
  static Index whole(const Output&, std::size_t) { return 0; }

  std::string factors() const {
    if (const auto factor = of_all(meet_factor, 1)) {
      if (std::abs(factor->middle() + 1) < 1e-3) return "every wrong element has the other sign";
      return fmt::format("every wrong element is {} times what is due", near_one(factor->middle()));
    }
    const auto text = [](const char* what, const char* own, const Range& range) {
      return fmt::format("{} off by a factor of {} own, {} to {}", what, own, near_one(range.low),
                         near_one(range.high));
    };
    if (const auto range = of_parts(meet_factor, 1, whole))
      return text("the wrong elements of a case are", "its", *range);
    if (const auto range = of_parts(meet_factor, 1, row_of))
      return text("the wrong elements of a row are", "its", *range);
    if (const auto range = of_parts(meet_factor, 1, column_of))
      return text("the wrong elements of a column are", "its", *range);
    return "";
  }

  std::string constants() const {
    if (const auto constant = of_all(meet_constant, 0))
      return fmt::format("every wrong element is what is due {} {:.3g}", constant->middle() < 0 ? "-" : "+",
                         std::abs(constant->middle()));
    if (const auto range = of_parts(meet_constant, 0, row_of))
      return fmt::format("the wrong elements of a row are off by a constant of its own, {:.3g} to {:.3g}", range->low,
                         range->high);
    return "";
  }

  std::string precision() const {
    double largest = 0;
    const bool numbers = each_wrong([&](const Output& output, std::size_t i) {
      const auto first = output.due->hi.begin() + static_cast<std::ptrdiff_t>(row_of(output, i) * output.columns);
      double scale = 0;
      std::for_each(first, first + output.columns, [&](double due) { scale = std::max(scale, std::abs(due)); });
      if (!output.is_number(i) || scale == 0) return false;
      largest = std::max(largest, std::abs(output.got->values[i] - output.due->hi[i]) / scale);
      return true;
    });
    if (!numbers || largest == 0 || -std::log2(largest) < kFewestBits) return "";
    return fmt::format(
        "right to about {:.0f} bits: the largest error of {} wrong elements is 2^{:.1f} of the largest "
        "value of its row",
        std::floor(-std::log2(largest)), wrong_, std::log2(largest));
  }

  /// Whether all are too large, or all too small, and by how much.
  std::string side() const {
    Range off = Range::nothing(), share = Range::nothing();
    const bool numbers = each_wrong([&](const Output& output, std::size_t i) {
      const double due = output.due->hi[i], error = output.got->values[i] - due;
      off.add(error), share.add(std::abs(error / due));
      return output.is_number(i);
    });
    if (!numbers || wrong_ < kFewestOfASide || (off.low < 0 && off.high > 0)) return "";
    const std::string by = std::isfinite(share.high)
                               ? fmt::format("{:.2g} to {:.2g} % of it", 100 * share.low, 100 * share.high)
                               : fmt::format("up to {:.2g}", std::max(-off.low, off.high));
    return fmt::format("each of {} wrong elements is {} what is due, by {}", wrong_, off.low < 0 ? "below" : "above",
                       by);
  }

  /// An input of the output's shape, a single number, or the value that is due, that tells wrong elements from right.
  std::string limits(bool failing_alone) const {
    const auto element = [](const Array& array, const Output& output, std::size_t i) -> std::optional<double> {
      if (array.shape == output.due->shape) return array.values[i];
      return array.values.size() == 1 ? std::optional(array.values[0]) : std::nullopt;
    };
    for (const auto& declaration : outputs_[0].sample->c->problem.spec->inputs) {
      const std::string& name = declaration.name;
      const auto text = limit_of(
          name,
          [&](const Output& output, std::size_t i) -> std::optional<double> {
            const auto& inputs = output.sample->c->problem.inputs;
            const auto input = inputs.find(name);
            return input == inputs.end() ? std::nullopt : element(input->second, output, i);
          },
          failing_alone);
      if (!text.empty()) return text;
    }
    return limit_of(
        "what is due", [](const Output& output, std::size_t i) { return std::optional(output.due->hi[i]); },
        failing_alone);
  }

  std::string limit_of(const std::string& what,
                       const std::function<std::optional<double>(const Output&, std::size_t)>& value,
                       bool failing_alone) const {
    Range wrong = Range::nothing();
    std::vector<double> right;
    for (const Output& output : outputs_) {
      if (failing_alone && !output.any_wrong()) continue;
      for (std::size_t i = 0; i < output.wrong.size(); ++i) {
        const auto x = value(output, i);
        if (!x || std::isnan(*x)) return "";
        if (output.wrong[i])
          wrong.add(*x);
        else
          right.push_back(*x);
      }
    }
    // That so few of so many are the last ones by chance
    const auto n = static_cast<double>(right.size()) + static_cast<double>(wrong_),
               k = static_cast<double>(right.size());
    if (std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) < std::log(kOddsOfALimit)) return "";
    if (std::all_of(right.begin(), right.end(), [&](double x) { return x == right[0]; })) return "";
    double below = -std::numeric_limits<double>::infinity(), above = -below;  // the right ones next to the wrong ones
    for (const double x : right) {
      if (x >= wrong.low && x <= wrong.high) return "";
      if (x < wrong.low) below = std::max(below, x);
      if (x > wrong.high) above = std::min(above, x);
    }
    const std::string cases = failing_alone ? ", in the cases that fail" : "";
    if (std::isinf(below))
      return fmt::format("wrong where {} <= {:.4g}, right where it is >= {:.4g}{}", what, wrong.high, above, cases);
    if (std::isinf(above))
      return fmt::format("wrong where {} >= {:.4g}, right where it is <= {:.4g}{}", what, wrong.low, below, cases);
    return fmt::format("wrong where {} is {}, right where it is <= {:.4g} or >= {:.4g}{}", what,
                       wrong.low == wrong.high ? fmt::format("{:.4g}", wrong.low)
                                               : fmt::format("{:.4g} to {:.4g}", wrong.low, wrong.high),
                       below, above, cases);
  }

  std::string name_;
  std::vector<Output> outputs_;
  Index wrong_ = 0;
};

}  // namespace

std::vector<std::string> what_values_show(const std::vector<const Sample*>& failing,
                                          const std::vector<const Sample*>& passing, const golden::Profile& profile) {
  std::map<std::string, std::vector<Output>> outputs;
  const auto add = [&](const Sample* sample) {
    for (const auto& [name, _] : sample->got) outputs[name].push_back(output_of(*sample, name, profile));
  };
  std::for_each(failing.begin(), failing.end(), add);
  std::for_each(passing.begin(), passing.end(), add);
  std::vector<std::string> sentences;
  for (auto& [name, all] : outputs)
    for (std::string& sentence : Pattern(name, std::move(all)).sentences()) sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace attest::judge
