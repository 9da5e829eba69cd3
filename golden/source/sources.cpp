// SPDX-License-Identifier: MIT
#include "attest/golden/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <vector>

#include "attest/golden/files.hpp"
#include "attest/golden/store.hpp"

namespace attest::golden {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array kRooms{"specs", "reference", "golden"};
// The parser of specs is not followed: what it makes of an equation's spec is the contract.
constexpr std::string_view kParser = "specs/include/attest/spec.hpp";
constexpr std::string_view kContract = "attest/spec/";  // headers that are generated from specs

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_operator(char c) { return std::string_view("+-*/%&|^<>=!~:.").find(c) != std::string_view::npos; }

/// The end of the literal, raw string or number that begins at `at`; `at` where none does.
std::size_t end_of_token(std::string_view code, std::size_t at) {
  const char c = code[at];
  const bool inside = at > 0 && is_word(code[at - 1]);
  if (c == '"' && at > 0 && code[at - 1] == 'R') {
    const auto open = code.find('(', at);
    const std::string close = fmt::format("){}\"", code.substr(at + 1, open - at - 1));
    const auto end = code.find(close, open);
    return end == std::string_view::npos ? code.size() : end + close.size();
  }
  if (c == '"' || c == '\'') {
    std::size_t end = at + 1;
    while (end < code.size() && code[end] != c) end += code[end] == '\\' ? 2 : 1;
    return std::min(end + 1, code.size());
  }
  if (std::isdigit(static_cast<unsigned char>(c)) && !inside) {
    std::size_t end = at + 1;
    const auto goes_on = [&] {
      const char before = static_cast<char>(std::tolower(static_cast<unsigned char>(code[end - 1])));
      return is_word(code[end]) || code[end] == '.' || code[end] == '\'' ||
             ((code[end] == '+' || code[end] == '-') && (before == 'p' || (before == 'e' && code[at + 1] != 'x')));
    };
    while (end < code.size() && goes_on()) ++end;
    return end;
  }
  return at;
}

json settings(const Parameters& parameters) {
  json all = json::object();
  for (const auto& [name, value] : parameters) std::visit([&, key = name](const auto& x) { all[key] = x; }, value);
  return all;
}

json tensors(const std::vector<TensorDeclaration>& declared) {
  json all = json::array();
  for (const auto& tensor : declared) {
    all.push_back({tensor.name, tensor.shape, name(tensor.element), tensor.optional, tensor.state, tensor.draw});
    for (const auto& other : tensor.draws) all.back().push_back({other.when, other.draw});
  }
  return all;
}

/// The interface of an equation: all that another equation's reference sees of it.
json interface_of(const Spec& spec) {
  json sizes = json::array(), parameters = json::array();
  for (const auto& size : spec.sizes) sizes.push_back(size.name);
  for (const auto& parameter : spec.parameters)
    parameters.push_back({parameter.name, static_cast<int>(parameter.type), parameter.choices,
                          parameter.fallback ? settings({{parameter.name, *parameter.fallback}}) : json()});
  return {{"id", spec.id},
          {"sizes", sizes},
          {"inputs", tensors(spec.inputs)},
          {"outputs", tensors(spec.outputs)},
          {"parameters", parameters}};
}

/// The files that quotation marks include.
std::vector<std::string> includes(std::string_view code) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < code.size(); at = std::min(code.find('\n', at), code.size() - 1) + 1) {
    constexpr std::string_view start = "#include \"";
    const auto line = code.substr(at, code.find('\n', at) - at);
    if (line.starts_with(start))
      found.emplace_back(line.substr(start.size(), line.find('"', start.size()) - start.size()));
  }
  return found;
}

/// Files of the project, followed from header to header and from each header to the sources that implement it.
class Followed {
public:
  explicit Followed(const fs::path& project) : project_(project) {
    for (const char* room : kRooms) {
      const fs::path sources = project / room / "source";
      if (!fs::exists(sources)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(sources))  // a folder that cannot be read is an error
        if (entry.path().extension() == ".cpp") {
          const fs::path file = entry.path().lexically_relative(project);
          // A source implements the header of the project that it includes first.
          for (const auto& name : includes(read_file(entry.path())))
            if (const auto header = resolved(file, name); !header.empty()) {
              implemented_by_[header.generic_string()].push_back(file);
              break;
            }
        }
    }
  }

  void follow(const fs::path& file) {
    const std::string key = file.generic_string();
    if (key == kParser || texts_.count(key)) return;
    const std::string text = read_file(project_ / file);
    texts_[key] = canonical(text);
    for (const auto& name : includes(text)) {
      if (const auto header = resolved(file, name); !header.empty())
        follow(header);
      else if (name.starts_with(kContract))
        add_contract(name);
    }
    for (const auto& source : implemented_by_[key]) follow(source);
  }

  const std::map<std::string, std::string>& texts() const { return texts_; }

private:
  /// The file of the project that an #include means; empty where it means none.
  fs::path resolved(const fs::path& from, const std::string& name) const {
    std::vector<fs::path> places{from.parent_path()};
    for (const char* room : kRooms) places.push_back(fs::path(room) / "include");
    for (const auto& place : places)
      if (const auto file = (place / name).lexically_normal(); fs::exists(project_ / file)) return file;
    return {};
  }

  void add_contract(const std::string& name) {
    std::string id = fs::path(name.substr(kContract.size())).replace_extension().generic_string();
    std::replace(id.begin(), id.end(), '/', '.');
    if (const auto at = specs().find(id); at != specs().end()) texts_[name] = interface_of(at->second).dump();
  }

  fs::path project_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, std::vector<fs::path>> implemented_by_;
};

}  // namespace

std::string canonical(std::string_view code) {
  std::string text;
  bool space = false, directive = false;
  for (std::size_t at = 0; at < code.size();) {
    if (code.substr(at, 2) == "//") {
      at = std::min(code.find('\n', at), code.size());
      space = true;
    } else if (code.substr(at, 2) == "/*") {
      const auto end = code.find("*/", at + 2);
      at = end == std::string_view::npos ? code.size() : end + 2;
      space = true;
    } else if (code.substr(at, 2) == "\\\n") {
      at += 2, space = true;
    } else if (code[at] == '\n' && directive) {
      text += '\n';
      directive = space = false;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(code[at]))) {
      ++at, space = true;
    } else {
      if (code[at] == '#' && !directive) {  // a directive ends with its line
        directive = true;
        if (!text.empty() && text.back() != '\n') text += '\n';
      } else if (space && !text.empty() &&
                 ((is_word(text.back()) && is_word(code[at])) || (is_operator(text.back()) && is_operator(code[at])) ||
                  directive)) {
        text += ' ';
      }
      space = false;
      const auto end = std::max(end_of_token(code, at), at + 1);
      text += code.substr(at, end - at);
      at = end;
    }
  }
  return text;
}

std::string contract(const Spec& spec) {
  json all = interface_of(spec), forms = json::array(), constraints = json::array(), cases = json::array();
  for (const auto& form : spec.forms) forms.push_back({form.name, form.numeric, form.when});
  for (const auto& constraint : spec.constraints)
    if (constraint.require) constraints.push_back(constraint.require->text());
  for (const auto& c : stored_cases(spec))
    cases.push_back({c.sizes, settings(c.parameters), c.flag, c.exact, c.with, c.seed});
  json groups = json::object();
  for (const auto& group : spec.vectors) groups[group.flag] = {group.fill, group.same_bits};
  all.update({{"forms", forms},
              {"constraints", constraints},
              {"gradient", spec.gradient},
              {"cases", cases},
              {"groups", groups}});
  return all.dump();
}

std::map<std::string, std::string> sources_of(const Spec& spec, const fs::path& project) {
  Followed followed(project);
  followed.follow(fs::path("reference/include/attest/reference") / spec.family() / (spec.stem() + ".hpp"));
  followed.follow("golden/include/attest/golden/certify.hpp");
  followed.follow("golden/include/attest/golden/case.hpp");
  return followed.texts();
}

std::string source_hash(const Spec& spec, const fs::path& project) {
  std::string all = contract(spec);
  for (const auto& [name, text] : sources_of(spec, project)) all += fmt::format("\n{} {}\n{}", name, text.size(), text);
  return sha256(all);
}

}  // namespace attest::golden
