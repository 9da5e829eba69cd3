// SPDX-License-Identifier: MIT
// Parts of the page that html() makes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/judge/error_map.hpp"
#include "attest/judge/statistics.hpp"
#include "attest/judge/weight_map.hpp"

namespace attest::report {

/// Text of anybody as text of a page or of XML, or as the value of an attribute in double quotes. Bytes that are no
/// UTF-8, and what XML forbids (control characters but for tab and line feed, U+FFFE, U+FFFF), become U+FFFD.
std::string escaped(std::string_view text);

/// A rectangle of equal cells, each of one class of colours.
struct Grid {
  Index rows = 0, columns = 0;
  std::vector<std::string> classes;                                    // names of classes in the page's style
  std::function<int(Index row, Index column)> class_of;                // below 0: the cell is left empty
  std::function<bool(Index row, Index column)> is_marked;              // by hatching, so that colour alone says nothing
  std::vector<std::pair<Index, std::string>> row_ticks, column_ticks;  // a number beside a row, above a column
};

/// A drawing of it; `words` tell the same to those who do not see it.
std::string svg_of(const Grid& grid, const std::string& words);

/// The sample of a class in a legend.
std::string swatch(const std::string& name, bool marked = false);

/// Errors by position in an output, with their legend and caption.
std::string svg_of(const std::string& output, const judge::ErrorMap& map);

/// Residuals beside the normal distribution of the claimed profile's errors.
std::string svg_of(const judge::Statistics& statistics);

/// Weights of the kernel, those that the equation has, and their difference.
std::string svg_of(const judge::WeightMap& map);

}  // namespace attest::report
