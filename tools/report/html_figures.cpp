// SPDX-License-Identifier: MIT
// Drawings of the page: cells, errors by position, errors by size.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>
#include <utility>

#include "html.hpp"

namespace attest::report {
namespace {

constexpr double kWidest = 288, kCell = 16;           // pixels: of a grid, and of a cell where there is room
constexpr double kLeft = 40, kTop = 18, kRight = 14;  // room for the numbers of rows and columns

constexpr double kNearlyAll = 0.99;  // of the errors that are not 0 and not beyond the histogram

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
  const double whole = kLeft + width + kRight, high = kTop + std::max(height, 12.0) + 2;
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
  for (const auto& [row, number] : grid.row_ticks)
    svg += fmt::format("<text x=\"{}\" y=\"{:.4g}\" text-anchor=\"end\">{}</text>", kLeft - 5,
                       kTop + (static_cast<double>(row) + 0.5) * cell + 4, number);
  for (const auto& [column, number] : grid.column_ticks)
    svg += fmt::format("<text x=\"{:.4g}\" y=\"12\" text-anchor=\"middle\">{}</text>",
                       kLeft + (static_cast<double>(column) + 0.5) * cell, number);
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
  const auto ticks = [](Index bins) {
    std::vector<std::pair<Index, std::string>> all;
    for (const Index position : {0, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048})
      if (const Index bin = judge::ErrorMap::bin_of(position); bin < bins)
        all.emplace_back(bin, fmt::format("{}", position));
    return all;
  };
  grid.row_ticks = ticks(grid.rows), grid.column_ticks = ticks(grid.columns);
  Index compared = 0, beyond = 0;
  double worst = 0;
  Index worst_row = 0, worst_column = 0;
  for (Index row = 0; row < grid.rows; ++row)
    for (Index column = 0; column < grid.columns; ++column)
      if (const auto ratio = map.largest(row, column)) {
        ++compared, beyond += *ratio > 1;
        if (*ratio > worst) worst = *ratio, worst_row = row, worst_column = column;
      }
  const auto place = [](const char* what, Index bin) {
    const Index first = judge::ErrorMap::first_of(bin), last = judge::ErrorMap::first_of(bin + 1) - 1;
    if (bin + 1 == judge::ErrorMap::kMost) return fmt::format("{}s from {}", what, first);
    return first == last ? fmt::format("{} {}", what, first) : fmt::format("{}s {} to {}", what, first, last);
  };
  const std::string words = fmt::format(
      "{}: {} of {} places have an error beyond the bound; the largest error / bound is {} in {}, {}", output, beyond,
      compared, judge::two_digits(worst), place("row", worst_row), place("column", worst_column));
  return fmt::format("<figure>{}<figcaption>{}.</figcaption>{}</figure>", svg_of(grid, words), escaped(words),
                     legend_of_errors());
}

std::string svg_of(const judge::Statistics& statistics) {
  const judge::Histogram& histogram = statistics.histogram;
  constexpr int half = judge::Histogram::kPerUnit * judge::Histogram::kUnits, drawn = 80;  // bins, bars
  const auto elements = static_cast<double>(statistics.elements);
  const auto inside = [&](int bins) {
    return std::accumulate(histogram.bins.begin() + (half - bins), histogram.bins.begin() + (half + bins), Index{0});
  };
  // The errors of a good kernel are far below those that the profile allows: as near as nearly all of them are seen.
  int together = 2 * half / drawn;
  const auto nearly_all =
      kNearlyAll * static_cast<double>(statistics.elements - histogram.exact - histogram.below - histogram.above);
  while (together > 1 && static_cast<double>(inside(together * drawn / 4)) >= nearly_all) together /= 2;
  const double range = static_cast<double>(together * drawn / 2) / judge::Histogram::kPerUnit;
  std::array<double, drawn> shares{}, curve{};
  for (int bar = 0; bar < drawn; ++bar) {
    for (int i = 0; i < together; ++i)
      shares[static_cast<std::size_t>(bar)] +=
          static_cast<double>(
              histogram.bins[static_cast<std::size_t>(half - together * drawn / 2 + bar * together + i)]) /
          elements;
    const double r = (bar + 0.5 - drawn / 2.0) * 2 * range / drawn;
    curve[static_cast<std::size_t>(bar)] = std::exp(-r * r / 2) / std::sqrt(2 * std::numbers::pi) * 2 * range / drawn;
  }
  const double top =
      1.05 * std::max(*std::max_element(shares.begin(), shares.end()), *std::max_element(curve.begin(), curve.end()));
  constexpr double width = 320, height = 150, left = 14, bottom = 22, bin = width / drawn;
  const auto y = [&](double share) { return height * (1 - share / top); };
  std::string bars, line, ticks;
  for (std::size_t bar = 0; bar < drawn; ++bar) {
    const double x = left + static_cast<double>(bar) * bin;
    if (shares[bar] > 0)
      fmt::format_to(std::back_inserter(bars), "M{:.4g} {}V{:.4g}h{}V{}z", x, height, y(shares[bar]), bin, height);
    fmt::format_to(std::back_inserter(line), "{}{:.4g} {:.4g}", bar == 0 ? "M" : "L", x + bin / 2, y(curve[bar]));
  }
  for (int tick = -2; tick <= 2; ++tick) {
    const double x = left + width / 2 + tick * width / 4;
    ticks += fmt::format(
        "<path class=\"frame\" d=\"M{:.4g} {}v4\"/><text x=\"{:.4g}\" y=\"{}\" text-anchor=\"middle\">{:.2g}</text>", x,
        height, x, height + 17, tick * range / 2);
  }
  std::string words =
      fmt::format("{} errors in units of the expected error of a correct kernel of the profile: root mean square {}",
                  elements, judge::two_digits(statistics.rms));
  if (histogram.exact > 0) words += fmt::format("; {} are 0", percent(histogram.exact, statistics.elements));
  for (const auto& [beyond, side] : {std::pair(histogram.below, "below -"), std::pair(histogram.above, "above ")})
    if (beyond > 0)
      words += fmt::format("; {} are {}{}", percent(beyond, statistics.elements), side, judge::Histogram::kUnits);
  return fmt::format(
      "<figure><svg role=\"img\" aria-label=\"{}\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} "
      "{:.0f}\"><path class=\"bars\" d=\"{}\"/><path class=\"curve\" d=\"{}\"/><path class=\"frame\" d=\"M{} "
      "{}h{}\"/>{}</svg><figcaption>{}. Bars: those that are not 0; line: the normal "
      "distribution.</figcaption></figure>",
      escaped(words), width + 2 * left, height + bottom, width + 2 * left, height + bottom, bars, line, left, height,
      width, ticks, escaped(words));
}

}  // namespace attest::report
