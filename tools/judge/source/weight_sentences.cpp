// SPDX-License-Identifier: MIT
// What the map of a failing kernel's weights shows, in sentences.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "attest/judge/statistics.hpp"
#include "attest/judge/weight_map.hpp"

namespace attest::judge {
namespace {

using Places = std::vector<Index>;  // of rows or columns, ascending

constexpr std::array<Index, 6> kTiles{4, 8, 16, 32, 64, 128};  // that kernels are written with
constexpr std::size_t kMostListed = 6;                         // places that are listed one by one
constexpr std::size_t kFewWrong = 3;                           // weights that are listed one by one
constexpr std::size_t kFewest = 3;                             // weights that make a pattern
constexpr double kImprecise = 1.0 / 16;                        // relative error of weights that are right in kind

/// A set of rows or columns in words; `many` where a verb follows in the plural.
struct Words {
  std::string text;
  bool many = false;

  const char* are() const { return many ? "are" : "is"; }
  const char* have() const { return many ? "have" : "has"; }
};

/// "what is left of tiles of 8 to 64" where places from `first` on are the rest behind whole tiles.
std::string rest_of_tiles(Index first, Index total) {
  Index least = 0, most = 0;
  for (const Index tile : kTiles)
    if (first > 0 && first % tile == 0 && total - first < tile) {
      if (least == 0) least = tile;
      most = tile;
    }
  if (least == 0) return "";
  return fmt::format("what is left of tiles of {}{}", least, most > least ? fmt::format(" to {}", most) : "");
}

/// "j % 16 == 15 (every 16th)", "j % 16 >= 12": places that repeat with a period.
std::string period_text(const Places& places, Index total, char letter) {
  const auto has = [&](Index at) { return std::binary_search(places.begin(), places.end(), at); };
  for (Index period = 2; period <= total / 2; ++period) {
    Places residues;
    bool holds = true;
    for (Index at = 0; at < period; ++at)
      if (has(at)) residues.push_back(at);
    for (Index at = 0; at < total && holds; ++at) holds = has(at) == has(at % period);
    const auto in_one = static_cast<Index>(residues.size());
    if (!holds || residues.empty() || in_one == period || residues.back() - residues.front() + 1 != in_one) continue;
    if (in_one == 1 && places.size() >= kFewest)
      return fmt::format("{} % {} == {}{}", letter, period, residues[0],
                         period > 2 ? fmt::format(" (one of {})", period) : "");
    if (in_one < 2 || 2 * period > total) continue;
    if (residues.front() == 0) return fmt::format("{} % {} < {}", letter, period, in_one);
    if (residues.back() == period - 1) return fmt::format("{} % {} >= {}", letter, period, residues.front());
    return fmt::format("{} <= {} % {} <= {}", residues.front(), letter, period, residues.back());
  }
  return "";
}

/// A set of `total` rows or columns in words; nothing where no few words tell it.
std::optional<Words> words_of(const Places& places, Index total, const std::string& one, const std::string& several,
                              char letter) {
  const auto size = static_cast<Index>(places.size());
  if (size == 0) return std::nullopt;
  if (size == total) return Words{total == 1 ? "the only " + one : "every " + one};
  const Index first = places.front(), last = places.back();
  if (last - first + 1 == size) {
    const std::string rest = last == total - 1 ? rest_of_tiles(first, total) : "";
    if (size == 1)
      return Words{last == total - 1 ? fmt::format("the last {} ({}{})", one, last, rest.empty() ? "" : ", " + rest)
                                     : fmt::format("{} {}", one, first)};
    return Words{fmt::format("{} {} to {} of {}{}", several, first, last, total, rest.empty() ? "" : " (" + rest + ")"),
                 true};
  }
  if (const auto period = period_text(places, total, letter); !period.empty())
    return Words{fmt::format("{} {} with {}", several, letter, period), true};
  if (size <= static_cast<Index>(kMostListed))
    return Words{fmt::format("{} {} and {}", several, fmt::join(places.begin(), places.end() - 1, ", "), last), true};
  if (size == total - 1)
    for (Index at = 0; at < total; ++at)
      if (!std::binary_search(places.begin(), places.end(), at))
        return Words{fmt::format("every {} but {} {}", one, one, at)};
  return std::nullopt;
}

/// "j = i", "j = i + 3".
std::string shifted(char letter, Index by) {
  return by == 0 ? std::string(1, letter) : fmt::format("{} {} {}", letter, by < 0 ? '-' : '+', std::abs(by));
}

/// A factor, with the names that it has: "2 = sqrt(d)"; `relative`: how well it is known.
std::string factor_text(double factor, double relative, const Sizes& sizes) {
  std::vector<std::pair<std::string, double>> names{{"e", std::numbers::e},
                                                    {"1/e", 1 / std::numbers::e},
                                                    {"log2 e", std::numbers::log2e},
                                                    {"ln 2", std::numbers::ln2}};
  for (const auto& [name, size] : sizes) {
    if (size < 2) continue;
    const auto x = static_cast<double>(size);
    names.insert(names.end(), {{name, x},
                               {"1/" + name, 1 / x},
                               {fmt::format("sqrt({})", name), std::sqrt(x)},
                               {fmt::format("1/sqrt({})", name), 1 / std::sqrt(x)}});
  }
  std::vector<std::string> fitting, roots;
  for (const auto& [name, value] : names)
    if (std::abs(factor / value - 1) <= std::min(relative, 0.01))
      (name.find("sqrt") == std::string::npos ? fitting : roots).push_back(name);
  // Sizes that are equal by chance are many, their roots are what scales are made of.
  if (!roots.empty()) fitting = roots;
  // Many names are none.
  if (fitting.empty() || fitting.size() > 2) return near_one(factor);
  // A simple number needs no size to be explained by.
  const double simple = std::abs(factor) < 1 ? 1 / factor : factor;
  if (std::abs(simple - std::round(simple)) <= std::min(relative, 0.01) * simple && simple < 5)
    return fmt::format("{} (here also {})", near_one(factor), fmt::join(fitting, " and "));
  return fmt::format("{} = {}", near_one(factor), fmt::join(fitting, " = "));
}

class Reader {
public:
  Reader(const WeightMap& map, const MapContext& context)
      : map_(map), context_(context), n_(map.rows), s_(map.columns), state_(compared(map)) {
    for (Index i = 0; i < n_; ++i) {
      slack_.push_back(slack_of(map, i));
      for (Index j = 0; j < s_; ++j) wrong_ += is_wrong(i, j);
    }
    for (Index i = 0; i < n_; ++i)
      if (any_column([&](Index j) { return is_wrong(i, j); })) rows_.push_back(i);
    for (Index j = 0; j < s_; ++j)
      if (any_row([&](Index i) { return is_wrong(i, j); })) columns_.push_back(j);
  }

  std::vector<std::string> sentences() {
    if (wrong_ == 0) return {};
    look();
    for (auto& sentence : said_)
      if (!map_.head.empty() && sentence.rfind(map_.head, 0) != 0) sentence.insert(0, map_.head + ": ");
    return std::move(said_);
  }

private:
  void look() {
    add_not_finite();
    add_convention();
    const bool finite = said_.empty();
    // Each of these tells all that is wrong.
    if (context_.patterns_alone) said_.clear();
    if (finite && (add_nothing() || add_other() || add_exchange() || add_even() || add_power())) return;
    add_stripes(finite);
    if (finite && count(Weight::missing) + count(Weight::extra) == 0 && !add_factors()) add_imprecise();
    if (context_.patterns_alone) return;
    if (said_.empty() && wrong_ > kFewWrong) add_where();
    if (said_.empty() && wrong_ <= kFewWrong) add_few();
  }

  using Holds = std::function<bool(Index)>;
  using HoldsAt = std::function<bool(Index, Index)>;

  std::size_t at(Index i, Index j) const { return static_cast<std::size_t>(i * s_ + j); }
  Weight state(Index i, Index j) const { return state_[at(i, j)]; }
  double got(Index i, Index j) const { return map_.got[at(i, j)]; }
  double due(Index i, Index j) const { return map_.expected[at(i, j)]; }
  double allowed(Index i, Index j) const { return map_.bound[at(i, j)] + slack_[static_cast<std::size_t>(i)]; }
  bool is_wrong(Index i, Index j) const { return state(i, j) != Weight::right && state(i, j) != Weight::zero; }
  bool nothing_due(Index i, Index j) const {
    return state(i, j) == Weight::zero || state(i, j) == Weight::extra ||
           (state(i, j) == Weight::not_finite && std::abs(due(i, j)) <= slack_[static_cast<std::size_t>(i)]);
  }
  /// Something is due there, and something finite was given.
  bool has_ratio(Index i, Index j) const {
    return (state(i, j) == Weight::right || state(i, j) == Weight::large || state(i, j) == Weight::small) &&
           std::isfinite(due(i, j));
  }
  bool any_column(const Holds& holds) const {
    for (Index j = 0; j < s_; ++j)
      if (holds(j)) return true;
    return false;
  }
  bool any_row(const Holds& holds) const {
    for (Index i = 0; i < n_; ++i)
      if (holds(i)) return true;
    return false;
  }
  std::size_t count(Weight one) const {
    return static_cast<std::size_t>(std::count(state_.begin(), state_.end(), one));
  }
  bool all_rows_wrong() const { return static_cast<Index>(rows_.size()) == n_; }

  std::optional<Words> row_words(const Places& rows) const {
    return words_of(rows, n_, context_.nouns.row, context_.nouns.rows, 'i');
  }
  std::optional<Words> column_words(const Places& columns) const {
    return words_of(columns, s_, context_.nouns.column, context_.nouns.columns, 'j');
  }
  /// " for queries 64 to 69 of 70"; "" where these are all that are meant.
  std::string for_rows(const Places& rows) const {
    if (const auto words = row_words(rows)) return " for " + words->text;
    return fmt::format(" for {} of {} {}", rows.size(), n_, context_.nouns.rows);
  }
  std::string for_wrong_rows() const { return all_rows_wrong() ? "" : for_rows(rows_); }
  void say(std::string sentence) { said_.push_back(std::move(sentence)); }

  void add_not_finite() {
    const std::size_t all = count(Weight::not_finite);
    if (all == 0) return;
    Places rows, columns;
    for (Index i = 0; i < n_; ++i)
      if (any_column([&](Index j) { return state(i, j) == Weight::not_finite; })) rows.push_back(i);
    for (Index j = 0; j < s_; ++j)
      if (any_row([&](Index i) { return state(i, j) == Weight::not_finite; })) columns.push_back(j);
    const auto &row = context_.nouns.row, &column = context_.nouns.column;
    if (all == state_.size()) return say("every weight is NaN or infinite");
    if (all == rows.size() * static_cast<std::size_t>(s_))
      if (const auto words = row_words(rows))
        return say(fmt::format("the weights of {} are NaN or infinite for every {}", words->text, column));
    if (all == columns.size() * static_cast<std::size_t>(n_))
      if (const auto words = column_words(columns))
        return say(fmt::format("the weights of {} are NaN or infinite for every {}", words->text, row));
    say(fmt::format("{} of {} weights are NaN or infinite", all, state_.size()));
  }

  /// Rows that a convention makes NaN or infinite, and that are not.
  void add_convention() {
    Places rows;
    for (Index i = 0; i < n_; ++i)
      if (any_column([&](Index j) { return is_wrong(i, j) && !std::isfinite(due(i, j)); })) rows.push_back(i);
    if (rows.empty()) return;
    const auto words = row_words(rows);
    const std::string subject = words ? words->text : fmt::format("{} of {} {}", rows.size(), n_, context_.nouns.rows);
    say(fmt::format("{} should not be finite, by a convention of the equation, and {} not so", subject,
                    !words || words->many ? "are" : "is"));
  }

  /// All weights of the wrong rows are 0.
  bool add_nothing() {
    if (wrong_ < kFewest) return false;
    for (const Index i : rows_)
      if (any_column([&](Index j) { return std::abs(got(i, j)) > slack_[static_cast<std::size_t>(i)]; })) return false;
    const auto words = row_words(rows_);
    if (!words) return false;
    if (all_rows_wrong() && context_.patterns_alone) return true;
    say(all_rows_wrong()
            ? "every weight is 0"
            : fmt::format("{} {} no {}: all weights are 0", words->text, words->have(), context_.nouns.column));
    return true;
  }

  /// The wrong rows are what a mix-up of problems of the batch gives.
  bool add_other() {
    for (const auto& other : context_.others) {
      bool holds = other.weights.size() == state_.size() && wrong_ >= kFewest;
      for (std::size_t r = 0; r < rows_.size() && holds; ++r)
        for (Index j = 0; j < s_ && holds; ++j)
          // Its bounds are like ours where its weights are.
          holds = std::abs(got(rows_[r], j) - other.weights[at(rows_[r], j)]) <= 2 * row_allowance(rows_[r]);
      if (!holds) continue;
      say(fmt::format("{}{}{}", map_.head.empty() ? "the problem" : map_.head, " " + other.text, for_wrong_rows()));
      return true;
    }
    return false;
  }

  /// The largest difference that any weight of the row may have.
  double row_allowance(Index i) const {
    double most = 0;
    for (Index j = 0; j < s_; ++j)
      if (std::isfinite(allowed(i, j))) most = std::max(most, allowed(i, j));
    return most;
  }

  /// Whether row i has what is due in row `from`; the same of columns.
  bool is_row(Index i, Index from) const {
    return !any_column([&](Index j) { return !(std::abs(got(i, j) - due(from, j)) <= allowed(from, j)); });
  }
  bool is_column(Index j, Index from) const {
    return !any_row([&](Index i) { return !(std::abs(got(i, j) - due(i, from)) <= allowed(i, from)); });
  }

  /// Each of the places has what is due at another: "the weights of query i are those due to query i + 1". The first
  /// rule that holds at all of them.
  std::string exchange(const Places& places, Index total, const std::string& one, const std::string& several,
                       char letter, const std::function<bool(Index, Index)>& is,
                       const std::function<std::size_t(Index)>& weights_due) const {
    const auto by = [&](const std::function<Index(Index)>& from) {
      return std::all_of(places.begin(), places.end(),
                         [&](Index place) {
                           const Index other = from(place);
                           return other >= 0 && other < total && is(place, other);
                         }) &&
             std::any_of(places.begin(), places.end(),
                         [&](Index place) { return weights_due(from(place)) >= kFewest; });
    };
    // Rows of zeros, or of one weight, are alike without being exchanged.
    const auto telling = [&](Index place, Index from) { return is(place, from) && weights_due(from) >= kFewest; };
    const auto words = words_of(places, total, one, several, letter);
    const bool whole = static_cast<Index>(places.size()) == total;
    if (places.size() == 2 && telling(places[0], places[1]) && is(places[1], places[0]))
      return fmt::format("{} {} and {} are exchanged: each has the weights of the other", several, places[0],
                         places[1]);
    if (places.size() == 1)
      for (Index from = 0; from < total; ++from)
        if (telling(places[0], from))
          return fmt::format("{} {} has the weights that are due to {} {}", one, places[0], one, from);
    if (places.size() < 2 || !words) return "";
    for (Index from = 0; from < total; ++from)
      if (by([&](Index) { return from; }))
        return fmt::format("{} {} the weights that are due to {} {}", words->text, words->have(), one, from);
    if (by([&](Index place) { return total - 1 - place; }))
      return fmt::format("{} are in reverse order: {} {} has the weights that are due to {} {} - {}",
                         whole || static_cast<Index>(places.size()) == total - 1 ? "the " + several : words->text, one,
                         letter, one, total - 1, letter);
    for (Index shift = 1; shift <= std::min<Index>(total - 1, 8); ++shift)
      for (const Index signed_shift : {shift, -shift})
        for (const bool around : {true, false}) {
          // At the end there may be no row to be had from.
          Index outside = 0;
          const bool holds = std::all_of(places.begin(), places.end(), [&](Index place) {
            Index from = place + signed_shift;
            if (around) from = (from + total) % total;
            if (from >= 0 && from < total) return is(place, from);
            return ++outside <= shift;
          });
          const bool tells = std::any_of(places.begin(), places.end(), [&](Index place) {
            return place + signed_shift >= 0 && place + signed_shift < total &&
                   weights_due(place + signed_shift) >= kFewest;
          });
          if (!holds || !tells || 2 * (static_cast<Index>(places.size()) - outside) < total) continue;
          return fmt::format("{} {} shifted: {} {} has the weights that are due to {} {}{}{}", words->text,
                             words->are(), one, letter, one, shifted(letter, signed_shift),
                             around ? fmt::format(", modulo {}", total) : "",
                             outside > 0 ? ", as far as there is one" : "");
        }
    for (Index period = 2; period < total; ++period) {
      if (by([&](Index place) { return place % period; }))
        return fmt::format("{} {} the weights that are due to the first {}: {} {} has those of {} {} % {}", words->text,
                           words->have(), period, one, letter, one, letter, period);
      if (by([&](Index place) { return place / period * period; }))
        return fmt::format("{} {} the weights that are due to the first of {} {}: {} {} has those of {} {} - {} % {}",
                           words->text, words->have(), period, several, one, letter, one, letter, letter, period);
    }
    return "";
  }

  bool add_exchange() {
    if (wrong_ < 2) return false;
    if (n_ == s_ && n_ > 1) {
      bool transposed = true;
      for (Index i = 0; i < n_ && transposed; ++i)
        transposed = !any_column([&](Index j) { return !(std::abs(got(i, j) - due(j, i)) <= allowed(j, i)); });
      if (transposed) {
        say(fmt::format("the weights are transposed: {} i has for {} j what is due to {} j for {} i",
                        context_.nouns.row, context_.nouns.column, context_.nouns.row, context_.nouns.column));
        return true;
      }
    }
    const auto& nouns = context_.nouns;
    std::string text;
    if (n_ > 1)
      text = exchange(
          rows_, n_, nouns.row, nouns.rows, 'i', [this](Index i, Index from) { return is_row(i, from); },
          [this](Index i) {
            std::size_t due = 0;
            for (Index j = 0; j < s_; ++j) due += !nothing_due(i, j);
            return due;
          });
    if (text.empty() && s_ > 1)
      text = exchange(
          columns_, s_, nouns.column, nouns.columns, 'j', [this](Index j, Index from) { return is_column(j, from); },
          [this](Index j) {
            std::size_t due = 0;
            for (Index i = 0; i < n_; ++i) due += !nothing_due(i, j);
            return due;
          });
    if (text.empty()) return false;
    say(std::move(text));
    return true;
  }

  /// The weights of a row are all equal where something is due.
  bool add_even() {
    if (count(Weight::extra) + count(Weight::not_finite) + count(Weight::missing) > 0 || wrong_ < kFewest) return false;
    bool of_all = true, by_number = true;
    for (const Index i : rows_) {
      double first = 0, keys = 0;
      for (Index j = 0; j < s_; ++j) {
        if (!has_ratio(i, j)) {
          of_all = false;
          continue;
        }
        if (++keys == 1) first = got(i, j);
        if (std::abs(got(i, j) - first) > 2 * row_allowance(i)) return false;
      }
      if (keys < 2) return false;
      by_number = by_number && std::abs(first * keys - 1) <= 2 * keys * row_allowance(i);
    }
    say(fmt::format("the weights of a {} are all equal{}{}", context_.nouns.row, of_all ? "" : " where any is due",
                    by_number ? fmt::format(" (1 / their number)") : "") +
        for_wrong_rows());
    return true;
  }

  /// How well a weight's logarithm is known.
  double relative(Index i, Index j) const { return allowed(i, j) / std::min(std::abs(due(i, j)), std::abs(got(i, j))); }

  /// Weights of a row are the due ones to a power, times a factor of the row.
  bool add_power() {
    if (count(Weight::extra) + count(Weight::not_finite) > 0 || wrong_ < kFewest) return false;
    constexpr double kKnown = 0.05;
    const auto known = [&](Index i, Index j) {
      return has_ratio(i, j) && due(i, j) > 0 && got(i, j) > 0 && relative(i, j) < kKnown;
    };
    // The two weights that tell the power best.
    double power = 1, error = std::numeric_limits<double>::infinity();
    for (const Index i : rows_) {
      Index low = -1, high = -1;
      for (Index j = 0; j < s_; ++j) {
        if (!known(i, j)) continue;
        if (low < 0 || due(i, j) < due(i, low)) low = j;
        if (high < 0 || due(i, j) > due(i, high)) high = j;
      }
      if (low < 0 || due(i, low) == due(i, high)) continue;
      const double spread = std::log(due(i, high) / due(i, low));
      const double its = 2 * (relative(i, low) + relative(i, high)) / spread;
      if (its >= error) continue;
      error = its;
      power = std::log(got(i, high) / got(i, low)) / spread;
    }
    if (!(error < 0.05) || !(power > 0) || std::abs(power - 1) <= 2 * error) return false;
    std::size_t fitted = 0;
    bool sums = true;
    for (const Index i : rows_) {
      Index reference = -1;
      for (Index j = 0; j < s_; ++j)
        if (known(i, j) && (reference < 0 || due(i, j) > due(i, reference))) reference = j;
      if (reference < 0) return false;
      double all_got = 0, all_due = 0, all_allowed = 0;
      for (Index j = 0; j < s_; ++j) {
        all_got += got(i, j), all_due += due(i, j), all_allowed += allowed(i, j);
        if (j == reference || nothing_due(i, j)) continue;
        if (due(i, j) <= 0) return false;
        const double step = std::log(due(i, j) / due(i, reference)), off = error * std::abs(step);
        const double expected = got(i, reference) * std::exp(power * step);
        // 2 x: bounds of the weights that are due hold for others that are like them.
        const double may_be = 2 * (power + 1) * allowed(i, j) +
                              expected * (off + 2 * relative(i, reference) + 2 * power * allowed(i, j) / due(i, j));
        if (!(std::abs(got(i, j) - expected) <= may_be)) return false;
        fitted += known(i, j) && may_be < 0.1 * std::abs(expected);
      }
      sums = sums && std::abs(all_got - all_due) <= 2 * all_allowed;
    }
    if (fitted < rows_.size() / 2 + kFewest || 4 * fitted < wrong_) return false;
    const std::string name = factor_text(power, 2 * error, context_.sizes);
    say(fmt::format("the weights of a {} are those due to the power {}{}, as if its logits were so many times as large",
                    context_.nouns.row, name, sums ? "" : " times a factor") +
        for_wrong_rows());
    return true;
  }

  /// The cells where `inside` holds, of the rows that have members, are the members, as far as a cell can be one.
  std::optional<std::string> rows_of_shape(const Places& rows, Weight kind, const HoldsAt& inside) const {
    for (const Index i : rows)
      for (Index j = 0; j < s_; ++j)
        if (state(i, j) == kind ? !inside(i, j) : inside(i, j) && may_be(kind, i, j)) return std::nullopt;
    Places with_none = rows;  // and rows that can have none
    for (Index i = 0; i < n_; ++i)
      if (!any_column([&](Index j) { return inside(i, j) && may_be(kind, i, j); })) with_none.push_back(i);
    std::sort(with_none.begin(), with_none.end());
    if (static_cast<Index>(with_none.size()) == n_) return "";
    return for_rows(row_words(rows) ? rows : row_words(with_none) ? with_none : rows);
  }

  /// Whether a weight that is missing, or extra, could be there.
  bool may_be(Weight kind, Index i, Index j) const {
    return state(i, j) != Weight::not_finite && std::isfinite(due(i, j)) &&
           nothing_due(i, j) == (kind == Weight::extra);
  }

  /// Where weights are missing, or extra, from one diagonal to another.
  std::optional<std::string> diagonals(const Places& rows, Weight kind, Index least, Index most) const {
    const auto& [row, row_noun, column, columns] = context_.nouns;
    const Index ahead = s_ - n_;
    const bool missing = kind == Weight::missing;
    const auto where = rows_of_shape(rows, kind, [&](Index i, Index j) { return least <= j - i && j - i <= most; });
    if (!where) return std::nullopt;
    bool open_below = true, open_above = true;
    for (const Index i : rows)
      for (Index j = 0; j < s_; ++j) {
        if (!may_be(kind, i, j)) continue;
        open_below = open_below && j - i >= least, open_above = open_above && j - i <= most;
      }
    const std::string alignment = ahead == 0 ? "" : fmt::format(" (s - n = {})", ahead);
    std::string subject;
    if (least == most)
      subject = least == ahead ? fmt::format("each {}'s own {} (j = {})", row, column, shifted('i', least))
                               : fmt::format("the diagonal j = {}{}", shifted('i', least), alignment);
    else if (open_above && least == ahead + 1)
      subject = fmt::format("all {} after each {}'s own (j > {})", columns, row, shifted('i', ahead));
    else if (open_above && open_below)
      subject = fmt::format("all {} {}", columns, missing ? "with a weight" : "that should have none");
    else if (open_above)
      subject = fmt::format("all {} j >= {}{}", columns, shifted('i', least), alignment);
    else if (open_below)
      subject = fmt::format("all {} j <= {}{}", columns, shifted('i', most), alignment);
    else
      subject = fmt::format("{} j from {} to {}{}", columns, shifted('i', least), shifted('i', most), alignment);
    return fmt::format("{} {} {}{}", subject, least == most ? "is" : "are", missing ? "missing" : "extra", *where);
  }

  /// Where weights are missing, or extra, in words: "the last key is missing for every query".
  std::optional<std::string> stripe(Weight kind) const {
    const bool missing = kind == Weight::missing;
    Places rows;
    std::set<Index> seen;
    Index least = std::numeric_limits<Index>::max(), most = std::numeric_limits<Index>::min();
    const Index ahead = s_ - n_;
    for (Index i = 0; i < n_; ++i)
      for (Index j = 0; j < s_; ++j)
        if (state(i, j) == kind) {
          if (rows.empty() || rows.back() != i) rows.push_back(i);
          seen.insert(j);
          least = std::min(least, j - i), most = std::max(most, j - i);
        }
    const auto& [row, row_noun, column, columns] = context_.nouns;
    const auto said = [&](const std::string& subject, bool many, const std::string& where) {
      return fmt::format("{} {} {}{}", subject, many ? "are" : "is", missing ? "missing" : "extra", where);
    };
    // From a diagonal on; a stripe that begins at a key is none, unless one query has it.
    if (rows.size() > 1 && least != most)
      if (auto text = diagonals(rows, kind, least, most)) return text;
    if (const auto words = column_words({seen.begin(), seen.end()}))
      if (const auto where = rows_of_shape(rows, kind, [&](Index, Index j) { return seen.count(j) > 0; })) {
        const bool all = static_cast<Index>(rows.size()) == n_;
        const std::string every = fmt::format(" for every {}{}", row,
                                              all       ? ""
                                              : missing ? " that has weights there"
                                                        : " that should have none there");
        return said(words->text, words->many, where->empty() ? every : *where);
      }
    if (rows.size() > 1 && (least != most || least != ahead))
      for (const bool last : {true, false}) {
        const Index beside = missing ? 0 : last ? 1 : -1;
        const auto inside = [&](Index i, Index j) {
          const Index end = end_of(i, last);
          return end >= 0 && j == end + beside;
        };
        const auto where = rows_of_shape(rows, kind, inside);
        if (!where) continue;
        const std::string which = fmt::format("each {}'s {} {} with a weight", row, last ? "last" : "first", column),
                          diagonal = least == most ? fmt::format(" (j = {})", shifted('i', least)) : "";
        return said(missing ? which + diagonal
                            : fmt::format("the {} {} {}{}", column, last ? "after" : "before", which, diagonal),
                    false, *where);
      }
    if (auto text = diagonals(rows, kind, least, most)) return text;
    std::vector<Index> tiles(kTiles.begin(), kTiles.end());
    for (Index tile = 2; tile < kTiles.back() / 2; ++tile) tiles.push_back(tile);
    for (const Index tile : tiles)
      for (const int relation : {0, 1, -1}) {
        if (tile >= s_ || ahead < 0) continue;
        const auto where = rows_of_shape(rows, kind, [&](Index i, Index j) {
          const Index own = (i + ahead) / tile, its = j / tile;
          return relation == 0 ? its == own : relation > 0 ? its > own : its < own;
        });
        if (!where) continue;
        return said(fmt::format("{} {} each {}'s own tile of {}{}", columns,
                                relation == 0  ? "in"
                                : relation > 0 ? "after"
                                               : "before",
                                row, tile, missing ? "" : " that should have no weight"),
                    true, *where);
      }
    return std::nullopt;
  }

  /// The last, or the first, column with a weight that is due in a row; -1 where there is none.
  Index end_of(Index i, bool last) const {
    Index end = -1;
    for (Index j = 0; j < s_; ++j)
      if (!nothing_due(i, j)) {
        if (!last) return j;
        end = j;
      }
    return end;
  }

  /// `finite`: nothing else was said to be wrong.
  void add_stripes(bool finite) {
    const std::size_t missing = count(Weight::missing), extra = count(Weight::extra);
    std::vector<std::string> stripes;
    std::size_t told = 0;
    for (const auto& [kind, number] : {std::pair{Weight::missing, missing}, std::pair{Weight::extra, extra}})
      if (number > 0)
        if (const auto text = stripe(kind)) {
          stripes.push_back(*text);
          told += number;
        }
    if (stripes.empty()) return;
    std::string sentence = fmt::format("{}", fmt::join(stripes, ", and "));
    if (finite) {
      if (told == wrong_)
        sentence += "; all other weights are right";
      else if (told == missing + extra)
        sentence += rest_of_rows(wrong_ - told, missing > 0, extra > 0);
      else
        sentence += others_wrong(wrong_ - told);
    }
    say(std::move(sentence));
  }

  static std::string others_wrong(std::size_t number) {
    return fmt::format("; {} other weight{} wrong too", number, number == 1 ? " is" : "s are");
  }

  /// What is wrong beside stripes that are missing or extra.
  std::string rest_of_rows(std::size_t others, bool missing, bool extra) const {
    bool sums = true, constant = true;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const Index i : rows_) {
      double factor = 1, all_got = 0, all_due = 0, all_allowed = 0;
      constant = constant && row_factor(i, [](Index) { return true; }, factor);
      for (Index j = 0; j < s_; ++j)
        all_got += got(i, j), all_due += due(i, j), all_allowed += std::max(1.0, factor) * allowed(i, j);
      if (!any_column([&](Index j) { return has_ratio(i, j); })) continue;
      sums = sums && std::abs(all_got - all_due) <= all_allowed;
      least = std::min(least, factor), most = std::max(most, factor);
    }
    if (!constant) return others_wrong(others);
    if (sums)
      return fmt::format("; a {}'s other weights are off by one factor, so that the sum is right: normalised {}",
                         context_.nouns.row,
                         extra ? missing ? "with what there is" : "with what is extra" : "without what is missing");
    return fmt::format("; a {}'s other weights are off by one factor ({} to {})", context_.nouns.row, near_one(least),
                       near_one(most));
  }

  /// Whether the row's weights in those columns are the due ones times one factor.
  bool row_factor(Index i, const Holds& in, double& factor, double* error = nullptr) const {
    Index reference = -1;
    for (Index j = 0; j < s_; ++j)
      if (in(j) && has_ratio(i, j) &&
          (reference < 0 || allowed(i, j) * std::abs(due(i, reference)) < allowed(i, reference) * std::abs(due(i, j))))
        reference = j;
    factor = 1;
    if (error) *error = 1;
    if (reference < 0) return true;
    factor = got(i, reference) / due(i, reference);
    const double size = std::max(1.0, std::abs(factor)), its = allowed(i, reference) / std::abs(due(i, reference));
    if (error) *error = its * size / std::abs(factor);
    return !any_column([&](Index j) {
      return in(j) && has_ratio(i, j) &&
             !(std::abs(got(i, j) - factor * due(i, j)) <= size * (allowed(i, j) + its * std::abs(due(i, j))));
    });
  }

  /// The mean of the factors weighs nothing: the largest and the least are said.
  bool add_factors() {
    if (wrong_ < kFewest) return false;
    return add_one_factor() || add_row_factors() || add_counted() || add_column_factors() || add_tiles();
  }

  bool add_one_factor() {
    Index i0 = -1, j0 = -1;
    for (const Index i : rows_)
      for (Index j = 0; j < s_; ++j)
        if (has_ratio(i, j) &&
            (i0 < 0 || allowed(i, j) * std::abs(due(i0, j0)) < allowed(i0, j0) * std::abs(due(i, j))))
          i0 = i, j0 = j;
    if (i0 < 0) return false;
    const double factor = got(i0, j0) / due(i0, j0), size = std::max(1.0, std::abs(factor)),
                 its = allowed(i0, j0) / std::abs(due(i0, j0));
    for (const Index i : rows_)
      for (Index j = 0; j < s_; ++j)
        if (has_ratio(i, j) &&
            !(std::abs(got(i, j) - factor * due(i, j)) <= size * (allowed(i, j) + its * std::abs(due(i, j)))))
          return false;
    const std::string text = factor_text(factor, 2 * its * size / std::abs(factor), context_.sizes);
    say(all_rows_wrong() ? fmt::format("all weights are {} times what is due", text)
                         : fmt::format("all weights of {} are {} times what is due", rows_text(), text));
    return true;
  }

  std::string rows_text() const {
    if (const auto words = row_words(rows_)) return words->text;
    return fmt::format("{} of {} {}", rows_.size(), n_, context_.nouns.rows);
  }

  bool add_row_factors() {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    std::size_t weights = 0;
    bool by_number = true, by_share = true;
    for (const Index i : rows_) {
      double factor = 1, error = 1;
      if (!row_factor(i, [](Index) { return true; }, factor, &error)) return false;
      double keys = 0;
      for (Index j = 0; j < s_; ++j) keys += has_ratio(i, j);
      weights += static_cast<std::size_t>(keys);
      by_number = by_number && std::abs(factor / keys - 1) <= 2 * error;
      by_share = by_share && std::abs(factor * keys - 1) <= 2 * error;
      least = std::min(least, factor), most = std::max(most, factor);
    }
    // Rows of one weight each have a factor whatever is wrong.
    if (rows_.size() < 2 || weights < rows_.size() + kFewest) return false;
    const auto& [row, row_noun, column, columns] = context_.nouns;
    const std::string what = by_number  ? fmt::format("what is due times the number of its {}", columns)
                             : by_share ? fmt::format("what is due divided by the number of its {}", columns)
                                        : fmt::format(
                                              "off by a factor of the {}'s own, {} to {}: what they are divided by is "
                                              "wrong",
                                              row, near_one(least), near_one(most));
    say(fmt::format("the weights of {} are {}", all_rows_wrong() ? "each " + row : rows_text(), what));
    return true;
  }

  /// Some columns weigh a constant times what the others of the row do.
  bool add_counted() {
    // They are those of the best row that part from its other weights.
    for (const Index best : rows_) {
      Places resolved;
      for (Index j = 0; j < s_; ++j)
        if (has_ratio(best, j)) resolved.push_back(j);
      if (resolved.size() < 3) continue;
      const auto ratio = [&](Index j) { return got(best, j) / due(best, j); };
      const auto [low, high] =
          std::minmax_element(resolved.begin(), resolved.end(), [&](Index a, Index b) { return ratio(a) < ratio(b); });
      const double middle = (ratio(*low) + ratio(*high)) / 2;
      Places above, below;
      for (const Index j : resolved) (ratio(j) > middle ? above : below).push_back(j);
      for (const Places* some :
           {above.size() <= below.size() ? &above : &below, above.size() <= below.size() ? &below : &above})
        if (counts(*some)) return true;
      // Rows with fewer weights than all tell less; one row is enough to choose the columns.
      if (resolved.size() == static_cast<std::size_t>(s_)) return false;
    }
    return false;
  }

  bool counts(const Places& columns) {
    const auto words = column_words(columns);
    const auto in = [&](Index j) { return std::binary_search(columns.begin(), columns.end(), j); };
    double factor = 0, known = std::numeric_limits<double>::infinity();
    std::vector<std::array<double, 2>> factors;
    std::size_t told = 0;
    bool others_right = true, sums = true;
    for (const Index i : rows_) {
      double inside = 1, outside = 1, inside_error = 1, outside_error = 1;
      if (!row_factor(i, in, inside, &inside_error) ||
          !row_factor(i, [&](Index j) { return !in(j); }, outside, &outside_error))
        return false;
      bool has_inside = false, has_outside = false;
      double all_got = 0, all_due = 0, all_allowed = 0;
      for (Index j = 0; j < s_; ++j) {
        (in(j) ? has_inside : has_outside) |= has_ratio(i, j);
        others_right = others_right && (in(j) || !is_wrong(i, j));
        all_got += got(i, j), all_due += due(i, j), all_allowed += std::max(1.0, outside) * allowed(i, j);
      }
      sums = sums && std::abs(all_got - all_due) <= all_allowed;
      if (!has_inside || !has_outside || outside == 0) continue;
      const double one = inside / outside, error = inside_error + outside_error;
      factors.push_back({one, error});
      ++told;
      if (error < known) known = error, factor = one;
    }
    if (told == 0 || !(std::abs(factor - 1) > 2 * known)) return false;
    for (const auto& [one, error] : factors)
      if (!(std::abs(one / factor - 1) <= 2 * (error + known))) return false;
    // One row and two groups of which each has one weight fit anything.
    std::size_t weights = 0;
    for (const Index i : rows_)
      for (Index j = 0; j < s_; ++j) weights += has_ratio(i, j);
    if (weights < 2 * told + kFewest) return false;
    const std::string text = factor_text(factor, 2 * known, context_.sizes);
    const auto& row = context_.nouns.row;
    if (others_right)
      say(fmt::format("the weights of {} are {} times what is due{}; all others are right",
                      words ? words->text : fmt::format("{} of {} {}", columns.size(), s_, context_.nouns.columns),
                      text, for_wrong_rows()));
    else if (!words)
      return false;
    else
      say(fmt::format("{} {} {} times as much as {} should beside a {}'s others{}{}", words->text,
                      words->many ? "weigh" : "weighs", text, words->many ? "they" : "it", row,
                      sums ? ", with the right sum" : "", for_wrong_rows()));
    return true;
  }

  bool add_column_factors() {
    if (n_ < 2) return false;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    std::size_t weights = 0, columns = 0;
    for (const Index j : columns_) {
      Index reference = -1;
      for (Index i = 0; i < n_; ++i)
        if (has_ratio(i, j) && (reference < 0 || allowed(i, j) * std::abs(due(reference, j)) <
                                                     allowed(reference, j) * std::abs(due(i, j))))
          reference = i;
      if (reference < 0) return false;
      const double factor = got(reference, j) / due(reference, j), size = std::max(1.0, std::abs(factor)),
                   its = allowed(reference, j) / std::abs(due(reference, j));
      for (Index i = 0; i < n_; ++i) {
        if (!has_ratio(i, j)) continue;
        ++weights;
        if (!(std::abs(got(i, j) - factor * due(i, j)) <= size * (allowed(i, j) + its * std::abs(due(i, j)))))
          return false;
      }
      ++columns;
      least = std::min(least, factor), most = std::max(most, factor);
    }
    if (columns < 2 || weights < columns + kFewest) return false;
    const auto words = column_words(columns_);
    say(fmt::format("the weights of {} are off by a factor of the {}, {} to {}, the same for every {}",
                    words ? words->text : fmt::format("{} {}", columns_.size(), context_.nouns.columns),
                    context_.nouns.column, near_one(least), near_one(most), context_.nouns.row));
    return true;
  }

  /// One factor for the weights of a row within each tile of columns.
  bool add_tiles() {
    std::vector<Index> lengths;
    for (auto tile = kTiles.rbegin(); tile != kTiles.rend(); ++tile)
      if (*tile < s_) lengths.push_back(*tile);
    for (Index tile = s_ - 1; tile >= 2; --tile)
      if (std::find(kTiles.begin(), kTiles.end(), tile) == kTiles.end()) lengths.push_back(tile);
    for (const Index tile : lengths) {
      double least = std::numeric_limits<double>::infinity(), most = -least;
      std::size_t weights = 0, groups = 0;
      std::set<Index> tiles_wrong;
      bool holds = true;
      for (std::size_t r = 0; r < rows_.size() && holds; ++r)
        for (Index first = 0; first < s_ && holds; first += tile) {
          const Index i = rows_[r];
          const auto in = [&](Index j) { return first <= j && j < first + tile; };
          double factor = 1;
          holds = row_factor(i, in, factor);
          std::size_t some = 0;
          for (Index j = first; j < std::min(s_, first + tile); ++j) some += has_ratio(i, j);
          if (some == 0) continue;
          weights += some;
          ++groups;
          const bool wrong = any_column([&](Index j) { return in(j) && is_wrong(i, j); });
          if (!wrong) continue;
          tiles_wrong.insert(first);
          least = std::min(least, factor), most = std::max(most, factor);
        }
      if (!holds || weights < groups + std::max<std::size_t>(kFewest, groups / 2) || tiles_wrong.empty()) continue;
      const auto words = column_words(columns_);
      const std::string which = words ? words->text : context_.nouns.columns;
      say(tiles_wrong.size() == 1
              ? fmt::format("the weights of {} are off by one factor for each {}, {} to {}{}; all others are right",
                            which, context_.nouns.row, near_one(least), near_one(most), for_wrong_rows())
              : fmt::format("the weights of {} are {} to {} times what is due, the same within a tile of {} {}{}{}",
                            which, near_one(least), near_one(most), tile, context_.nouns.columns, for_wrong_rows(),
                            tile >= kTiles.front() ? ": as where tiles are not rescaled" : ""));
      return true;
    }
    return false;
  }

  /// Weights that are right in kind.
  void add_imprecise() {
    double worst = 0;
    for (Index i = 0; i < n_; ++i)
      for (Index j = 0; j < s_; ++j)
        if (is_wrong(i, j)) {
          if (!has_ratio(i, j)) return;
          worst = std::max(worst, std::abs(got(i, j) / due(i, j) - 1));
        }
    if (worst > kImprecise || wrong_ <= kFewWrong) return;
    say(fmt::format("weights are right to about {} bits: the largest relative error of the {} wrong ones is 2^{:.1f}",
                    static_cast<int>(std::floor(-std::log2(worst))), wrong_, std::log2(worst)));
  }

  /// No pattern, but a place.
  void add_where() {
    const auto rows = row_words(rows_), columns = column_words(columns_);
    const bool all_columns = static_cast<Index>(columns_.size()) == s_;
    if (rows && !all_rows_wrong() && wrong_ >= kFewest) {
      const bool whole = !any_of_rows_right();
      say(fmt::format("what is wrong is {} of {}{}", whole ? "every weight" : fmt::format("{} weights", wrong_),
                      rows->text, columns && !all_columns && !whole ? ", in " + columns->text : ""));
    } else if (columns && !all_columns) {
      say(fmt::format("what is wrong is {} weights of {}", wrong_, columns->text));
    }
  }

  /// Whether a weight of the wrong rows is right.
  bool any_of_rows_right() const {
    return std::any_of(rows_.begin(), rows_.end(),
                       [&](Index i) { return any_column([&](Index j) { return state(i, j) == Weight::right; }); });
  }

  void add_few() {
    std::vector<std::string> each;
    for (Index i = 0; i < n_; ++i)
      for (Index j = 0; j < s_; ++j)
        if (is_wrong(i, j))
          each.push_back(fmt::format("{} {}, {} {} ({} for {})", context_.nouns.row, i, context_.nouns.column, j,
                                     near_one(got(i, j)), near_one(due(i, j))));
    say(fmt::format("{} of {} weights {} wrong: {}", wrong_, state_.size(), wrong_ == 1 ? "is" : "are",
                    fmt::join(each, "; ")));
  }

  const WeightMap& map_;
  const MapContext& context_;
  const Index n_, s_;
  const std::vector<Weight> state_;
  std::vector<double> slack_;  // of each row, as in compared()
  Places rows_, columns_;      // with a wrong weight
  std::size_t wrong_ = 0;
  std::vector<std::string> said_;
};

}  // namespace

std::vector<std::string> sentences_of(const WeightMap& map, const MapContext& context) {
  return Reader(map, context).sentences();
}

}  // namespace attest::judge
