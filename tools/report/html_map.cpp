// SPDX-License-Identifier: MIT
// Weights of a kernel as three drawings: its own, those of the equation, the difference.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "html.hpp"

namespace attest::report {
namespace {

constexpr Index kMost = 64;  // cells along an axis; neighbours share one where there are more

/// From far below 0 to far above, 0 in the middle; then what is not finite.
constexpr std::array kClasses{"n4", "n3", "n2", "n1", "z0", "p1", "p2", "p3", "p4", "nan"};
constexpr int kMiddle = 4, kNotFinite = 9;

/// Shares of the scale up to which a number has each class on its side of 0.
constexpr std::array kShares{0.02, 0.1, 0.3, 0.6};

int class_of(double value, double scale) {
  if (!std::isfinite(value)) return kNotFinite;
  const double share = scale > 0 ? std::abs(value) / scale : 0;
  const auto steps = static_cast<int>(std::lower_bound(kShares.begin(), kShares.end(), share) - kShares.begin());
  return value < 0 ? kMiddle - steps : kMiddle + steps;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values)
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  return most;
}

/// Whether `a` tells more than `b` where both share a cell.
bool tells_more(double a, double b) { return std::isfinite(b) && !(std::abs(a) <= std::abs(b)); }

class Drawing {
public:
  explicit Drawing(const judge::WeightMap& map)
      : map_(map), of_row_((map.rows + kMost - 1) / kMost), of_column_((map.columns + kMost - 1) / kMost) {}

  /// `beyond`: which elements are hatched.
  std::string draw(const char* title, const std::vector<double>& values, double scale,
                   const std::vector<bool>& beyond) const {
    Grid grid;
    grid.rows = (map_.rows + of_row_ - 1) / of_row_, grid.columns = (map_.columns + of_column_ - 1) / of_column_;
    grid.classes.assign(kClasses.begin(), kClasses.end());
    grid.class_of = [&](Index row, Index column) {
      double most = 0;
      over(row, column, [&](std::size_t i) {
        if (tells_more(values[i], most)) most = values[i];
      });
      return class_of(most, scale);
    };
    grid.is_marked = [&](Index row, Index column) {
      bool any = false;
      over(row, column, [&](std::size_t i) { any = any || (!beyond.empty() && beyond[i]); });
      return any;
    };
    grid.row_ticks = ticks(grid.rows, of_row_), grid.column_ticks = ticks(grid.columns, of_column_);
    const std::string words = fmt::format("{}: rows are those of {}, columns those of {}; full colour is {:.3g}", title,
                                          map_.output, map_.input, scale);
    return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>", svg_of(grid, words), escaped(words));
  }

private:
  /// A number at every eighth cell, where there are more than a few.
  static std::vector<std::pair<Index, std::string>> ticks(Index cells, Index of_cell) {
    std::vector<std::pair<Index, std::string>> all;
    for (Index cell = 0; cell < cells; cell += cells > 16 ? 8 : cells > 8 ? 4 : 1)
      all.emplace_back(cell, fmt::format("{}", cell * of_cell));
    return all;
  }

  template <class F>
  void over(Index row, Index column, F&& f) const {
    for (Index i = row * of_row_; i < std::min((row + 1) * of_row_, map_.rows); ++i)
      for (Index j = column * of_column_; j < std::min((column + 1) * of_column_, map_.columns); ++j)
        f(static_cast<std::size_t>(i * map_.columns + j));
  }

  const judge::WeightMap& map_;
  const Index of_row_, of_column_;
};

}  // namespace

std::string svg_of(const judge::WeightMap& map) {
  if (map.rows == 0 || map.columns == 0) return "";
  std::vector<double> difference;
  std::vector<bool> beyond;
  for (std::size_t i = 0; i < map.got.size(); ++i) {
    difference.push_back(map.got[i] - map.expected[i]);
    beyond.push_back(!(std::abs(difference[i]) <= map.bound[i]));
  }
  const double expected = largest(map.expected), scale = expected > 0 ? expected : largest(map.got);
  const auto wrong = std::count(beyond.begin(), beyond.end(), true);
  const Drawing drawing(map);
  std::string legend = "<ul class=\"legend\">";
  for (const auto& [name, words] :
       {std::pair("n4", "below 0"), std::pair("z0", "0"), std::pair("p4", "above 0"), std::pair("nan", "not finite")})
    legend += fmt::format("<li>{} {}</li>", swatch(name), words);
  legend += fmt::format("<li>{} beyond the bound</li></ul>", swatch("p2", true));
  return fmt::format(
      "<p>{}How much of each row of {} (columns) the kernel takes into each row of {} (rows), read by unit probes; {} "
      "of "
      "{} weights are beyond their bound.</p><div class=\"figures\">{}{}{}</div>{}",
      map.head.empty() ? "" : escaped(map.head) + ". ", escaped(map.input), escaped(map.output), wrong,
      map.rows * map.columns, drawing.draw("got", map.got, scale, {}),
      drawing.draw("expected", map.expected, scale, {}),
      drawing.draw("difference", difference, largest(difference), beyond), legend);
}

}  // namespace attest::report
