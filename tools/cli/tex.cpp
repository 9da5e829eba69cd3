// SPDX-License-Identifier: MIT
// The plain text of formulas: a_ij, x_(i + 1), sum_{j in S}, e^(x), q_i . k_j, phi^T, "for t < n".
#include "tex.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

namespace attest::cli {
namespace {

constexpr std::array kGreek{"alpha", "beta", "gamma", "delta", "kappa", "lambda", "mu",    "omega",
                            "phi",   "Phi",  "psi",   "rho",   "sigma", "tau",    "theta", "pi"};
constexpr std::array kFunctions{"max",  "min",  "argmax",   "argmin",    "softmax", "ln",     "sin", "cos",
                                "tanh", "clip", "softplus", "floor",     "tril",    "LN",     "SG",  "MHA",
                                "KL",   "act",  "cap",      "attention", "gate",    "update", "sim", "blk"};

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// One part of a formula, from left to right.
class FormulaPart {
public:
  explicit FormulaPart(std::string_view text) : text_(text) {}

  std::string tex() {
    while (at_ < text_.size()) next();
    end_of_words();
    return std::move(out_);
  }

private:
  char here(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  char before() const { return at_ > 0 ? text_[at_ - 1] : ' '; }
  bool follows(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void add(std::string_view tex) {
    constexpr std::array kOperators{"+", "-", "=", "/", ")", "]", ",", ";", "\\l", "\\g", "\\c", "\\s", "\\b"};
    const bool is_operator = std::any_of(kOperators.begin(), kOperators.end(),
                                         [&](std::string_view first) { return tex.substr(0, first.size()) == first; });
    if (space_ && !is_operator) words_ += '~';
    end_of_words();
    // A command ends where no letter follows.
    if (!out_.empty() && !tex.empty() && is_letter(tex.front()) && ends_with_command()) out_ += ' ';
    out_ += tex;
  }

  bool ends_with_command() const {
    std::size_t i = out_.size();
    while (i > 0 && is_letter(out_[i - 1])) --i;
    return i < out_.size() && i > 0 && out_[i - 1] == '\\';
  }

  /// Words that follow each other are one text.
  void add_word(std::string_view word) {
    if (!words_.empty()) words_ += ' ';
    space_ = false;
    for (const char c : word) words_ += c == '_' ? "\\_" : std::string(1, c);
  }

  void end_of_words() {
    space_ = false;
    if (words_.empty()) return;
    const std::string words = std::exchange(words_, "");
    out_ += "\\text{" + words + "}";
  }

  bool takes(std::string_view what, std::string_view tex) {
    if (!follows(what)) return false;
    add(tex);
    at_ += what.size();
    return true;
  }

  void next() {
    if (here() == ' ') return blank();
    if (is_letter(here())) return name();
    if (here() == '_' || here() == '^') return script();
    if (here() == '*' && is_letter(before()) && here(1) == '_') return add("^{*}"), void(++at_);
    for (const auto& [what, tex] : kSymbols)
      if (takes(what, tex)) return;
    add(text_.substr(at_, 1));
    ++at_;
  }

  /// Between factors there is room; between words they bring their own.
  void blank() {
    while (here() == ' ') ++at_;
    if (here() == '\0') return;
    if (!words_.empty()) return void(space_ = true);
    const char last = out_.empty() ? ' ' : out_.back();
    const bool factor = is_letter_or_digit(here()) || here() == '(' || here() == '[' || here() == '{';
    if (last == ',' || last == ';')
      add("\\ ");
    else if (factor && (is_letter_or_digit(last) || last == '}' || last == ')' || last == ']' || last == '\''))
      add(is_letter(here()) && is_letter(here(1)) ? "\\ " : "\\,");
  }

  std::string_view run(bool (*is)(char)) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void name() {
    const std::string_view name = name_here();
    if (name == "sum" || name == "prod") return add(name == "sum" ? "\\sum" : "\\prod");
    if (name == "in" && is_of_a_set()) return add("\\in");
    if (name == "mod") return add("\\bmod");
    if (name == "sqrt" && here() == '(') return add("\\sqrt{" + FormulaPart(group()).tex() + "}");
    if (name == "grad" && here() == '_') return ++at_, add("\\nabla\\!");
    add_name(name);
  }

  /// "in" before the name of a set, or a set.
  bool is_of_a_set() const {
    return here() == ' ' &&
           (std::isupper(static_cast<unsigned char>(here(1))) != 0 || here(1) == '[' || here(1) == '{');
  }

  /// Letters and digits; words that a line, a dot or a hyphen joins are one.
  std::string_view name_here() {
    const std::size_t begin = at_;
    const std::string_view first = run(is_letter_or_digit);
    if (first.size() == 1 || first == "grad" || is_one_of(kGreek, first)) return first;
    while ((here() == '_' || here() == '.' || here() == '-') && is_letter(here(1)) && is_letter(here(2)) &&
           is_letter(here(3))) {
      ++at_;
      run(is_letter_or_digit);
    }
    return text_.substr(begin, at_ - begin);
  }

  void add_name(std::string_view name) {
    if (name.size() == 1 || (is_letter(name[0]) && std::isdigit(static_cast<unsigned char>(name[1])) != 0))
      return add(name);
    if (name == "eps") return add("\\varepsilon");
    if (name == "sigma2") return add("\\sigma^2");
    if (name == "xbar") return add("\\bar{x}");
    if (name == "ht") return add("\\tilde{h}");
    if (is_one_of(kGreek, name)) return add("\\" + std::string(name));
    if (is_one_of(kFunctions, name) && (here() == '(' || here() == '_' || here() == ' '))
      return add("\\operatorname{" + std::string(name) + "}");
    const bool ends = here() == '_' || here() == '^' || here() == '\'' || here() == '(';
    if (ends) add("");
    add_word(name);
    if (ends) end_of_words();
  }

  /// What stands between brackets that open here, without them.
  std::string_view group() {
    const char open = here(), close = open == '(' ? ')' : '}';
    const std::size_t begin = ++at_;
    for (int depth = 1; at_ < text_.size(); ++at_) {
      if (text_[at_] == open) ++depth;
      if (text_[at_] == close && --depth == 0) break;
    }
    const std::string_view inside = text_.substr(begin, at_ - begin);
    if (at_ < text_.size()) ++at_;
    return inside;
  }

  /// One subscript, or one exponent: a group, or letters, digits and commas without a blank.
  std::string index() {
    if (here() == '(' || here() == '{') return FormulaPart(group()).tex();
    std::string tex;
    if (here() == '-') tex += '-', ++at_;
    bool later = false;  // behind a comma, where an index has its own
    while (is_letter_or_digit(here()) || (here() == ',' && is_letter_or_digit(here(1)))) {
      if (here() == ',') {
        tex += ',', ++at_, later = true;
        continue;
      }
      const std::string_view name = run(is_letter_or_digit);
      constexpr std::size_t kIndices = 2;  // so many letters are as many indices
      const bool word = name.size() > kIndices && std::all_of(name.begin(), name.end(), is_letter);
      if (name == "T" && text_[at_ - 2] == '^')
        tex += "\\top";
      else if (is_one_of(kGreek, name))
        tex += "\\" + std::string(name);
      else if (name == "sigma2")
        tex += "\\sigma^2";
      else
        tex += word ? "\\text{" + std::string(name) + "}" : std::string(name);
      if (later && here() == '_') ++at_, tex += "_{" + index() + "}";
    }
    return tex;
  }

  void script() {
    const char kind = here();
    ++at_;
    if (kind == '^' && here() == '_') return hat();
    if (kind == '^') return add("^{" + index() + "}");
    std::string all = index();
    while (here() == '_') ++at_, all += ',' + index();
    add("_{" + all + "}");
  }

  /// "a^_t": the letter before has a hat.
  void hat() {
    const char letter = out_.back();
    out_.pop_back();
    out_ += std::string("\\hat{") + letter + "}";
  }

  static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kSymbols{{{"<=", "\\le "},
                                                                                           {"...", "\\dots "},
                                                                                           {">=", "\\ge "},
                                                                                           {"<-", "\\leftarrow "},
                                                                                           {"<", "\\lt "},
                                                                                           {">", "\\gt "},
                                                                                           {"..", "\\dots "},
                                                                                           {". ", "\\cdot "},
                                                                                           {"||", "\\Vert "},
                                                                                           {"|", "\\vert "},
                                                                                           {"*", "\\odot "},
                                                                                           {"~", "\\sim "},
                                                                                           {"{", "\\lbrace "},
                                                                                           {"}", "\\rbrace "},
                                                                                           {"`", ""},
                                                                                           {":", ":\\ "}}};

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_, words_;
  bool space_ = false;  // a blank came after the words
};

/// The first " = " that no bracket holds.
std::size_t equals_of(std::string_view part) {
  int depth = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '(' || part[i] == '{' || part[i] == '[') ++depth;
    if (part[i] == ')' || part[i] == '}' || part[i] == ']') --depth;
    if (depth == 0 && part.substr(i, 3) == " = ") return i;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> parts_of(std::string_view formula) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i + 2 < formula.size(); ++i) {
    if ((formula[i] != ';' && formula[i] != ',') || formula.substr(i + 1, 2) != "  ") continue;
    parts.push_back(formula.substr(begin, i - begin));
    begin = formula.find_first_not_of(' ', i + 1);
    i = begin;
  }
  parts.push_back(formula.substr(begin));
  return parts;
}

}  // namespace

std::string tex_of(std::string_view formula) {
  while (!formula.empty() && (formula.back() == '\n' || formula.back() == ' ')) formula.remove_suffix(1);
  std::string tex = "\\begin{aligned}\n";
  for (const std::string_view part : parts_of(formula)) {
    const auto equals = equals_of(part);
    if (equals == std::string_view::npos)
      tex += "&" + FormulaPart(part).tex();
    else
      tex += FormulaPart(part.substr(0, equals)).tex() + " &= " + FormulaPart(part.substr(equals + 3)).tex();
    tex += " \\\\\n";
  }
  return tex + "\\end{aligned}";
}

}  // namespace attest::cli
