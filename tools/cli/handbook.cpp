// SPDX-License-Identifier: MIT
// handbook: a page of each family of equations and their index, specs/handbook.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <sstream>

#include "attest/golden/case.hpp"
#include "attest/golden/files.hpp"
#include "commands.hpp"
#include "tex.hpp"

namespace attest::cli {
namespace {

/// Plain text as Markdown; what stands between backticks is code already.
std::string markdown(std::string_view text) {
  std::string out;
  bool code = false;
  for (const char c : text) {
    if (c == '`') code = !code;
    if (c == '|' || (!code && (c == '*' || c == '<' || c == '_' || c == '$'))) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

/// A table with a row of headings; nothing where there are no rows.
std::string table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  std::string text =
      fmt::format("\n| {} |\n|{}\n", fmt::join(headings, " | "),
                  fmt::format("{}", fmt::join(std::vector<std::string>(headings.size(), " --- "), "|")) + "|");
  for (const auto& row : rows) text += fmt::format("| {} |\n", fmt::join(row, " | "));
  return text;
}

std::string evidence(const Statement& one) {
  return markdown(one.reason.empty() ? fmt::format("{}", fmt::join(one.shown, ", ")) : "not shown: " + one.reason);
}

/// "[n, d], optional"
std::string shape_text(const TensorDeclaration& tensor) {
  return fmt::format("[{}]{}", fmt::join(tensor.shape, ", "), tensor.optional ? ", optional" : "");
}

std::string interface_of(const Spec& spec) {
  std::vector<std::vector<std::string>> names;
  for (const auto& input : spec.inputs)
    names.push_back(
        {code(input.name), fmt::format("input, {}", name(input.element)), shape_text(input), markdown(input.meaning)});
  for (const auto& output : spec.outputs)
    names.push_back({code(output.name), output.state ? "output, carried from call to call" : "output",
                     shape_text(output), markdown(output.meaning)});
  for (const auto& size : spec.sizes) names.push_back({code(size.name), "size", "", markdown(size.meaning)});
  for (const auto& parameter : spec.parameters) {
    const std::string choices =
        parameter.choices.empty() ? "" : fmt::format(" of {}", fmt::join(parameter.choices, ", "));
    const std::string fallback = parameter.fallback ? golden::text_of(*parameter.fallback) : parameter.fallback_text;
    names.push_back({code(parameter.name), "parameter", markdown(fmt::format("default {}{}", fallback, choices)),
                     markdown(parameter.meaning)});
  }
  return table({"name", "what", "shape, default", "meaning"}, names);
}

/// Operations of a form, where the spec counts them.
std::string cost_of(const Spec& spec, const FormDeclaration& form) {
  std::vector<std::string> costs;
  for (const auto& cost : spec.costs)
    if (cost.form == form.name)
      costs.push_back(fmt::format("`{}` {}{}", cost.count.text(), cost.operation,
                                  cost.when.empty() ? "" : fmt::format(" when `{}`", cost.when)));
  return fmt::format("{}", fmt::join(costs, ", "));
}

std::string forms_of(const Spec& spec) {
  std::vector<std::vector<std::string>> forms;
  for (const auto& form : spec.forms)
    forms.push_back({code(form.name),
                     markdown(form.meaning) + (form.numeric ? "; equal over the real numbers only" : "") +
                         (form.when.empty() ? "" : fmt::format("; when {}", code(form.when))),
                     cost_of(spec, form)});
  return table({"form", "how it computes", "operations"}, forms);
}

std::string conventions_of(const Spec& spec) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& constraint : spec.constraints) rows.push_back({constraint.label, markdown(constraint.text)});
  return table({"constraint", "what holds of sizes, parameters and inputs"}, rows);
}

std::string laws_of(const Spec& spec) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& law : spec.laws)
    rows.push_back({code(law.law),
                    fmt::format("{}{}{}", fmt::join(law.of, ", "), !law.of.empty() && !law.along.empty() ? " " : "",
                                law.along.empty() ? "" : "along " + law.along),
                    code(law.when), markdown(law.note)});
  std::vector<std::vector<std::string>> invariants;
  for (const auto& one : spec.invariants) invariants.push_back({code(one.name), markdown(one.meaning), evidence(one)});
  return table({"law", "of", "when", "note"}, rows) + table({"invariant", "what holds", "evidence"}, invariants);
}

std::string faults_of(const Spec& spec) {
  std::vector<std::vector<std::string>> faults;
  for (const auto& fault : spec.faults) {
    std::vector<std::string> hidden;
    for (const auto& [profile, _] : fault.hidden) hidden.push_back(profile);
    faults.push_back({code(fault.name), markdown(fault.change),
                      fault.equivalent.empty() ? code(fault.flag) : "no fault: " + markdown(fault.equivalent),
                      fmt::format("{}", fmt::join(hidden, ", "))});
  }
  return table({"fault", "what is done instead", "cases that show it", "not in"}, faults);
}

std::string statements_of(const Spec& spec) {
  std::vector<std::vector<std::string>> errata, claims;
  for (const auto& one : spec.errata)
    errata.push_back({one.name, markdown(one.meaning), markdown(one.right), evidence(one)});
  for (const auto& one : spec.claims) claims.push_back({one.name, markdown(one.meaning), evidence(one)});
  return table({"erratum", "printed", "right", "evidence"}, errata) +
         table({"claim", "what the sources say", "evidence"}, claims);
}

/// The rows of the page of coverage, by operation, and their heading.
struct Coverage {
  std::string heading;
  std::map<std::string, std::string> rows;

  explicit Coverage(const std::filesystem::path& page) {
    std::istringstream lines(golden::read_file(page));
    for (std::string line; std::getline(lines, line);) {
      const std::string first = line.substr(0, line.find(' '));
      if (first == "operation") heading = line;
      if (specs().count(first) > 0) rows.emplace(first, line);
    }
  }
};

std::string section_of(const Spec& spec, const Coverage& coverage) {
  std::string text =
      fmt::format("\n## {}\n\n{}\n\n```math\n{}\n```\n", spec.id, markdown(spec.title), tex_of(spec.formula));
  if (!spec.about.empty())
    text += fmt::format("\n{}\n", markdown(spec.about.substr(spec.about.find_first_not_of('\n'))));
  text += fmt::format("\nSource: {}.\n", markdown(fmt::format("{}", fmt::join(spec.source, "; "))));
  if (!spec.gradient.empty())
    text += fmt::format("Gradients with respect to {} are certified.\n", fmt::join(spec.gradient, ", "));
  text += interface_of(spec) + forms_of(spec) + conventions_of(spec) + laws_of(spec) + faults_of(spec) +
          statements_of(spec);
  for (const auto& note : spec.notes) text += fmt::format("\n- {}\n", markdown(note));
  if (const auto row = coverage.rows.find(spec.id); row != coverage.rows.end())
    text += fmt::format("\n<!-- not run: the row of specs/coverage.md -->\n```text\n{}\n{}\n```\n", coverage.heading,
                        row->second);
  return text;
}

std::string family_of(const Spec& spec) { return spec.id.substr(0, spec.id.find('.')); }

constexpr const char* kWritten = "<!-- written by `tools/attest handbook` from the specs -->\n\n";

/// Every page by its path below the folder; `specs_folder` has the page of coverage.
std::map<std::string, std::string> pages(const std::filesystem::path& specs_folder) {
  const Coverage coverage(specs_folder / "coverage.md");
  std::map<std::string, std::vector<const Spec*>> families;
  for (const auto& [_, spec] : specs()) families[family_of(spec)].push_back(&spec);
  std::map<std::string, std::string> all;
  std::string index = fmt::format("# Handbook\n\n{}", kWritten);
  index +=
      "Every equation with its shapes, conventions, forms and what they cost, laws, likely mistakes and what was "
      "printed\nwrongly, a page for each family. What a page says of an equation a command shows: `tools/attest "
      "coverage` runs the\nevidence, `tools/attest check openmp --only ID` judges this project's kernels, "
      "`tools/attest mutants --only ID` those\nwith each fault, `tools/attest show ID` prints the same and the "
      "golden cases.\n";
  for (const auto& [family, equations] : families) {
    std::string& page = all[family + ".md"];
    page = fmt::format("# {}\n\n{}", family, kWritten);
    page += "[All families](README.md), [the words of this page](../glossary.md)\n\n";
    index += fmt::format("\n## {0}\n\n[{1} equations]({0}.md)\n\n", family, equations.size());
    for (const Spec* spec : equations) {
      std::string anchor;
      for (const char c : spec->id)
        if (c != '.') anchor += c;
      page += fmt::format("- [{}](#{}): {}\n", spec->id, anchor, markdown(spec->title));
      index += fmt::format("- [{}]({}.md#{}): {}\n", spec->id, family, anchor, markdown(spec->title));
    }
    for (const Spec* spec : equations) page += section_of(*spec, coverage);
  }
  all["README.md"] = index;
  return all;
}

/// Writes the pages that are not as they should be; with `check` names them alone, and the first line that differs.
int handbook(bool check) {
  const auto specs_folder = project_folder() / "specs", folder = specs_folder / "handbook";
  int wrong = 0;
  for (const auto& [path, text] : pages(specs_folder)) {
    const auto file = folder / path;
    const std::string before = std::filesystem::exists(file) ? golden::read_file(file) : "";
    if (before == text) continue;
    ++wrong;
    const auto end = std::mismatch(before.begin(), before.end(), text.begin(), text.end()).first;
    const auto line = 1 + std::count(before.begin(), end, '\n');
    fmt::print("specs/handbook/{}:{}: {}\n", path, line, check ? "not what `tools/attest handbook` writes" : "written");
    if (!check) golden::write_file_atomically(file, text);
  }
  return check && wrong > 0 ? 1 : 0;
}

}  // namespace

void add_handbook(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("handbook", "Write the pages of all equations, a page for each family");
  const auto check = std::make_shared<bool>(false);
  command->add_flag("--check", *check, "write nothing; fail where a page is not what would be written");
  command->callback([&status, check] { status = handbook(*check); });
}

}  // namespace attest::cli
