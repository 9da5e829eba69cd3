// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "attest/golden/case.hpp"

namespace attest::golden {
namespace {

/// One stream of numbers per seed and tensor name.
class Stream {
public:
  Stream(std::uint64_t seed, std::string_view name) : engine_(mixed(seed, name)) {}

  /// Sum of eight uniform 16-bit integers, standardised: close to normal, bounded by 4.9, integer arithmetic.
  double normal() {
    constexpr std::uint64_t kEven = 0x0000ffff0000ffff;
    const std::uint64_t one = engine_(), other = engine_();
    const std::uint64_t halves = (one & kEven) + (one >> 16 & kEven) + (other & kEven) + (other >> 16 & kEven);
    const auto total = static_cast<std::int64_t>((halves & 0xffffffff) + (halves >> 32));
    return static_cast<double>(2 * total - 8 * 65535) /
           107019.0;  // twice the sum has standard deviation 2^17 sqrt(8/12)
  }
  /// In (0, 1].
  double uniform() { return static_cast<double>((engine_() >> 11) + 1) * 0x1p-53; }
  Index below(Index n) { return static_cast<Index>(engine_() % static_cast<std::uint64_t>(n)); }

private:
  /// FNV-1a of the name, then the seed mixed in (splitmix64's finaliser).
  static std::uint64_t mixed(std::uint64_t seed, std::string_view name) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    hash += seed * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    return hash ^ (hash >> 31);
  }

  boost::random::mt19937_64 engine_;  // gives the numbers of std::mt19937_64
};

struct Recipe {
  std::string name;
  std::vector<double> arguments;

  double at(std::size_t i, double fallback) const { return i < arguments.size() ? arguments[i] : fallback; }
  double at(std::size_t i) const {
    if (i >= arguments.size()) throw SpecError(fmt::format("recipe '{}' needs {} argument(s)", name, i + 1));
    return arguments[i];
  }
  Index whole(std::size_t i) const {
    const double x = at(i);
    if (!(std::abs(x) <= 0x1p53) || x != std::floor(x))
      throw SpecError(fmt::format("recipe '{}': {} is not a whole number of at most 2^53", name, x));
    return static_cast<Index>(x);
  }
};

/// Whole numbers from the first argument to the second.
struct WholeRange {
  Index first, last;

  explicit WholeRange(const Recipe& recipe) : first(recipe.whole(0)), last(recipe.whole(1)) {
    if (last < first) throw SpecError(fmt::format("recipe '{}': {} is less than {}", recipe.name, last, first));
  }
  Index draw(Stream& s) const { return first + s.below(last - first + 1); }
};

/// Throws SpecError where a computer cannot address that many.
Index elements_of(const std::vector<Index>& shape) {
  Index product = 1;
  for (const Index extent : shape)
    if (__builtin_mul_overflow(product, extent, &product) || product > (Index{1} << 48))
      throw SpecError(fmt::format("a tensor of shape [{}] has more than 2^48 elements", fmt::join(shape, ", ")));
  return product;
}

Recipe parse_recipe(const std::string& text) {
  std::istringstream in(text);
  Recipe recipe;
  in >> recipe.name;
  for (std::string word; in >> word;) {
    char* end = nullptr;
    recipe.arguments.push_back(std::strtod(word.c_str(), &end));
    if (end == word.c_str() || *end || !std::isfinite(recipe.arguments.back()))
      throw SpecError(fmt::format("recipe '{}': '{}' is not a number", text, word));
  }
  return recipe;
}

/// "R below NAME": the recipe R, and the size that its numbers are reduced by; no size where the text names none.
struct Bounded {
  std::string recipe, size;
};

Bounded bounded(const std::string& text) {
  static constexpr std::string_view kBelow = " below ";
  const auto at = text.find(kBelow);
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + kBelow.size())};
}

/// Makes each whole number an index into an axis of that length.
void reduce(Array& array, Index length) {
  for (double& x : array.values) x -= std::floor(x / static_cast<double>(length)) * static_cast<double>(length);
}

/// Draws a row: all elements at one place along the first axis.
using Fill = std::function<void(Stream&, Index row, std::span<double> elements)>;

/// Draws the element at a row and a column in the flattened rest, one after the other.
template <class Element>
Fill each(Element element) {
  return [element](Stream& s, Index row, std::span<double> elements) mutable {
    for (Index column = 0; column < std::ssize(elements); ++column)
      elements[static_cast<std::size_t>(column)] = element(s, row, column);
  };
}

constexpr double kSmall = 0.25;

/// The row that has a number in each column of "probes": the last, the first, those beside powers of two, and others
/// all over.
std::vector<Index> probed_rows(Index columns, Index rows) {
  std::vector<Index> borders;
  for (Index power = 1; power < rows; power *= 2) borders.insert(borders.begin(), {power - 1, power});
  std::vector<Index> probed{rows - 1, 0};
  probed.insert(probed.end(), borders.begin(), borders.end());
  constexpr std::uint64_t kStride = 2654435761, kRange = std::uint64_t{1} << 32;  // over the golden ratio (Knuth)
  for (Index column = static_cast<Index>(probed.size()); column < columns; ++column)
    probed.push_back(
        static_cast<Index>(static_cast<std::uint64_t>(column) * kStride % kRange % static_cast<std::uint64_t>(rows)));
  return probed;
}

/// So large that a mean over all rows is no small number.
double probe(Index column, Index rows) {
  constexpr Index kMost = 4096;  // 2^12 (2 - 1/8) is a binary16 number
  const int exponent = std::ilogb(static_cast<double>(std::clamp<Index>(rows, 1, kMost)));
  return std::ldexp(1 + static_cast<double>(column % 8) / 8, exponent);
}

/// A recipe of booleans, 1 for true; none where the name is that of no such recipe.
Fill mask_of(const Recipe& recipe, Index rows, Index columns) {
  const std::string& name = recipe.name;
  if (name == "visible")
    return each([p = recipe.at(0)](Stream& s, Index, Index) { return s.uniform() <= p ? 1.0 : 0.0; });
  if (name == "empty_rows")
    return each(
        [=](Stream& s, Index row, Index) { return row != 0 && row != rows - 1 && s.uniform() <= 0.7 ? 1.0 : 0.0; });
  if (name == "padding")
    return each([=, p = recipe.at(0)](Stream&, Index, Index column) {
      return static_cast<double>(column) < std::ceil(p * static_cast<double>(columns)) ? 1.0 : 0.0;
    });
  if (name == "hide_first") return each([](Stream&, Index, Index column) { return column == 0 ? 0.0 : 1.0; });
  return nullptr;
}

/// Throws SpecError on an unknown recipe.
Fill fill_of(const Recipe& recipe, Index rows, Index columns) {
  const auto row_of = [rows](Index number) { return number < 0 ? rows + number : number; };
  const auto column_of = [columns](Index number) { return number < 0 ? columns + number : number; };
  const std::string& name = recipe.name;
  const auto along = [](Index i, Index n, double from, double to) {
    return n < 2 ? from : from + (to - from) * static_cast<double>(i) / static_cast<double>(n - 1);
  };
  if (name == "normal") return each([g = recipe.at(0, 1)](Stream& s, Index, Index) { return g * s.normal(); });
  if (name == "shifted") return each([c = recipe.at(0)](Stream& s, Index, Index) { return c + s.normal(); });
  if (name == "tiny") return each([](Stream& s, Index, Index) { return 0x1p-20 * s.normal(); });
  if (name == "uniform")
    return each([a = recipe.at(0), b = recipe.at(1)](Stream& s, Index, Index) { return a + (b - a) * s.uniform(); });
  if (name == "positive") return each([](Stream& s, Index, Index) { return 2 * s.uniform(); });
  if (name == "integers")
    return each([range = WholeRange(recipe)](Stream& s, Index, Index) { return static_cast<double>(range.draw(s)); });
  if (name == "zeros") return each([](Stream&, Index, Index) { return 0.0; });
  if (name == "constant") return each([c = recipe.at(0)](Stream&, Index, Index) { return c; });
  if (name == "labels")
    return each([](Stream&, Index row, Index column) {
      return column == 0 ? static_cast<double>(row + 1) : static_cast<double>((row * 7 + column * 3) % 16) / 8;
    });
  if (name == "probes")
    return each([rows, probed = rows > 0 ? probed_rows(columns, rows) : std::vector<Index>()](Stream&, Index row,
                                                                                              Index column) {
      return row == probed[static_cast<std::size_t>(column)] ? probe(column, rows) : 0.0;
    });
  if (name == "axis")
    return each([a = recipe.at(0)](Stream& s, Index, Index column) { return column == 0 ? a : kSmall * s.normal(); });
  if (name == "winner")
    return each([winner = row_of(recipe.whole(0)), g = recipe.at(1)](Stream& s, Index row, Index column) {
      return column == 0 ? (row == winner ? g : 0.0) : kSmall * s.normal();
    });
  if (name == "one_hot")  // row r has its entry in column (r + shift) mod columns
    return each([=, g = recipe.at(0), shift = recipe.whole(1)](Stream&, Index row, Index column) {
      return column == ((row + shift) % columns + columns) % columns ? g : 0.0;
    });
  if (name == "positive_winner")
    return each([winner = row_of(recipe.whole(0)), g = recipe.at(1)](Stream& s, Index row, Index) {
      return 2 * s.uniform() * (row == winner ? g : 1.0);
    });
  if (name == "winner_entry")
    return each([winner = column_of(recipe.whole(0)), g = recipe.at(1)](Stream& s, Index, Index column) {
      return column == winner ? g : s.normal();
    });
  if (name == "ramp")
    return each([=, a = recipe.at(0), b = recipe.at(1)](Stream& s, Index row, Index column) {
      return column == 0 ? along(row, rows, a, b) : kSmall * s.normal();
    });
  if (name == "ramp_entries")
    return each(
        [=, a = recipe.at(0), b = recipe.at(1)](Stream&, Index, Index column) { return along(column, columns, a, b); });
  if (name == "some_minus_infinity")
    return each([p = recipe.at(0)](Stream& s, Index, Index column) {
      const double x = s.normal();
      return s.uniform() <= p && column > 0 ? -std::numeric_limits<double>::infinity() : x;
    });
  if (name == "positions")
    return each([start = recipe.at(0), step = recipe.at(1)](Stream&, Index row, Index) {
      return start + step * static_cast<double>(row);
    });
  if (name == "consecutive")  // from a start between the two
    return each([range = WholeRange(recipe), start = Index{0}](Stream& s, Index row, Index column) mutable {
      if (row == 0 && column == 0) start = range.draw(s);
      return static_cast<double>(start + row);
    });
  const Fill normal = each([](Stream& s, Index, Index) { return s.normal(); });
  if (name == "repeat_rows")
    return [=, first = std::vector<double>()](Stream& s, Index row, std::span<double> elements) mutable {
      if (row == 0) {
        normal(s, row, elements);
        first.assign(elements.begin(), elements.end());
      }
      std::copy(first.begin(), first.end(), elements.begin());
    };
  if (name == "some_zero_rows")
    return [=, p = recipe.at(0)](Stream& s, Index row, std::span<double> elements) {
      if (s.uniform() <= p)
        std::fill(elements.begin(), elements.end(), 0.0);
      else
        normal(s, row, elements);
    };
  if (Fill mask = mask_of(recipe, rows, columns)) return mask;
  throw SpecError(fmt::format("unknown recipe '{}' for drawing inputs", name));
}

}  // namespace

Array draw_array(const std::string& text, std::vector<Index> shape, DType exact, std::uint64_t seed,
                 std::string_view stream_name) {
  const Recipe recipe = parse_recipe(bounded(text).recipe);  // the lengths of other axes are not known here
  const Index total = elements_of(shape);
  const Index rows = shape.empty() ? 1 : shape[0];
  const Index columns = rows == 0 ? 0 : total / rows;
  Array array{std::move(shape), std::vector<double>(static_cast<std::size_t>(total))};
  Stream stream(seed, stream_name);
  const Fill fill = fill_of(recipe, rows, columns);
  const auto width = static_cast<std::size_t>(columns);
  for (Index row = 0; row < rows; ++row)
    fill(stream, row, std::span(array.values).subspan(static_cast<std::size_t>(row) * width, width));
  if (exact != DType::f64)
    for (double& x : array.values) x = round_to(exact, x);
  return array;
}

namespace {

std::uint64_t seed_of(const Case& c, const std::string& input) {
  const auto seed = c.seeds.find(input);
  return seed == c.seeds.end() ? c.seed : seed->second;
}

/// Whether they draw the same from the same seed.
bool differ_by_seeds_alone(const Case& a, const Case& b) {
  return a.spec == b.spec && a.sizes == b.sizes && a.parameters == b.parameters && a.flag == b.flag &&
         a.exact == b.exact && a.with == b.with && a.magnitudes == b.magnitudes && a.recipes == b.recipes;
}

Array draw_input(const Case& c, const TensorDeclaration& input) {
  const Spec& spec = *c.spec;
  std::string recipe = draw_of(input, spec, c.sizes, c.parameters);
  if (const auto* group = spec.group(c.flag))
    if (const auto at = group->fill.find(input.name); at != group->fill.end()) recipe = at->second;
  if (const auto at = c.recipes.find(input.name); at != c.recipes.end()) recipe = at->second;
  const DType exact = input.element == Element::real ? dtype_from(c.exact) : DType::f64;
  Array array = draw_array(recipe, shape_of(input, c.sizes), exact, seed_of(c, input.name), input.name);
  if (const auto size = bounded(recipe).size; !size.empty()) {
    if (input.element != Element::integer || !c.sizes.count(size)) {
      std::vector<std::string> names;
      for (const auto& [name, _] : c.sizes) names.push_back(name);
      throw SpecError(fmt::format("{}: recipe '{}' of input '{}': 'below' is for integers and names a size; sizes: {}",
                                  spec.id, recipe, input.name, fmt::join(names, ", ")));
    }
    reduce(array, c.sizes.at(size));
  }
  if (const auto factor = c.magnitudes.find(input.name); factor != c.magnitudes.end())
    for (double& x : array.values)
      if (std::isfinite(x)) x = factor->second == 0 ? 0.0 : x * factor->second;
  return array;
}

/// The problem of a case with `of(input)` for each that it gives.
template <class Of>
Problem problem_of(const Case& c, const Of& of) {
  Problem problem{c.spec, c.sizes, c.parameters, {}};
  for (const auto& input : c.spec->inputs)
    if (!input.optional || std::find(c.with.begin(), c.with.end(), input.name) != c.with.end())
      problem.inputs[input.name] = of(input);
  check(problem);
  return problem;
}

}  // namespace

Problem draw(const Case& c) {
  return problem_of(c, [&](const TensorDeclaration& input) { return draw_input(c, input); });
}

std::vector<Problem> draw_each(const std::vector<Case>& cases) {
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> first;  // that draws an input of that name and seed
  std::vector<Problem> problems;
  problems.reserve(cases.size());
  for (const Case& c : cases)
    problems.push_back(problem_of(c, [&](const TensorDeclaration& input) {
      const auto [known, is_new] = first.try_emplace({input.name, seed_of(c, input.name)}, problems.size());
      return is_new || !differ_by_seeds_alone(c, cases[known->second]) ? draw_input(c, input)
                                                                       : problems[known->second].inputs.at(input.name);
    }));
  return problems;
}

Arrays draw_cotangents(const Case& c) {
  Arrays cotangents;
  if (c.spec->gradient.empty()) return cotangents;
  for (const auto& output : c.spec->outputs)
    cotangents[output.name] =
        draw_array("normal", shape_of(output, c.sizes), dtype_from(c.exact), c.seed, "cotangent." + output.name);
  return cotangents;
}

}  // namespace attest::golden
