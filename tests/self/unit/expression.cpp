// SPDX-License-Identifier: MIT
#include "attest/expression.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>

namespace attest {
namespace {

std::optional<Value> lookup(std::string_view name) {
  static const std::map<std::string, Value, std::less<>> values = {
      {"n", 7.0},
      {"s", 12.0},
      {"d", 64.0},
      {"zero", 0.0},
      {"half", 0.5},
      {"yes", 1.0},
      {"causal", 0.0},
      {"mode", "a"},
      {"other_mode", "b"},
      {"_x1", -3.0},
      {"nan", std::numeric_limits<double>::quiet_NaN()},
      {"inf", std::numeric_limits<double>::infinity()},
  };
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

double evaluate(std::string_view text) { return Expression::parse(text).evaluate(lookup); }
bool holds(std::string_view text) { return Expression::parse(text).holds(lookup); }

template <class Action>
std::string message(Action action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}
std::string parse_error(const std::string& text) {
  return message([&] { Expression::parse(text); });
}
std::string evaluation_error(const std::string& text) {
  const Expression expression = Expression::parse(text);
  return message([&] { expression.evaluate(lookup); });
}

bool contains(const std::string& whole, std::string_view part) { return whole.find(part) != std::string::npos; }

TEST(Expression, ConjunctsAreWhatMustAllHold) {
  const auto variables = [](std::string_view text) {
    std::vector<std::vector<std::string>> all;
    for (const auto& part : Expression::parse(text).conjuncts()) all.push_back(part.variables());
    return all;
  };
  using Names = std::vector<std::vector<std::string>>;
  EXPECT_EQ(variables("n > 3"), (Names{{"n"}}));
  EXPECT_EQ(variables("causal and n == s and (d > n and d < 9)"), (Names{{"causal"}, {"n", "s"}, {"d", "n"}, {"d"}}));
  EXPECT_EQ(variables("(n < s or causal and d > 3) and not yes"), (Names{{"n", "s", "causal", "d"}, {"yes"}}));
  EXPECT_EQ(variables("yes implies n < s and d > 3"), (Names{{"yes", "n", "s", "d"}}));
  const auto parts = Expression::parse("n < s and causal and d - 2 * n == 50").conjuncts();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_TRUE(parts[0].holds(lookup));
  EXPECT_FALSE(parts[1].holds(lookup));
  EXPECT_TRUE(parts[2].holds(lookup)) << "64 - 14";
  EXPECT_TRUE(contains(message([&] { Expression::parse("n < s and unknown > 3").conjuncts()[1].holds(lookup); }),
                       "n < s and unknown > 3"));
}

TEST(Expression, PropertiesAreAskedForByName) {
  const auto asked = [](std::string_view text) {
    const auto named = [](std::string_view name) -> std::optional<Value> {
      if (name == "default(scale)" || name == "sorted(positions)") return 1.0;
      if (name == "default(causal)" || name == "shared(positions)" || name == "scale") return 0.0;
      return std::nullopt;
    };
    return Expression::parse(text).holds(named);
  };
  EXPECT_TRUE(asked("scale == default"));
  EXPECT_TRUE(asked("default == scale and not (default != scale)"));
  EXPECT_FALSE(asked("causal == default"));
  EXPECT_TRUE(asked("causal != default and sorted(positions)"));
  EXPECT_TRUE(asked("not shared( positions )"));
  const auto expression = Expression::parse("scale == default or scale > 0 and sorted(positions)");
  EXPECT_EQ(expression.variables(), std::vector<std::string>{"scale"});
  EXPECT_EQ(expression.properties(),
            (std::vector<Expression::Property>{{"default", "scale"}, {"sorted", "positions"}}));
  EXPECT_TRUE(contains(parse_error("n > default"), "column 5: found 'default' alone"));
  EXPECT_TRUE(contains(parse_error("default == 3"), "column 1: found 'default' alone"));
  EXPECT_TRUE(contains(parse_error("n in {default, 1}"), "found 'default' alone"));
  EXPECT_TRUE(contains(parse_error("sorted(3)"), "expected the name of an input"));
  EXPECT_TRUE(contains(parse_error("sorted(a, b)"), "expected ')' after the name of an input"));
}

TEST(Expression, ReadsNumbers) {
  EXPECT_EQ(evaluate("0"), 0);
  EXPECT_EQ(evaluate("007"), 7);
  EXPECT_EQ(evaluate("0.125"), 0.125);
  EXPECT_EQ(evaluate("1e5"), 1e5);
  EXPECT_EQ(evaluate("2.5e-3"), 2.5e-3);
  EXPECT_EQ(evaluate("1e+2"), 100);
  EXPECT_EQ(evaluate("0.1"), 0.1);
  EXPECT_EQ(evaluate("true"), 1);
  EXPECT_EQ(evaluate("false"), 0);
}

TEST(Expression, RejectsMisspelledNumbers) {
  for (const char* text : {"1.", ".5", "1e", "1e+", "2n", "1_000", "1.2.3", "0x10", "1e999", "1e-999", "1 2"})
    EXPECT_NE(parse_error(text), "no error") << text;
}

TEST(Expression, BindsByPrecedence) {
  EXPECT_EQ(evaluate("1 + 2 * 3"), 7);
  EXPECT_EQ(evaluate("(1 + 2) * 3"), 9);
  EXPECT_EQ(evaluate("10 - 4 - 3"), 3);
  EXPECT_EQ(evaluate("24 / 4 / 2"), 3);
  EXPECT_EQ(evaluate("24 / 4 * 2"), 12);
  EXPECT_EQ(evaluate("2 * 7 % 4"), 2);
  EXPECT_EQ(evaluate("2 ^ 3 ^ 2"), 512);
  EXPECT_EQ(evaluate("-2 ^ 2"), -4);
  EXPECT_EQ(evaluate("(-2) ^ 2"), 4);
  EXPECT_EQ(evaluate("2 ^ -1"), 0.5);
  EXPECT_EQ(evaluate("2 ^ -1 * 4"), 2);
  EXPECT_EQ(evaluate("2 * 3 ^ 2"), 18);
  EXPECT_EQ(evaluate("-2 * 3"), -6);
  EXPECT_EQ(evaluate("2 * -3"), -6);
  EXPECT_EQ(evaluate("1 - -1"), 2);
  EXPECT_EQ(evaluate("--4"), 4);
  EXPECT_EQ(evaluate("1 + 1 == 2"), 1);
  EXPECT_EQ(evaluate("1 < 2 and 2 < 1 or 1 == 1"), 1);
  EXPECT_EQ(evaluate("1 or 0 and 0"), 1);
  EXPECT_EQ(evaluate("(1 or 0) and 0"), 0);
  EXPECT_EQ(evaluate("not 0 and 0"), 0);
  EXPECT_EQ(evaluate("not (0 and 0)"), 1);
  EXPECT_EQ(evaluate("not 1 == 2"), 1);
  EXPECT_EQ(evaluate("not not 5"), 1);
  EXPECT_EQ(evaluate("n+1==2*4"), 1);
}

TEST(Expression, Compares) {
  EXPECT_TRUE(holds("n < s"));
  EXPECT_FALSE(holds("s < n"));
  EXPECT_TRUE(holds("n <= 7"));
  EXPECT_TRUE(holds("n >= 7"));
  EXPECT_FALSE(holds("n > 7"));
  EXPECT_TRUE(holds("n != s"));
  EXPECT_TRUE(holds("n == 7"));
  EXPECT_TRUE(holds("(1 < 2) == (3 < 4)"));
}

TEST(Expression, ComparisonsDoNotChain) {
  for (const char* text : {"1 < n < 9", "1 == 1 == 1", "n in {1} == 0", "not 1 < 2 < 3", "0 or 1 < 2 <= 3"})
    EXPECT_TRUE(contains(parse_error(text), "do not chain")) << text << '\n' << parse_error(text);
}

TEST(Expression, FindsMembersOfSets) {
  EXPECT_TRUE(holds("d in {64, 128}"));
  EXPECT_FALSE(holds("d in {32}"));
  EXPECT_TRUE(holds("d / 2 in {8 * 4, n}"));
  EXPECT_TRUE(holds("not d in {1, 2}"));
  EXPECT_TRUE(holds("d in {64} and n in {7}"));
  EXPECT_TRUE(holds("mode in {'b', 'a'}"));
  EXPECT_FALSE(holds("mode in {'b', 'c'}"));
}

TEST(Expression, ImplicationIsLoosestAndGroupsToTheRight) {
  EXPECT_EQ(evaluate("0 implies 0"), 1);
  EXPECT_EQ(evaluate("0 implies 1"), 1);
  EXPECT_EQ(evaluate("1 implies 0"), 0);
  EXPECT_EQ(evaluate("1 implies 1"), 1);
  EXPECT_EQ(evaluate("0 implies 1 implies 0"), 1);
  EXPECT_EQ(evaluate("(0 implies 1) implies 0"), 0);
  EXPECT_TRUE(holds("causal or yes implies n <= s"));
  EXPECT_FALSE(holds("n == 7 implies s == 7 and n == 7"));
}

TEST(Expression, LogicStopsWhenDecided) {
  EXPECT_FALSE(holds("zero > 0 and n % zero == 0"));
  EXPECT_TRUE(holds("zero == 0 or 1 / zero > 1"));
  EXPECT_TRUE(holds("zero != 0 implies 1 / zero > 1"));
}

TEST(Expression, LogicGivesZeroOrOne) {
  EXPECT_EQ(evaluate("5 and 3"), 1);
  EXPECT_EQ(evaluate("0 or 3"), 1);
  EXPECT_EQ(evaluate("not 3"), 0);
  EXPECT_EQ(evaluate("5 implies 3"), 1);
  EXPECT_EQ(evaluate("0.5 and -1"), 1);
}

TEST(Expression, CallsFunctions) {
  EXPECT_EQ(evaluate("sqrt(d)"), 8);
  EXPECT_EQ(evaluate("1/sqrt(d)"), 0.125);
  EXPECT_EQ(evaluate("min(n, s)"), 7);
  EXPECT_EQ(evaluate("max(n, s)"), 12);
  EXPECT_EQ(evaluate("floor(-2.5)"), -3);
  EXPECT_EQ(evaluate("ceil(n / 2)"), 4);
  EXPECT_EQ(evaluate("max(min(1, 2), floor(1.5) + 1)"), 2);
  EXPECT_TRUE(std::isnan(evaluate("min(nan, 1)")));
  EXPECT_TRUE(std::isnan(evaluate("min(1, nan)")));
  EXPECT_TRUE(std::isnan(evaluate("max(nan, 1)")));
  EXPECT_TRUE(std::isnan(evaluate("max(1, nan)")));
}

TEST(Expression, ModuloIsNeverNegative) {
  EXPECT_EQ(evaluate("7 % 3"), 1);
  EXPECT_EQ(evaluate("(-7) % 3"), 2);
  EXPECT_EQ(evaluate("-7 % 3"), 2);  // unary minus binds tighter than %
  EXPECT_EQ(evaluate("7 % -3"), 1);
  EXPECT_EQ(evaluate("(-7) % -3"), 2);
  EXPECT_EQ(evaluate("6 % 3"), 0);
  EXPECT_FALSE(std::signbit(evaluate("(-6) % 3")));
  EXPECT_EQ(evaluate("9007199254740991 % 2"), 1);
}

TEST(Expression, ComparesChoices) {
  EXPECT_TRUE(holds("mode == 'a'"));
  EXPECT_TRUE(holds("'a' == mode"));
  EXPECT_FALSE(holds("mode == 'b'"));
  EXPECT_TRUE(holds("mode != 'b'"));
  EXPECT_TRUE(holds("(mode) == ('a')"));
  EXPECT_FALSE(holds("mode == other_mode"));
  EXPECT_FALSE(holds("mode in {other_mode}"));
  EXPECT_TRUE(holds("mode == 'elu + 1; scaled' implies false"));
}

TEST(Expression, ChoicesAreNoOperands) {
  for (const char* text : {"'a'", "'a' + 1", "-'a'", "not 'a'", "mode < 'a'", "'a' == 'a'", "1 == 'a'", "n + 1 == 'a'",
                           "'a' in {'a'}", "'a' in {mode}", "mode in {'a', 1}", "mode in {'a', other_mode}",
                           "sqrt('a')", "1 ^ 'a'", "'a' and 1", "1 implies 'a'", "min(1, 'a')"})
    EXPECT_TRUE(contains(parse_error(text), "found the choice 'a', expected a number")) << text << '\n'
                                                                                        << parse_error(text);
  EXPECT_TRUE(contains(evaluation_error("mode + 1"), "'mode' is the choice 'a', expected a number"));
  EXPECT_TRUE(contains(evaluation_error("mode"), "'mode' is the choice 'a', expected a number"));
  EXPECT_TRUE(contains(evaluation_error("n == 'a'"), "the choice 'a' is compared with the number 7"));
  EXPECT_TRUE(contains(evaluation_error("mode == n"), "the choice 'a' is compared with the number 7"));
  EXPECT_TRUE(contains(evaluation_error("mode in {1, 2}"), "the choice 'a' is compared with the number 1"));
}

TEST(Expression, ListsVariablesOnceInOrder) {
  EXPECT_EQ(Expression::parse("s - n + min(s, d) * sqrt(2)").variables(), (std::vector<std::string>{"s", "n", "d"}));
  EXPECT_EQ(Expression::parse("a implies b in {c, d} or not -e ^ f").variables(),
            (std::vector<std::string>{"a", "b", "c", "d", "e", "f"}));
  EXPECT_TRUE(Expression::parse("true and 'a' != x or 1").variables() == std::vector<std::string>{"x"});
  EXPECT_TRUE(Expression::parse("1 + 2").variables().empty());
}

TEST(Expression, NamesMayContainKeywords) {
  const auto one = [](std::string_view) { return std::optional<double>(1); };
  for (const char* name : {"order", "android", "inside", "nothing", "implied", "minimum", "truely", "_", "e", "e5"})
    EXPECT_EQ(Expression::parse(name).evaluate(one), 1) << name;
}

TEST(Expression, KeepsItsTextAndOutlivesItsSource) {
  std::string source = " n  +\t1\n";
  const Expression expression = Expression::parse(source);
  source.assign(source.size(), '#');
  const Expression copy = expression;
  EXPECT_EQ(copy.text(), " n  +\t1\n");
  EXPECT_EQ(copy.evaluate(lookup), 8);
}

TEST(Expression, ParseErrorShowsPlaceFoundAndExpected) {
  EXPECT_EQ(parse_error("n + * 2"),
            "cannot read the expression: column 5: found '*', expected a number, a name, a function, '-' or '('\n"
            "  n + * 2\n"
            "      ^");
  EXPECT_EQ(parse_error("(n + 1"),
            "cannot read the expression: column 7: found the end, expected an operator or ')'\n"
            "  (n + 1\n"
            "        ^");
  EXPECT_EQ(parse_error(""),
            "cannot read the expression: column 1: found the end, expected a number, a name, a function, '-' or '('\n"
            "  \n"
            "  ^");
}

TEST(Expression, ParseErrorsNameTheMistake) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"n = 1", "found '=', expected '=='"},
      {"n 2", "found '2', expected an operator or the end"},
      {"n)", "found ')', expected an operator or the end"},
      {"n S", "found 'S', expected an operator or the end"},
      {"n & 1", "found '&'"},
      {"!n", "found '!'"},
      {"n \xe2\x89\xa4 1", "found a character other than printable ASCII"},
      {"sin(n)", "found 'sin' before '(', expected a function: sqrt, min, max, floor or ceil"},
      {"sqrt n", "found 'n', expected '(' after the function 'sqrt'"},
      {"sqrt(1, 2)", "found 2 arguments of 'sqrt', expected 1"},
      {"min(1)", "found 1 argument of 'min', expected 2"},
      {"min()", "found ')', expected a number"},
      {"min(1, 2", "found the end, expected an operator, ',' or ')'"},
      {"n in 3", "found '3', expected '{'"},
      {"n in {}", "found '}', expected a number"},
      {"n in {1, 2", "found the end, expected an operator, ',' or '}'"},
      {"n in {1,}", "found '}', expected a number"},
      {"mode == 'a", "found a quote that is not closed"},
      {"mode == ''", "found empty quotes"},
      {"and n", "found 'and', expected a number"},
      {"n and", "found the end, expected a number"},
      {"1 + not n", "('not' needs parentheses here)"},
      {"+1", "found '+', expected a number"},
      {"true(1)", "found '(', expected an operator"},
      {"1e999", "found a number beyond the range of binary64"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_TRUE(contains(parse_error(text), expected)) << text << '\n' << parse_error(text);
}

TEST(Expression, ErrorsInLongTextsShowTheNeighbourhood) {
  const std::string error = parse_error("(" + std::string(300, ' ') + "n n" + std::string(300, ' ') + ")");
  EXPECT_TRUE(contains(error, "column 304: found 'n'"));
  const auto lines = std::count(error.begin(), error.end(), '\n');
  EXPECT_EQ(lines, 2);
  EXPECT_LT(error.size(), 400u);
  const std::size_t caret = error.find('^') - error.rfind('\n');
  const std::size_t second = error.find('\n');
  EXPECT_EQ(error[second + caret], 'n');
}

TEST(Expression, EvaluationErrorsNameTheMistake) {
  EXPECT_EQ(evaluation_error("n + width"),
            "cannot evaluate the expression: column 5: unknown variable 'width'\n"
            "  n + width\n"
            "      ^");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"1 / zero", "column 3: division by zero"},
      {"n % zero", "division by zero"},
      {"zero ^ -1", "division by zero: a negative power of 0"},
      {"half % 2", "% takes integers, found 0.5"},
      {"n % half", "% takes integers, found 0.5"},
      {"inf % 2", "% takes integers, found inf"},
      {"sqrt(-n)", "square root of -7"},
      {"_x1 ^ half", "-3 ^ 0.5 is no real number"},
      {"nan and 1", "NaN is neither true nor false"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_TRUE(contains(evaluation_error(text), expected)) << text << '\n' << evaluation_error(text);
  EXPECT_THROW(holds("nan"), std::invalid_argument);
  EXPECT_TRUE(std::isnan(evaluate("nan")));
}

TEST(Expression, ChoicesAreComparedWithWhatAVariableMayBe) {
  const std::vector<std::string> modes{"half", "full"}, rows{"zero", "nan"};
  const auto choices_of = [&](std::string_view name) {
    return name == "mode" ? &modes : name == "row" ? &rows : nullptr;
  };
  for (const char* right : {"mode == 'half'", "'full' != mode", "mode in {'half', 'full'} or n > 1", "mode == default",
                            "not (row == 'nan' and n in {1, 2})", "mode == mode"})
    EXPECT_NO_THROW(Expression::parse(right).check_choices(choices_of)) << right;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"n > 1 and mode == 'halff'",
       "cannot evaluate the expression: column 19: 'halff' is none of the choices of 'mode': 'half', 'full'\n"
       "  n > 1 and mode == 'halff'\n"
       "                    ^"},
      {"mode == 1", "column 9: 'mode' is a choice of 'half', 'full', and compared with a number"},
      {"n + 1 != mode", "'mode' is a choice of 'half', 'full', and compared with a number"},
      {"mode == n", "'mode' is a choice of 'half', 'full', and compared with a number"},
      {"mode in {'half', 'nan'}", "column 18: 'nan' is none of the choices of 'mode'"},
      {"n == 'half'", "column 1: 'n' is a number, and compared with the choice 'half'"},
      {"n in {'half'}", "'n' is a number, and compared with the choice 'half'"},
      {"mode", "column 1: 'mode' is a choice of 'half', 'full', expected a number"},
      {"not mode", "'mode' is a choice of 'half', 'full', expected a number"},
      {"n > 1 or sqrt(row) < 2", "column 15: 'row' is a choice of 'zero', 'nan', expected a number"},
  };
  for (const auto& [text, expected] : cases) try {
      Expression::parse(text).check_choices(choices_of);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_TRUE(contains(error.what(), expected)) << error.what();
    }
}

TEST(Expression, LetsTheLookupThrow) {
  const auto refuse = [](std::string_view) -> std::optional<Value> { throw std::out_of_range("closed"); };
  EXPECT_THROW(Expression::parse("n").evaluate(refuse), std::out_of_range);
}

TEST(Conditions, SplitsAtSemicolons) {
  const auto conditions = parse_conditions(" n <= s ; ;causal == 0;\n mode != 'x;y' ;");
  ASSERT_EQ(conditions.size(), 3u);
  EXPECT_EQ(conditions[0].text(), "n <= s");
  EXPECT_EQ(conditions[1].text(), "causal == 0");
  EXPECT_EQ(conditions[2].text(), "mode != 'x;y'");
  for (const auto& condition : conditions) EXPECT_TRUE(condition.holds(lookup)) << condition.text();
}

TEST(Conditions, EmptyTextHasNone) {
  EXPECT_TRUE(parse_conditions("").empty());
  EXPECT_TRUE(parse_conditions(" ;; \n\t;").empty());
}

TEST(Conditions, RejectsABadPiece) {
  EXPECT_TRUE(contains(message([] { parse_conditions("n > 1; s >"); }), "  s >\n     ^"));
  EXPECT_THROW(parse_conditions("mode == 'a; n > 1"), std::invalid_argument);
}

// Whatever comes in, an expression or std::invalid_argument comes out.
void survive(const std::string& text) {
  try {
    const Expression expression = Expression::parse(text);
    EXPECT_EQ(expression.text(), text);
    expression.variables();
    expression.evaluate(lookup);
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string_view(error.what()), "");
  }
}

TEST(Expression, SurvivesRandomText) {
  const std::vector<std::string> pieces = {
      "n",   "s",     "mode",   "zero", "nan",  "unknown", "'a'",
      "'",   "true",  "and",    "or",   "not",  "implies", "in",
      "{",   "}",     "(",      ")",    "(",    ")",       ",",
      "==",  "!=",    "<",      "<=",   ">",    ">=",      "=",
      "+",   "-",     "*",      "/",    "%",    "^",       "sqrt",
      "min", "max",   "floor",  "ceil", "0",    "1",       "2.5",
      "1e5", "1e999", ".",      ";",    "\xc3", "\n",      std::string(1, '\0'),
      "S",   "sqrt(", "min(1,",
  };
  std::mt19937 random(20240501);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::size_t length = below(16); length > 0; --length)
      text += round % 2 == 0 ? pieces[below(pieces.size())] + (below(4) == 0 ? "" : " ")
                             : std::string(1, static_cast<char>(below(256)));
    survive(text);
    try {
      parse_conditions(text);
    } catch (const std::invalid_argument&) {
    }
  }
}

TEST(Expression, SurvivesDepthAndLength) {
  for (const std::string piece :
       {"(", "-", "not ", "1 + ", "2 ^ ", "1 implies ", "sqrt(", "min(1, ", "n in {", "'", "9", " ", "a"}) {
    std::string text;
    for (int i = 0; i < 50000; ++i) text += piece;
    survive(text);
    survive(text + "1");
  }
  std::string nested = "n";
  for (int i = 0; i < 90; ++i) nested = "(" + nested + ")";
  EXPECT_EQ(evaluate(nested), 7);
  std::string sum = "0";
  for (int i = 0; i < 150; ++i) sum += " + 1";
  EXPECT_EQ(evaluate(sum), 150);
  std::string set = "n in {0";
  for (int i = 0; i < 5000; ++i) set += ", 9";
  EXPECT_TRUE(holds(set + ", 7}"));
}

// An expression written with the fewest parentheses, and the value that C++ gives it.
struct Sample {
  std::string text;
  double value;
  int level;  // as in the table of the header: 1 implies ... 9 power, 10 operand
};

std::string grouped(const Sample& sample, int loosest) {
  return sample.level < loosest ? "(" + sample.text + ")" : sample.text;
}

Sample draw(std::mt19937& random, int depth) {
  const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  if (depth == 0 || below(8) == 0) {
    const int value = below(5);
    return {std::to_string(value), static_cast<double>(value), 10};
  }
  const Sample x = draw(random, depth - 1), y = draw(random, depth - 1);
  const auto left = [&](const char* op, int level, double value) {
    return Sample{grouped(x, level) + op + grouped(y, level + 1), value, level};
  };
  switch (below(14)) {
    case 0: return {grouped(x, 2) + " implies " + grouped(y, 1), double(x.value == 0 || y.value != 0), 1};
    case 1: return left(" or ", 2, x.value != 0 || y.value != 0);
    case 2: return left(" and ", 3, x.value != 0 && y.value != 0);
    case 3: return {"not " + grouped(x, 4), double(x.value == 0), 4};
    case 4: return {grouped(x, 6) + " < " + grouped(y, 6), double(x.value < y.value), 5};
    case 5: return {grouped(x, 6) + "==" + grouped(y, 6), double(x.value == y.value), 5};
    case 6: return {grouped(x, 6) + " in {" + y.text + ", 1}", double(x.value == y.value || x.value == 1), 5};
    case 7: return left(" + ", 6, x.value + y.value);
    case 8: return left("-", 6, x.value - y.value);
    case 9: return left("*", 7, x.value * y.value);
    case 10: return {"-" + grouped(x, 8), -x.value, 8};
    case 11: return {grouped(x, 10) + "^2", x.value * x.value, 9};
    case 12: return {"max(" + x.text + ", " + y.text + ")", std::max(x.value, y.value), 10};
    default: return {"floor(" + grouped(x, 7) + " / 2)", std::floor(x.value / 2), 10};
  }
}

TEST(Expression, AgreesWithTheCompilerOnRandomExpressions) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const Sample sample = draw(random, 5);
    ASSERT_EQ(evaluate(sample.text), sample.value) << sample.text;
  }
}

}  // namespace
}  // namespace attest
