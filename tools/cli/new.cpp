// SPDX-License-Identifier: MIT
// new: the files of an equation that specs/catalogue.toml plans, as a small running example under its names.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>

#include "attest/golden/files.hpp"
#include "commands.hpp"

namespace attest::cli {
namespace {

namespace fs = std::filesystem;

struct NewOptions {
  std::string id;
  std::vector<std::string> backends{"openmp"};
  bool properties = false;
};

/// The entry of the catalogue for the equation: lists of names under "form", "invariant", "fault", "erratum" and
/// "claim".
struct Entry {
  std::string id, family, stem, title;
  bool gradient = true;
  std::map<std::string, std::vector<std::string>> names;
};

/// One file to write: its path in the project, and its skeleton in tools/cli/skeleton.
struct NewFile {
  fs::path path;
  std::string skeleton;
};

Entry read_entry(const fs::path& project, const std::string& id) {
  static const std::regex form("([a-z][a-z0-9_]*)\\.([a-z][a-z0-9_]*)");
  std::smatch parts;
  if (!std::regex_match(id, parts, form))
    throw UsageError(fmt::format(
        "'{}' is no id of an equation; allowed: family.stem, each of lower-case letters, digits and _, as in "
        "linear.causal",
        id));
  const fs::path path = project / "specs/catalogue.toml";
  const toml::table catalogue = toml::parse(golden::read_file(path), path.string());
  Entry entry{id, parts[1], parts[2], "", true, {}};
  const auto* row = catalogue[entry.family][entry.stem].as_table();
  if (!row)
    throw UsageError(fmt::format("{} has no entry [{}]; the catalogue lists every equation that is to be covered",
                                 path.string(), id));
  entry.title = (*row)["title"].value_or(std::string(id));
  if (!entry.title.empty() && entry.title[0] >= 'a' && entry.title[0] <= 'z') entry.title[0] -= 'a' - 'A';
  entry.gradient = (*row)["gradient"].value_or(true);
  const std::pair<const char*, const char*> keys[] = {
      {"form", "forms"}, {"invariant", "invariants"}, {"fault", "faults"}, {"erratum", "errata"}, {"claim", "claims"}};
  for (const auto& [name, key] : keys)
    if (const auto* list = (*row)[key].as_array())
      for (const auto& one : *list) entry.names[name].push_back(one.value_or(std::string()));
  if (entry.names["form"].empty()) entry.names["form"] = {"direct"};
  return entry;
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The text of a skeleton. A block "@each KIND" .. "@end" stands once for every name of that kind, which is @NAME@ in
/// it; a block "@if WORD" .. "@end" stands where the word applies: a backend, "gradient", or a kind that has names.
/// Blocks may lie in one another.
class Expansion {
public:
  Expansion(const Entry& entry, const std::vector<std::string>& backends) : entry_(entry), backends_(backends) {}

  std::string of(const std::string& skeleton) const {
    std::vector<std::string> lines;
    std::istringstream stream(skeleton);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return block(lines, 0, lines.size());
  }

private:
  std::string block(const std::vector<std::string>& lines, std::size_t at, std::size_t end) const {
    std::string text;
    for (; at < end; ++at) {
      const bool each = lines[at].starts_with("@each "), condition = lines[at].starts_with("@if ");
      if (!each && !condition) {
        text += names_in(lines[at]) + "\n";
        continue;
      }
      const std::string word = lines[at].substr(lines[at].find(' ') + 1);
      const std::size_t close = end_of_block(lines, at);
      const std::string inner = block(lines, at + 1, close);
      if (each)
        for (const auto& name : names_of(word)) text += replace_all(inner, "@NAME@", name);
      else if (applies(word))
        text += inner;
      at = close;
    }
    return text;
  }

  static std::size_t end_of_block(const std::vector<std::string>& lines, std::size_t at) {
    for (int depth = 0; at < lines.size(); ++at) {
      if (lines[at].starts_with("@each ") || lines[at].starts_with("@if ")) ++depth;
      if (lines[at] == "@end" && --depth == 0) return at;
    }
    throw std::logic_error("a block of a skeleton has no @end");
  }

  std::vector<std::string> names_of(const std::string& kind) const {
    const auto at = entry_.names.find(kind);
    return at == entry_.names.end() ? std::vector<std::string>() : at->second;
  }

  bool applies(const std::string& word) const {
    if (word == "gradient") return entry_.gradient;
    return std::find(backends_.begin(), backends_.end(), word) != backends_.end() || !names_of(word).empty();
  }

  std::string names_in(std::string line) const {
    const std::pair<const char*, std::string> values[] = {{"@ID@", entry_.id},
                                                          {"@FAMILY@", entry_.family},
                                                          {"@STEM@", entry_.stem},
                                                          {"@TITLE@", entry_.title},
                                                          {"@FIRST_FORM@", names_of("form").front()}};
    for (const auto& [from, to] : values) line = replace_all(line, from, to);
    return line;
  }

  const Entry& entry_;
  const std::vector<std::string>& backends_;
};

std::vector<NewFile> files_of(const Entry& entry, const NewOptions& options) {
  const fs::path path = fs::path(entry.family) / entry.stem;
  const auto with = [&path](const char* room, const char* suffix) { return fs::path(room) / (path.string() + suffix); };
  std::vector<NewFile> files{
      {with("specs", ".toml"), "spec.toml"},
      {with("reference/include/attest/reference", ".hpp"), "reference.hpp"},
      {with("tests/faults", ".hpp"), "faults.hpp"},
  };
  if (options.properties) files.push_back({with("tests/properties", ".hpp"), "properties.hpp"});
  for (const auto& backend : options.backends)
    files.push_back(backend == "cuda" ? NewFile{with("optimized/cuda", ".cu"), "cuda.cu"}
                                      : NewFile{with("optimized/openmp", ".cpp"), "openmp.cpp"});
  return files;
}

/// Files that are all written, or none: whatever is not kept is removed again, with the folders that were made for it.
class AllOrNone {
public:
  ~AllOrNone() {
    std::error_code error;
    for (auto path = made_.rbegin(); path != made_.rend(); ++path) fs::remove(*path, error);
  }

  void write(const fs::path& path, const std::string& text) {
    std::vector<fs::path> folders;
    for (fs::path folder = path.parent_path(); !fs::exists(folder); folder = folder.parent_path())
      folders.push_back(folder);
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
      fs::create_directory(*folder);
      made_.push_back(*folder);
    }
    golden::write_file_atomically(path, text);
    made_.push_back(path);
  }

  void keep() { made_.clear(); }

private:
  std::vector<fs::path> made_;
};

void print_next_steps(const Entry& entry, const NewOptions& options) {
  fmt::print(
      "\nThey hold a running example, y = factor x; each comment that begins with \"To replace\" says what to edit. "
      "Then:\n"
      "  tools/attest golden regenerate --only {0}\n"
      "  tools/attest check reference --only {0}\n",
      entry.id);
  for (const auto& backend : options.backends)
    fmt::print("  tools/attest check {}{} --only {}\n", backend, backend == "cuda" ? "-emulated" : "", entry.id);
  fmt::print(
      "  tools/attest mutants --only {0}\n"
      "  tools/attest coverage --only {0}\n",
      entry.id);
}

int new_equation(NewOptions options) {
  std::sort(options.backends.begin(), options.backends.end(), std::greater());  // openmp, which is simpler, first
  options.backends.erase(std::unique(options.backends.begin(), options.backends.end()), options.backends.end());
  const fs::path project = project_folder(), skeletons = project / "tools/cli/skeleton";
  if (!fs::is_directory(skeletons))
    throw UsageError(
        fmt::format("{} does not exist: new writes into attest's source tree, which ATTEST_PROJECT_DIR "
                    "must name",
                    skeletons.string()));
  const Entry entry = read_entry(project, options.id);
  const auto files = files_of(entry, options);
  for (const auto& file : files)
    if (fs::exists(project / file.path))
      throw UsageError(fmt::format("{} exists; nothing was written", (project / file.path).string()));
  const Expansion expansion(entry, options.backends);
  AllOrNone written;
  for (const auto& file : files)
    written.write(project / file.path, expansion.of(golden::read_file(skeletons / (file.skeleton + ".in"))));
  written.keep();
  for (const auto& file : files) fmt::print("{}\n", file.path.string());
  print_next_steps(entry, options);
  return 0;
}

}  // namespace

void add_new(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("new", "Write the files of a planned equation, as a running example to edit");
  const auto options = std::make_shared<NewOptions>();
  command->add_option("ID", options->id, "an entry of specs/catalogue.toml, as in streaming.window_attention")
      ->required();
  command->add_option("--backends", options->backends, "kernels to write: openmp, cuda (default openmp)")
      ->delimiter(',')
      ->check(CLI::IsMember({"openmp", "cuda"}));
  command->add_flag("--properties", options->properties, "write a file for identities that no law states as well");
  command->callback([&status, options] { status = new_equation(*options); });
}

}  // namespace attest::cli
