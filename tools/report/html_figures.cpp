// SPDX-License-Identifier: MIT
// Drawings of the page: cells, errors by position, errors by size.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>

#include "html.hpp"

namespace attest::report {
namespace {

constexpr double kWidest = 288, kCell = 16;  // pixels: of a grid, and of a cell where there is room
constexpr double kLeft = 44, kTop = 18;      // room for the numbers of rows and columns

/// error / bound up to which a cell has each class; above the last but one it has the last.
constexpr std::array kRatios{0.01, 0.1, 0.3, 0.7, 1.0, 10.0, 1000.0};
constexpr std::array kClasses{"e0", "e1", "e2", "e3", "e4", "o0", "o1", "o2"};

int class_of(double ratio) {
  return static_cast<int>(std::lower_bound(kRatios.begin(), kRatios.end(), ratio) - kRatios.begin());
}

std::string legend_of_errors() {
  std::string text = "<ul class=\"legend\">";
  const auto add = [&](const std::string& one, const std::string& words) {
    text += fmt::format("<li>{} {}</li>", one, words);
  };
  for (std::size_t c = 0; c < kClasses.size(); ++c) {
    const bool beyond = c > 0 && kRatios[c - 1] >= 1;
    if (beyond && kRatios[c - 1] == 1) text += "<li class=\"bound\">1.0: the bound</li>";
    add(swatch(kClasses[c], beyond), c < kRatios.size() ? fmt::format("to {}", kRatios[c]) : "more, or not finite");
  }
  return text + "</ul>";
}

/// Runs of equal cells in each row as one path.
template <class Holds>
std::string path(const Grid& grid, double width, double height, Holds&& holds) {
  std::string d;
  for (Index row = 0; row < grid.rows; ++row)
    for (Index begin = 0, end = 0; begin < grid.columns; begin = end) {
      end = begin + 1;
      if (!holds(row, begin)) continue;
      while (end < grid.columns && holds(row, end)) ++end;
      fmt::format_to(std::back_inserter(d), "M{:.4g} {:.4g}h{:.4g}v{:.3g}h-{:.4g}z",
                     kLeft + static_cast<double>(begin) * width, kTop + static_cast<double>(row) * height,
                     static_cast<double>(end - begin) * width, height, static_cast<double>(end - begin) * width);
    }
  return d;
}

std::string percent(Index part, Index whole) {
  return fmt::format("{:.3g} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

std::string svg_of(const Grid& grid, const std::string& words) {
  const double cell = std::min({kCell, kWidest / static_cast<double>(std::max(grid.rows, grid.columns))});
  const double width = cell * static_cast<double>(grid.columns), height = cell * static_cast<double>(grid.rows);
  // Room for the numbers of an axis with few cells.
  const double whole = kLeft + std::max(width, 60.0) + 2, high = kTop + std::max(height, 12.0) + 2;
  std::string svg = fmt::format(
      "<svg class=\"grid\" role=\"img\" aria-label=\"{}\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} "
      "{:.0f}\">",
      escaped(words), whole, high, whole, high);
  for (std::size_t c = 0; c < grid.classes.size(); ++c)
    if (const auto d = path(grid, cell, cell,
                            [&](Index row, Index column) { return grid.class_of(row, column) == static_cast<int>(c); });
        !d.empty())
      svg += fmt::format("<path class=\"{}\" d=\"{}\"/>", grid.classes[c], d);
  if (const auto d = path(grid, cell, cell, grid.is_marked); !d.empty())
    svg += fmt::format("<path class=\"hatch\" d=\"{}\"/>", d);
  svg += fmt::format("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{:.4g}\" height=\"{:.4g}\"/>", kLeft, kTop, width,
                     height);
  svg += fmt::format("<text x=\"{}\" y=\"12\">0</text>", kLeft);
  if (grid.columns > 1)
    svg += fmt::format("<text x=\"{:.4g}\" y=\"12\" text-anchor=\"{}\">{}</text>", kLeft + (width < 40 ? 20 : width),
                       width < 40 ? "start" : "end", escaped(grid.last_column));
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">0</text>", kLeft - 5, kTop + 10);
  if (grid.rows > 1)
    svg += fmt::format("<text x=\"{}\" y=\"{:.4g}\" text-anchor=\"end\">{}</text>", kLeft - 5,
                       kTop + std::max(height, 22.0), escaped(grid.last_row));
  return svg + "</svg>";
}

std::string swatch(const std::string& name, bool marked) {
  return fmt::format(
      "<svg class=\"swatch\" aria-hidden=\"true\" width=\"14\" height=\"14\"><rect class=\"{}\" width=\"14\" "
      "height=\"14\"/>{}<rect class=\"frame\" width=\"14\" height=\"14\"/></svg>",
      name, marked ? "<rect class=\"hatch\" width=\"14\" height=\"14\"/>" : "");
}

std::string svg_of(const std::string& output, const judge::ErrorMap& map) {
  Grid grid;
  grid.rows = map.rows(), grid.columns = map.columns();
  grid.classes.assign(kClasses.begin(), kClasses.end());
  grid.class_of = [&](Index row, Index column) {
    const auto ratio = map.largest(row, column);
    return ratio ? class_of(*ratio) : -1;
  };
  grid.is_marked = [&](Index row, Index column) { return map.largest(row, column).value_or(0) > 1; };
  const auto last = [](Index bins, Index of_bin) { return fmt::format("{}", (bins - 1) * of_bin); };
  grid.last_row = last(grid.rows, map.rows_of_bin()), grid.last_column = last(grid.columns, map.columns_of_bin());
  Index compared = 0, beyond = 0;
  double worst = 0;
  Index worst_row = 0, worst_column = 0;
  for (Index row = 0; row < grid.rows; ++row)
    for (Index column = 0; column < grid.columns; ++column)
      if (const auto ratio = map.largest(row, column)) {
        ++compared, beyond += *ratio > 1;
        if (*ratio > worst) worst = *ratio, worst_row = row, worst_column = column;
      }
  const auto place = [](const char* what, Index bin, Index of_bin) {
    return of_bin == 1 ? fmt::format("{} {}", what, bin)
                       : fmt::format("{}s {} to {}", what, bin * of_bin, (bin + 1) * of_bin - 1);
  };
  const bool single = map.rows_of_bin() == 1 && map.columns_of_bin() == 1;
  const std::string words = fmt::format(
      "{}: {} of {} {} have an error beyond the bound; the largest error / bound is {} in {}, {}", output, beyond,
      compared, single ? "positions" : fmt::format("bins of {} x {}", map.rows_of_bin(), map.columns_of_bin()),
      judge::two_digits(worst), place("row", worst_row, map.rows_of_bin()),
      place("column", worst_column, map.columns_of_bin()));
  return fmt::format("<figure>{}<figcaption>{}.</figcaption>{}</figure>", svg_of(grid, words), escaped(words),
                     legend_of_errors());
}

std::string svg_of(const judge::Statistics& statistics) {
  const judge::Histogram& histogram = statistics.histogram;
  constexpr int sides = judge::Histogram::kPerUnit * judge::Histogram::kUnits;
  constexpr double width = 328, height = 150, left = 4, bottom = 22;
  constexpr double bin = width / (2 * sides + 1);
  const auto elements = static_cast<double>(statistics.elements);
  const double peak = 1 / std::sqrt(2 * std::numbers::pi) / judge::Histogram::kPerUnit;  // of the curve, as a share
  const double tallest =
      static_cast<double>(*std::max_element(histogram.bins.begin(), histogram.bins.end())) / elements;
  // One bin that holds nearly everything, such as that of exact results, must not press the rest down.
  const double top = 1.05 * std::min(std::max(tallest, peak), 4 * peak);
  const auto y = [&](double share) { return height * (1 - std::min(share / top, 1.0)); };
  std::string bars, curve;
  for (int b = 0; b <= 2 * sides; ++b) {
    const double x = left + b * bin;
    if (const Index n = histogram.bins[static_cast<std::size_t>(b)]; n > 0)
      fmt::format_to(std::back_inserter(bars), "M{:.4g} {}V{:.4g}h{:.3g}V{}z", x, height,
                     y(static_cast<double>(n) / elements), bin, height);
    const double r = static_cast<double>(b - sides) / judge::Histogram::kPerUnit;
    fmt::format_to(std::back_inserter(curve), "{}{:.4g} {:.4g}", b == 0 ? "M" : "L", x + bin / 2,
                   y(peak * std::exp(-r * r / 2)));
  }
  std::string ticks;
  for (int unit = -4; unit <= 4; unit += 2) {
    const double x = left + (sides + unit * judge::Histogram::kPerUnit + 0.5) * bin;
    ticks += fmt::format(
        "<path class=\"frame\" d=\"M{:.4g} {}v4\"/><text x=\"{:.4g}\" y=\"{}\" text-anchor=\"middle\">"
        "{:+}</text>",
        x, height, x, height + 17, unit);
  }
  std::string words =
      fmt::format("{} errors beside those of a correct kernel of the profile: root mean square {} expected errors",
                  elements, judge::two_digits(statistics.rms));
  if (histogram.below + histogram.above > 0)
    words +=
        fmt::format("; {} lie below -{} and {} above {}", percent(histogram.below, statistics.elements),
                    judge::Histogram::kUnits, percent(histogram.above, statistics.elements), judge::Histogram::kUnits);
  if (tallest > top) words += fmt::format("; the highest bar is cut, it holds {:.3g} %", 100 * tallest);
  return fmt::format(
      "<figure><svg role=\"img\" aria-label=\"{}\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} "
      "{:.0f}\"><path "
      "class=\"bars\" d=\"{}\"/><path class=\"curve\" d=\"{}\"/><path class=\"frame\" d=\"M{} {}h{}\"/>{}</svg>"
      "<figcaption>{}. Bars: the kernel's error / expected error; line: the normal distribution.</figcaption></figure>",
      escaped(words), width + 2 * left, height + bottom, width + 2 * left, height + bottom, bars, curve, left, height,
      width, ticks, escaped(words));
}

}  // namespace attest::report
