// SPDX-License-Identifier: MIT
#include "attest/judge/weight_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "attest/golden/agreement.hpp"

namespace attest::judge {
namespace {

/// What is shown of a block of weights: the first of these that it has.
constexpr std::pair<Weight, char> kShown[] = {{Weight::not_finite, '!'}, {Weight::extra, 'x'}, {Weight::missing, '0'},
                                              {Weight::large, '+'},      {Weight::small, '-'}, {Weight::right, '.'},
                                              {Weight::zero, ' '}};
constexpr auto kLegend = ". right, ' ' 0 as due, 0 missing, x extra, + large, - small, ! NaN or infinite";

std::size_t blocks(std::size_t items, std::size_t of) { return (items + of - 1) / of; }

/// Numbers over the columns, each where it begins: "0         10        20".
std::string scale(std::size_t columns, std::size_t of) {
  std::string line;
  for (std::size_t at = 0; at < columns; at += 10) {
    const std::string number = fmt::format("{}", at * of);
    if (at + number.size() > columns && at > 0) break;
    line.resize(std::max(line.size(), at), ' ');
    line += number;
  }
  return line;
}

/// The words of a text in lines of at most that many columns.
std::string lines(std::string_view text, std::size_t width) {
  std::string wrapped;
  while (text.size() > width) {
    auto end = text.rfind(' ', width);
    if (end == std::string_view::npos || end == 0) end = width;
    wrapped += fmt::format("{}\n", text.substr(0, end));
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ', end)));
  }
  return wrapped + fmt::format("{}\n", text);
}

}  // namespace

double slack_of(const WeightMap& map, Index row) {
  constexpr double kShare = 1.0 / 16;
  double largest = 0;
  for (Index j = 0; j < map.columns; ++j)
    if (const double bound = map.bound[static_cast<std::size_t>(row * map.columns + j)]; std::isfinite(bound))
      largest = std::max(largest, bound);
  return kShare * largest;
}

std::vector<Weight> compared(const WeightMap& map) {
  const auto n = static_cast<std::size_t>(map.rows), s = static_cast<std::size_t>(map.columns);
  std::vector<Weight> all(n * s, Weight::right);
  for (std::size_t i = 0; i < n; ++i) {
    const double slack = slack_of(map, static_cast<Index>(i));
    for (std::size_t j = 0; j < s; ++j) {
      const double got = map.got[i * s + j], due = map.expected[i * s + j];
      Weight& one = all[i * s + j];
      const bool nothing_due = std::abs(due) <= slack;
      if (!std::isfinite(due))
        one = golden::agrees_with_convention(due, got) ? Weight::right : Weight::small;
      else if (!std::isfinite(got))
        one = Weight::not_finite;
      else if (std::abs(got - due) <= map.bound[i * s + j] + slack)
        one = nothing_due ? Weight::zero : Weight::right;
      else if (nothing_due)
        one = Weight::extra;
      else if (std::abs(got) <= slack)
        one = Weight::missing;
      else
        one = std::abs(got) > std::abs(due) ? Weight::large : Weight::small;
    }
  }
  return all;
}

std::string drawn(const WeightMap& map, std::size_t width, std::size_t height) {
  const auto n = static_cast<std::size_t>(map.rows), s = static_cast<std::size_t>(map.columns);
  if (n == 0 || s == 0) return "";
  const std::size_t label = std::max<std::size_t>(4, fmt::format("{}", n - 1).size()) + 1;
  const std::string legend = lines(kLegend, width);
  std::size_t above = 2 + static_cast<std::size_t>(std::count(legend.begin(), legend.end(), '\n'));
  const std::size_t wide = blocks(s, width > label + 1 ? width - label : 1),
                    high = blocks(n, height > above + 1 ? height - above : 1);
  const std::size_t lines_of_map = blocks(n, high), columns = blocks(s, wide);
  const auto state = compared(map);
  std::string page = fmt::format("{}{}\n", std::string(label, ' '), scale(columns, wide));
  for (std::size_t r = 0; r < lines_of_map; ++r) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      std::size_t worst = std::size(kShown) - 1;
      for (std::size_t i = r * high; i < std::min(n, (r + 1) * high); ++i)
        for (std::size_t j = c * wide; j < std::min(s, (c + 1) * wide); ++j)
          for (std::size_t rank = 0; rank < worst; ++rank)
            if (kShown[rank].first == state[i * s + j]) worst = rank;
      line += kShown[worst].second;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    const std::string number = fmt::format("{:>{}}", r * high, label - 1);
    page += line.empty() ? number + "\n" : fmt::format("{} {}\n", number, line);
  }
  if (wide > 1 || high > 1)
    page += fmt::format("a character stands for {} x {} weights and shows the worst\n", high, wide);
  return page + legend;
}

}  // namespace attest::judge
