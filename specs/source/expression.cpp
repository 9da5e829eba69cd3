// SPDX-License-Identifier: MIT
#include "attest/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <system_error>

namespace attest {
namespace {

// Parser and evaluation recurse; the limit keeps a hostile text from exhausting the stack.
constexpr int kDeepest = 200;

// How tightly an operator binds.
enum Level { kImplies = 1, kOr, kAnd, kNot, kComparison, kSum, kProduct, kMinus, kPower };

enum class Op {
  number,
  choice,
  variable,
  property,
  implication,
  disjunction,
  conjunction,
  negation,
  equal,
  unequal,
  less,
  at_most,
  greater,
  at_least,
  member,  // children: the element, then the set
  plus,
  minus,
  times,
  over,
  modulo,
  opposite,
  power,
  square_root,
  smallest,
  largest,
  round_down,
  round_up,
};

struct Infix {
  std::string_view spelling;
  Level level;
  Op op;
};
constexpr std::array kInfixes = {
    Infix{"implies", kImplies, Op::implication},
    Infix{"or", kOr, Op::disjunction},
    Infix{"and", kAnd, Op::conjunction},
    Infix{"==", kComparison, Op::equal},
    Infix{"!=", kComparison, Op::unequal},
    Infix{"<", kComparison, Op::less},
    Infix{"<=", kComparison, Op::at_most},
    Infix{">", kComparison, Op::greater},
    Infix{">=", kComparison, Op::at_least},
    Infix{"in", kComparison, Op::member},
    Infix{"+", kSum, Op::plus},
    Infix{"-", kSum, Op::minus},
    Infix{"*", kProduct, Op::times},
    Infix{"/", kProduct, Op::over},
    Infix{"%", kProduct, Op::modulo},
    Infix{"^", kPower, Op::power},
};

struct Function {
  std::string_view spelling;
  std::size_t arguments;
  Op op;
};
constexpr std::array kFunctions = {
    Function{"sqrt", 1, Op::square_root}, Function{"min", 2, Op::smallest},  Function{"max", 2, Op::largest},
    Function{"floor", 1, Op::round_down}, Function{"ceil", 1, Op::round_up},
};

constexpr std::string_view kDefault = "default";
constexpr std::array<std::string_view, 3> kProperties = {"consecutive", "sorted", "shared"};

template <class Table>
auto find(const Table& table, std::string_view spelling) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.spelling == spelling; });
  return found == table.end() ? nullptr : &*found;
}

// <cctype> depends on the locale and is undefined for negative characters.
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return '0' <= c && c <= '9'; }
bool is_letter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_'; }
bool is_printable(char c) { return ' ' <= c && c <= '~'; }

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (!is_printable(c)) c = is_space(c) ? ' ' : '?';
  return result;
}

// The text around a place and a caret below the place.
[[noreturn]] void fail(std::string_view text, std::size_t at, std::string_view message) {
  constexpr std::size_t kBefore = 60, kAfter = 40;
  const std::size_t begin = at > kBefore ? at - kBefore : 0;
  const std::size_t end = std::min(text.size(), at + kAfter);
  const std::string_view ellipsis = begin > 0 ? "..." : "";
  throw std::invalid_argument(fmt::format("{}\n  {}{}{}\n  {:>{}}", message, ellipsis,
                                          printable(text.substr(begin, end - begin)), end < text.size() ? "..." : "",
                                          '^', ellipsis.size() + (at - begin) + 1));
}

struct Token {
  enum class Kind { number, name, choice, symbol, end };
  Kind kind;
  std::string_view text;  // a choice without its quotes
  std::size_t at;
  double number = 0;
};

std::string quoted(const Token& token) {
  return token.kind == Token::Kind::end ? "the end" : fmt::format("'{}'", printable(token.text));
}

struct Node {
  Op op;
  std::size_t at;  // where to point in messages
  int depth = 1;
  double number = 0;
  std::string name = {};  // of a variable or a choice, or what a property is of
  std::string word = {};  // of a property
  std::vector<std::size_t> children = {};
};

}  // namespace

struct Expression::Tree {
  std::string text;
  std::vector<Node> nodes = {};  // children stand before their parents, the root is last
};

class ExpressionParser {
public:
  explicit ExpressionParser(std::string_view text) : tree_{.text = std::string(text)} {}

  Expression run() {
    advance();
    const std::size_t root = operation(kImplies);
    if (token_.kind != Token::Kind::end) unexpected("an operator or the end");
    reject_choice(root);
    for (const Node& node : tree_.nodes)
      if (node.op == Op::variable && node.name == kDefault)
        unreadable(node.at, "found 'default' alone, expected it compared with a parameter, as in scale == default");
    return Expression(std::make_shared<const Expression::Tree>(std::move(tree_)));
  }

private:
  static constexpr std::string_view kOperand = "a number, a name, a function, '-' or '('";

  std::string_view text() const { return tree_.text; }
  char peek(std::size_t at) const { return at < text().size() ? text()[at] : '\0'; }

  [[noreturn]] void unreadable(std::size_t at, const std::string& problem) const {
    fail(text(), at, fmt::format("cannot read the expression: column {}: {}", at + 1, problem));
  }
  [[noreturn]] void unexpected(std::string_view expected) const {
    unreadable(token_.at, fmt::format("found {}, expected {}", quoted(token_), expected));
  }

  template <class Belongs>
  std::size_t skip(std::size_t at, Belongs belongs) const {
    while (at < text().size() && belongs(text()[at])) ++at;
    return at;
  }

  void advance() {
    const std::size_t at = next_ = skip(next_, is_space);
    const auto take = [&](Token::Kind kind, std::size_t end) {
      token_ = {kind, text().substr(at, end - at), at};
      next_ = end;
    };
    if (at == text().size()) return take(Token::Kind::end, at);
    if (is_digit(peek(at))) return take_number(at);
    if (is_letter(peek(at)))
      return take(Token::Kind::name, skip(at, [](char c) { return is_letter(c) || is_digit(c); }));
    if (peek(at) == '\'') {
      const std::size_t end = skip(at + 1, [](char c) { return c != '\'' && is_printable(c); });
      if (peek(end) != '\'') unreadable(at, "found a quote that is not closed, expected a choice such as 'half'");
      if (end == at + 1) unreadable(at, "found empty quotes, expected a choice such as 'half'");
      token_ = {Token::Kind::choice, text().substr(at + 1, end - at - 1), at};
      next_ = end + 1;
      return;
    }
    for (const std::string_view symbol : {"==", "!=", "<=", ">="})
      if (text().substr(at, 2) == symbol) return take(Token::Kind::symbol, at + 2);
    if (std::string_view("<>+-*/%^(){},").find(peek(at)) != std::string_view::npos)
      return take(Token::Kind::symbol, at + 1);
    if (peek(at) == '=') unreadable(at, "found '=', expected '=='");
    unreadable(at, is_printable(peek(at))
                       ? fmt::format("found '{}', expected an operand or an operator", peek(at))
                       : "found a character other than printable ASCII, expected an operand or an operator");
  }

  void take_number(std::size_t at) {
    std::size_t end = skip(at, is_digit);
    if (peek(end) == '.' && is_digit(peek(end + 1))) end = skip(end + 1, is_digit);
    if (peek(end) == 'e') {
      const std::size_t digits = end + (peek(end + 1) == '+' || peek(end + 1) == '-' ? 2 : 1);
      if (is_digit(peek(digits))) end = skip(digits, is_digit);
    }
    token_ = {Token::Kind::number, text().substr(at, end - at), at};
    const auto [rest, error] = std::from_chars(text().data() + at, text().data() + end, token_.number);
    if (error != std::errc())
      unreadable(at, "found a number beyond the range of binary64, expected a smaller exponent");
    next_ = end;
  }

  bool at_word(std::string_view word) const {
    return (token_.kind == Token::Kind::name || token_.kind == Token::Kind::symbol) && token_.text == word;
  }

  void require(std::string_view symbol, std::string_view expected) {
    if (!at_word(symbol)) unexpected(expected);
    advance();
  }

  std::size_t add(Node node) {
    for (const std::size_t child : node.children) node.depth = std::max(node.depth, tree_.nodes[child].depth + 1);
    if (node.depth > kDeepest) too_deep(node.at);
    tree_.nodes.push_back(std::move(node));
    return tree_.nodes.size() - 1;
  }

  [[noreturn]] void too_deep(std::size_t at) const {
    unreadable(at, fmt::format("found more than {} levels of operations, expected a simpler expression", kDeepest));
  }

  void reject_choice(std::size_t child) const {
    const Node& node = tree_.nodes[child];
    if (node.op == Op::choice)
      unreadable(node.at, fmt::format("found the choice '{}', expected a number: a choice can only be compared with a "
                                      "variable, by ==, != or in",
                                      node.name));
  }

  // A choice is only ever compared with a variable, and a set holds either choices or numbers.
  void check_comparison(const std::vector<std::size_t>& children) const {
    const auto is = [&](std::size_t child, Op op) { return tree_.nodes[child].op == op; };
    const auto choices =
        std::count_if(children.begin(), children.end(), [&](auto child) { return is(child, Op::choice); });
    if (choices == 0) return;
    const bool one_against_the_rest = static_cast<std::size_t>(choices) == children.size() - 1;
    const bool against_variable =
        std::any_of(children.begin(), children.end(), [&](auto child) { return is(child, Op::variable); });
    if (one_against_the_rest && against_variable) return;
    for (const std::size_t child : children) reject_choice(child);
  }

  // `x == default` compares a property of x with true.
  void compare_with_default(const std::vector<std::size_t>& children) {
    const auto is_default = [&](std::size_t child) {
      return tree_.nodes[child].op == Op::variable && tree_.nodes[child].name == kDefault;
    };
    for (const auto& [one, other] : {std::pair(children[0], children[1]), std::pair(children[1], children[0])}) {
      Node& subject = tree_.nodes[one];
      if (!is_default(other) || is_default(one) || subject.op != Op::variable) continue;
      subject.op = Op::property;
      subject.word = kDefault;
      tree_.nodes[other].op = Op::number;
      tree_.nodes[other].number = 1;
    }
  }

  // Operators that bind at least as tightly as `loosest`, by precedence climbing.
  std::size_t operation(Level loosest) {
    if (++nesting_ > kDeepest) too_deep(token_.at);
    std::size_t left = prefix(loosest);
    bool compared = false;
    while (token_.kind == Token::Kind::name || token_.kind == Token::Kind::symbol) {
      const Infix* infix = find(kInfixes, token_.text);
      if (!infix || infix->level < loosest) break;
      if (infix->level == kComparison && compared)
        unexpected("'and', 'or', 'implies' or the end: comparisons do not chain");
      compared = compared || infix->level == kComparison;
      const std::size_t at = token_.at;
      advance();
      std::vector<std::size_t> children = {left};
      if (infix->op == Op::member) {
        require("{", "'{'");
        list("}", "an operator, ',' or '}'", children);
        if (tree_.nodes[left].op == Op::choice) reject_choice(left);
      } else {
        const bool groups_right = infix->op == Op::implication || infix->op == Op::power;
        children.push_back(operation(groups_right ? infix->level : static_cast<Level>(infix->level + 1)));
      }
      if (infix->op == Op::equal || infix->op == Op::unequal) compare_with_default(children);
      if (infix->op == Op::equal || infix->op == Op::unequal || infix->op == Op::member)
        check_comparison(children);
      else
        for (const std::size_t child : children) reject_choice(child);
      left = add({.op = infix->op, .at = at, .children = std::move(children)});
    }
    --nesting_;
    return left;
  }

  std::size_t prefix(Level loosest) {
    const Token start = token_;
    if (at_word("not")) {
      if (loosest > kNot) unexpected(fmt::format("{} ('not' needs parentheses here)", kOperand));
      advance();
      return unary(Op::negation, start.at, operation(kNot));
    }
    if (at_word("-")) {
      advance();
      return unary(Op::opposite, start.at, operation(kMinus));
    }
    if (at_word("(")) {
      advance();
      const std::size_t inside = operation(kImplies);
      require(")", "an operator or ')'");
      return inside;
    }
    if (start.kind == Token::Kind::number) {
      advance();
      return add({.op = Op::number, .at = start.at, .number = start.number});
    }
    if (start.kind == Token::Kind::choice) {
      advance();
      return add({.op = Op::choice, .at = start.at, .name = std::string(start.text)});
    }
    if (start.kind == Token::Kind::name && !find(kInfixes, start.text)) return name();
    unexpected(kOperand);
  }

  std::size_t unary(Op op, std::size_t at, std::size_t child) {
    reject_choice(child);
    return add({.op = op, .at = at, .children = {child}});
  }

  std::size_t name() {
    const Token start = token_;
    advance();
    if (start.text == "true" || start.text == "false")
      return add({.op = Op::number, .at = start.at, .number = start.text == "true" ? 1.0 : 0.0});
    const Function* function = find(kFunctions, start.text);
    if (std::find(kProperties.begin(), kProperties.end(), start.text) != kProperties.end() && at_word("("))
      return property(start);
    if (!function) {
      if (at_word("("))
        unreadable(start.at,
                   fmt::format("found '{}' before '(', expected a function: sqrt, min, max, floor or ceil; or "
                               "consecutive, sorted or shared",
                               printable(start.text)));
      return add({.op = Op::variable, .at = start.at, .name = std::string(start.text)});
    }
    require("(", fmt::format("'(' after the function '{}'", function->spelling));
    std::vector<std::size_t> children;
    list(")", function->arguments == 1 ? "an operator or ')'" : "an operator, ',' or ')'", children);
    if (children.size() != function->arguments)
      unreadable(start.at, fmt::format("found {} argument{} of '{}', expected {}", children.size(),
                                       children.size() == 1 ? "" : "s", function->spelling, function->arguments));
    for (const std::size_t child : children) reject_choice(child);
    return add({.op = function->op, .at = start.at, .children = std::move(children)});
  }

  // "(x)" behind the word of a property.
  std::size_t property(const Token& word) {
    advance();
    const Token of = token_;
    if (of.kind != Token::Kind::name) unexpected("the name of an input");
    advance();
    require(")", "')' after the name of an input");
    return add({.op = Op::property, .at = word.at, .name = std::string(of.text), .word = std::string(word.text)});
  }

  // One or more expressions separated by commas, through the closing bracket.
  void list(std::string_view close, std::string_view expected, std::vector<std::size_t>& children) {
    children.push_back(operation(kImplies));
    while (at_word(",")) {
      advance();
      children.push_back(operation(kImplies));
    }
    require(close, expected);
  }

  Expression::Tree tree_;
  std::size_t next_ = 0;  // first character after token_
  Token token_ = {Token::Kind::end, {}, 0};
  int nesting_ = 0;
};

class ExpressionEvaluation {
public:
  ExpressionEvaluation(const Expression::Tree& tree, const Expression::Variables& variable)
      : tree_(tree), variable_(variable) {}

  double number() const { return number(tree_.nodes.size() - 1); }
  bool truth() const { return truth(tree_.nodes.size() - 1); }

private:
  [[noreturn]] void undefined(const Node& node, const std::string& problem) const {
    fail(tree_.text, node.at, fmt::format("cannot evaluate the expression: column {}: {}", node.at + 1, problem));
  }

  Value value(std::size_t index) const {
    const Node& node = tree_.nodes[index];
    if (node.op == Op::choice) return node.name;
    if (node.op != Op::variable && node.op != Op::property) return number(index);
    if (node.op == Op::variable) return look_up(node, node.name);
    return look_up(node, Expression::Property{node.word, node.name}.text());
  }

  Value look_up(const Node& node, const std::string& name) const {
    auto found = variable_(name);
    if (!found) undefined(node, fmt::format("unknown variable '{}'", name));
    return *std::move(found);
  }

  double number(std::size_t index) const {
    const Node& node = tree_.nodes[index];
    switch (node.op) {
      case Op::number: return node.number;
      case Op::choice:
      case Op::variable:
      case Op::property: {
        const Value found = value(index);
        if (const auto* choice = std::get_if<std::string>(&found))
          undefined(node, fmt::format("'{}' is the choice '{}', expected a number", node.name, *choice));
        return std::get<double>(found);
      }
      case Op::implication: return !truth(node.children[0]) || truth(node.children[1]);
      case Op::disjunction: return truth(node.children[0]) || truth(node.children[1]);
      case Op::conjunction: return truth(node.children[0]) && truth(node.children[1]);
      case Op::negation: return !truth(node.children[0]);
      case Op::equal: return equal(node);
      case Op::unequal: return !equal(node);
      case Op::member: {
        const Value element = value(node.children[0]);
        return std::any_of(node.children.begin() + 1, node.children.end(),
                           [&](std::size_t child) { return equal(node, element, child); });
      }
      default: break;
    }
    const double x = number(node.children[0]);
    const double y = node.children.size() > 1 ? number(node.children[1]) : 0;
    return arithmetic(node, x, y);
  }

  double arithmetic(const Node& node, double x, double y) const {
    switch (node.op) {
      case Op::less: return x < y;
      case Op::at_most: return x <= y;
      case Op::greater: return x > y;
      case Op::at_least: return x >= y;
      case Op::plus: return x + y;
      case Op::minus: return x - y;
      case Op::times: return x * y;
      case Op::over:
        if (y == 0) undefined(node, "division by zero");
        return x / y;
      case Op::modulo: return modulo(node, x, y);
      case Op::opposite: return -x;
      case Op::power: return power(node, x, y);
      case Op::square_root:
        if (x < 0) undefined(node, fmt::format("square root of {}", x));
        return std::sqrt(x);
      // Written so that a NaN on either side stays one.
      case Op::smallest: return std::isnan(x) || x < y ? x : y;
      case Op::largest: return std::isnan(x) || x > y ? x : y;
      case Op::round_down: return std::floor(x);
      case Op::round_up: return std::ceil(x);
      default: throw std::logic_error("attest: an operation of the expression language without a meaning");
    }
  }

  double modulo(const Node& node, double x, double y) const {
    for (const double operand : {x, y})
      if (!std::isfinite(operand) || operand != std::floor(operand))
        undefined(node, fmt::format("% takes integers, found {}", operand));
    if (y == 0) undefined(node, "division by zero");
    const double remainder = std::fmod(x, y);
    return remainder < 0 ? remainder + std::abs(y) : remainder + 0.0;  // + 0.0 turns -0 into 0
  }

  double power(const Node& node, double x, double y) const {
    if (x == 0 && y < 0) undefined(node, "division by zero: a negative power of 0");
    const double result = std::pow(x, y);
    if (std::isnan(result) && !std::isnan(x) && !std::isnan(y))
      undefined(node, fmt::format("{} ^ {} is no real number", x, y));
    return result;
  }

  bool equal(const Node& node) const {
    const std::size_t x = node.children[0], y = node.children[1];
    return tree_.nodes[x].op == Op::choice ? equal(node, value(y), x) : equal(node, value(x), y);
  }

  bool equal(const Node& node, const Value& x, std::size_t other) const {
    const auto* choice = std::get_if<std::string>(&x);
    if (choice && tree_.nodes[other].op == Op::choice) return *choice == tree_.nodes[other].name;
    const Value y = value(other);
    if (x.index() != y.index()) {
      undefined(node,
                fmt::format("the choice '{}' is compared with the number {}",
                            std::get<std::string>(x.index() == 1 ? x : y), std::get<double>(x.index() == 1 ? y : x)));
    }
    return x == y;
  }

  bool truth(std::size_t index) const {
    const double x = number(index);
    if (std::isnan(x)) undefined(tree_.nodes[index], "NaN is neither true nor false");
    return x != 0;
  }

  const Expression::Tree& tree_;
  const Expression::Variables& variable_;
};

Expression Expression::parse(std::string_view text) { return ExpressionParser(text).run(); }

double Expression::evaluate(const Variables& variable) const { return ExpressionEvaluation(*tree_, variable).number(); }

bool Expression::holds(const Variables& variable) const { return ExpressionEvaluation(*tree_, variable).truth(); }

void Expression::check_choices(const Choices& choices_of) const {
  const auto refuse = [&](const Node& node, const std::string& problem) {
    fail(tree_->text, node.at, fmt::format("cannot evaluate the expression: column {}: {}", node.at + 1, problem));
  };
  const auto of = [&](const Node& node) { return node.op == Op::variable ? choices_of(node.name) : nullptr; };
  const auto check_number = [&](const Node& node) {
    if (const auto* choices = of(node))
      refuse(node, fmt::format("'{}' is a choice of '{}', expected a number", node.name, fmt::join(*choices, "', '")));
  };
  // What a choice, or a variable that is one, is compared with.
  const auto check_pair = [&](const Node& one, const Node& other) {
    const auto* choices = of(one);
    const auto* others = of(other);
    if (other.op != Op::choice) {
      if (choices && !others)
        refuse(other, fmt::format("'{}' is a choice of '{}', and compared with a number", one.name,
                                  fmt::join(*choices, "', '")));
    } else if (!choices) {
      refuse(one, fmt::format("'{}' is a number, and compared with the choice '{}'", one.name, other.name));
    } else if (std::find(choices->begin(), choices->end(), other.name) == choices->end()) {
      refuse(other, fmt::format("'{}' is none of the choices of '{}': '{}'", other.name, one.name,
                                fmt::join(*choices, "', '")));
    }
  };
  check_number(tree_->nodes.back());
  for (const Node& node : tree_->nodes) {
    const bool compares = node.op == Op::equal || node.op == Op::unequal || node.op == Op::member;
    for (const std::size_t child : node.children) {
      const Node& one = tree_->nodes[child];
      if (!compares) check_number(one);
      for (const std::size_t index : node.children)
        if (compares && index != child && one.op != Op::choice) check_pair(one, tree_->nodes[index]);
    }
  }
}

std::vector<std::string> Expression::variables() const {
  std::vector<std::string> names;
  for (const Node& node : tree_->nodes)  // leaves are stored in the order of the text
    if (node.op == Op::variable && std::find(names.begin(), names.end(), node.name) == names.end())
      names.push_back(node.name);
  return names;
}

std::vector<Expression> Expression::conjuncts() const {
  if (tree_->nodes.back().op != Op::conjunction) return {*this};
  std::vector<Expression> all;
  for (const std::size_t operand : tree_->nodes.back().children) {
    auto part = std::make_shared<Tree>(Tree{.text = tree_->text});
    const std::function<std::size_t(std::size_t)> copy = [&](std::size_t at) {
      Node node = tree_->nodes[at];
      for (std::size_t& child : node.children) child = copy(child);
      part->nodes.push_back(std::move(node));
      return part->nodes.size() - 1;
    };
    copy(operand);
    for (auto& one : Expression(std::move(part)).conjuncts()) all.push_back(std::move(one));
  }
  return all;
}

std::vector<Expression::Property> Expression::properties() const {
  std::vector<Property> all;
  for (const Node& node : tree_->nodes)
    if (const Property one{node.word, node.name};
        node.op == Op::property && std::find(all.begin(), all.end(), one) == all.end())
      all.push_back(one);
  return all;
}

const std::string& Expression::text() const { return tree_->text; }

std::vector<Expression> parse_conditions(std::string_view text) {
  std::vector<Expression> conditions;
  std::size_t begin = 0;
  bool in_quotes = false;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '\'') in_quotes = !in_quotes;
    if (at < text.size() && (text[at] != ';' || in_quotes)) continue;
    std::string_view piece = text.substr(begin, at - begin);
    while (!piece.empty() && is_space(piece.front())) piece.remove_prefix(1);
    while (!piece.empty() && is_space(piece.back())) piece.remove_suffix(1);
    if (!piece.empty()) conditions.push_back(Expression::parse(piece));
    begin = at + 1;
  }
  return conditions;
}

}  // namespace attest
