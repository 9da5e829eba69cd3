// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace attest {

/// The value of a variable of an expression: a number (true is 1, false is 0) or the name of a choice.
using Value = std::variant<double, std::string>;

/// The condition or count that a spec or a kernel states over sizes and parameters, as in
///
///     not causal or n <= s          d in {64, 128} and n % block == 0
///     empty_row != 'nan'            n * (n + 1) / 2 * (d + m)
///
/// From loosest to tightest: implies (groups to the right), or, and, not, comparisons == != < <= > >= and
/// `x in {a, b}` (they do not chain), + -, * / %, unary minus, ^ (groups to the right). Operands are decimal numbers,
/// names [a-z_][a-z0-9_]*, true, false, sqrt(x), floor(x), ceil(x), min(x, y), max(x, y), parentheses, and choices in
/// single quotes, which can only be compared with a variable by ==, != or in. Any number but 0 is true. `%` takes
/// integers and gives a result in [0, |divisor|). `and`, `or` and `implies` leave the right side alone when the left
/// one decides, so that `block > 0 and n % block == 0` is safe.
///
/// Properties of a name: `x == default` and `x != default`, whether a parameter is left at its default; consecutive(x),
/// sorted(x), shared(x), of the values of an input. A look-up is asked for "default(x)", "consecutive(x)" ...
class Expression {
public:
  /// Looks up a variable; nothing when there is none of that name.
  using Variables = std::function<std::optional<Value>(std::string_view)>;

  /// Throws std::invalid_argument that shows the text, the place, what stands there and what was expected.
  static Expression parse(std::string_view text);

  /// The value. Throws std::invalid_argument on an unknown variable, on a choice where a number is needed (or the other
  /// way round), and on an undefined value: division by 0, a root or power that is no real number, % of fractions.
  double evaluate(const Variables& variable) const;

  /// evaluate(), read as true or false; NaN is neither and throws.
  bool holds(const Variables& variable) const;

  /// The words that a variable may be; null where it is a number.
  using Choices = std::function<const std::vector<std::string>*(std::string_view)>;

  /// Throws std::invalid_argument, which shows the place, where a variable that is a choice stands for a number, a
  /// number is compared with a choice, or a choice is none of the variable's: such a condition would never hold.
  void check_choices(const Choices& choices_of) const;

  /// Names of the variables, each once, in order of appearance.
  std::vector<std::string> variables() const;

  /// A property and the name that it is of: {"default", "scale"}.
  struct Property {
    std::string word, of;
    bool operator==(const Property&) const = default;
    std::string text() const { return word + "(" + of + ")"; }  // what a look-up is asked for
  };

  /// The operands of `and` that must all hold, each with the text of the whole; the expression itself where it has
  /// none.
  std::vector<Expression> conjuncts() const;

  /// The properties, each once, in order of appearance.
  std::vector<Property> properties() const;

  /// The text that parse() was given.
  const std::string& text() const;

private:
  struct Tree;
  friend class ExpressionParser;
  friend class ExpressionEvaluation;

  explicit Expression(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}

  std::shared_ptr<const Tree> tree_;  // never changes, so copies share it
};

/// The conditions of a list separated by ';'. Empty pieces are ignored.
std::vector<Expression> parse_conditions(std::string_view text);

}  // namespace attest
